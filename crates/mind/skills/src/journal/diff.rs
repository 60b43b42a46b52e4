//! What an entry changed, as people read it.

use similar::TextDiff;

use super::{Entry, Journal};
use crate::Result;

impl Journal {
    /// The change of one entry as a diff; files that are no text are only named.
    pub fn diff(&self, entry: &Entry) -> Result<String> {
        let before = self.files(entry.before.as_deref())?;
        let after = self.files(entry.after.as_deref())?;
        let mut names: Vec<&String> = before.iter().chain(&after).map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        let text = |files: &[(String, Vec<u8>)], name: &str| {
            let found = files.iter().find(|(known, _)| known == name);
            let bytes = found.map_or(&[][..], |(_, bytes)| bytes);
            String::from_utf8(bytes.to_vec()).ok()
        };
        let mut out = String::new();
        for name in names {
            let title = match name.as_str() {
                "" => entry.subject.title(),
                name => name.to_owned(),
            };
            match (text(&before, name), text(&after, name)) {
                (Some(old), Some(new)) if old == new => {}
                (Some(old), Some(new)) => {
                    let diff = TextDiff::from_lines(&old, &new);
                    let mut unified = diff.unified_diff();
                    let unified = unified.context_radius(2).missing_newline_hint(false);
                    out.push_str(&format!("--- {title}\n{unified}"));
                }
                _ => out.push_str(&format!("--- {title}\n(no text)\n")),
            }
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
        }
        Ok(out)
    }
}
