//! A shell and its friends in the pseudo terminal.

use std::time::{Duration, Instant};

use hermes_testkit::{Exit, Pty, TempHome};

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
