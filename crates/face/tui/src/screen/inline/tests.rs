use pretty_assertions::assert_eq;
use proptest::prelude::*;
use ratatui::style::Stylize;

use super::super::glass::Glass;
use super::*;

/// A screen on a terminal, and what should be there.
struct Desk {
    screen: Screen<Vec<u8>>,
    glass: Glass,
    history: Vec<String>,
    live: Vec<String>,
}

impl Desk {
    fn new(width: u16, height: u16) -> Self {
        let size = Size { width, height };
        Self {
            screen: Screen::new(Vec::new(), size, Scrollback::Clear),
            glass: Glass::new(size),
            history: Vec::new(),
            live: Vec::new(),
        }
    }

    fn push(&mut self, lines: &[&str]) {
        let lines: Vec<_> = lines.iter().map(|line| (*line).to_owned()).collect();
        self.screen.push(wrapped(&lines, self.screen.size.width));
        self.history.extend(lines);
    }

    /// The cursor is in the last row.
    fn draw(&mut self, lines: &[&str]) -> usize {
        let last = lines.len().saturating_sub(1) as u16;
        self.draw_at(lines, Some(Position { x: 1, y: last }))
    }

    fn draw_at(&mut self, lines: &[&str], cursor: Option<Position>) -> usize {
        self.live = lines.iter().map(|line| (*line).to_owned()).collect();
        self.screen.draw(&rows(lines), cursor).unwrap();
        self.shine()
    }

    /// How many bytes reached the terminal.
    fn shine(&mut self) -> usize {
        let bytes = std::mem::take(&mut self.screen.out);
        self.glass.0.process(&bytes);
        bytes.len()
    }

    fn resize(&mut self, width: u16, height: u16) {
        let size = Size { width, height };
        self.glass.resize(size);
        let history = self.history.clone();
        let mut rewrapped = |width: u16| wrapped(&history, width);
        self.screen.resized(size, &mut rewrapped);
    }

    #[track_caller]
    fn check(&mut self) {
        let width = self.screen.size.width;
        let height = usize::from(self.screen.size.height);
        let hidden = self.live.len().saturating_sub(height);
        let finished = wrapped(&self.history, width);
        let mut expected: Vec<_> = finished.iter().map(ToString::to_string).collect();
        let live = self.live[hidden..].iter();
        expected.extend(live.map(|line| line.chars().take(width.into()).collect::<String>()));
        let mut expected: Vec<_> = expected.iter().map(|line| line.trim_end()).collect();
        while expected.last().is_some_and(|line| line.is_empty()) {
            expected.pop();
        }
        assert_eq!(self.glass.all(), expected);
    }
}

fn rows(lines: &[&str]) -> Vec<Row> {
    lines
        .iter()
        .map(|line| Row::raw((*line).to_owned()))
        .collect()
}

fn wrapped(lines: &[String], width: u16) -> Vec<Row> {
    let rows = lines.iter().map(|line| Row::raw(line.clone()));
    rows.flat_map(|row| crate::text::wrap(row, width.into(), 0))
        .collect()
}

#[test]
fn finished_rows_stand_above_the_live_region() {
    let mut desk = Desk::new(20, 6);
    desk.draw(&["bar", "> "]);
    desk.check();
    desk.push(&["one", "two"]);
    desk.draw(&["bar", "> x"]);
    desk.check();
    assert_eq!(desk.glass.cursor(), Some((1, 3)));
}

#[test]
fn more_than_a_screenful_scrolls_away_complete() {
    let mut desk = Desk::new(20, 6);
    desk.draw(&["bar", ">"]);
    let lines: Vec<_> = (0..40).map(|n| format!("line {n}")).collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    desk.push(&lines[..15]);
    desk.draw(&["bar", ">"]);
    desk.push(&lines[15..]);
    desk.draw(&["tail", "bar", ">"]);
    desk.check();
    assert_eq!(desk.glass.lines()[3..], ["tail", "bar", ">"]);
}

#[test]
fn growing_scrolls_and_shrinking_leaves_nothing() {
    let mut desk = Desk::new(20, 6);
    desk.push(&["1", "2", "3", "4", "5"]);
    desk.draw(&[">"]);
    desk.draw(&["a", "b", "c", "d", ">"]);
    desk.check();
    desk.draw(&["d", ">"]);
    desk.check();
    desk.push(&["6"]);
    desk.draw(&[">"]);
    desk.check();
    desk.draw(&["x", "y", "z", ">"]);
    desk.check();
    // A finished row takes the place of one that lived; the others must go all the same.
    desk.push(&["7"]);
    desk.draw(&[">"]);
    desk.check();
    desk.draw(&[]);
    desk.check();
}

#[test]
fn of_a_region_taller_than_the_screen_the_end_is_shown() {
    let mut desk = Desk::new(20, 3);
    desk.push(&["done"]);
    desk.draw(&["a", "b", "c", "d", ">"]);
    desk.check();
    assert_eq!(desk.glass.lines(), ["c", "d", ">"]);
    desk.push(&["done too"]);
    desk.draw(&["a", "b", "c", "e", ">"]);
    desk.check();
    // A cursor in what is not shown is not shown either.
    desk.draw_at(&["a", "b", "c", "e", ">"], Some(Position::ORIGIN));
    assert_eq!(desk.glass.cursor(), None);
    desk.check();
}

#[test]
fn an_unchanged_draw_writes_nothing_and_a_changed_row_only_itself() {
    let mut desk = Desk::new(60, 10);
    let long = "x".repeat(50);
    desk.push(&["done"]);
    assert!(desk.draw(&[&long, &long, ">"]) > 100);
    assert_eq!(desk.draw(&[&long, &long, ">"]), 0);
    assert!(desk.draw(&[&long, &long, "> a"]) < 70);
    desk.screen.leave().unwrap();
    desk.shine();
    assert_eq!(desk.glass.all(), ["done"]);
    assert_eq!(desk.glass.cursor(), Some((0, 1)));
    desk.screen.leave().unwrap();
    assert_eq!(desk.shine(), 0);
}

#[test]
fn lines_are_full_to_the_last_column_and_no_further() {
    let mut desk = Desk::new(6, 5);
    desk.push(&["abcdef", "1"]);
    desk.screen.push(rows(&["12345你", "1234你", "123456789"]));
    desk.draw(&["uvwxyz", "12345你", ">"]);
    let expected = [
        "abcdef", "1", "12345", "1234你", "123456", "uvwxyz", "12345", ">",
    ];
    assert_eq!(desk.glass.all(), expected);
    desk.draw_at(&["uvwxyz", "12345你", "> 6"], Some(Position { x: 9, y: 2 }));
    assert_eq!(desk.glass.cursor(), Some((5, 4)));
}

#[test]
fn a_style_ends_with_its_row() {
    let mut desk = Desk::new(10, 5);
    let row = Row::from(vec!["a".on_red().bold(), "b".into()]);
    desk.screen.draw(&[row, Row::raw("c")], None).unwrap();
    desk.shine();
    let cell = |line, column| desk.glass.0.screen().cell(line, column).unwrap().clone();
    assert!(cell(0, 0).bold() && cell(0, 0).bgcolor() == vt100::Color::Idx(1));
    for (line, column) in [(0, 1), (0, 2), (1, 0)] {
        assert!(!cell(line, column).bold());
        assert_eq!(cell(line, column).bgcolor(), vt100::Color::Default);
    }
    assert_eq!(desk.glass.cursor(), None);
}

#[test]
fn another_width_shows_every_line_once() {
    let mut desk = Desk::new(110, 20);
    let widths = [60, 110, 60, 110, 60, 110];
    for number in 0..200 {
        let line = format!("line {number} {}", "word ".repeat(15));
        desk.push(&[line.trim_end()]);
        desk.draw(&["the tail", "STATUS", ">"]);
        if number % 30 == 29 {
            desk.resize(widths[number / 30], 20);
            desk.draw(&["the tail", "STATUS", ">"]);
            desk.check();
        }
    }
    desk.check();
    let all = desk.glass.all();
    assert_eq!(all.iter().filter(|line| *line == "STATUS").count(), 1);
}

#[test]
fn a_screen_lower_than_the_region_begins_anew() {
    let mut desk = Desk::new(30, 12);
    desk.push(&["1", "2", "3"]);
    let live = ["a", "b", "c", "d", "e", "STATUS", ">"];
    desk.draw(&live);
    for height in [4, 12, 5, 3, 20, 1, 8] {
        desk.resize(30, height);
        desk.draw(&live);
        desk.check();
    }
}

#[test]
fn drawing_waits_until_the_size_has_settled() {
    let mut desk = Desk::new(30, 10);
    desk.push(&["a line of some words"]);
    desk.draw(&["STATUS", ">"]);
    let begin = Instant::now();
    let width = |width| Size { width, height: 10 };
    desk.screen.resizing(width(12), begin);
    desk.screen.resizing(width(30), begin + SETTLE / 2);
    assert_eq!(desk.screen.settles_at(), Some(begin + SETTLE / 2 + SETTLE));
    desk.push(&["another one"]);
    assert_eq!(desk.draw(&["STATUS", "> x"]), 0);
    // In between it was narrow, and cut off what was there.
    desk.glass.resize(width(12));
    desk.resize(30, 10);
    assert_eq!(desk.screen.settles_at(), None);
    desk.draw(&["STATUS", "> x"]);
    desk.check();
}

#[test]
fn a_size_that_was_too_brief_to_be_seen_is_undone() {
    let mut desk = Desk::new(30, 10);
    desk.push(&["a line of some words"]);
    desk.draw(&["STATUS", ">"]);
    // Narrow and wide again before anybody asked how wide it is.
    desk.glass.resize(Size::new(12, 10));
    desk.screen.resizing(Size::new(30, 10), Instant::now());
    desk.resize(30, 10);
    desk.draw(&["STATUS", ">"]);
    desk.check();
}

#[test]
fn a_full_repaint_shows_every_line_once() {
    let mut desk = Desk::new(30, 5);
    desk.push(&["1", "2", "3", "4", "5", "6"]);
    desk.draw(&["STATUS", ">"]);
    desk.glass.0.process(b"\x1b[Hgarbage\r\n\r\ngarbage");
    desk.push(&["7"]);
    let history = desk.history.clone();
    desk.screen.repaint(&mut |width| wrapped(&history, width));
    desk.draw(&["STATUS", ">"]);
    desk.check();
}

#[test]
fn where_scrollback_stays_only_the_visible_part_is_written_again() {
    let mut desk = Desk::new(30, 6);
    desk.screen.scrollback = Scrollback::Keep;
    desk.push(&["1", "2", "3", "4", "5", "6"]);
    desk.draw(&["STATUS", ">"]);
    desk.resize(20, 6);
    desk.draw(&["STATUS", ">"]);
    desk.check();
}

#[test]
fn the_terminal_tells_what_its_scrollback_can() {
    let check = |term: &str, tmux: &str, expected: Scrollback| {
        let mut env = Env::default();
        env.set("TERM", term);
        env.set("TMUX", tmux);
        assert_eq!(Scrollback::of(&env), expected, "{term} {tmux}");
    };
    check("xterm-256color", "", Scrollback::Clear);
    check("screen-256color", "/tmp/tmux-0", Scrollback::Clear);
    check("screen.xterm-256color", "", Scrollback::Keep);
}

#[test]
fn what_waits_is_bounded() {
    let mut desk = Desk::new(10, 5);
    let lines = (0..HISTORY_ROWS + 10).map(|n| Row::raw(n.to_string()));
    desk.screen.push(lines);
    desk.draw(&[">"]);
    let all = desk.glass.all();
    assert_eq!(all.len(), HISTORY_ROWS + 1);
    assert_eq!(all[0], "10");
}

#[test]
fn a_terminal_that_is_gone_is_an_error() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(nix::errno::Errno::EIO.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut screen = Screen::new(Gone, Size::new(10, 5), Scrollback::Clear);
    assert!(screen.draw(&rows(&["a"]), None).is_err());
    assert!(screen.leave().is_err());
}

#[derive(Clone, Debug)]
enum Step {
    Push(Vec<String>),
    Draw(Vec<String>, Option<Position>),
    Height(u16),
    Width(u16),
    Leave,
}

fn step() -> impl Strategy<Value = Step> {
    let cursor = prop::option::of((0..20u16, 0..12u16).prop_map(|(x, y)| Position { x, y }));
    prop_oneof![
        3 => prop::collection::vec("[a-z]{1,12}", 0..9).prop_map(Step::Push),
        5 => (prop::collection::vec("[A-Z]{0,14}", 0..9), cursor).prop_map(|(l, c)| Step::Draw(l, c)),
        1 => (1..10u16).prop_map(Step::Height),
        1 => (2..16u16).prop_map(Step::Width),
        1 => Just(Step::Leave),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever happens, in the end there is every finished row, once and in order, and then the live region.
    #[test]
    fn everything_is_there_once(steps in prop::collection::vec(step(), 1..30)) {
        let mut desk = Desk::new(12, 6);
        let mut cursor = None;
        for step in steps {
            let size = desk.screen.size;
            match &step {
                Step::Push(lines) => desk.push(&lines.iter().map(String::as_str).collect::<Vec<_>>()),
                Step::Draw(lines, at) => {
                    cursor = *at;
                    desk.draw_at(&lines.iter().map(String::as_str).collect::<Vec<_>>(), cursor);
                }
                Step::Height(height) => desk.resize(size.width, *height),
                Step::Width(width) => desk.resize(*width, size.height),
                Step::Leave => {
                    desk.live.clear();
                    desk.screen.leave().unwrap();
                    desk.shine();
                }
            }
            if matches!(step, Step::Height(_) | Step::Width(_)) {
                let live = desk.live.clone();
                desk.draw_at(&live.iter().map(String::as_str).collect::<Vec<_>>(), cursor);
            }
        }
        let live = desk.live.clone();
        desk.draw_at(&live.iter().map(String::as_str).collect::<Vec<_>>(), cursor);
        desk.check();
    }
}
