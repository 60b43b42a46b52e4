//! Lines to look out for in a job's output, and how rarely that may be told.

use std::time::Duration;

use tokio::time::Instant;

/// Between two things told about one job.
const SPACING: Duration = Duration::from_secs(15);
/// Windows in a row with more matches than could be told; then the patterns were a mistake.
const STRIKES: u32 = 3;
const MAX_LINES: usize = 20;
const MAX_CHARS: usize = 2000;
/// A line this long without an end is looked at in pieces.
const MAX_LINE: usize = 4096;

/// The patterns of one job.
#[derive(Debug)]
pub(super) struct Watch {
    patterns: Vec<String>,
    /// A line that has not ended yet, and whether it was told already.
    line: String,
    line_told: bool,
    window: Option<Window>,
    strikes: u32,
    suppressed: u32,
}

/// The time after something was told.
#[derive(Debug)]
struct Window {
    until: Instant,
    /// Something matched that could not be told.
    struck: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sighting {
    Match {
        pattern: String,
        output: String,
        /// Matches before it that were not told.
        suppressed: u32,
    },
    /// Too many for too long: there will be no more.
    GivenUp { suppressed: u32 },
}

impl Watch {
    pub fn new(patterns: Vec<String>) -> Self {
        Self {
            patterns,
            line: String::new(),
            line_told: false,
            window: None,
            strikes: 0,
            suppressed: 0,
        }
    }

    /// What there is to tell about new output. After giving up, the watch is to be dropped.
    pub fn look(&mut self, text: &str, now: Instant) -> Option<Sighting> {
        let (pattern, lines) = self.matches(text)?;
        let count = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        if let Some(window) = self.window.as_mut().filter(|window| now < window.until) {
            self.suppressed = self.suppressed.saturating_add(count);
            if !window.struck {
                window.struck = true;
                self.strikes += 1;
            }
            return (self.strikes >= STRIKES).then_some(Sighting::GivenUp {
                suppressed: self.suppressed,
            });
        }
        if self.window.as_ref().is_some_and(|window| !window.struck) {
            self.strikes = 0;
        }
        self.window = Some(Window {
            until: now + SPACING,
            struck: false,
        });
        let lines: Vec<&str> = lines.iter().take(MAX_LINES).map(String::as_str).collect();
        Some(Sighting::Match {
            pattern,
            output: lines.join("\n").chars().take(MAX_CHARS).collect(),
            suppressed: std::mem::take(&mut self.suppressed),
        })
    }

    /// The lines with a pattern in them, and the first of the patterns.
    fn matches(&mut self, text: &str) -> Option<(String, Vec<String>)> {
        let mut found: Option<(String, Vec<String>)> = None;
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            let ended = piece.ends_with('\n');
            let hit = self
                .patterns
                .iter()
                .find(|pattern| self.line.contains(*pattern));
            if let Some(pattern) = hit.filter(|_| !self.line_told) {
                let (_, lines) = found.get_or_insert_with(|| (pattern.clone(), Vec::new()));
                lines.push(self.line.trim_end().to_owned());
                self.line_told = true;
            }
            if ended || self.line.len() > MAX_LINE {
                self.line.clear();
                self.line_told = false;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(watch: &mut Watch, text: &str, now: Instant) -> String {
        match watch.look(text, now) {
            Some(Sighting::Match { output, .. }) => output,
            Some(Sighting::GivenUp { .. }) => "given up".to_owned(),
            None => String::new(),
        }
    }

    #[test]
    fn lines_match_once_however_they_arrive() {
        let mut watch = Watch::new(vec!["READY".to_owned(), "ERR".to_owned()]);
        let mut now = Instant::now();
        let mut check = |text: &str, expected: &str| {
            assert_eq!(told(&mut watch, text, now), expected, "{text:?}");
            now += SPACING;
        };
        check("nothing\n", "");
        check("now REA", "");
        check("DY on 80", "now READY on 80");
        check("80\n", "");
        check("an ERR and READY\nok\nERR 2\n", "an ERR and READY\nERR 2");
        check(&"x".repeat(10_000), "");
        check("READY", "READY");
    }

    // spec: terminal-and-safety §13.14
    #[test]
    fn one_match_a_second_is_given_up_soon() {
        let mut watch = Watch::new(vec!["READY".to_owned()]);
        let start = Instant::now();
        let (mut matches, mut given_up) = (0, None);
        for second in 0..60 {
            match watch.look("READY\n", start + Duration::from_secs(second)) {
                Some(Sighting::Match { .. }) => matches += 1,
                Some(Sighting::GivenUp { .. }) => {
                    given_up = Some(second);
                    break;
                }
                None => {}
            }
        }
        assert_eq!((matches, given_up), (3, Some(31)));
    }

    #[test]
    fn a_quiet_window_forgives() {
        let mut watch = Watch::new(vec!["x".to_owned()]);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        for round in 0..10 {
            let base = round * 100;
            assert_eq!(told(&mut watch, "x\n", at(base)), "x");
            assert_eq!(told(&mut watch, "x\n", at(base + 1)), "");
            assert_eq!(told(&mut watch, "x\n", at(base + 20)), "x");
            // Nothing came within the window that began there.
        }
    }
}
