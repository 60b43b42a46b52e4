//! What never runs, whoever asks for it: there is no way back from these.

use std::sync::LazyLock;

use regex::Regex;

use super::program::name;

const SYSTEM: [&str; 10] = [
    "home", "root", "etc", "usr", "var", "bin", "sbin", "boot", "lib", "lib64",
];
const DISKS: [&str; 6] = ["sd", "nvme", "hd", "mmcblk", "vd", "xvd"];

/// The rule that forbids a command, by its key.
pub(super) fn of(words: &[String], redirects: &[(String, String)]) -> Option<&'static str> {
    if redirects
        .iter()
        .any(|(operator, target)| operator.contains('>') && is_disk(target))
    {
        return Some("redirect to raw block device");
    }
    let args = words.get(1..).unwrap_or_default();
    let program = name(words).to_lowercase();
    match program.as_str() {
        "rm" => deletes(args),
        "mkfs" => Some("format filesystem (mkfs)"),
        other if other.starts_with("mkfs.") => Some("format filesystem (mkfs)"),
        "dd" if args
            .iter()
            .any(|arg| arg.strip_prefix("of=").is_some_and(is_disk)) =>
        {
            Some("dd to raw block device")
        }
        "kill" if everybody(args) => Some("kill all processes"),
        "shutdown" | "reboot" | "halt" | "poweroff" => Some("system shutdown/reboot"),
        "init" if to_runlevel(args) => Some("init 0/6 (shutdown/reboot)"),
        "telinit" if to_runlevel(args) => Some("telinit 0/6 (shutdown/reboot)"),
        "systemctl" if powers_off(args) => Some("systemctl poweroff/reboot"),
        // A program whose name we cannot know, called as one would call rm.
        other if other.contains(['$', '`', '*', '?']) && recursive(args) => deletes(args),
        _ => None,
    }
}

/// `:(){ :|:& };:` under any name.
pub(super) fn fork_bomb(text: &str) -> bool {
    static BOMB: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"([\w:.]+)\(\)\{([\w:.]+)\|([\w:.]+)&\}?;?\}?;?([\w:.]+)").ok()
    });
    if !text.contains("()") && !text.contains("( )") {
        return false;
    }
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    BOMB.as_ref().is_some_and(|bomb| {
        bomb.captures_iter(&dense)
            .any(|found| found[1] == found[2] && found[2] == found[3])
    })
}

fn deletes(args: &[String]) -> Option<&'static str> {
    let operands = args.iter().filter(|arg| !arg.starts_with('-'));
    operands.filter_map(|path| protected(path)).next()
}

/// Which protected place a path is, however it is spelled; a trailing `*` is as bad as the place itself.
fn protected(path: &str) -> Option<&'static str> {
    let path = path.trim_matches(['"', '\'']);
    let (home, rest) = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => (true, rest),
        Some(_) => return None,
        None if path.starts_with('/') => (false, path),
        None => return None,
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.is_empty() && home => {
                return Some("recursive delete of system directory");
            }
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if parts
        .last()
        .is_some_and(|last| matches!(*last, "*" | "**" | ".*" | "?*"))
    {
        parts.pop();
    }
    match (home, parts.as_slice()) {
        (true, []) => Some("recursive delete of home directory"),
        (false, []) => Some("recursive delete of root filesystem"),
        (false, [dir]) if SYSTEM.contains(&dir.to_lowercase().as_str()) => {
            Some("recursive delete of system directory")
        }
        _ => None,
    }
}

fn recursive(args: &[String]) -> bool {
    args.iter().any(|arg| {
        arg.starts_with("--recursive")
            || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['r', 'R']))
    })
}

fn is_disk(path: &str) -> bool {
    path.strip_prefix("/dev/")
        .is_some_and(|device| DISKS.iter().any(|disk| device.starts_with(disk)))
}

/// `kill -9 -1`: minus one as a process, not `kill -1 1234`, where it is a signal.
fn everybody(args: &[String]) -> bool {
    match args {
        [only] => only == "-1",
        [_, targets @ ..] => targets.iter().any(|target| target == "-1"),
        [] => false,
    }
}

fn to_runlevel(args: &[String]) -> bool {
    args.iter().any(|arg| arg == "0" || arg == "6")
}

fn powers_off(args: &[String]) -> bool {
    let verb = args.iter().find(|arg| !arg.starts_with('-'));
    verb.is_some_and(|verb| matches!(verb.as_str(), "poweroff" | "reboot" | "halt" | "kexec"))
}
