//! What happens to children when we are killed.

use std::time::Duration;

use hermes_proc::{Lifeline, Spawn};

use crate::{all, none_left, processes, sh, until};

const VICTIM: &str = "lifeline::victim";

#[tokio::test]
async fn watched_groups_die_with_us() {
    let this = std::env::current_exe().unwrap();
    let victim = Spawn {
        program: this,
        args: ["--exact", VICTIM, "--ignored", "--nocapture"]
            .map(str::to_owned)
            .into(),
        ..sh("")
    };
    let mut victim = victim.start().unwrap();
    until(&mut victim, "watched").await;
    assert_eq!(processes("sleep 30.31").len(), 1);
    victim.group().kill();
    all(&mut victim).await;
    none_left("sleep 30.31", Duration::from_secs(1));
    none_left("sleep 30.32", Duration::from_secs(4));
    // This one was let go before.
    let left = processes("sleep 30.33");
    assert_eq!(left.len(), 1);
    hermes_proc::Group::led_by(left[0]).unwrap().kill();
}

#[tokio::test]
#[ignore = "the one that is killed: started by watched_groups_die_with_us"]
async fn victim() {
    let line = Lifeline::start().unwrap();
    let mut tame = sh("echo up; exec sleep 30.31").start().unwrap();
    let mut deaf = sh("trap '' TERM; echo up; sleep 30.32; sleep 30.32")
        .start()
        .unwrap();
    let mut free = sh("echo up; exec sleep 30.33").start().unwrap();
    for running in [&mut tame, &mut deaf, &mut free] {
        until(running, "up").await;
    }
    let _watched = [line.watch(tame.group()), line.watch(deaf.group())];
    drop(line.watch(free.group()));
    println!("watched");
    all(&mut tame).await;
}
