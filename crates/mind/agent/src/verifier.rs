//! Remembers which files a turn failed to change, so that an answer cannot claim otherwise.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hermes_types::{Args, Outcome, Parallel, ToolOutput, ToolSpec};

/// At most this much of an error is kept, and this many files are named.
const ERROR_CHARS: usize = 180;
const NAMED: usize = 10;

#[derive(Debug, Default)]
pub struct Verifier {
    failed: BTreeMap<PathBuf, String>,
}

impl Verifier {
    pub fn observe(&mut self, spec: &ToolSpec, args: &Args, output: &ToolOutput) {
        // Tools that take turns by path are those that change files.
        if spec.parallel != Parallel::ByPath {
            return;
        }
        for path in (spec.paths)(args) {
            if output.outcome == Outcome::Done {
                self.failed.remove(&path);
            } else {
                let error: String = output.text.chars().take(ERROR_CHARS).collect();
                self.failed
                    .entry(path)
                    .or_insert_with(|| format!("[{}] {error}", spec.name));
            }
        }
    }

    /// What to add below an answer; nothing if every change landed.
    pub fn footer(&self) -> Option<String> {
        if self.failed.is_empty() {
            return None;
        }
        let count = self.failed.len();
        let files = if count == 1 { "file was" } else { "files were" };
        let lines = self
            .failed
            .iter()
            .take(NAMED)
            .map(|(path, error)| format!("\n- {} — {error}", path.display()));
        Some(format!(
            "\n\n⚠ {count} {files} NOT modified in this turn:{}",
            lines.collect::<String>()
        ))
    }
}
