//! How things look: roles with a style each, taken from a skin and cut down to what the terminal can show.

use ratatui::style::{Color, Modifier, Style};

/// What a piece of text is; a skin says how that looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Text,
    Strong,
    Faint,
    Accent,
    Label,
    Border,
    Title,
    Good,
    Warn,
    Bad,
    /// The sign before what is typed.
    Prompt,
    /// The lines above and below what is typed.
    Rule,
    /// The frame of an answer.
    Response,
    /// What the owner said, in the transcript.
    Said,
    Heading,
    Code,
    Quote,
    Link,
    Added,
    Removed,
    Bar,
    BarStrong,
    BarDim,
    BarGood,
    BarWarn,
    BarBad,
    BarCritical,
    Menu,
    MenuCurrent,
    MenuAbout,
    MenuAboutCurrent,
    Selection,
}

/// How much colour a terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// `NO_COLOR`, `TERM=dumb`: bold and faint at most.
    #[default]
    None,
    Sixteen,
    TwoHundred,
    True,
}

/// A skin as this terminal can show it.
#[derive(Clone, Debug, Default)]
pub struct Look {
    depth: Depth,
}

impl Look {
    /// Without a colour: for tests and for terminals that have none.
    pub fn plain() -> Self {
        Self::default()
    }

    pub fn style(&self, role: Role) -> Style {
        let style = Style::new();
        match role {
            Role::Strong | Role::Heading | Role::Title | Role::Said => {
                style.add_modifier(Modifier::BOLD)
            }
            Role::Faint => style.add_modifier(Modifier::DIM),
            Role::Bad if self.depth != Depth::None => style.fg(Color::Red),
            _ => style,
        }
    }
}
