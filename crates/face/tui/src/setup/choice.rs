//! One of a few values for a setting. What is set and known to nobody here is a choice too: Enter keeps it.

use hermes_home::config::Settings;
use serde_json::Value;

use super::{Pen, Result, ask};
use crate::pick::{Desk, Item, List};

/// A setting with a few values, each with what it means.
pub(super) struct Choice<'c> {
    pub key: &'c str,
    pub title: &'c str,
    pub note: &'c str,
    pub values: &'c [(&'c str, &'c str)],
}

impl Choice<'_> {
    /// Asks, and writes what is chosen if it is another value than before.
    pub fn settle(&self, desk: &Desk, pen: &mut Pen<'_>) -> Result<()> {
        let now = self.now(&pen.settings());
        let is_known = self.values.iter().any(|(value, _)| *value == now);
        let keep = Item::new(now.clone(), format!("keep {now}")).current_if(true);
        let values = self.values.iter().map(|(value, about)| {
            let label = if value.is_empty() { "default" } else { value };
            Item::new((*value).to_owned(), label)
                .about(*about)
                .current_if(*value == now)
        });
        let keep = (!is_known).then_some(keep);
        let items = keep.into_iter().chain(values).collect();
        let list = List::radio(self.title, items).note(self.note);
        match ask(desk, list)? {
            Some(value) if value != now => pen.assign(self.key, &value).map(drop),
            _ => Ok(()),
        }
    }

    /// The value in force; YAML reads a bare `off` as no.
    fn now(&self, settings: &Settings) -> String {
        match settings.get(self.key) {
            Some(Value::Bool(false)) => "off".to_owned(),
            Some(Value::Bool(true)) => "on".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        }
    }
}
