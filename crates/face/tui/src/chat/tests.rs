//! Whole conversations in a room, without a terminal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent};
use futures::FutureExt;
use hermes_home::config::Settings;
use hermes_home::{Env, Resolved};
use hermes_session::Input;
use hermes_testkit::TempHome;
use hermes_types::{AgentEvent, Content, Question};
use pretty_assertions::assert_eq;
use tokio::sync::mpsc;

use super::effect::Effect;
use super::room::Room;
use super::world::{Pickable, World};
use crate::cells::Banner;
use crate::menu::{Candidate, Files, Wanted, Words};
use crate::screen::Size;

mod live;

struct Nothing;

impl Words for Nothing {
    fn arguments(&self, _command: &str, _typed: &str) -> Vec<Candidate> {
        Vec::new()
    }
}

impl Files for Nothing {
    fn candidates(&self, _typed: &str) -> Vec<Candidate> {
        Vec::new()
    }
}

/// A room somebody sits in, with an open session.
struct Bench {
    room: Room,
    home: TempHome,
    now: Instant,
}

impl Bench {
    fn new(config: &str) -> Self {
        let home = TempHome::new();
        std::fs::create_dir_all(home.hermes()).unwrap();
        std::fs::write(home.hermes().join("config.yaml"), config).unwrap();
        let (hermes, user) = (home.hermes(), home.home());
        let env = Env::from([
            ("HERMES_HOME", hermes.to_str().unwrap()),
            ("HOME", user.to_str().unwrap()),
        ]);
        let place = Resolved::from(None, &env).unwrap().home(&env);
        let world = World {
            settings: Settings::load(&place, &env),
            home: place,
            env,
            cwd: home.work(),
            banner: Banner::default(),
            greeting: Vec::new(),
            words: Arc::new(Nothing),
            files: Arc::new(Nothing),
            told: mpsc::unbounded_channel().1,
            ended: std::future::pending().boxed(),
            grace: std::time::Duration::ZERO,
        };
        let (size, now) = (
            Size {
                width: 80,
                height: 24,
            },
            Instant::now(),
        );
        let mut room = Room::new(&world, size, now);
        room.joined = true;
        Self { room, home, now }
    }

    /// Types a line and presses Enter.
    fn enter(&mut self, line: &str) -> Vec<Effect> {
        self.room.editor.set(line);
        self.room.submit(self.now)
    }

    /// The rows above the input since the last look.
    fn shown(&mut self) -> String {
        let rows = self.room.transcript.take_fresh();
        let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        rows.join("\n")
    }

    fn event(&mut self, event: AgentEvent) -> Vec<Effect> {
        self.room.event(event, self.now)
    }
}

/// The commands among what the room wants done, as they are sent.
fn sent(effects: &[Effect]) -> Vec<String> {
    let said = effects.iter().filter_map(|effect| match effect {
        Effect::Send(Input::Command(slash, rest)) => Some(format!("/{} {rest}", slash.name)),
        Effect::Send(Input::Quick { name, rest }) => Some(format!("quick {name} {rest}")),
        Effect::Send(Input::Prompt(message)) => message.content.as_ref().map(Content::plain),
        Effect::Send(input) => Some(format!("{input:?}")),
        _ => None,
    });
    said.map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn quick_commands_come_after_the_table_and_aliases_are_other_lines() {
    let mut bench = Bench::new(
        "quick_commands:\n  gs: {type: exec, command: git status}\n  \
         sum: {type: alias, target: /compress}\n  new: {type: exec, command: 'false'}\n",
    );
    assert_eq!(sent(&bench.enter("/gs -s")), ["quick gs -s"]);
    assert_eq!(sent(&bench.enter("/sum The Plan")), ["/compress The Plan"]);
    assert_eq!(sent(&bench.enter("/new")), ["/new"]);
    assert!(bench.shown().contains("⚙ /sum The Plan"));
    assert!(bench.enter("/help").is_empty());
    let help = bench.shown();
    assert!(
        help.contains("Your own") && help.contains("git status"),
        "{help}"
    );
}

#[test]
fn the_help_fits_a_narrow_screen() {
    let mut bench = Bench::new("");
    bench.room.size.width = 40;
    bench.enter("/help");
    let help = bench.shown();
    let wide = help.lines().filter(|line| crate::text::width(line) > 40);
    assert_eq!(wide.count(), 0, "{help}");
    // What it does stands below, further in; no word stands alone at the edge.
    let at = help.lines().position(|line| line.trim() == "/retry");
    let inline = help.lines().find(|line| line.contains("/retry ")).is_some();
    assert!(at.is_some() || inline, "{help}");
    for line in help.lines().filter(|line| !line.contains('/')) {
        let indent = line.len() - line.trim_start().len();
        assert!(
            indent == 2 || indent >= 6 || line.starts_with('·'),
            "{line:?} in\n{help}"
        );
    }
}

#[test]
fn what_is_taken_back_can_be_said_again() {
    let mut bench = Bench::new("");
    bench.event(AgentEvent::TookBack("my words".to_owned()));
    assert_eq!(bench.room.editor.text(), "my words");
    // Not over what is being typed.
    bench.event(AgentEvent::TookBack("others".to_owned()));
    assert_eq!(bench.room.editor.text(), "my words");
}

#[test]
fn a_new_conversation_on_an_empty_screen() {
    let mut bench = Bench::new("");
    bench.room.notice("old things");
    assert_eq!(sent(&bench.enter("/clear")), ["/clear"]);
    assert!(!bench.room.transcript.is_empty());
    let effects = bench.event(AgentEvent::Cleared);
    assert!(
        matches!(effects.as_slice(), [Effect::Repaint]),
        "{effects:?}"
    );
    assert!(bench.room.transcript.is_empty());
}

#[test]
fn a_question_that_need_not_come_again_has_three_answers() {
    let mut bench = Bench::new("");
    let question = Question::Confirm {
        question: "End it?".to_owned(),
        longest: hermes_types::Consent::Always,
    };
    bench.event(AgentEvent::Asked { id: 7, question });
    let later = bench.now + Duration::from_secs(1);
    bench.room.key(KeyEvent::from(KeyCode::Down), later);
    let effects = bench.room.key(KeyEvent::from(KeyCode::Enter), later);
    assert_eq!(sent(&effects), ["Answer { id: 7, answer: Always }"]);
}

#[test]
fn who_types_while_a_turn_runs_is_told_once_what_becomes_of_it() {
    let mut bench = Bench::new("display: {busy_input_mode: queue}\n");
    bench.enter("first");
    bench.event(AgentEvent::TurnStarted);
    bench.shown();
    let effects = bench.enter("second");
    let [Effect::Keep(key, value)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(
        (*key, value.as_bool()),
        ("onboarding.seen.busy_input_prompt", Some(true))
    );
    assert!(bench.shown().contains("waits for its end"));
    assert!(bench.enter("third").is_empty());
    assert!(!bench.shown().contains("waits for its end"));

    let mut knowing = Bench::new("onboarding: {seen: {busy_input_prompt: true}}\n");
    knowing.enter("first");
    knowing.event(AgentEvent::TurnStarted);
    knowing.shown();
    knowing.enter("second");
    assert_eq!(knowing.shown(), "");
}

#[test]
fn a_line_that_begins_with_a_file_brings_it() {
    let mut bench = Bench::new("");
    let (image, text) = (
        bench.home.work().join("a b.png"),
        bench.home.work().join("notes.txt"),
    );
    std::fs::write(&image, b"\x89PNG\r\n\x1a\n").unwrap();
    std::fs::write(&text, "words").unwrap();
    let effects = bench.enter(&format!("'{}' what is it?", image.display()));
    let [Effect::Send(Input::Prompt(message))] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let Some(Content::Parts(parts)) = &message.content else {
        panic!("{message:?}");
    };
    assert_eq!(parts.len(), 2);
    bench.event(AgentEvent::TurnEnded(Box::default()));
    let said = sent(&bench.enter(&format!("{} sum it up", text.display())));
    let expected = format!("[The user attached a file: {}]\nsum it up", text.display());
    assert_eq!(said, [expected]);
}

#[test]
fn what_moves_can_be_changed() {
    let mut bench = Bench::new("");
    let effects = bench.enter("/indicator ASCII");
    assert!(
        matches!(effects.as_slice(), [Effect::Keep("display.tui_status_indicator", value)] if value == "ascii"),
        "{effects:?}"
    );
    assert!(bench.enter("/indicator none").is_empty());
    assert!(bench.shown().contains("takes kaomoji"));
}

#[test]
fn a_message_is_written_in_an_editor_and_answers_say_when() {
    let mut bench = Bench::new("");
    let effects = bench.enter("/compose about the plan");
    assert!(
        matches!(effects.as_slice(), [Effect::EditOutside]),
        "{effects:?}"
    );
    assert_eq!(bench.room.editor.text(), "about the plan");
    bench.room.editor.set("");
    for (shown, word) in [(true, "shown"), (false, "hidden")] {
        let effects = bench.enter("/ts");
        assert!(
            matches!(effects.as_slice(), [Effect::Keep("display.timestamps", value)] if *value == shown),
            "{effects:?}"
        );
        assert_eq!(bench.room.display.clock.is_some(), shown);
        assert!(bench.shown().contains(word));
    }
}

#[test]
fn titles_and_models_are_looked_for_when_somebody_types_behind_their_command() {
    let mut bench = Bench::new("");
    let row = |argument: &str, name: &str, label: &str| Pickable {
        argument: argument.to_owned(),
        name: name.to_owned(),
        label: label.to_owned(),
        about: String::new(),
        group: String::new(),
        current: false,
        preview: String::new(),
    };
    let chosen = |bench: &mut Bench, typed: &str, rows: &[Pickable]| {
        bench.room.editor.set(typed);
        let wanted = bench.room.typed();
        assert!(
            matches!(wanted[..], [Effect::Complete(Wanted::List("resume"))]),
            "{wanted:?}"
        );
        assert!(bench.room.listed("resume", rows).is_empty());
        for key in [KeyCode::Down, KeyCode::Tab] {
            bench.room.key(key.into(), bench.now);
        }
        let text = bench.room.editor.text().to_owned();
        bench.enter("/help");
        text
    };
    let rows = [
        row("1", "A day of work", "A day of work"),
        row("2", "hi", "hi"),
        row("3", "hi", "hi"),
        row("4", "", "what is the weather"),
    ];
    // By its name where that says which, else by its number.
    assert_eq!(
        chosen(&mut bench, "/resume day", &rows),
        "/resume A day of work"
    );
    assert_eq!(chosen(&mut bench, "/sessions hi", &rows), "/sessions 2");
    assert_eq!(chosen(&mut bench, "/resume weath", &rows), "/resume 4");
    // Where nothing is to be had nobody is asked again for every key.
    bench.room.editor.set("/resume x");
    bench.room.listed("resume", &[]);
    assert!(bench.room.typed().is_empty());
}
