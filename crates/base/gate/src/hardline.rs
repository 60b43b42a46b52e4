//! What never runs, whoever asks for it: there is no way back from these.

use crate::paths;
use crate::program::{is_unknowable, name, operands};
use crate::shell::{Script, Simple};

const SYSTEM: [&str; 10] = [
    "home", "root", "etc", "usr", "var", "bin", "sbin", "boot", "lib", "lib64",
];

/// The rule that forbids a command, by its key.
pub(super) fn of(words: &[String]) -> Option<&'static str> {
    let args = words.get(1..).unwrap_or_default();
    let program = name(words);
    match &*program {
        "rm" => deletes(args),
        "mkfs" => Some("format filesystem (mkfs)"),
        other if other.starts_with("mkfs.") => Some("format filesystem (mkfs)"),
        "dd" if to_disk(args) => Some("dd to raw block device"),
        "kill" if everybody(args) => Some("kill all processes"),
        "shutdown" | "reboot" | "halt" | "poweroff" => Some("system shutdown/reboot"),
        "init" if to_runlevel(args) => Some("init 0/6 (shutdown/reboot)"),
        "telinit" if to_runlevel(args) => Some("telinit 0/6 (shutdown/reboot)"),
        "systemctl" if powers_off(args) => Some("systemctl poweroff/reboot"),
        // A program whose name we cannot know, called as one would call rm or dd.
        _ if is_unknowable(words) => match recursive(args) {
            true => deletes(args),
            false => to_disk(args).then_some("dd to raw block device"),
        },
        _ => None,
    }
}

/// Where a command's output must not go.
pub(super) fn of_redirects(simple: &Simple) -> Option<&'static str> {
    let overwritten =
        |(operator, target): &(&str, String)| operator.contains('>') && paths::is_disk(target);
    simple
        .redirects
        .iter()
        .any(overwritten)
        .then_some("redirect to raw block device")
}

/// `:(){ :|:& };:` under any name: a function that starts itself twice.
pub(super) fn is_fork_bomb(script: &Script) -> bool {
    if script.functions.is_empty() {
        return false;
    }
    script.pipelines.iter().any(|pipeline| {
        let called = pipeline.iter().filter_map(|simple| simple.words.first());
        let mut own = called.filter(|word| script.functions.contains(*word));
        let first = own.next();
        first.is_some() && own.any(|word| Some(word) == first)
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
        .is_some_and(|last| matches!(*last, "*" | "**" | ".*" | "?*" | "*.*" | "{*,.*}"))
    {
        parts.pop();
    }
    match (home, parts.as_slice()) {
        (true, []) => Some("recursive delete of home directory"),
        (false, []) => Some("recursive delete of root filesystem"),
        (false, [dir]) if SYSTEM.iter().any(|system| paths::could_be(dir, system)) => {
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

fn to_disk(args: &[String]) -> bool {
    let target = |arg: &String| arg.strip_prefix("of=").is_some_and(paths::is_disk);
    args.iter().any(target)
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
    let values = [
        "-H",
        "--host",
        "-M",
        "--machine",
        "-t",
        "-p",
        "-o",
        "-n",
        "-s",
        "--signal",
    ];
    let mut verbs = operands(args, &values).iter();
    let verb = verbs.find(|arg| !arg.starts_with('-'));
    verb.is_some_and(|verb| matches!(verb.as_str(), "poweroff" | "reboot" | "halt" | "kexec"))
}
