//! The digest by which a skill is recognised as unchanged: shared with other programs through the manifest.

use std::collections::BTreeMap;
use std::path::Path;

use md5::{Digest, Md5};

use super::collect;
use crate::Result;

/// Over all files in the order of their paths' parts: the path, then the content.
pub fn of(mut files: Vec<(&str, &[u8])>) -> String {
    // Part by part: as one string, `a-b` would come before `a/b`.
    files.sort_by(|a, b| a.0.split('/').cmp(b.0.split('/')));
    let mut digest = Md5::new();
    for (path, bytes) in files {
        digest.update(path.as_bytes());
        digest.update(bytes);
    }
    digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The same of a directory.
pub fn of_dir(dir: &Path) -> Result<String> {
    let mut files = BTreeMap::new();
    collect(dir, "", &mut files)?;
    Ok(of(files
        .iter()
        .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
        .collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_by_parts() {
        let one: (&str, &[u8]) = ("a/b", b"1");
        let two: (&str, &[u8]) = ("a-b", b"2");
        assert_eq!(of(vec![one, two]), of(vec![two, one]));
        // md5("a/b1a-b2")
        assert_eq!(of(vec![two, one]), "b0c39d927bbc228d17a72511dd60fb77");
    }
}
