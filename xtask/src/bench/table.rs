//! One measured figure per row.

use std::fmt::Write;

use serde::Serialize;

/// What the figure must not miss.
#[derive(Debug, Clone, Copy)]
pub enum Bar {
    AtMost(f64),
    AtLeast(f64),
    /// Shown because it tells something, not because it could fail.
    None,
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub what: String,
    pub ours: f64,
    pub unit: &'static str,
    /// Empty if there is none.
    pub bar: String,
    /// The same, done by the Python program, where it can.
    pub python: Option<f64>,
    /// How many of ours theirs is.
    pub ratio: Option<f64>,
    pub ok: bool,
}

impl Row {
    pub fn new(what: impl Into<String>, ours: f64, unit: &'static str, bar: Bar) -> Self {
        let (bar, ok) = match bar {
            Bar::AtMost(most) => (format!("≤ {}", shown(most, unit)), ours <= most),
            Bar::AtLeast(least) => (format!("≥ {}", shown(least, unit)), ours >= least),
            Bar::None => (String::new(), true),
        };
        Self {
            what: what.into(),
            ours,
            unit,
            bar,
            python: None,
            ratio: None,
            ok,
        }
    }

    pub fn beside(mut self, python: f64) -> Self {
        self.python = Some(python);
        self.ratio = Some(python / self.ours);
        self
    }
}

pub fn markdown(rows: &[Row]) -> String {
    let mut out =
        String::from("| what | ours | bar | python | ratio | ok |\n|---|---|---|---|---|---|\n");
    for row in rows {
        let Row { what, bar, .. } = row;
        let ours = shown(row.ours, row.unit);
        let python = row
            .python
            .map_or_else(String::new, |value| shown(value, row.unit));
        let ratio = row
            .ratio
            .map_or_else(String::new, |ratio| format!("{ratio:.1}×"));
        let ok = if row.ok { "yes" } else { "**no**" };
        let _ = writeln!(
            out,
            "| {what} | {ours} | {bar} | {python} | {ratio} | {ok} |"
        );
    }
    out
}

/// Three digits that mean something, and the unit if there is one.
fn shown(value: f64, unit: &str) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 || value.fract() == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}").trim_end().to_owned()
}
