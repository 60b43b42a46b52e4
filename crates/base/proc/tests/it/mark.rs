//! Finding those who left their group.

use std::time::Duration;

use hermes_proc::{Exit, Mark, Spawn};

use crate::{all, none_left, processes, sh};

#[tokio::test]
async fn daemons_are_found_by_what_they_carry() {
    let start = |value: &str, seconds: &str| {
        let mark = Mark::new("HERMES_TEST_MARK", value.to_owned());
        let daemon = format!("setsid sleep {seconds} >/dev/null 2>&1 &");
        let mut spawn: Spawn = sh(&format!("{daemon} {daemon} exit 0"));
        spawn.env.push(mark.variable());
        (mark, spawn.start().unwrap())
    };
    let (mark, mut running) = start("one", "30.41");
    let (other, mut others) = start("one more", "30.42");
    for running in [&mut running, &mut others] {
        assert_eq!(all(running).await.1, Exit::Code(0));
    }
    mark.kill();
    none_left("sleep 30.41", Duration::from_secs(1));
    assert_eq!(processes("sleep 30.42").len(), 2);
    drop(other);
    none_left("sleep 30.42", Duration::from_secs(1));
}
