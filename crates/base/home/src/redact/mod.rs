//! Takes secrets out of text before it reaches a log, a model, a screen or an upload.
//!
//! One table of rules for every surface (`docs/spec/terminal-and-safety.md` §8.2). Clean text, which is
//! nearly all of it, is scanned once and handed back untouched; only rules whose trigger was seen run.

mod mask;
mod prefix;
mod rules;
mod scan;
mod value;

use std::borrow::Cow;

pub use mask::{contains_sentinel, marks, mask_display, mask_token};
pub use prefix::contains_key;
pub use value::is_secret_name;

/// Whether the owner wants redaction. Read once at start: a model that can run commands must not be able to
/// turn it off by changing the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switch {
    #[default]
    On,
    Off,
}

/// Removes secrets from text. Copy it wherever it is needed: it holds only its switch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Redactor {
    switch: Switch,
}

impl Redactor {
    pub const fn new(switch: Switch) -> Self {
        Self { switch }
    }

    /// For logs, environment dumps, error messages and other prose: all rules.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.unless_off(text, Mode::Text)
    }

    /// For source code and command output: spares `NAME=value` and JSON fields, which there are mostly
    /// constants and fixtures.
    pub fn code<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.unless_off(text, Mode::Code)
    }

    /// For file contents a model may write back: as [`code`](Self::code), but a hit becomes a sentinel that
    /// nobody can mistake for a key, so that the write can be refused.
    pub fn file_read<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.unless_off(text, Mode::FileRead)
    }

    /// As [`apply`](Self::apply), whatever the switch says: for uploads, debug dumps and approval messages.
    pub fn force<'t>(&self, text: &'t str) -> Cow<'t, str> {
        scan::apply(text, Mode::Text)
    }

    /// For one named value, as a log field: a name like `token` makes its value a secret, whatever it looks like.
    pub fn field<'t>(&self, name: &str, value: &'t str) -> Cow<'t, str> {
        if self.switch == Switch::On && is_secret_name(name) && !value::is_lookup(value) {
            return Cow::Owned(mask_token(value));
        }
        self.apply(value)
    }

    fn unless_off<'t>(&self, text: &'t str, mode: Mode) -> Cow<'t, str> {
        match self.switch {
            Switch::On => scan::apply(text, mode),
            Switch::Off => Cow::Borrowed(text),
        }
    }
}

/// What kind of text this is; decides which rules run and what a hit becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Text,
    Code,
    FileRead,
}
