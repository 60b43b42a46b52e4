//! Consent that outlives sessions.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};

use crate::lock;

/// `command_allowlist`. One for the whole process.
pub struct Allowlist {
    entries: Mutex<BTreeSet<String>>,
    save: Save,
}

/// Writes new entries into the settings.
type Save = Box<dyn Fn(&[String]) + Send + Sync>;

impl Allowlist {
    pub fn new(
        entries: impl IntoIterator<Item = String>,
        save: impl Fn(&[String]) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            entries: Mutex::new(entries.into_iter().collect()),
            save: Box::new(save),
        })
    }

    pub(super) fn entries(&self) -> BTreeSet<String> {
        lock(&self.entries).clone()
    }

    pub(super) fn add(&self, keys: &[String]) {
        lock(&self.entries).extend(keys.iter().cloned());
        (self.save)(keys);
    }
}

impl fmt::Debug for Allowlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Allowlist").field(&self.entries).finish()
    }
}
