//! Bounds made of namespaces: the command sees a file system in which most is read-only and some is missing.

use std::fs;
use std::path::{Path, PathBuf};

use super::policy::{Access, Network, Policy};
use crate::Spawn;

/// User and processes of its own: no setuid program gains anything, and nobody outside can be seen or signalled.
/// The processes stay in the group and session that [`Spawn`] makes. Not `--die-with-parent`: jobs may outlive us,
/// and the others die with their group, whose member is the first process of the namespace.
const NAMESPACES: [&str; 5] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--cap-drop",
    "ALL",
];
const BASE: [&str; 7] = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"];
/// Bound over a file, it cannot be opened: devices mean nothing in such mounts.
const NOTHING: &str = "/dev/null";

/// `spawn` as an errand of `bwrap`. A signal that ends the command comes out as the code 128 + its number.
pub(super) fn wrap(bwrap: &Path, policy: &Policy, spawn: Spawn) -> Spawn {
    let mut args: Vec<String> = Vec::new();
    args.extend(NAMESPACES.map(str::to_owned));
    if policy.network == Network::Off {
        args.push("--unshare-net".to_owned());
    }
    args.extend(BASE.map(str::to_owned));
    args.extend(mounts(policy));
    args.extend(["--chdir".to_owned(), text(&spawn.dir), "--".to_owned()]);
    args.push(text(&spawn.program));
    args.extend(spawn.args);
    Spawn {
        program: bwrap.to_owned(),
        args,
        dir: PathBuf::from("/"),
        ..spawn
    }
}

fn mounts(policy: &Policy) -> Vec<String> {
    let mut args = Vec::new();
    let mut emptied = Vec::new();
    let doors = policy.doors.iter().filter(|door| door.exists());
    let doors = doors.map(|door| (door.clone(), Access::None));
    for (path, access) in policy.rules().into_iter().chain(doors) {
        let place = text(&path);
        let mount: [&str; 3] = match access {
            Access::Write => ["--bind", &place, &place],
            Access::Read => ["--ro-bind", &place, &place],
            Access::None if is_dir(&path) => {
                emptied.push(place.clone());
                ["--tmpfs", &place, ""]
            }
            Access::None => ["--ro-bind", NOTHING, &place],
        };
        let words = mount.iter().filter(|word| !word.is_empty());
        args.extend(words.map(|word| (*word).to_owned()));
    }
    // Last: what lies below an emptied directory had to be put there.
    let empty = emptied
        .into_iter()
        .flat_map(|place| ["--remount-ro".to_owned(), place]);
    args.extend(empty);
    args
}

fn is_dir(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_dir())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
