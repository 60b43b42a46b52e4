//! Output, exit, stopping.

use std::time::{Duration, Instant};

use hermes_proc::{Capture, Event, Exit, Spawn, Stdin, Tty};

use crate::{all, none_left, processes, sh, until};

async fn check(script: &str, expected: &str, exit: Exit) {
    let (text, ended) = all(&mut sh(script).start().unwrap()).await;
    assert_eq!((text.as_str(), ended), (expected, exit), "{script}");
}

#[tokio::test]
async fn output_and_errors_come_in_order() {
    check("echo a; echo b >&2; echo c", "a\nb\nc\n", Exit::Code(0)).await;
    check("exit 7", "", Exit::Code(7)).await;
    check("kill -9 $$", "", Exit::Signal(9)).await;
    check("printf 'a\\xffb\\0c'", "a\u{fffd}b\0c", Exit::Code(0)).await;
    check("cat", "", Exit::Code(0)).await;
    check(
        "echo $PATH; echo \"[$HOME]\"; pwd",
        "/usr/bin:/bin\n[]\n/\n",
        Exit::Code(0),
    )
    .await;
}

#[tokio::test]
async fn a_child_has_no_terminal_and_leads_its_group() {
    check(
        "(: < /dev/tty) 2>/dev/null || echo none",
        "none\n",
        Exit::Code(0),
    )
    .await;
    let mut running = sh("cut -d' ' -f1,5,6 < /proc/$$/stat").start().unwrap();
    let leader = running.group().leader();
    let (text, _) = all(&mut running).await;
    assert_eq!(text, format!("{leader} {leader} {leader}\n"));
}

#[tokio::test]
async fn given_input_is_read_to_its_end() {
    for size in [0, 5, 1 << 20] {
        let spawn = Spawn {
            stdin: Stdin::Bytes(vec![b'x'; size]),
            ..sh("wc -c")
        };
        let (text, _) = all(&mut spawn.start().unwrap()).await;
        assert_eq!(text.trim(), size.to_string());
    }
    let unwanted = Spawn {
        stdin: Stdin::Bytes(vec![b'x'; 1 << 20]),
        ..sh("echo no")
    };
    assert_eq!(all(&mut unwanted.start().unwrap()).await.0, "no\n");
}

#[tokio::test]
async fn open_input_is_written_and_closed() {
    let spawn = Spawn {
        stdin: Stdin::Open,
        ..sh("cat; echo end")
    };
    let mut running = spawn.start().unwrap();
    let mut input = running.input().unwrap();
    input.write(b"hi\n").await.unwrap();
    until(&mut running, "hi\n").await;
    drop(input);
    assert_eq!(all(&mut running).await, ("end\n".to_owned(), Exit::Code(0)));
}

#[tokio::test]
async fn who_holds_the_output_open_is_not_waited_for() {
    let start = Instant::now();
    check("(sleep 20.11 &); echo ok", "ok\n", Exit::Code(0)).await;
    assert!(start.elapsed() < Duration::from_secs(2));
    // It was left running on purpose.
    let left = processes("sleep 20.11");
    assert_eq!(left.len(), 1);
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(left[0] as i32),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
}

#[tokio::test]
async fn endless_output_of_somebody_left_behind_ends() {
    let mut running = sh("(yes 20.12 &); echo ok").start().unwrap();
    let group = running.group();
    let start = Instant::now();
    all(&mut running).await;
    assert!(start.elapsed() < Duration::from_secs(4));
    group.kill();
    none_left("yes 20.12", Duration::from_secs(3));
}

#[tokio::test]
async fn stopping_ends_the_whole_group() {
    let mut running = sh("sleep 30.21 & sleep 30.21 & echo up; wait")
        .start()
        .unwrap();
    until(&mut running, "up").await;
    running.stop();
    assert_eq!(all(&mut running).await.1, Exit::Signal(15));
    assert!(processes("sleep 30.21").is_empty());
}

#[tokio::test]
async fn last_words_are_heard() {
    let mut running = sh("trap 'echo bye; exit 3' TERM; echo up; while :; do :; done")
        .start()
        .unwrap();
    until(&mut running, "up").await;
    running.stop();
    assert_eq!(all(&mut running).await, ("bye\n".to_owned(), Exit::Code(3)));
}

#[tokio::test]
async fn a_deaf_group_is_killed() {
    let script = "trap '' TERM; (sleep 30.22) & echo up; while :; do sleep 30.22; done";
    let mut running = sh(script).start().unwrap();
    until(&mut running, "up").await;
    let start = Instant::now();
    running.stop();
    assert_eq!(all(&mut running).await.1, Exit::Signal(9));
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(processes("sleep 30.22").is_empty());
}

#[tokio::test]
async fn a_deaf_group_that_never_stops_talking_is_killed() {
    let mut running = sh("trap '' TERM; echo up; yes 30.25").start().unwrap();
    until(&mut running, "up").await;
    running.stop();
    let over = async {
        loop {
            if let Event::Ended(exit) = running.next().await {
                return exit;
            }
        }
    };
    let exit = tokio::time::timeout(Duration::from_secs(30), over).await;
    assert_eq!(exit, Ok(Exit::Signal(9)));
    assert!(processes("yes 30.25").is_empty());
}

#[tokio::test]
async fn a_stopped_process_can_be_ended() {
    let mut running = sh("echo up; kill -STOP $$; sleep 30.23").start().unwrap();
    until(&mut running, "up").await;
    running.stop();
    assert_eq!(all(&mut running).await.1, Exit::Signal(15));
}

#[tokio::test]
async fn dropping_kills() {
    let mut running = sh("trap '' TERM; echo up; sleep 30.24; sleep 30.24")
        .start()
        .unwrap();
    until(&mut running, "up").await;
    drop(running);
    none_left("sleep 30.24", Duration::from_secs(3));
}

#[tokio::test]
async fn much_output_needs_little_memory() {
    let mut running = sh("yes 0123456789abcde | head -c 104857600")
        .start()
        .unwrap();
    let mut capture = Capture::new(10_000, 10_000);
    let exit = loop {
        match running.next().await {
            Event::Output(text) => capture.push(&text),
            Event::Ended(exit) => break exit,
        }
    };
    assert_eq!(exit, Exit::Code(0));
    let kept = capture.take();
    assert_eq!(
        kept.head.len() + kept.dropped + kept.tail.len(),
        104_857_600
    );
    assert!(kept.head.len() + kept.tail.len() <= 20_000);
}

#[tokio::test]
async fn a_terminal_is_one() {
    let spawn = Spawn {
        tty: Tty::Sized {
            rows: 30,
            cols: 120,
        },
        ..sh("test -t 0 && test -t 1 && stty size; cat; echo end")
    };
    let mut running = spawn.start().unwrap();
    until(&mut running, "30 120").await;
    let mut input = running.input().unwrap();
    input.write(b"hello\n").await.unwrap();
    // Once as echo of the terminal, once from cat.
    until(&mut running, "hello\r\nhello").await;
    drop(input);
    let (text, exit) = all(&mut running).await;
    assert!(text.contains("end"), "{text:?}");
    assert_eq!(exit, Exit::Code(0));
}

#[tokio::test]
async fn a_program_in_a_terminal_is_stopped_with_its_group() {
    let spawn = Spawn {
        tty: Tty::Sized {
            rows: 30,
            cols: 120,
        },
        ..sh("sleep 30.25 & echo up; sleep 30.25")
    };
    let mut running = spawn.start().unwrap();
    until(&mut running, "up").await;
    running.stop();
    all(&mut running).await;
    none_left("sleep 30.25", Duration::from_secs(1));
}

#[tokio::test]
async fn a_missing_program_is_named() {
    for tty in [Tty::None, Tty::Sized { rows: 3, cols: 3 }] {
        let spawn = Spawn {
            program: "/nonexistent/shell".into(),
            tty,
            ..sh("")
        };
        let error = spawn.start().unwrap_err().to_string();
        assert!(
            error.starts_with("cannot run /nonexistent/shell: "),
            "{error}"
        );
    }
}
