//! What moves while the model thinks: a face and a word, chosen by the number of the tick.

use std::time::Duration;

use ratatui::text::Span;

use super::time;
use crate::Row;
use crate::look::{Depth, Look, Role};
use crate::text::{clip, one_line};

/// Ticks a word stays; the face changes with each one.
const WORD: u64 = 16;
/// Ticks a face stays.
const FACE: u64 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spinner {
    /// Counted by whoever draws, at most eight a second.
    pub tick: u64,
    pub phase: Phase,
    pub indicator: Indicator,
    pub motion: Motion,
    pub elapsed: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing has come yet.
    #[default]
    Waiting,
    Thinking,
}

/// `display.tui_status_indicator`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Indicator {
    #[default]
    Kaomoji,
    Emoji,
    Unicode,
    Ascii,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Motion {
    #[default]
    Full,
    /// Nothing moves but the time; always so where there are no colours.
    Reduced,
}

impl Indicator {
    /// Reads the setting; `None`: no such indicator.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "kaomoji" => Some(Self::Kaomoji),
            "emoji" => Some(Self::Emoji),
            "unicode" => Some(Self::Unicode),
            "ascii" => Some(Self::Ascii),
            _ => None,
        }
    }
}

impl Spinner {
    pub fn row(&self, width: u16, look: &Look) -> Row {
        // What cannot show colours may not be able to draw over itself either.
        let still = self.motion == Motion::Reduced || look.depth() == Depth::None;
        let tick = if still { 0 } else { self.tick };
        let words = &look.spinner().thinking_verbs;
        let word = pick(words, tick / WORD).map_or("thinking", String::as_str);
        let row = Row::from(vec![
            Span::styled(self.face(tick, look), look.style(Role::Accent)),
            Span::styled(format!(" {}…", one_line(word)), look.style(Role::Faint)),
            Span::styled(
                format!("  {}", time::timer(self.elapsed)),
                look.style(Role::Faint),
            ),
        ]);
        clip(row, usize::from(width))
    }

    fn face(&self, tick: u64, look: &Look) -> String {
        const CLOCK: [&str; 4] = ["🌑", "🌓", "🌕", "🌗"];
        const DOTS: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠏", "⠋"];
        const LINES: [&str; 4] = ["|", "/", "-", "\\"];
        let spinner = look.spinner();
        match self.indicator {
            Indicator::Emoji => pick(&CLOCK, tick / 2)
                .copied()
                .unwrap_or_default()
                .to_owned(),
            Indicator::Unicode => pick(&DOTS, tick).copied().unwrap_or_default().to_owned(),
            Indicator::Ascii => pick(&LINES, tick).copied().unwrap_or_default().to_owned(),
            Indicator::Kaomoji => {
                let faces = match self.phase {
                    Phase::Waiting => &spinner.waiting_faces,
                    Phase::Thinking => &spinner.thinking_faces,
                };
                let face = pick(faces, tick / FACE).map(String::as_str);
                let face = one_line(face.unwrap_or_default());
                match pick(&spinner.wings, tick / FACE) {
                    Some((left, right)) => format!("{left} {face} {right}"),
                    None => face,
                }
            }
        }
    }
}

fn pick<T>(things: &[T], tick: u64) -> Option<&T> {
    let count = u64::try_from(things.len())
        .ok()
        .filter(|count| *count > 0)?;
    things.get(usize::try_from(tick % count).ok()?)
}
