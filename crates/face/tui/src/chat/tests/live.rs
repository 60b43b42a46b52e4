//! What stands in the live region and changes there before it goes up, once.

use hermes_types::{Outcome, Shown, Step, StepStatus};
use pretty_assertions::assert_eq;

use super::*;
use crate::look::{Background, Depth, Look, Skin};

const FRAME: Duration = Duration::from_millis(16);

impl Bench {
    /// One that is in the midst of a turn.
    fn busy(config: &str) -> Self {
        let mut bench = Self::new(config);
        bench.enter("go");
        bench.event(AgentEvent::TurnStarted);
        bench.shown();
        bench
    }

    /// The live region as it is now.
    fn live(&mut self) -> String {
        let drawn = self.room.draw(self.now);
        let rows: Vec<String> = drawn.rows.iter().map(ToString::to_string).collect();
        rows.join("\n")
    }

    fn call(&mut self, name: &str, about: &str, outcome: Outcome, shown: Shown) {
        let (id, name, about) = ("call".to_owned(), name.to_owned(), about.to_owned());
        self.event(AgentEvent::ToolStarted {
            id: id.clone(),
            name: name.clone(),
            about: about.clone(),
        });
        self.event(AgentEvent::ToolFinished {
            id,
            name,
            outcome,
            about,
            took: Duration::from_millis(100),
            shown,
        });
    }

    fn done(&mut self, name: &str, about: &str) {
        self.call(name, about, Outcome::Done, Shown::default());
    }

    fn plan(&mut self, steps: &[(&str, StepStatus)]) {
        let step = |(text, status): &(&str, StepStatus)| Step {
            text: (*text).to_owned(),
            status: *status,
        };
        let shown = Shown {
            plan: steps.iter().map(step).collect(),
            ..Shown::default()
        };
        self.call("todo", "items", Outcome::Done, shown);
    }
}

#[test]
fn files_that_are_looked_at_one_after_the_other_are_one_thing() {
    let mut bench = Bench::busy("");
    bench.done("read_file", "a.rs");
    assert!(bench.live().contains("read      a.rs"), "{}", bench.live());
    bench.done("read_file", "b.rs");
    bench.done("search_files", "fn main");
    let live = bench.live();
    assert!(live.contains("explored  2 reads, 1 search"), "{live}");
    assert!(live.contains("read   a.rs, b.rs"), "{live}");
    assert_eq!(bench.shown(), "", "nothing went up");
    bench.done("terminal", "ls");
    let shown = bench.shown();
    assert_eq!(shown.matches("explored").count(), 1, "{shown}");
    assert!(
        shown.find("explored") < shown.find("ls") && shown.lines().count() == 4,
        "{shown}"
    );
    assert!(!bench.live().contains("explored"));
    // The next one is another group, and the end of the turn closes it.
    bench.done("read_file", "c.rs");
    bench.event(AgentEvent::TurnEnded(Box::default()));
    let shown = bench.shown();
    assert_eq!(shown.matches("read      c.rs").count(), 1, "{shown}");
}

#[test]
fn text_and_failures_close_a_group() {
    let mut bench = Bench::busy("");
    bench.done("read_file", "a.rs");
    bench.call("read_file", "none.rs", Outcome::Failed, Shown::default());
    let shown = bench.shown();
    assert!(
        shown.contains("a.rs") && shown.contains("[error]"),
        "{shown}"
    );
    bench.done("read_file", "b.rs");
    bench.event(AgentEvent::Text("Words.\n\nMore words".to_owned()));
    let shown = bench.shown();
    assert!(shown.find("b.rs") < shown.find("Words."), "{shown}");
    bench.done("read_file", "c.rs");
    let live = bench.live();
    assert!(
        live.contains("c.rs") && !live.contains("More words"),
        "{live}"
    );
    assert!(bench.shown().contains("More words"));
}

#[test]
fn who_wants_everything_sees_every_call() {
    let mut bench = Bench::busy("display: {tool_progress: verbose}\n");
    bench.done("read_file", "a.rs");
    bench.done("read_file", "b.rs");
    assert_eq!(bench.shown().matches("read  ").count(), 2);
    let mut bench = Bench::busy("display: {tool_progress: 'off'}\n");
    bench.done("read_file", "a.rs");
    bench.plan(&[("one", StepStatus::Pending)]);
    let live = bench.live();
    assert!(!live.contains("a.rs") && !live.contains("one"), "{live}");
}

#[test]
fn what_is_to_be_done_changes_in_its_place() {
    let mut bench = Bench::busy("");
    let (open, now, done) = (
        StepStatus::Pending,
        StepStatus::InProgress,
        StepStatus::Completed,
    );
    bench.plan(&[("first", now), ("second", open)]);
    let live = bench.live();
    assert!(live.contains("plan      0 of 2 done"), "{live}");
    assert!(
        live.contains("◐ first") && live.contains("☐ second"),
        "{live}"
    );
    bench.done("terminal", "make");
    bench.plan(&[("first", done), ("second", now)]);
    let live = bench.live();
    assert!(
        live.contains("☑ first") && !live.contains("◐ first"),
        "{live}"
    );
    let shown = bench.shown();
    assert!(shown.contains("make") && !shown.contains("plan"), "{shown}");
    bench.event(AgentEvent::TurnEnded(Box::default()));
    let shown = bench.shown();
    assert_eq!(shown.matches("1 of 2 done").count(), 1, "{shown}");
    assert!(!bench.live().contains("first"));
}

#[test]
fn rows_come_into_sight_one_by_one() {
    let mut bench = Bench::busy("");
    bench.live();
    // Five rows at once: the frame, two items that are final, and two that are not.
    let text = "- one\n- two\n- three\n- four";
    bench.event(AgentEvent::Text(text.to_owned()));
    let mut seen = Vec::new();
    loop {
        let live = bench.live();
        let fresh = bench.room.take_fresh(bench.now);
        let fresh: Vec<String> = fresh.iter().map(ToString::to_string).collect();
        let items = |text: &str| text.matches("• ").count();
        seen.push((items(&fresh.join("\n")), items(&live)));
        if !bench.room.is_draining() {
            break;
        }
        bench.now += FRAME;
    }
    assert_eq!(seen, [(1, 0), (1, 0), (0, 1), (0, 2)]);
}

#[test]
fn a_long_text_and_the_end_of_a_turn_wait_for_nothing() {
    let mut bench = Bench::busy("");
    let long: String = (0..40).map(|n| format!("- item {n}\n")).collect();
    bench.event(AgentEvent::Text(long));
    bench.live();
    let fresh = bench.room.take_fresh(bench.now);
    assert!(fresh.len() >= 39 && !bench.room.is_draining());
    bench.event(AgentEvent::Text("- a\n- b\n- c\n- d\n- e".to_owned()));
    bench.live();
    assert!(bench.room.is_draining());
    bench.event(AgentEvent::TurnEnded(Box::default()));
    bench.live();
    let fresh = bench.room.take_fresh(bench.now);
    assert_eq!(
        fresh
            .iter()
            .filter(|row| row.to_string().contains("• "))
            .count(),
        6
    );
    assert!(!bench.room.is_draining());
}

#[test]
fn the_first_rows_can_still_change_their_colours() {
    let mut bench = Bench::new("");
    bench.room.look = Look::new(Skin::default(), Depth::True);
    bench.room.add(crate::cells::Reasoning {
        text: "hello".to_owned(),
    });
    bench.room.hold_first(bench.now);
    // In sight at once, but not for good.
    assert!(bench.live().contains("hello"));
    assert!(bench.room.take_fresh(bench.now).is_empty());
    let dark = bench.room.draw(bench.now).rows;
    bench.room.stands_on(Background::Light);
    bench.live();
    let fresh = bench.room.take_fresh(bench.now);
    let first = &fresh[0];
    assert_eq!(first.to_string(), dark[0].to_string());
    assert!(first != &dark[0], "{first:?}");
    assert!(!bench.live().contains("hello"));
}

#[test]
fn the_first_rows_wait_for_nobody_who_talks() {
    let mut bench = Bench::new("");
    bench.room.look = Look::new(Skin::default(), Depth::True);
    bench.room.notice("hello");
    bench.room.hold_first(bench.now);
    assert!(bench.room.take_fresh(bench.now).is_empty());
    bench.enter("tell");
    assert_eq!(bench.room.take_fresh(bench.now)[0].to_string(), "· hello");
    assert_eq!(bench.room.first_until, None);
}

#[test]
fn the_first_rows_wait_for_a_moment_only() {
    let mut bench = Bench::new("");
    bench.room.look = Look::new(Skin::default(), Depth::True);
    bench.room.notice("hello");
    bench.room.hold_first(bench.now);
    bench.now += Duration::from_millis(300);
    bench.room.tick(bench.now);
    assert_eq!(bench.room.first_until, None);
    assert!(!bench.live().contains("hello"));
    let fresh = bench.room.take_fresh(bench.now);
    assert_eq!(fresh.len(), 1);
    // A late answer is for what comes.
    bench.room.stands_on(Background::Light);
    assert!(bench.room.take_fresh(bench.now).is_empty());
    assert_eq!(bench.room.look.background(), Background::Light);
}

#[test]
fn the_session_hears_of_somebody_who_is_at_a_question() {
    let mut bench = Bench::busy("");
    let question = Question::Approve {
        command: "rm -rf x".to_owned(),
        warnings: Vec::new(),
        longest: hermes_types::Consent::Always,
        timeout: Duration::from_secs(60),
    };
    bench.event(AgentEvent::Asked { id: 3, question });
    bench.now += Duration::from_secs(10);
    assert!(bench.live().contains("(50s)"));
    let effects = bench.room.key(KeyEvent::from(KeyCode::Down), bench.now);
    assert_eq!(sent(&effects), ["Attend { id: 3 }"]);
    assert!(bench.live().contains("(50s, paused)"), "{}", bench.live());
    bench.now += Duration::from_secs(7);
    assert!(bench.live().contains("(48s)"), "{}", bench.live());
}

#[test]
fn odd_words_of_the_owner_break_nothing() {
    let mut bench = Bench::busy("display: {timestamps: true, timestamp_format: '%!'}\n");
    let mut skin = Skin::default();
    skin.branding.prompt_symbol = format!("a\nb{}", "x".repeat(200));
    bench.room.look = Look::new(skin, Depth::None);
    bench.room.size.width = 40;
    bench.event(AgentEvent::Text("Words.\n\nMore".to_owned()));
    assert!(bench.shown().contains("%!"));
    let live = bench.live();
    assert!(live.contains("a b"), "{live}");
    assert!(
        live.lines().all(|line| crate::text::width(line) <= 40),
        "{live}"
    );
}
