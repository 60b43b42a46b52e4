//! Names under which consent was stored, by us and by older versions.

/// Whether consent stored as `stored` covers `key`.
pub(super) fn covers(stored: &str, key: &str) -> bool {
    stored == key
        || RENAMED
            .iter()
            .any(|(old, new)| *old == stored && *new == key)
        || include_str!("legacy.tsv")
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .any(|(new, old)| old == stored && new == key)
}

/// Keys that other versions split or call differently.
const RENAMED: [(&str, &str); 7] = [
    ("find -exec rm", "find -exec/-execdir rm"),
    (
        "copy/move file into /etc/",
        "copy/move file into system config path",
    ),
    (
        "git force push short flag (rewrites remote history)",
        "git force push (rewrites remote history)",
    ),
    (
        "git branch force delete (long flags)",
        "git branch force delete",
    ),
    (
        "git branch force delete (long flags, force-first)",
        "git branch force delete",
    ),
    (
        "force kill processes (killall -KILL)",
        "force kill processes",
    ),
    (
        "force kill processes (killall -s KILL)",
        "force kill processes",
    ),
];
