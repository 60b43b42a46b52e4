use std::panic::catch_unwind;

use crossterm::event::KeyEvent;
use hermes_testkit::{Pty, TempHome};

use super::super::{Overlay, Position, Screen, Scrollback};
use super::*;
use crate::Row;
use crate::look::Look;
use crate::pick::{Outcome, Step, Widget, on_terminal};

const SOON: Duration = Duration::from_secs(20);

/// A shell that runs a test of this file and then tells how the terminal is.
fn on_stage(home: &TempHome, script: &str, test: &str) -> Pty {
    let this = std::env::current_exe().unwrap();
    let this = this.to_string_lossy();
    let run = format!("'{this}' --exact screen::terminal::tests::{test} --ignored --nocapture");
    let told = "stty -a | grep -ow '[-]*icanon\\|[-]*echo' | tr '\\n' ' '";
    let script = script.replace("RUN", &run).replace("TELL", told);
    home.cmd("sh").args(["-c", &script]).pty(40, 100)
}

fn entered() -> (Terminal, Screen<Tty>) {
    let terminal = Terminal::enter(&Env::default(), Keyboard::Auto).unwrap();
    let size = terminal.size().unwrap();
    assert_eq!(size, Size::new(100, 40));
    let screen = Screen::new(terminal.out(), size, Scrollback::Clear);
    (terminal, screen)
}

fn draw(screen: &mut Screen<Tty>, text: &'static str) {
    let cursor = Position::new(1, 0);
    screen
        .draw(&[Row::raw(text), Row::raw("STATUS")], Some(cursor))
        .unwrap();
}

#[test]
fn a_fatal_panic_is_shown_on_an_ordinary_terminal_and_a_contained_one_is_not() {
    let home = TempHome::new();
    let mut pty = on_stage(&home, "RUN; TELL; echo THE END", "panics");
    let screen = pty.wait_for("THE END", SOON);
    assert!(screen.contains("the fatal one"), "{screen}");
    assert!(!screen.contains("the contained one"), "{screen}");
    assert!(screen.contains("\nicanon echo THE END"), "{screen}");
    pty.wait_exit(SOON);
}

#[test]
#[ignore = "runs in a terminal: started by a_fatal_panic_is_shown_on_an_ordinary_terminal_and_a_contained_one_is_not"]
fn panics() {
    let (terminal, mut screen) = entered();
    draw(&mut screen, "live");
    assert!(catch_unwind(|| panic!("the contained one")).is_err());
    assert!(crossterm::terminal::is_raw_mode_enabled().unwrap());
    draw(&mut screen, "still here");
    let _overlay = Overlay::open(terminal.out(), screen.size()).unwrap();
    panic!("the fatal one");
}

#[test]
fn a_panic_in_a_list_gives_the_terminal_back() {
    let home = TempHome::new();
    let mut pty = on_stage(&home, "RUN; TELL; echo THE END", "breaks");
    pty.wait_for("a list", SOON);
    assert!(pty.drawn().alternate_screen() && pty.marks_pastes());
    pty.send("x");
    let screen = pty.wait_for("THE END", SOON);
    assert!(screen.contains("the broken list"), "{screen}");
    assert!(screen.contains("\nicanon echo THE END"), "{screen}");
    assert!(!pty.drawn().alternate_screen() && !pty.marks_pastes() && pty.shows_cursor());
    pty.wait_exit(SOON);
}

#[test]
#[ignore = "runs in a terminal: started by a_panic_in_a_list_gives_the_terminal_back"]
fn breaks() {
    // Its outcome is the panic.
    let _ = on_terminal(Broken, &Env::default(), &Look::plain());
}

struct Broken;

impl Widget for Broken {
    type Answer = ();

    fn key(&mut self, _: KeyEvent) -> Step<()> {
        panic!("the broken list");
    }

    fn rows(&self, _: Size, _: &Look) -> Vec<Row> {
        vec![Row::raw("a list")]
    }

    fn lines(&self) -> Vec<String> {
        Vec::new()
    }

    fn said(&mut self, _: &str) -> Result<Outcome<()>, String> {
        Ok(Outcome::Cancelled)
    }
}

#[test]
fn a_job_can_be_stopped_and_goes_on() {
    let home = TempHome::new();
    let script = "set -m; RUN; TELL; echo stopped; fg; TELL; echo THE END";
    let mut pty = on_stage(&home, script, "suspends");
    let screen = pty.wait_for("THE END", SOON);
    let stopped = screen.find("icanon echo stopped").expect(&screen);
    let back = screen.find("back again").expect(&screen);
    assert!(
        stopped < back && screen.contains("icanon echo THE END"),
        "{screen}"
    );
    // What lived was taken away each time.
    assert!(!screen.contains("STATUS"), "{screen}");
    assert!(screen.contains("finished"), "{screen}");
    pty.wait_exit(SOON);
}

#[tokio::test]
#[ignore = "runs in a terminal: started by a_job_can_be_stopped_and_goes_on"]
async fn suspends() {
    let (mut terminal, mut screen) = entered();
    terminal.title("a title").unwrap();
    screen.push([Row::raw("finished")]);
    draw(&mut screen, "live");
    screen.leave().unwrap();
    terminal.suspend().await.unwrap();
    assert!(crossterm::terminal::is_raw_mode_enabled().unwrap());
    screen.push([Row::raw("back again")]);
    draw(&mut screen, "live again");
    screen.leave().unwrap();
}

#[test]
fn there_is_one_terminal_and_it_is_restored_once() {
    let home = TempHome::new();
    let mut pty = on_stage(&home, "RUN; TELL; echo THE END", "restores");
    let screen = pty.wait_for("THE END", SOON);
    assert!(screen.contains("icanon echo THE END"), "{screen}");
    assert!(screen.contains("1 passed"), "{screen}");
    pty.wait_exit(SOON);
}

#[test]
#[ignore = "runs in a terminal: started by there_is_one_terminal_and_it_is_restored_once"]
fn restores() {
    let (mut terminal, mut screen) = entered();
    assert!(Terminal::enter(&Env::default(), Keyboard::Off).is_err());
    terminal.bell().unwrap();
    terminal.notify("news").unwrap();
    terminal.copy("text").unwrap();
    let long = "x".repeat(COPY_MAX + 1);
    let refused = terminal.copy(&long).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    draw(&mut screen, "live");
    screen.leave().unwrap();
    terminal.renew().unwrap();
    assert!(crossterm::terminal::is_raw_mode_enabled().unwrap());
    restore_now();
    restore_now();
    assert!(!crossterm::terminal::is_raw_mode_enabled().unwrap());
    drop(terminal);
}

#[test]
fn only_terminals_known_for_it_are_asked_about_keys() {
    let check = |term: &str, tmux: &str, expected: bool| {
        let mut env = Env::default();
        env.set("TERM", term);
        env.set("TMUX", tmux);
        assert_eq!(knows_keyboard(&env), expected, "{term} {tmux}");
    };
    check("xterm-kitty", "", true);
    check("foot-extra", "", true);
    check("xterm-256color", "", false);
    check("xterm-kitty", "/tmp/tmux", false);
    assert!(!knows_keyboard(&Env::default()));
}
