//! A shell and its friends in the pseudo terminal.

use std::time::{Duration, Instant};

use hermes_testkit::{Exit, Pty, Signal, TempHome};

/// Far more than any of this takes.
const LONG: Duration = Duration::from_secs(10);

fn shell(home: &TempHome, script: &str) -> Pty {
    home.cmd("sh").args(["-c", script]).pty(5, 20)
}

#[test]
fn screen_shows_what_is_left_of_the_output() {
    let home = TempHome::new();
    let mut pty = shell(&home, r"printf 'one  \ntwo\rTW\n\n'; exit 4");
    assert_eq!(pty.wait_exit(LONG), Exit::Code(4));
    assert_eq!(pty.screen(), "one\nTWo");
    assert_eq!(pty.cursor(), (3, 0));
    // Each newline became a carriage return and a newline.
    assert_eq!(pty.bytes_written(), 17);
}

#[test]
fn typed_text_is_read_and_echoed() {
    let home = TempHome::new();
    let mut pty = home.cmd("cat").pty(5, 20);
    pty.send("hé\r");
    pty.wait_until(|screen| screen.matches("hé").count() == 2, LONG);
    pty.send("\x03");
    assert_eq!(pty.wait_exit(LONG), Exit::Signal(2));
}

#[test]
fn program_sees_the_terminal_and_its_resizing() {
    let home = TempHome::new();
    let mut pty = shell(
        &home,
        "trap 'stty size' WINCH; echo $TERM; stty size; while :; do sleep 0.01; done",
    );
    pty.wait_for("xterm-256color\n5 20", LONG);
    pty.resize(6, 30);
    pty.wait_for("6 30", LONG);
}

#[test]
fn questions_to_the_terminal_are_answered() {
    let home = TempHome::new();
    let pty = shell(
        &home,
        r"stty raw -echo; printf 'ab\033[6n\033[c'; head -c 12 | tr '\033' '^'; printf .",
    );
    pty.wait_for("ab^[1;3R^[?62c.", LONG);
}

#[test]
fn what_left_the_screen_can_be_scrolled_to() {
    let home = TempHome::new();
    let mut pty = shell(&home, "seq 1 8; printf '\\033[31mred'");
    assert_eq!(pty.wait_exit(LONG), Exit::Code(0));
    assert_eq!(pty.screen(), "5\n6\n7\n8\nred");
    let lines = ["1", "2", "3", "4", "5", "6", "7", "8", "red"];
    assert_eq!(pty.scrollback(), lines);
    assert!(pty.output().ends_with(b"8\r\n\x1b[31mred"));
}

#[test]
fn a_frame_is_seen_when_it_is_whole() {
    let home = TempHome::new();
    let mut pty = shell(
        &home,
        r"stty -echo; printf 'old\r\033[?2026hNEW'; read x; printf ' all\033[?2026l'; read x",
    );
    // The bytes are there, the frame is not.
    while !pty.output().ends_with(b"NEW") {
        std::thread::sleep(Duration::from_millis(1));
    }
    pty.send("\n");
    assert_eq!(pty.wait_for("NEW", LONG), "NEW all");
}

#[test]
fn modes_of_the_terminal_can_be_told() {
    let home = TempHome::new();
    let mut pty = shell(
        &home,
        r"printf '\033[?25l\033[?2004hup'; stty raw; printf .; read x",
    );
    pty.wait_for("up.", LONG);
    assert!(pty.marks_pastes() && !pty.shows_cursor() && !pty.is_ordinary());
    pty.signal(Signal::SIGTERM);
    assert_eq!(pty.wait_exit(LONG), Exit::Signal(15));
    let mut pty = shell(&home, "echo up; read x");
    pty.wait_for("up", LONG);
    assert!(!pty.marks_pastes() && pty.shows_cursor() && pty.is_ordinary());
    pty.send("\r");
    assert_eq!(pty.wait_exit(LONG), Exit::Code(0));
}

#[test]
#[should_panic(expected = "waiting for \"absent\": nothing after 100ms; screen:\npresent\n")]
fn waiting_in_vain_shows_the_screen() {
    let home = TempHome::new();
    let pty = shell(&home, "echo present; sleep 60");
    pty.wait_for("present", LONG);
    pty.wait_for("absent", Duration::from_millis(100));
}

#[test]
#[should_panic(expected = "the program has ended; screen:\nbye\n")]
fn waiting_for_a_program_that_ended_stops_at_once() {
    let home = TempHome::new();
    shell(&home, "echo bye").wait_for("absent", Duration::from_secs(600));
}

#[test]
fn drop_and_timeout_kill_the_program() {
    let home = TempHome::new();
    let start = Instant::now();
    let mut pty = shell(&home, "trap '' HUP TERM; echo up; sleep 60 & wait");
    pty.wait_for("up", LONG);
    assert_eq!(pty.wait_exit(Duration::from_millis(50)), Exit::TimedOut);
    let pty = shell(&home, "trap '' HUP TERM; echo up; sleep 60");
    pty.wait_for("up", LONG);
    drop(pty);
    assert!(start.elapsed() < LONG);
}
