//! Which files deserve care, however their paths are written.

use std::borrow::Cow;

const DISKS: [&str; 6] = ["sd", "nvme", "hd", "mmcblk", "vd", "xvd"];
const SYSTEM: [&str; 5] = [
    "/etc",
    "/private/etc",
    "/private/var",
    "/private/tmp",
    "/private/home",
];
const USER: [&str; 9] = [
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".zprofile",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
];

/// A whole disk or a partition of one.
pub(super) fn is_disk(path: &str) -> bool {
    let path = tidy(path);
    path.strip_prefix("/dev/")
        .is_some_and(|device| DISKS.iter().any(|disk| device.starts_with(disk)))
}

/// Settings of the whole machine.
pub(super) fn is_system(path: &str) -> bool {
    let path = tidy(path);
    SYSTEM.iter().any(|dir| {
        path.strip_prefix(dir)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// What this program itself is governed by.
pub(super) fn is_hermes(path: &str) -> bool {
    let path = tidy(path);
    let inside = ["~/.hermes/", "$hermes_home/", "${hermes_home}/"]
        .iter()
        .any(|home| path.starts_with(home));
    inside && (path.ends_with("/config.yaml") || path.ends_with("/.env"))
}

/// Keys, passwords, and what runs whenever somebody logs in.
pub(super) fn is_users(path: &str) -> bool {
    let path = tidy(path);
    let Some(rest) = below_home(&path) else {
        return false;
    };
    let ssh = rest == ".ssh" || rest.starts_with(".ssh/");
    ssh || USER.contains(&rest)
}

pub(super) fn is_sensitive(path: &str) -> bool {
    is_system(path) || tidy(path).starts_with("/dev/sd") || is_hermes(path) || is_users(path)
}

/// A project's secrets and settings.
pub(super) fn is_projects(path: &str) -> bool {
    let path = tidy(path);
    let file = path.rsplit('/').next().unwrap_or(&path);
    let env = file.strip_prefix(".env");
    file == "config.yaml"
        || env.is_some_and(|rest| rest.is_empty() || (rest.starts_with('.') && rest.len() > 1))
}

/// Whether a part of a path with `*`, `?` or `[…]` in it can mean `name`, in any case.
pub(super) fn could_be(pattern: &str, name: &str) -> bool {
    // Stars alone are not meant for one place.
    if pattern.trim_matches('*').is_empty() {
        return false;
    }
    if !pattern
        .bytes()
        .any(|byte| matches!(byte, b'*' | b'?' | b'['))
    {
        return pattern.eq_ignore_ascii_case(name);
    }
    let name = name.as_bytes();
    // Bit by bit: how much of the name the pattern may have used up so far.
    let mut used = 1_u32;
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        let set = (c == '[').then(|| rest.as_str().split_once(']')).flatten();
        let fits = |at: usize| match (set, c) {
            (Some((set, _)), _) => {
                let none = set.starts_with(['!', '^']);
                set.contains('-') || set.to_lowercase().contains(char::from(name[at])) != none
            }
            (None, '?') => true,
            (None, c) => c.eq_ignore_ascii_case(&char::from(name[at])),
        };
        used = match c {
            '*' => (used.trailing_zeros()..=name.len() as u32).fold(0, |all, at| all | 1 << at),
            _ => (0..name.len())
                .filter(|at| used & (1 << at) != 0 && fits(*at))
                .fold(0, |all, at| all | 1 << (at + 1)),
        };
        if used == 0 {
            return false;
        }
        if let Some((_, behind)) = set {
            rest = behind.chars();
        }
    }
    used & (1 << name.len()) != 0
}

/// What comes behind a home directory, this user's or another's.
fn below_home(path: &str) -> Option<&str> {
    if let Some(rest) = path.strip_prefix('~') {
        return rest.split_once('/').map(|(_, rest)| rest);
    }
    if let Some(rest) = path.strip_prefix("/root/") {
        return Some(rest);
    }
    let rest = path
        .strip_prefix("/home/")
        .or_else(|| path.strip_prefix("/users/"))?;
    rest.split_once('/').map(|(_, rest)| rest)
}

/// In lower case, and without detours.
fn tidy(path: &str) -> Cow<'_, str> {
    if is_tidy(path) {
        return path.into();
    }
    let path = path.to_lowercase();
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').skip(usize::from(path.starts_with('/'))) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/")).into()
}

/// In one pass: it is asked several times of every file that is written to.
fn is_tidy(path: &str) -> bool {
    let mut before = b' ';
    let straight = path.bytes().all(|byte| {
        let detour = before == b'/' && matches!(byte, b'/' | b'.');
        before = byte;
        !detour && byte.is_ascii() && !byte.is_ascii_uppercase()
    });
    straight && before != b'/'
}
