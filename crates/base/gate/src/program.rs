//! Which program a list of words really starts.

use std::borrow::Cow;

use crate::shell::assignment;

/// A program that starts the one behind it.
struct Wrapper {
    name: &'static str,
    /// Its options that take the next word as their value.
    values: &'static [&'static str],
    /// Words between its options and the command: a duration, a new root.
    between: usize,
}

const fn wrapper(name: &'static str, values: &'static [&'static str], between: usize) -> Wrapper {
    Wrapper {
        name,
        values,
        between,
    }
}

const SUDO: Wrapper = wrapper(
    "sudo",
    &[
        "-u",
        "-g",
        "-p",
        "-h",
        "-C",
        "-D",
        "-R",
        "-T",
        "-U",
        "-r",
        "-t",
        "--user",
        "--group",
        "--prompt",
        "--host",
        "--close-from",
        "--chdir",
        "--chroot",
        "--role",
        "--type",
        "--other-user",
        "--command-timeout",
    ],
    0,
);

const WRAPPERS: [Wrapper; 36] = [
    SUDO,
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("pkexec", &["--user"], 0),
    wrapper("env", &["-u", "-C", "--unset", "--chdir"], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("time", &["-f", "-o"], 0),
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    wrapper("nice", &["-n"], 0),
    wrapper("ionice", &["-c", "-n", "-p"], 0),
    wrapper("chrt", &[], 1),
    wrapper("taskset", &[], 1),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0),
    wrapper("unbuffer", &[], 0),
    wrapper("timeout", &["-k", "-s", "--signal", "--kill-after"], 1),
    wrapper(
        "xargs",
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-a",
            "-E",
            "-s",
            "--max-args",
            "--max-procs",
        ],
        0,
    ),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
    wrapper("coproc", &[], 0),
    wrapper("caffeinate", &["-t", "-w"], 0),
    wrapper("chroot", &[], 1),
    wrapper("unshare", &[], 0),
    wrapper("nsenter", &["-t", "-S", "-G"], 0),
    wrapper("setarch", &[], 1),
    wrapper("strace", &["-e", "-o", "-p", "-s", "-u"], 0),
    wrapper("ltrace", &["-e", "-o", "-p", "-s", "-u"], 0),
    wrapper("flock", &["-w", "-E", "--timeout"], 1),
    wrapper(
        "systemd-run",
        &["-p", "-u", "--unit", "--property", "-M", "-H"],
        0,
    ),
    wrapper(
        "systemd-inhibit",
        &["--what", "--who", "--why", "--mode"],
        0,
    ),
    wrapper("dbus-run-session", &[], 0),
    wrapper("fakeroot", &[], 0),
    wrapper("gosu", &[], 1),
    wrapper("runuser", &["-u", "-g", "-G", "-s"], 0),
    wrapper("setpriv", &[], 0),
];

/// Every program some rule knows, without versions; in order.
const NOTABLE: [&str; 149] = [
    ".",
    "ag",
    "alias",
    "ash",
    "at",
    "awk",
    "base16",
    "base32",
    "base64",
    "basenc",
    "bash",
    "batch",
    "builtin",
    "bun",
    "busybox",
    "bzcat",
    "bzip2",
    "caffeinate",
    "chmod",
    "chown",
    "chroot",
    "chrt",
    "clickhouse-client",
    "cmd",
    "cockroach",
    "command",
    "coproc",
    "cp",
    "curl",
    "dash",
    "dbus-run-session",
    "dd",
    "deno",
    "disown",
    "doas",
    "docker",
    "docker-compose",
    "duckdb",
    "env",
    "eval",
    "exec",
    "fakeroot",
    "fd",
    "fdfind",
    "find",
    "fish",
    "flock",
    "gawk",
    "git",
    "gosu",
    "gsed",
    "gunzip",
    "gzip",
    "halt",
    "hermes",
    "hyperfine",
    "init",
    "install",
    "ionice",
    "isql",
    "kill",
    "killall",
    "ksh",
    "kubectl",
    "launchctl",
    "ln",
    "ltrace",
    "lua",
    "lxc",
    "man",
    "mariadb",
    "mawk",
    "mkfs",
    "mksh",
    "mv",
    "mysql",
    "nice",
    "node",
    "nodejs",
    "nohup",
    "nsenter",
    "openssl",
    "parallel",
    "perl",
    "pgrep",
    "php",
    "pidof",
    "pkexec",
    "pkill",
    "podman",
    "poweroff",
    "powershell",
    "psql",
    "pwsh",
    "pypy",
    "python",
    "rbash",
    "reboot",
    "rev",
    "rg",
    "rm",
    "rsync",
    "ruby",
    "runuser",
    "script",
    "sed",
    "setarch",
    "setpriv",
    "setsid",
    "sg",
    "sh",
    "shutdown",
    "sort",
    "source",
    "split",
    "sqlcmd",
    "sqlite",
    "sqlite3",
    "sqlplus",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemctl",
    "systemd-inhibit",
    "systemd-run",
    "tar",
    "taskset",
    "tee",
    "telinit",
    "time",
    "timeout",
    "toybox",
    "tr",
    "trap",
    "turso",
    "unbuffer",
    "unshare",
    "vagrant",
    "watch",
    "wget",
    "xargs",
    "xxd",
    "xz",
    "xzcat",
    "zcat",
    "zsh",
    "zstd",
];

/// What a file may be called, in bytes.
const MAX_NAME: usize = 255;

/// Programs one command may start; nobody stacks more wrappers, or has `find` start more.
const MAX_STARTED: usize = 16;

/// All commands in `words`: as written, behind each wrapper, and behind `find -exec`.
pub(super) fn started(words: &[String]) -> Vec<&[String]> {
    let mut found = Vec::new();
    let mut words = skip_assignments(words);
    while !words.is_empty() && found.len() < MAX_STARTED {
        found.push(words);
        let name = name(words);
        if matches!(&*name, "find" | "fd" | "fdfind") {
            found.extend(find_exec(words));
        }
        let only_asks = &*name == "command"
            && words
                .get(1)
                .is_some_and(|option| matches!(option.as_str(), "-v" | "-V"));
        let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else {
            break;
        };
        if only_asks {
            break;
        }
        words = wrapper.behind(&words[1..]);
    }
    found
}

/// Whether there may be more than [`started`] found.
pub(super) fn is_stacked_too_high(started: &[&[String]]) -> bool {
    started.len() >= MAX_STARTED
}

/// Whether any rule could have something to say about this program; of most, none has.
pub(super) fn is_notable(words: &[String]) -> bool {
    let words = skip_assignments(words);
    let name = name(words);
    let bare = name.strip_suffix(".exe").unwrap_or(&name);
    let bare = bare.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    is_known(&name)
        || (bare.len() < name.len() && is_known(bare))
        || name.starts_with("mkfs.")
        || is_unknowable(words)
}

/// Asked of every command: how a name begins and how long it is rules most of them out.
fn is_known(name: &str) -> bool {
    let Some([first, second]) = name.as_bytes().first_chunk() else {
        return NOTABLE.binary_search(&name).is_ok();
    };
    let lengths = LENGTHS[usize::from(first % 32)][usize::from(second % 32)];
    let possible = lengths & (1 << (name.len() % 32)) != 0;
    possible && NOTABLE.binary_search(&name).is_ok()
}

/// Which lengths the notable programs have that begin with these two letters, as bits.
static LENGTHS: [[u32; 32]; 32] = {
    let mut lengths = [[0; 32]; 32];
    let mut at = 0;
    while at < NOTABLE.len() {
        let name = NOTABLE[at].as_bytes();
        if name.len() > 1 {
            lengths[name[0] as usize % 32][name[1] as usize % 32] |= 1 << (name.len() % 32);
        }
        at += 1;
    }
    lengths
};

/// Whether the program's name is made of something that cannot be resolved.
pub(super) fn is_unknowable(words: &[String]) -> bool {
    let written = words.first().map_or("", String::as_str);
    let made = written.starts_with("$(") || written.starts_with('`');
    made || name(words).contains(['$', '`', '*', '?', '[', '{'])
}

/// A program's bare name: without its directory, in lower case as some file systems read it.
pub(super) fn name(words: &[String]) -> Cow<'_, str> {
    let word = words.first().map_or("", String::as_str);
    // No file has a longer name: of what is longer, all is taken and nothing fits.
    let end = &word.as_bytes()[word.len().saturating_sub(MAX_NAME + 1)..];
    let word = match end.iter().rposition(|byte| *byte == b'/') {
        Some(at) => &word[word.len() - end.len() + at + 1..],
        None if word.len() > MAX_NAME => return word.into(),
        None => word,
    };
    let small = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    match !word.bytes().all(small) && word.contains(|c: char| c.is_uppercase()) {
        true => word.to_lowercase().into(),
        false => word.into(),
    }
}

/// The options sudo itself gets: those before the command.
pub(super) fn sudo_options(words: &[String]) -> impl Iterator<Item = &str> {
    let own = &words[..words.len() - SUDO.behind(words).len()];
    own.iter()
        .map(String::as_str)
        .filter(|word| word.starts_with('-'))
}

/// The words behind the options; `values` are those options that take the next word.
pub(super) fn operands<'w>(mut words: &'w [String], values: &[&str]) -> &'w [String] {
    while let [first, rest @ ..] = words {
        match first.as_str() {
            "--" => return rest,
            option if values.contains(&option) => words = rest.get(1..).unwrap_or_default(),
            option if option.starts_with('-') && option.len() > 1 => words = rest,
            _ => break,
        }
    }
    words
}

impl Wrapper {
    fn behind<'w>(&self, words: &'w [String]) -> &'w [String] {
        let words = skip_assignments(operands(words, self.values));
        skip_assignments(words.get(self.between..).unwrap_or_default())
    }
}

fn skip_assignments(words: &[String]) -> &[String] {
    let count = words
        .iter()
        .take_while(|word| assignment(word).is_some())
        .count();
    &words[count..]
}

fn find_exec(words: &[String]) -> impl Iterator<Item = &[String]> {
    let starts = words.iter().enumerate().filter(|(_, word)| {
        matches!(
            word.as_str(),
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch"
        )
    });
    starts.take(MAX_STARTED).map(|(at, _)| {
        let rest = &words[at + 1..];
        let end = rest.iter().position(|word| word == ";" || word == "+");
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_notable_programs_is_in_order_and_has_all_wrappers() {
        assert!(NOTABLE.is_sorted());
        assert!(NOTABLE.iter().all(|name| is_known(name)));
        assert!(!is_known("lx") && !is_known("") && !is_known("x"));
        let missing: Vec<&str> = WRAPPERS
            .iter()
            .map(|wrapper| wrapper.name)
            .filter(|name| NOTABLE.binary_search(name).is_err())
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
