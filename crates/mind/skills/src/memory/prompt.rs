//! Memory in the system prompt: read once, then the same for the whole session.

use hermes_text::scan::{Screen, findings};

use super::entries::join;
use super::{Memory, Target};

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
        let entries = notes.entries().unwrap_or_else(|error| {
            tracing::warn!("{error}: nothing of it is in the prompt");
            Vec::new()
        });
        if entries.is_empty() {
            return None;
        }
        let heading = match target {
            Target::Memory => "MEMORY (your personal notes)",
            Target::User => "USER PROFILE (who the user is)",
        };
        let usage = notes.usage(&entries);
        let shown: Vec<String> = entries.iter().map(|entry| shown(target, entry)).collect();
        Some(format!(
            "{RULE}\n{heading} [{usage}]\n{RULE}\n{}",
            join(&shown)
        ))
    }
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
