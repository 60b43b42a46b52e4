//! Deleting, permissions, and overwriting what deserves care.

use crate::paths;
use crate::program::{name, operands, started};
use crate::shell::{Script, Simple};

pub(super) fn delete(args: &[String]) -> Option<&'static str> {
    let root = |arg: &String| arg.starts_with('/');
    if args.iter().any(root) {
        Some("delete in root path")
    } else if args.iter().any(|arg| has_short(arg, &['r', 'R'])) {
        Some("recursive delete")
    } else if args.iter().any(|arg| arg.starts_with("--r")) {
        Some("recursive delete (long flag)")
    } else {
        None
    }
}

pub(super) fn is_recursive(args: &[String]) -> bool {
    args.iter().any(|arg| has_short(arg, &['r', 'R']))
}

pub(super) fn xargs(words: &[String]) -> Option<&'static str> {
    let removes = |words: &&[String]| &*name(words) == "rm";
    let found = started(words).iter().skip(1).any(removes);
    found.then_some("xargs with rm")
}

pub(super) fn find(words: &[String]) -> Option<&'static str> {
    let removes = |words: &&[String]| started(words).iter().any(|inner| &*name(inner) == "rm");
    if started(words).iter().skip(1).any(removes) {
        Some("find -exec/-execdir rm")
    } else if words.iter().any(|word| word == "-delete") {
        Some("find -delete")
    } else {
        None
    }
}

pub(super) fn chmod(args: &[String]) -> Option<&'static str> {
    let open = args.iter().find(|arg| !arg.starts_with('-'));
    if !open.is_some_and(|mode| others_may_write(mode)) {
        return None;
    }
    if args.iter().any(|arg| arg.starts_with("--r")) {
        Some("recursive world/other-writable (long flag)")
    } else {
        Some("world/other-writable permissions")
    }
}

/// `777`, `o+w`, `a=rwx`, `u+x,o+w`.
fn others_may_write(mode: &str) -> bool {
    if mode.len() >= 3 && mode.chars().all(|c| c.is_digit(8)) {
        return mode.ends_with(['2', '3', '6', '7']);
    }
    mode.split(',').any(|clause| {
        clause.split_once(['+', '=']).is_some_and(|(who, what)| {
            who.contains(['o', 'a'])
                && who.chars().all(|c| "ugoa".contains(c))
                && what.contains('w')
        })
    })
}

pub(super) fn chown(args: &[String]) -> Option<&'static str> {
    let owner = args.iter().find(|arg| !arg.starts_with('-'))?;
    let owner = owner.split([':', '.']).next().unwrap_or(owner);
    if !matches!(owner, "root" | "0") {
        return None;
    }
    if args.iter().any(|arg| has_short(arg, &['R'])) {
        Some("recursive chown to root")
    } else {
        let long = args.iter().any(|arg| arg.starts_with("--rec"));
        long.then_some("recursive chown to root (long flag)")
    }
}

pub(super) fn tee(args: &[String]) -> Option<&'static str> {
    let mut files = args.iter().filter(|arg| !arg.starts_with('-'));
    if files.clone().any(|file| paths::is_sensitive(file)) {
        Some("overwrite system file via tee")
    } else {
        files
            .any(|file| paths::is_projects(file))
            .then_some("overwrite project env/config via tee")
    }
}

pub(super) fn of_redirects(simple: &Simple) -> Option<&'static str> {
    let written = |(operator, _): &&(&str, String)| operator.contains('>');
    let mut targets = simple.redirects.iter().filter(written);
    targets.find_map(|(_, target)| {
        if paths::is_disk(target) {
            Some("write to block device")
        } else if paths::is_system(target) {
            Some("overwrite system config")
        } else if paths::is_sensitive(target) {
            Some("overwrite system file via redirection")
        } else {
            paths::is_projects(target).then_some("overwrite project env/config via redirection")
        }
    })
}

/// `cp`, `mv`, `install`, `ln`: only where it goes matters.
pub(super) fn copy(args: &[String]) -> Option<&'static str> {
    let named = args
        .iter()
        .enumerate()
        .find_map(|(at, arg)| match arg.as_str() {
            "-t" | "--target-directory" => args.get(at + 1).map(String::as_str),
            other => other.strip_prefix("--target-directory="),
        });
    let operands: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let last = operands.last().copied().filter(|_| operands.len() > 1);
    let target = named.or(last)?;
    if paths::is_system(target) {
        Some("copy/move file into system config path")
    } else if paths::is_sensitive(target) {
        Some("copy/move file into sensitive credential/SSH/shell-rc path")
    } else {
        paths::is_projects(target).then_some("overwrite project env/config file")
    }
}

pub(super) fn sed(args: &[String]) -> Option<&'static str> {
    let long = args.iter().any(|arg| arg.starts_with("--in-place"));
    if !long && !args.iter().any(|arg| has_short(arg, &['i'])) {
        return None;
    }
    let any = |is: fn(&str) -> bool| args.iter().any(|arg| is(arg));
    Some(match (long, any(paths::is_hermes), any(paths::is_users)) {
        (false, true, _) => "in-place edit of Hermes config/env",
        (true, true, _) => "in-place edit of Hermes config/env (long flag)",
        (false, _, true) => "in-place edit of sensitive credential/SSH/shell-rc path",
        (true, _, true) => "in-place edit of sensitive credential/SSH/shell-rc path (long flag)",
        _ if !any(paths::is_system) => return None,
        (false, ..) => "in-place edit of system config",
        (true, ..) => "in-place edit of system config (long flag)",
    })
}

/// `perl -pi -e …`, `ruby -i …`
pub(super) fn in_place_by_script(args: &[String]) -> Option<&'static str> {
    if !args.iter().any(|arg| has_short(arg, &['i'])) {
        return None;
    }
    if args.iter().any(|arg| paths::is_hermes(arg)) {
        Some("in-place edit of Hermes config/env (perl/ruby)")
    } else {
        let users = args.iter().any(|arg| paths::is_users(arg));
        users.then_some("in-place edit of sensitive credential/SSH/shell-rc path (perl/ruby)")
    }
}

pub(super) fn runs_what_it_made_runnable(script: &Script) -> bool {
    let runnable = |mode: &String| mode.ends_with("+x");
    let mut commands = script.commands();
    let made = commands.by_ref().find_map(|simple| {
        let started = started(&simple.words);
        let chmod = started.iter().find(|words| &*name(words) == "chmod")?;
        chmod
            .iter()
            .any(runnable)
            .then(|| operands(&chmod[1..], &[]).to_vec())
    });
    let Some(made) = made else { return false };
    commands.any(|later| {
        let started = started(&later.words);
        let mut programs = started.iter().filter_map(|words| words.first());
        programs.any(|program| program.starts_with("./") || made.contains(program))
    })
}

/// Whether a word is a cluster of short options with one of these letters.
fn has_short(arg: &str, letters: &[char]) -> bool {
    arg.len() > 1 && arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letters)
}
