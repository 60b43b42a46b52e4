//! The scripts a command is wrapped in: text, and only builtins, so that wrapping costs next to nothing; and the files
//! through which they speak to us.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

/// No directory has a longer name.
const MAX_PATH: u64 = 4096;

/// The files that carry a shell's state from one command to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StateFiles {
    dir: PathBuf,
}

/// What one command leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leftovers {
    /// Where the command ended up.
    pub cwd: PathBuf,
    /// What it exported.
    pub exports: PathBuf,
    /// The command, if it is too long for an argument.
    pub script: PathBuf,
}

impl StateFiles {
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Functions and aliases of the login shell.
    pub fn snapshot(&self) -> PathBuf {
        self.dir.join("snapshot.sh")
    }

    /// Exported variables, as the last command left them.
    pub fn exports(&self) -> PathBuf {
        self.dir.join("exports.sh")
    }

    pub fn leftovers(&self, call: u64) -> Leftovers {
        Leftovers {
            cwd: self.dir.join(format!("cwd-{call}")),
            exports: self.dir.join(format!("exports-{call}")),
            script: self.dir.join(format!("script-{call}")),
        }
    }
}

/// Run once in a login shell: reads the init files and writes down what they defined.
///
/// Written down on exit, so that an init file that exits, fails or prints doesn't spoil it; what could not be written
/// to its end, on a full disk, ends with another code than 0. Functions with one
/// leading underscore are completion machinery and stay behind; so do our own.
pub(super) fn init(files: &StateFiles, init_files: &[PathBuf], passing: &[String]) -> String {
    let sources: String = init_files
        .iter()
        .map(|file| format!("[ -r {0} ] && . {0}\nset +e +u\n", quote(file)))
        .collect();
    format!(
        r#"exec </dev/null >/dev/null 2>&1
_hermes_dump() {{
  set +e +u
  {{
    while read -r _ _ name; do
      case $name in _[!_]*) ;; *) declare -f "$name" ;; esac
    done < <(declare -F)
    alias -p
    printf 'shopt -s expand_aliases\nset +e +u\n'
  }} >| {snapshot} && {{ {forget}export -p; }} >| {exports}
}}
trap '_hermes_dump && exit 0; exit 1' EXIT
{sources}exit 0
"#,
        snapshot = quote(&files.snapshot()),
        exports = quote(&files.exports()),
        forget = forget(passing),
    )
}

/// Takes variables back that were lent.
fn forget(passing: &[String]) -> String {
    let is_name = |name: &&String| {
        let mut chars = name.bytes();
        let begins = chars
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == b'_');
        begins && chars.all(|c| c.is_ascii_alphanumeric() || c == b'_')
    };
    let names = passing.iter().filter(is_name);
    names
        .map(|name| format!("\\export -n {name} || \\:; "))
        .collect()
}

/// What surrounds one command.
#[derive(Clone, Debug)]
pub(super) struct Wrap<'a> {
    /// Run before anything of the owner's.
    pub prelude: &'a str,
    pub files: &'a StateFiles,
    /// Where it writes down how it leaves things; `None`: nobody will look.
    pub leftovers: Option<&'a Leftovers>,
    pub cwd: &'a Path,
    /// Variables that end with this command.
    pub passing: &'a [String],
    /// Set for this command whatever the last one exported.
    pub vars: &'a [(String, String)],
}

impl Wrap<'_> {
    /// Takes up the state, goes to the directory, runs the command, and writes down the state however the
    /// command ends. `>|` because the owner may have set `noclobber`; `\` because they may have aliases.
    pub fn around(&self, command: &str) -> String {
        let vars: String = self
            .vars
            .iter()
            .map(|(name, value)| format!("\\export {name}={}\n", quote_text(value)))
            .collect();
        format!(
            "{prelude}\\. {snapshot} >/dev/null 2>&1\n\\. {exports} >/dev/null 2>&1\n{vars}\
             \\command cd -- {cwd} || \\exit 126\n{save}\\eval {command}\n",
            prelude = self.prelude,
            snapshot = quote(&self.files.snapshot()),
            exports = quote(&self.files.exports()),
            cwd = quote(self.cwd),
            save = self
                .leftovers
                .map(|leftovers| leftovers.save_on_exit(self.passing))
                .unwrap_or_default(),
            command = quote_text(command),
        )
    }
}

impl Leftovers {
    /// Commands can write where these files are, and may have less rights than we: what they put there in the place of
    /// ours must not lead us elsewhere. So no link is followed, nothing is waited for, and only what was written to its
    /// end counts: a killed shell or a full disk leaves half of it.
    pub fn read_cwd(&self) -> Option<PathBuf> {
        let mut options = OpenOptions::new();
        let options = options.read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK);
        let file = options.open(&self.cwd).ok()?;
        file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mut text = String::new();
        file.take(MAX_PATH + 1).read_to_string(&mut text).ok()?;
        let dir = PathBuf::from(text.strip_suffix('\n')?);
        dir.is_absolute().then_some(dir)
    }

    /// Only where there is nothing yet.
    pub fn write_script(&self, script: &str) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&self.script)?;
        file.write_all(script.as_bytes())
    }

    fn save_on_exit(&self, passing: &[String]) -> String {
        // The directory last: where it is written down, the exports are whole, also on a full disk.
        let save = format!(
            "{{ {}\\export -p >| {} && \\command pwd -P >| {}; }} 2>/dev/null",
            forget(passing),
            quote(&self.exports),
            quote(&self.cwd)
        );
        format!("\\trap {} EXIT\n", quote_text(&save))
    }
}

/// A path as one word of a script.
pub(super) fn quote(path: &Path) -> String {
    quote_text(&path.to_string_lossy())
}

pub(super) fn quote_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
