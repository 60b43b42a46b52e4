//! A chat before anything was said.

use std::collections::BTreeSet;
use std::time::Instant;

use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use hermes_session::QuickCommands;

use super::ask::Questions;
use super::display::Display;
use super::live::short_dir;
use super::pace::Pace;
use super::queue::Queue;
use super::room::{Room, Standing};
use super::submit::BUSY_TIP;
use super::transcript::Transcript;
use super::world::World;
use crate::cells::spinner::Indicator;
use crate::cells::{Cell, Notice};
use crate::input::{Burst, Editor, History, Keys, Limits, Pastes};
use crate::look::{Links, Look, Skin, load, shows_links};
use crate::markdown::Style;
use crate::menu::{Listed, Menu};
use crate::screen::Size;

impl Room {
    pub fn new(world: &World, size: Size, now: Instant) -> Self {
        let (home, settings, env) = (&world.home, &world.settings, &world.env);
        let name = settings.text("display.skin");
        let (skin, warnings) = skin(home, name);
        let mut room = Self {
            look: look(skin, env),
            display: Display::read(settings),
            style: Style::parse(settings.text("display.final_response_markdown"))
                .unwrap_or_default(),
            size,
            transcript: Transcript::default(),
            turn: None,
            questions: Questions::default(),
            pace: Pace::default(),
            queue: Queue::default(),
            editor: editor(settings),
            burst: Burst::default(),
            pastes: Pastes::new(home, limits(settings)),
            history: History::open(home),
            search: None,
            menu: Menu::default(),
            standing: Standing {
                session: None,
                title: None,
                model: None,
                used: None,
                compactions: 0,
                usd: None,
                began: now,
                last_turn: None,
                servers: None,
                yolo: env.is_on("HERMES_YOLO_MODE"),
                background: BTreeSet::new(),
            },
            hint: None,
            joined: false,
            focused: true,
            leaving: false,
            talked: false,
            interrupted: None,
            ticks: 0,
            more: Vec::new(),
            quick: QuickCommands::read(settings),
            words: world.words.clone(),
            listed: Listed::new(),
            knows_busy: settings.is_on(BUSY_TIP),
            user_home: env.user_home(),
            still: env.filled("NO_COLOR").is_some(),
            indicator: Indicator::parse(settings.text("display.tui_status_indicator"))
                .unwrap_or_default(),
            cwd: short_dir(&world.cwd, &env.user_home()),
            dir: world.cwd.clone(),
            first_until: None,
        };
        for warning in warnings {
            room.add(Notice::warn(warning));
        }
        room
    }

    /// What stands above the first prompt.
    pub fn greet(&mut self, world: &World) {
        self.add(world.banner.clone());
        for line in &world.greeting {
            self.notice(line.clone());
        }
        if !self.transcript.is_empty() {
            self.add(Cell::Plain(String::new()));
        }
    }
}

/// How everything looks on the terminal that `env` tells of.
fn look(skin: Skin, env: &Env) -> Look {
    let look = Look::on_terminal(skin, env);
    match shows_links(env) {
        true => look.linked(Links::default()),
        false => look,
    }
}

/// The skin of that name, or the usual one and why.
pub fn skin(home: &Home, name: &str) -> (Skin, Vec<String>) {
    match name.trim() {
        "" => load(home, "default"),
        name => load(home, name),
    }
}

/// `display.editing_mode`: which keys move in what is typed.
fn editor(settings: &Settings) -> Editor {
    let mut editor = Editor::new();
    if settings.text("display.editing_mode") == "vi" {
        editor.set_keys(Keys::Vi);
    }
    editor
}

/// Names of the owner's own skins.
pub fn own_skins(home: &Home) -> Vec<String> {
    let files = std::fs::read_dir(home.dir().join("skins"));
    let names = files.into_iter().flatten().flatten().filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        Some(name.strip_suffix(".yaml")?.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

fn limits(settings: &Settings) -> Limits {
    let usual = Limits::default();
    let set = |key: &str, usual: usize| {
        let set = settings.get(key).and_then(|value| value.as_u64());
        set.map_or(usual, |number| number as usize)
    };
    Limits {
        newlines: set("paste_collapse_threshold", usual.newlines),
        chars: set("paste_collapse_char_threshold", usual.chars),
    }
}
