//! The program `scripted-model`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use hermes_testkit::TempHome;
use insta::assert_snapshot;

const PROGRAM: &str = env!("CARGO_BIN_EXE_scripted-model");

#[test]
fn prints_its_url_and_serves_until_killed() {
    let home = TempHome::new();
    let script = home.write("script.json", r#"[{"text": "ok"}]"#);
    #[expect(
        clippy::disallowed_methods,
        reason = "the one child of this crate's tests that must keep running"
    )]
    let mut child = Command::new(PROGRAM)
        .arg(script)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let addr = line.trim_end().strip_prefix("http://").unwrap();
    let connected = std::net::TcpStream::connect(addr);
    let still_running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(connected.is_ok() && still_running, "{line}");
}

#[test]
fn says_what_is_wrong() {
    let home = TempHome::new();
    let script = home.write("script.json", r#"[{"txet": "ok"}]"#);
    assert_snapshot!(home.cmd(PROGRAM).run(), @r"
    exit: 1
    --- stdout
    --- stderr
    scripted-model: usage: scripted-model SCRIPT.json [--port N]
    ");
    assert_snapshot!(home.cmd(PROGRAM).arg("absent.json").run(), @r"
    exit: 1
    --- stdout
    --- stderr
    scripted-model: absent.json: No such file or directory (os error 2)
    ");
    let output = home.cmd(PROGRAM).arg(&script).run();
    assert!(
        output
            .stderr
            .contains("script.json: step 1 can't be read: unknown field `txet`"),
        "{output}"
    );
}
