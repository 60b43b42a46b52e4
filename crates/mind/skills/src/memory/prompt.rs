//! Memory in the system prompt: read once, then the same for the whole session.

use hermes_text::scan::{Screen, findings};

use super::entries::join;
use super::{Memory, Target};

/// A file that somebody filled up is shown in part: this many times what there is room for.
const MOST: usize = 4;
/// What keeps a heading apart from what is above it.
const RULE: &str = "══════════════════════════════════════════════";

impl Memory {
    /// Both stores as the prompt shows them; `None` if there is nothing in them.
    pub fn prompt(&self) -> Option<String> {
        let blocks: Vec<String> = self
            .targets()
            .filter_map(|target| self.block(target))
            .collect();
        (!blocks.is_empty()).then(|| blocks.join("\n\n"))
    }

    fn block(&self, target: Target) -> Option<String> {
        let notes = self.notes(target)?;
        let heading = match target {
            Target::Memory => "MEMORY (your personal notes)",
            Target::User => "USER PROFILE (who the user is)",
        };
        let entries = match notes.entries() {
            Ok(entries) if entries.is_empty() => return None,
            Ok(entries) => entries,
            Err(error) => {
                tracing::warn!("{error}: nothing of it is in the prompt");
                let told = format!("[{error}. Nothing of it is known here; it was left as it is.]");
                return Some(format!("{RULE}\n{heading} [not loaded]\n{RULE}\n{told}"));
            }
        };
        let usage = notes.usage(&entries);
        let shown: Vec<String> = entries.iter().map(|entry| shown(target, entry)).collect();
        let text = within(&join(&shown), notes.limit * MOST, target);
        Some(format!("{RULE}\n{heading} [{usage}]\n{RULE}\n{text}"))
    }
}

/// As much of a text as a prompt has room for. What providers refuse in a request is left out.
fn within(text: &str, most: usize, target: Target) -> String {
    let text = text.replace('\0', "\u{fffd}");
    let Some((cut, _)) = text.char_indices().nth(most) else {
        return text;
    };
    let left = text[cut..].chars().count();
    let (head, file) = (&text[..cut], target.file());
    tracing::warn!("{file} is far too long: {left} characters of it are not in the prompt");
    format!("{head}\n[{left} more characters of {file} are not shown: it is far over its limit]")
}

/// An entry, or why it is not shown. The file keeps it: its owner may want to look.
fn shown(target: Target, entry: &str) -> String {
    let found = findings(entry, Screen::Memory);
    if found.is_empty() {
        return entry.to_owned();
    }
    let (file, ids) = (target.file(), found.join(", "));
    tracing::warn!("an entry of {file} was not loaded: {ids}");
    format!(
        "[BLOCKED: an entry of {file} looks like an injected instruction ({ids}); it can be read and removed there]"
    )
}
