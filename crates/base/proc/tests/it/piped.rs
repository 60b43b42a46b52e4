//! Children that are talked with.

use std::fs::File;
use std::time::{Duration, Instant};

use hermes_proc::{Errors, Exit, Piped, Spawn};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use crate::{none_left, processes, sh};

async fn line(piped: &mut Piped) -> String {
    let mut line = String::new();
    let mut output = BufReader::new(&mut piped.output);
    output.read_line(&mut line).await.unwrap();
    line
}

#[tokio::test]
async fn output_and_errors_come_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("errors");
    let errors = Errors::File(File::create(&path).unwrap());
    let script = "read word; echo out $word; echo err >&2; cut -d' ' -f1,5,6 /proc/$$/stat; exit 3";
    let mut piped = sh(script).start_piped(errors).unwrap();
    let leader = piped.process.group().leader();
    piped.input.write(b"hi\n").await.unwrap();
    let mut heard = String::new();
    piped.output.read_to_string(&mut heard).await.unwrap();
    assert_eq!(heard, format!("out hi\n{leader} {leader} {leader}\n"));
    assert_eq!(piped.process.exited().await, Exit::Code(3));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "err\n");
}

#[tokio::test]
async fn nobody_of_a_killed_group_is_left() {
    let script = "trap '' TERM; (sleep 30.41) & echo up; exec 1>&-; sleep 30.41";
    let mut piped = sh(script).start_piped(Errors::Discard).unwrap();
    assert_eq!(line(&mut piped).await, "up\n");
    piped.process.kill().await;
    assert!(processes("sleep 30.41").is_empty());
    assert_eq!(piped.process.exited().await, Exit::Signal(9));
}

#[tokio::test]
async fn who_is_asked_to_stop_may_take_its_time() {
    let script = "trap 'echo bye; exit 4' TERM; echo up; while :; do sleep 0.01; done";
    let mut piped = sh(script).start_piped(Errors::Discard).unwrap();
    assert_eq!(line(&mut piped).await, "up\n");
    piped.process.stop().await;
    assert_eq!(line(&mut piped).await, "bye\n");
    assert_eq!(piped.process.exited().await, Exit::Code(4));

    let deaf = "trap '' TERM; echo up; sleep 30.42; sleep 30.42";
    let mut piped = sh(deaf).start_piped(Errors::Discard).unwrap();
    assert_eq!(line(&mut piped).await, "up\n");
    let start = Instant::now();
    piped.process.stop().await;
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(processes("sleep 30.42").is_empty());
}

#[tokio::test]
async fn dropping_kills_who_is_left() {
    // The leader is gone already; what it left behind is not meant to stay.
    let script = "sleep 30.43 >/dev/null & echo up";
    let mut piped = sh(script).start_piped(Errors::Discard).unwrap();
    assert_eq!(line(&mut piped).await, "up\n");
    assert_eq!(piped.process.exited().await, Exit::Code(0));
    assert_eq!(processes("sleep 30.43").len(), 1);
    drop(piped);
    none_left("sleep 30.43", Duration::from_secs(3));
}

/// Other tests that start children at this moment have copies of the pipe for as long.
async fn wasted(piped: &Piped) -> usize {
    let start = Instant::now();
    loop {
        if let Some(bytes) = piped.input.wasted() {
            return bytes;
        }
        assert!(start.elapsed() < Duration::from_secs(5));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_a_dead_reader_never_read_is_known() {
    let script = "read -r line; echo got; read -r line; sleep 30.44";
    let mut piped = sh(script).start_piped(Errors::Discard).unwrap();
    piped.input.write(b"first\n").await.unwrap();
    assert_eq!(line(&mut piped).await, "got\n");
    assert_eq!(piped.input.wasted(), None, "somebody can still read");
    piped.process.kill().await;
    assert_eq!(wasted(&piped).await, 0);
    assert!(piped.input.write_some(b"second\n").await.is_err());

    let mut piped = sh("echo up; sleep 30.44")
        .start_piped(Errors::Discard)
        .unwrap();
    assert_eq!(line(&mut piped).await, "up\n");
    assert_eq!(piped.input.write_some(b"unread\n").await.unwrap(), 7);
    piped.process.kill().await;
    assert_eq!(wasted(&piped).await, 7);
}

#[tokio::test]
async fn what_cannot_be_run_cannot_be_run_later_either() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("text");
    std::fs::write(&text, "no program").unwrap();
    for program in ["/nonexistent/server".into(), text, dir.path().to_owned()] {
        let spawn = Spawn {
            program: program.clone(),
            ..sh("")
        };
        let error = spawn.start_piped(Errors::Discard).unwrap_err();
        assert!(error.is_lasting(), "{error}");
        assert!(error.to_string().contains(program.to_str().unwrap()));
    }
}
