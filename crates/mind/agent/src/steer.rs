//! Guidance that reaches a running turn without interrupting it.

use std::sync::{Arc, Mutex};

use crate::turn::unpoisoned;

/// Where a face leaves guidance and the turn finds it.
#[derive(Clone, Debug, Default)]
pub struct Steer(Arc<Mutex<String>>);

impl Steer {
    /// Adds a line for the running turn.
    pub fn push(&self, text: &str) {
        let mut pending = unpoisoned(&self.0);
        if !pending.is_empty() {
            pending.push('\n');
        }
        pending.push_str(text);
    }

    /// What is pending, taken away.
    pub fn take(&self) -> Option<String> {
        let text = std::mem::take(&mut *unpoisoned(&self.0));
        (!text.is_empty()).then_some(text)
    }

    pub(crate) fn take_if(&self, wanted: bool) -> Option<String> {
        wanted.then(|| self.take()).flatten()
    }

    /// As the model sees it at the end of a tool result. The system prompt says to trust this mark only.
    pub(crate) fn marked(text: &str) -> String {
        format!(
            "\n\n[[message from the user, sent while you were working]]\n{text}\n[[end of message]]"
        )
    }
}
