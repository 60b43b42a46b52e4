//! What the owner wants to see: the `display.*` settings.

use hermes_home::config::Settings;
use hermes_session::Busy;

/// How much of the tools is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    Off,
    /// One line when another tool is used than before.
    New,
    #[default]
    All,
    /// With what they gave.
    Verbose,
}

impl Progress {
    fn read(settings: &Settings) -> Self {
        let set = settings.get("display.tool_progress");
        match set.and_then(|value| value.as_str()).unwrap_or_default() {
            "off" => Self::Off,
            "new" => Self::New,
            "verbose" => Self::Verbose,
            // YAML reads `off` as a boolean.
            _ if set.and_then(|value| value.as_bool()) == Some(false) => Self::Off,
            _ => Self::All,
        }
    }

    /// `/verbose`: the next one.
    pub fn next(self) -> Self {
        match self {
            Self::Off => Self::New,
            Self::New => Self::All,
            Self::All => Self::Verbose,
            Self::Verbose => Self::Off,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::New => "new",
            Self::All => "all",
            Self::Verbose => "verbose",
        }
    }
}

/// The settings of a chat on the screen; some can be changed while it runs.
#[derive(Clone, Debug)]
pub struct Display {
    pub progress: Progress,
    pub reasoning: bool,
    pub diffs: bool,
    pub cost: bool,
    pub bell: bool,
    /// News for the desktop when the owner looks elsewhere.
    pub notifications: bool,
    pub bar: bool,
    pub streaming: bool,
    /// How the time beside an answer is written, if it is.
    pub clock: Option<String>,
    /// How it would be written.
    pub clock_format: String,
    /// Characters of what a call is about; 0 is as many as fit.
    pub preview: usize,
    /// Lines shown of what the owner said, from the beginning and from the end.
    pub said: (usize, usize),
    pub recap: bool,
    pub busy: Busy,
    /// Ctrl+C while a turn runs clears what is typed first.
    pub clear_first: bool,
}

impl Display {
    pub fn read(settings: &Settings) -> Self {
        let on = |key: &str| settings.is_on(&format!("display.{key}"));
        let lines = |key: &str, usual: usize| {
            let set = settings.get(&format!("display.user_message_preview.{key}"));
            let set = set.and_then(|value| value.as_u64());
            set.map_or(usual, |lines| lines as usize)
        };
        let text = |key: &str| settings.text(&format!("display.{key}")).to_owned();
        let clock_format = match text("timestamp_format") {
            format if format.is_empty() => "%H:%M".to_owned(),
            format => format,
        };
        Self {
            progress: Progress::read(settings),
            reasoning: on("show_reasoning"),
            diffs: on("inline_diffs"),
            cost: on("show_cost"),
            bell: on("bell_on_complete"),
            notifications: on("notifications"),
            bar: true,
            streaming: streams(settings),
            clock: on("timestamps").then(|| clock_format.clone()),
            clock_format,
            preview: settings
                .number("display.tool_preview_length")
                .clamp(0.0, 1e4) as usize,
            said: (lines("first_lines", 2), lines("last_lines", 2)),
            recap: text("resume_display") != "minimal",
            busy: Busy::read(&text("busy_input_mode")).unwrap_or_default(),
            clear_first: text("ctrl_c_priority") == "clear_input",
        }
    }
}

/// Unset, every face does what suits it: a screen shows what comes.
fn streams(settings: &Settings) -> bool {
    let key = "display.streaming";
    settings.get(key).is_none_or(|value| value.is_null()) || settings.is_on(key)
}
