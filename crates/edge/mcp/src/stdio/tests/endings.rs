//! How connections end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    SERVE, Talk, dial, eventually, kill, processes, read, request, script, talk, talk_through,
    within,
};
use crate::failure::Class;
use crate::stdio::StdioDial;
use crate::timing::Timing;

async fn pid(talk: &Talk) -> u64 {
    talk.ask(1).await.unwrap().as_u64().unwrap()
}

#[tokio::test]
async fn a_child_killed_while_idle_was_not_asked() {
    let talk = talk(SERVE).await;
    let pid = pid(&talk).await;
    kill(pid);
    let start = Instant::now();
    let failure = talk.closed().await;
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(failure.class, Class::Cut);
    assert_eq!(
        failure.to_string(),
        "Server exited: the server's program was killed by signal 9"
    );
    assert_eq!(talk.ask(2).await.unwrap_err().class, Class::NotSent);
    let sent = within(talk.link.send(json!({}))).await;
    assert_eq!(sent.unwrap_err().class, Class::NotSent);
    talk.abandon().await;
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[tokio::test]
async fn a_request_right_after_the_kill_was_not_sent_either() {
    // Whether the pipe still takes it or not: nobody was there to read all of it.
    for _ in 0..30 {
        let talk = talk(SERVE).await;
        kill(pid(&talk).await);
        let failure = talk.ask(2).await.unwrap_err();
        assert_eq!(failure.class, Class::NotSent, "{failure}");
        talk.abandon().await;
    }
}

#[tokio::test]
async fn a_child_killed_during_a_call_may_have_acted() {
    let mut talk = talk("next; echo '{\"method\":\"got\"}'; sleep 30.71").await;
    let link = talk.link.clone();
    let call = link.request(request(1, json!({})));
    let killed = async {
        talk.hear().await;
        // A second one that it never looks at.
        let second = talk.link.request(request(2, json!({})));
        let kill = async {
            kill_group_of(processes("sleep 30.71")[0]);
        };
        tokio::join!(second, kill).0
    };
    let (first, second) = within(async { tokio::join!(call, killed) }).await;
    assert_eq!(first.unwrap_err().class, Class::Cut);
    assert_eq!(second.unwrap_err().class, Class::NotSent);
    assert!(talk.closed().await.message.contains("signal 9"));
}

/// Kills the group a process is in.
fn kill_group_of(pid: u32) {
    let stat = read(format!("/proc/{pid}/stat").as_ref());
    let group = stat.rsplit_once(") ").unwrap().1.split(' ').nth(2).unwrap();
    kill(group.parse().unwrap());
}

#[tokio::test]
async fn the_last_answer_of_a_child_counts() {
    let dir = tempfile::tempdir().unwrap();
    let mut endpoint = script("next; echo 'out of ideas' >&2; answer 7; exit 3");
    endpoint.stderr = Some(dir.path().join("errors"));
    let talk = talk_through(&dial(&endpoint)).await;
    assert_eq!(talk.ask(1).await.unwrap(), 7);
    assert_eq!(
        talk.closed().await.message,
        "the server's program ended with status 3; the error log ends with: out of ideas"
    );
}

#[tokio::test]
async fn an_abandoned_child_goes_with_all_it_started() {
    // Whoever it started holds the output open, so nobody can see that the child has closed it.
    let text = "sleep 30.72 & (trap '' TERM; sleep 30.72; :) & \
        echo '{\"method\":\"up\"}'; exec >&-; next; sleep 30.72";
    let mut talk = talk(text).await;
    assert_eq!(talk.hear().await, "up");
    let link = talk.link.clone();
    let call = link.request(request(1, json!({})));
    let (outcome, ()) = within(async { tokio::join!(call, talk.link.abandon()) }).await;
    assert!(outcome.is_err());
    eventually("everybody is gone", || processes("sleep 30.72").is_empty()).await;
}

#[tokio::test]
async fn closed_output_of_a_living_child_is_the_end() {
    let text = "sleep 30.73 >/dev/null & next; exec >&-; sleep 30.73";
    let talk = talk(text).await;
    let start = Instant::now();
    let failure = talk.ask(1).await.unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(failure.class, Class::Cut);
    assert_eq!(
        failure.to_string(),
        "Connection lost: the server closed its output"
    );
    talk.abandon().await;
    eventually("everybody is gone", || processes("sleep 30.73").is_empty()).await;
}

#[tokio::test]
async fn a_child_that_leaves_somebody_behind_leaves_nobody() {
    // Whoever stays behind holds the output open.
    let talk = talk("sleep 30.74 & next; exit 5").await;
    let start = Instant::now();
    assert_eq!(talk.ask(1).await.unwrap_err().class, Class::Cut);
    assert!(start.elapsed() < Duration::from_secs(1));
    assert!(talk.closed().await.message.contains("status 5"));
    talk.abandon().await;
    eventually("everybody is gone", || processes("sleep 30.74").is_empty()).await;
}

#[tokio::test]
async fn closing_lets_the_child_finish() {
    let dir = tempfile::tempdir().unwrap();
    let mut endpoint = script("echo '{\"method\":\"up\"}'; cat >/dev/null; echo done >&2");
    endpoint.stderr = Some(dir.path().join("errors"));
    let mut talk = talk_through(&dial(&endpoint)).await;
    assert_eq!(talk.hear().await, "up");
    let waiting = talk.link.request(request(1, Value::Null));
    let (outcome, ()) = within(async { tokio::join!(waiting, talk.link.close()) }).await;
    assert!(matches!(
        outcome.unwrap_err().class,
        Class::Cut | Class::NotSent
    ));
    assert!(read(&dir.path().join("errors")).ends_with("done\n"));
}

#[tokio::test]
async fn closing_ends_who_does_not_listen() {
    let check = async |text: &str, bound: Duration| {
        let timing = Timing {
            farewell: Duration::from_millis(100),
            ..Timing::default()
        };
        let endpoint = script(text);
        let dial = StdioDial::new(&super::config(&endpoint), &endpoint, timing);
        let mut talk = talk_through(&dial).await;
        assert_eq!(talk.hear().await, "up");
        let start = Instant::now();
        within(talk.link.close()).await;
        assert!(start.elapsed() < bound, "{text}: {:?}", start.elapsed());
        eventually("everybody is gone", || processes("sleep 30.75").is_empty()).await;
    };
    let up = "echo '{\"method\":\"up\"}'";
    // It does not care for its input, but for TERM.
    check(
        &format!("{up}; sleep 30.75; sleep 30.75"),
        Duration::from_secs(2),
    )
    .await;
    check(
        &format!("trap '' TERM; {up}; sleep 30.75; sleep 30.75"),
        Duration::from_secs(4),
    )
    .await;
}

#[tokio::test]
async fn a_farewell_can_be_cut_short() {
    let mut talk = talk("trap '' TERM; echo '{\"method\":\"up\"}'; sleep 30.76; sleep 30.76").await;
    assert_eq!(talk.hear().await, "up");
    let start = Instant::now();
    let farewell = talk.link.close();
    talk.abandon().await;
    within(farewell).await;
    assert!(start.elapsed() < Duration::from_secs(1));
    eventually("everybody is gone", || processes("sleep 30.76").is_empty()).await;
}

#[tokio::test]
async fn a_stopped_child_can_be_abandoned() {
    let talk = talk(&format!("next; answer $$; kill -STOP $$; {SERVE}")).await;
    pid(&talk).await;
    let link = talk.link.clone();
    let call = link.request(request(2, json!({})));
    let (outcome, ()) = within(async { tokio::join!(call, talk.link.abandon()) }).await;
    assert_eq!(outcome.unwrap_err().class, Class::NotSent);
}

#[tokio::test]
async fn dropping_the_connection_kills() {
    let mut talk = talk("trap '' TERM; echo '{\"method\":\"up\"}'; sleep 30.77; sleep 30.77").await;
    assert_eq!(talk.hear().await, "up");
    assert!(!processes("sleep 30.77").is_empty());
    drop(talk);
    eventually("nobody left", || processes("sleep 30.77").is_empty()).await;
}
