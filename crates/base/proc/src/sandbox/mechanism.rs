//! The two ways to hold a command, behind one name.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::bubblewrap;
use super::policy::{Network, Policy};
use crate::{Error, Spawn};

/// First argument of the program that confines itself and becomes another.
pub const CONFINE: &str = "__confine";

/// What holds a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Namespaces, made by this `bwrap`.
    Bubblewrap(PathBuf),
    /// Landlock, asked for by this program: see [`confine`].
    Landlock(PathBuf),
}

impl Mechanism {
    /// The same command within bounds. Looks at the disk for what `policy` names.
    pub fn wrap(&self, policy: &Policy, spawn: Spawn) -> Spawn {
        match self {
            Self::Bubblewrap(bwrap) => bubblewrap::wrap(bwrap, policy, spawn),
            Self::Landlock(confiner) => {
                let mut args = vec![CONFINE.to_owned()];
                args.extend(written(policy));
                args.push(text(&spawn.program));
                args.extend(spawn.args);
                Spawn {
                    program: confiner.clone(),
                    args,
                    ..spawn
                }
            }
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bubblewrap(_) => "bubblewrap",
            Self::Landlock(_) => "Landlock",
        })
    }
}

const OPTIONS: [&str; 3] = ["--write", "--fix", "--hide"];
const NO_NETWORK: &str = "--no-network";
const THEN: &str = "--";

fn written(policy: &Policy) -> Vec<String> {
    let lists = [&policy.writable, &policy.fixed, &policy.hidden];
    let options = OPTIONS.iter().zip(lists).flat_map(|(option, paths)| {
        let paths = paths.iter().map(|path| text(path));
        paths.flat_map(|path| [(*option).to_owned(), path])
    });
    let network = (policy.network == Network::Off).then(|| NO_NETWORK.to_owned());
    options.chain(network).chain([THEN.to_owned()]).collect()
}

fn read(args: impl IntoIterator<Item = OsString>) -> Option<(Policy, Vec<OsString>)> {
    let mut args = args.into_iter();
    let mut policy = Policy::default();
    loop {
        let option = args.next()?;
        let list = match option.to_str()? {
            THEN => return Some((policy, args.collect())),
            NO_NETWORK => {
                policy.network = Network::Off;
                continue;
            }
            "--write" => &mut policy.writable,
            "--fix" => &mut policy.fixed,
            "--hide" => &mut policy.hidden,
            _ => return None,
        };
        list.push(args.next()?.into());
    }
}

/// Holds this process to the bounds that [`Mechanism::wrap`] wrote down, and becomes the command they are for. What
/// comes back is why not. Only for a process that has not started any threads.
pub fn confine(args: impl IntoIterator<Item = OsString>) -> Error {
    let Some((policy, words)) = read(args) else {
        let cause = io::Error::other("its bounds cannot be read");
        return Error::of(Path::new("a confined command"))(cause);
    };
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let failed = Error::of(Path::new(&program));
    match restrict(&policy) {
        Ok(()) => failed(become_program(&program, words)),
        Err(why) => failed(io::Error::other(format!("cannot be confined: {why}"))),
    }
}

fn become_program(program: &OsStr, args: impl Iterator<Item = OsString>) -> io::Error {
    #[expect(clippy::disallowed_methods, reason = "this is the crate that may")]
    let mut command = Command::new(program);
    command.args(args).exec()
}

#[cfg(target_os = "linux")]
fn restrict(policy: &Policy) -> Result<(), String> {
    super::landlock::restrict(policy)
}

#[cfg(not(target_os = "linux"))]
fn restrict(_: &Policy) -> Result<(), String> {
    Err("only Linux has Landlock".to_owned())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_they_were_written() {
        let policy = Policy {
            writable: vec!["/a".into(), "/b c".into()],
            fixed: vec!["--".into()],
            hidden: vec!["/d".into()],
            network: Network::Off,
            doors: Vec::new(),
        };
        let mut args = written(&policy);
        args.extend(["bash", "-c", "--"].map(str::to_owned));
        let (read_back, command) = read(args.into_iter().map(OsString::from)).unwrap();
        assert_eq!(read_back, policy);
        assert_eq!(command, ["bash", "-c", "--"]);
        for odd in [&["--write"][..], &["--write", "/a"], &["--what", "--"]] {
            assert!(read(odd.iter().map(OsString::from)).is_none(), "{odd:?}");
        }
    }
}
