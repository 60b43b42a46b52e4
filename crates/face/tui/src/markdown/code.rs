//! Colours for code. The grammars take a while to load, and with some lines for ever; until they are there, and
//! where they take too long, code has one colour.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

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
/// How long a frame waits for the colours of a line. Most take microseconds, the first of a language milliseconds,
/// and some a grammar was not made for, minutes.
const PATIENCE: Duration = Duration::from_millis(20);

/// Grammars and themes of the whole process, and a thread that works with them.
pub struct Highlighter {
    syntaxes: SyntaxSet,
    dark: Themed,
    light: Themed,
    jobs: Sender<Job>,
    /// The thread is at a line: for ever, if its grammar finds no end or the thread died of it. Whoever asks sets it
    /// and the thread clears it before it answers, so that the next who asks finds it free.
    is_busy: AtomicBool,
    /// Places nobody has any more.
    left: Mutex<Vec<u64>>,
}

struct Themed {
    colours: Colours<'static>,
    /// What has this colour takes the terminal's own instead.
    usual: Option<syntect::highlighting::Color>,
}

/// A line to be coloured.
struct Job {
    line: String,
    after: After,
    themed: &'static Themed,
    done: SyncSender<(Place, Pieces)>,
}

type Pieces = Vec<(Painted, String)>;

/// What stands above a line.
#[derive(Clone)]
enum After {
    Nothing(&'static SyntaxReference),
    Lines(Arc<Place>),
}

/// Where in a block the grammar is. What it knows there stays on its thread, for as long as somebody has the place.
struct Place(u64);

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(ready) = Highlighter::ready() {
            locked(&ready.left).push(self.0);
        }
    }
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
        let (jobs, todo) = mpsc::channel();
        // Waits for lines as long as the program runs.
        let started = thread::Builder::new()
            .name("colours".to_owned())
            .spawn(move || colour(&todo));
        if let ((Some(dark), Some(light)), Ok(_)) = (pair, started) {
            READY.get_or_init(|| Self {
                syntaxes: SyntaxSet::load_defaults_newlines(),
                dark,
                light,
                jobs,
                is_busy: AtomicBool::new(false),
                left: Mutex::default(),
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

    /// The colours of a line; `None` if they don't come soon enough.
    fn line(&self, line: String, after: After, themed: &'static Themed) -> Option<(Place, Pieces)> {
        if self.is_busy.swap(true, Ordering::AcqRel) {
            return None;
        }
        let (done, came) = mpsc::sync_channel(1);
        let job = Job {
            line,
            after,
            themed,
            done,
        };
        self.jobs.send(job).ok()?;
        came.recv_timeout(PATIENCE).ok()
    }
}

/// Colours one line after the other.
fn colour(todo: &Receiver<Job>) {
    let mut places: HashMap<u64, State> = HashMap::new();
    for (number, job) in (0..).zip(todo) {
        let Some(ready) = Highlighter::ready() else {
            return;
        };
        let left = std::mem::take(&mut *locked(&ready.left));
        left.iter().for_each(|place| drop(places.remove(place)));
        let state = match &job.after {
            After::Nothing(syntax) => Some(State::new(syntax, job.themed)),
            After::Lines(place) => places.get(&place.0).cloned(),
        };
        let coloured = state.and_then(|state| state.step(&job.line, job.themed, &ready.syntaxes));
        ready.is_busy.store(false, Ordering::Release);
        if let Some((state, pieces)) = coloured {
            places.insert(number, state);
            // Who is no longer there does without.
            let _ = job.done.send((Place(number), pieces));
        }
    }
}

#[derive(Clone)]
struct State {
    parsing: ParseState,
    painting: HighlightState,
}

impl State {
    fn new(syntax: &SyntaxReference, themed: &Themed) -> Self {
        Self {
            parsing: ParseState::new(syntax),
            painting: HighlightState::new(&themed.colours, ScopeStack::new()),
        }
    }

    fn step(mut self, line: &str, themed: &Themed, syntaxes: &SyntaxSet) -> Option<(Self, Pieces)> {
        let ops = self.parsing.parse_line(line, syntaxes).ok()?;
        let parts = HighlightIterator::new(&mut self.painting, &ops, line, &themed.colours);
        let pieces = parts.map(|(painted, text)| (painted, text.to_owned()));
        let pieces = pieces.collect();
        Some((self, pieces))
    }
}

/// A panic elsewhere doesn't make a list wrong.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// None once a line took too long: the rest has one colour.
    after: Option<After>,
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
        let syntax = Highlighter::ready()?.syntax(language)?;
        Some(Self {
            after: Some(After::Nothing(syntax)),
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
        let (place, pieces) = ready.line(format!("{line}\n"), self.after.take()?, themed)?;
        self.after = Some(After::Lines(Arc::new(place)));
        let spans = pieces.into_iter().map(|(painted, text)| {
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
