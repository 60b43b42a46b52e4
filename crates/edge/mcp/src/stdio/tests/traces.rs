//! What is left of children: nothing.

use std::time::Duration;

use hermes_proc::{Event, Spawn, Stdin, Tty};

use super::{SERVE, dial, eventually, kill, processes, read, script, talk, talk_through, within};

const VICTIM: &str = "stdio::tests::traces::victim";

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Our children that have ended and were not waited for.
fn zombies() -> usize {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let stats = entries.map(|entry| read(&entry.path().join("stat")));
    let is_zombie = |stat: &String| {
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields.split(' '));
        fields.is_some_and(|mut fields| {
            fields.next() == Some("Z") && fields.next() == Some(own.as_str())
        })
    };
    stats.filter(is_zombie).count()
}

#[tokio::test]
async fn fifty_children_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut endpoint = script(&format!("sleep 30.81 & {SERVE}"));
    endpoint.stderr = Some(dir.path().join("errors"));
    let dial = dial(&endpoint);
    // The first one brings what stays: the lifeline, the signal handler.
    talk_through(&dial).await.abandon().await;
    let before = open_files();
    for round in 0..50 {
        let talk = talk_through(&dial).await;
        if round % 2 == 0 {
            assert!(talk.ask(1).await.unwrap().is_u64());
        }
        talk.abandon().await;
        let what = format!("everybody is gone in round {round}");
        eventually(&what, || processes("sleep 30.81").is_empty()).await;
    }
    // Other tests may run in this process.
    eventually("no open file more", || open_files() < before + 10).await;
    eventually("no zombie", || zombies() == 0).await;
}

#[tokio::test]
async fn children_that_are_only_dropped_are_waited_for() {
    for _ in 0..10 {
        drop(talk("sleep 30.82").await);
    }
    eventually("nobody left", || processes("sleep 30.82").is_empty()).await;
    eventually("no zombie", || zombies() == 0).await;
}

#[tokio::test]
async fn a_kill_of_our_own_process_ends_the_tree() {
    let victim = Spawn {
        program: std::env::current_exe().unwrap(),
        args: ["--exact", VICTIM, "--ignored", "--nocapture"]
            .map(str::to_owned)
            .into(),
        env: Vec::new(),
        dir: "/".into(),
        stdin: Stdin::Null,
        tty: Tty::None,
    };
    let mut victim = victim.start().unwrap();
    let mut heard = String::new();
    while !heard.contains("server is up") {
        match within(victim.next()).await {
            Event::Output(text) => heard += &text,
            Event::Ended(exit) => panic!("{exit:?}: {heard}"),
        }
    }
    assert!(processes("sleep 30.83").len() > 1);
    kill(victim.group().leader().into());
    eventually("the tree is gone", || processes("sleep 30.83").is_empty()).await;
}

#[tokio::test]
#[ignore = "the one that is killed: started by a_kill_of_our_own_process_ends_the_tree"]
async fn victim() {
    let text = "sleep 30.83 & trap '' TERM; echo '{\"method\":\"up\"}'; sleep 30.83; sleep 30.83";
    let mut talk = talk(text).await;
    talk.hear().await;
    println!("server is up");
    tokio::time::sleep(Duration::from_secs(30)).await;
}
