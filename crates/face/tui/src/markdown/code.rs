//! Colours for code. The grammars take a while to load; until they are there code has one colour.

use std::sync::OnceLock;

use ratatui::style::Style as Paint;
use ratatui::text::Span;
use syntect::highlighting::{
    FontStyle, HighlightIterator, HighlightState, Highlighter as Colours, Style as Painted, Theme,
    ThemeSet,
};
use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use crate::look::{Background, Depth, Look, Rgb};

/// Longer lines are no code somebody reads.
const MAX_LINE: usize = 2000;
/// Larger blocks would be seen too late.
const MAX_BYTES: usize = 200 * 1024;

/// Grammars and themes of the whole process.
pub struct Highlighter {
    syntaxes: SyntaxSet,
    dark: Themed,
    light: Themed,
}

struct Themed {
    colours: Colours<'static>,
    /// What has this colour takes the terminal's own instead.
    usual: Option<syntect::highlighting::Color>,
}

static READY: OnceLock<Highlighter> = OnceLock::new();
static THEMES: OnceLock<ThemeSet> = OnceLock::new();

impl Highlighter {
    /// What is there, without waiting for it.
    pub fn ready() -> Option<&'static Self> {
        READY.get()
    }

    /// Loads everything; takes tenths of a second, so it belongs on a thread of its own.
    pub fn load() {
        let themes = THEMES.get_or_init(ThemeSet::load_defaults);
        let named = |name: &str| themes.themes.get(name).map(Themed::new);
        let pair = (named("base16-ocean.dark"), named("InspiredGitHub"));
        if let (Some(dark), Some(light)) = pair {
            READY.get_or_init(|| Self {
                syntaxes: SyntaxSet::load_defaults_newlines(),
                dark,
                light,
            });
        }
    }

    fn themed(&self, look: &Look) -> &Themed {
        match look.background() {
            Background::Light => &self.light,
            Background::Dark | Background::Unknown => &self.dark,
        }
    }

    fn syntax(&self, language: &str) -> Option<&SyntaxReference> {
        let language = language.to_ascii_lowercase();
        let name = match language.as_str() {
            "" | "text" | "txt" | "plain" | "plaintext" => return None,
            "typescript" | "ts" | "tsx" | "jsx" | "mjs" => "js",
            "jsonc" | "json5" | "jsonl" => "json",
            "shell" | "zsh" | "console" | "shell-session" => "bash",
            "python3" | "py3" => "python",
            "c++" => "cpp",
            name => name,
        };
        self.syntaxes.find_syntax_by_token(name)
    }
}

impl std::fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Highlighter")
    }
}

impl Themed {
    fn new(theme: &'static Theme) -> Self {
        Self {
            colours: Colours::new(theme),
            usual: theme.settings.foreground,
        }
    }
}

/// The colours of one block, line by line.
#[derive(Clone)]
pub(super) struct Colouring {
    parsing: ParseState,
    painting: HighlightState,
    /// Bytes that may still be coloured.
    left: usize,
}

impl std::fmt::Debug for Colouring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Colouring")
    }
}

impl Colouring {
    /// `None`: without colours, for whatever reason.
    pub fn new(language: &str, bytes: usize, look: &Look) -> Option<Self> {
        if look.depth() == Depth::None || bytes > MAX_BYTES {
            return None;
        }
        let ready = Highlighter::ready()?;
        let syntax = ready.syntax(language)?;
        Some(Self {
            parsing: ParseState::new(syntax),
            painting: HighlightState::new(&ready.themed(look).colours, ScopeStack::new()),
            left: MAX_BYTES,
        })
    }

    pub fn line(&mut self, line: &str, look: &Look) -> Vec<Span<'static>> {
        self.left = self.left.saturating_sub(line.len() + 1);
        match self.coloured(line, look) {
            Some(spans) => spans,
            None => vec![Span::raw(line.to_owned())],
        }
    }

    fn coloured(&mut self, line: &str, look: &Look) -> Option<Vec<Span<'static>>> {
        if line.len() > MAX_LINE || self.left == 0 {
            return None;
        }
        let ready = Highlighter::ready()?;
        let themed = ready.themed(look);
        // The grammars want their line breaks.
        let line = format!("{line}\n");
        let ops = self.parsing.parse_line(&line, &ready.syntaxes).ok()?;
        let parts = HighlightIterator::new(&mut self.painting, &ops, &line, &themed.colours);
        let spans = parts.map(|(painted, text)| {
            let text = text.trim_end_matches('\n').to_owned();
            Span::styled(text, paint(painted, themed, look))
        });
        Some(spans.filter(|span| !span.content.is_empty()).collect())
    }
}

fn paint(painted: Painted, themed: &Themed, look: &Look) -> Paint {
    let colour = painted.foreground;
    let shown = match Some(colour) == themed.usual {
        true => None,
        false => look.paint(Rgb(colour.r, colour.g, colour.b)),
    };
    let mut paint = shown.map_or_else(Paint::new, |colour| Paint::new().fg(colour));
    if painted.font_style.contains(FontStyle::BOLD) {
        paint = paint.bold();
    }
    if painted.font_style.contains(FontStyle::ITALIC) {
        paint = paint.italic();
    }
    paint
}
