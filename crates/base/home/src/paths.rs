//! Paths as people write them. Nothing here looks at the disk.

use std::path::{Component, Path, PathBuf};

/// Without `.` and `..`, by the letters alone; what it names need not exist.
pub fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// `~` and `~/x` mean the user's home; everything else stays as it is.
pub fn expand(asked: &str, user_home: &Path) -> PathBuf {
    match asked.strip_prefix('~') {
        Some("") => user_home.to_owned(),
        Some(rest) if rest.starts_with('/') => user_home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_as_they_are_meant() {
        let check = |asked: &str, expected: &str| {
            let meant = normal(&expand(asked, Path::new("/home/me")));
            assert_eq!(meant, Path::new(expected), "{asked}");
        };
        check("~", "/home/me");
        check("~//x/./y", "/home/me/x/y");
        check("~/a/../../b", "/home/b");
        check("~me/x", "~me/x");
        check("/../x", "/x");
        check("a/~", "a/~");
    }
}
