//! What is said through the pipes.

use futures::future::join_all;
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::sync::mpsc;

use super::{
    Talk, config, dial, eventually, processes, read, request, script, talk, talk_through, within,
};
use crate::failure::Class;
use crate::link::{Dial, InboundBody, SideProbe};
use crate::stdio::StdioDial;
use crate::timing::Timing;

#[tokio::test]
async fn everybody_gets_their_own_answer() {
    // The answers come in the wrong order, and one id as text.
    let text = r#"
next; first=$id; next; second=$id; next
answer '"third"'
id=\"$second\"; answer '"second"'
id=$first; answer '"first"'
next; answer '{"line":'"$line"'}'
"#;
    let talk = talk(text).await;
    let answers = join_all([talk.ask(1), talk.ask(2), talk.ask(3)]).await;
    let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers, [json!("first"), json!("second"), json!("third")]);
    let odd = json!({"text": "line\nbreak \u{2028} ünï"});
    let echo = within(talk.link.request(request(4, odd.clone()))).await;
    let expected = json!({"jsonrpc": "2.0", "id": 4, "method": "test", "params": odd});
    assert_eq!(echo.unwrap(), json!({"line": expected}));
    assert_eq!(talk.link.side_probe().await, SideProbe::Inconclusive);
    talk.abandon().await;
}

#[tokio::test]
async fn errors_find_the_request_they_are_about() {
    let text = r#"
error() { printf '{"jsonrpc":"2.0",%s"error":{"code":-32602,"message":"%s"}}\n' "$1" "$2"; }
next; error "\"id\":$id," wrong
next; error '"id":null,' unaddressed
next; error '' 'Session expired'
next; printf '{"level":"warn","error":"log"}\n{"error":{"message":"log"}}\n{"id":77,"result":1}\n'; answer 4
next; next; error '' 'for whom?'; answer 6; id=5; answer 5
"#;
    let talk = talk(text).await;
    let failure = talk.ask(1).await.unwrap_err();
    assert_eq!((failure.class, &*failure.message), (Class::App, "wrong"));
    assert_eq!(failure.code, Some(-32602));
    assert_eq!(talk.ask(2).await.unwrap_err().message, "unaddressed");
    assert_eq!(talk.ask(3).await.unwrap_err().class, Class::SessionLost);
    assert_eq!(talk.ask(4).await.unwrap(), 4);
    let both = join_all([talk.ask(5), talk.ask(6)]).await;
    assert_eq!(both, [Ok(json!(5)), Ok(json!(6))]);
    talk.abandon().await;
}

#[tokio::test]
async fn what_the_child_says_on_its_own_goes_to_the_inbox() {
    let text = r#"
printf '{"jsonrpc":"2.0","id":"q1","method":"ping"}\n'
read -r line; printf '{"method":"heard","params":%s}\n' "$line"
"#;
    let mut talk = talk(text).await;
    assert_eq!(talk.hear().await, "ping");
    let reply = json!({"jsonrpc": "2.0", "id": "q1", "result": {}});
    within(talk.link.send(reply.clone())).await.unwrap();
    let heard = within(talk.inbox.recv()).await.unwrap();
    let method = "heard".to_owned();
    assert_eq!(
        heard.body,
        InboundBody::Notification {
            method,
            params: reply
        }
    );
    talk.closed().await;
}

#[tokio::test]
async fn junk_is_skipped() {
    let text = r#"
next
i=0; while [ $i -lt 10000 ]; do echo "loading module $i"; i=$((i+1)); done
printf '\n\r\n{"half":\n{}\n[1]\n"text"\n{"bad\377":1}\n'
answer '"after all"'
next; printf '{"jsonrpc":"2.0","id":%s,"result":"\377"}\r\n' "$id"
next; printf '[{"method":"a"},{"jsonrpc":"2.0","id":%s,"result":3}]' "$id"
"#;
    let mut talk = talk(text).await;
    assert_eq!(talk.ask(1).await.unwrap(), "after all");
    assert_eq!(talk.ask(2).await.unwrap(), "\u{fffd}");
    // In a batch, and without a line break at the very end.
    assert_eq!(talk.ask(3).await.unwrap(), 3);
    assert_eq!(talk.hear().await, "a");
}

#[tokio::test]
async fn a_long_line_is_read_and_an_overlong_one_is_not() {
    let text = r#"
long() { printf '{"jsonrpc":"2.0","id":%s,"result":"' $id; head -c $1 /dev/zero | tr '\0' x; printf '"}\n'; }
next; long 999000
next; next; long 2000000
sleep 30.61
"#;
    let endpoint = script(text);
    let mut config = config(&endpoint);
    config.max_response_bytes = 1_000_000;
    let talk = talk_through(&StdioDial::new(&config, &endpoint, Timing::default())).await;
    assert_eq!(
        talk.ask(1).await.unwrap().as_str().map(str::len),
        Some(999_000)
    );
    for outcome in join_all([talk.ask(2), talk.ask(3)]).await {
        let failure = outcome.unwrap_err();
        assert_eq!(failure.class, Class::TooLarge);
        assert!(failure.message.contains("1000000 bytes"), "{failure}");
    }
    assert_eq!(talk.closed().await.class, Class::Protocol);
    talk.abandon().await;
    eventually("everybody is gone", || processes("sleep 30.61").is_empty()).await;
}

#[tokio::test]
async fn answers_get_past_a_full_inbox() {
    let text = r#"
next
i=0; while [ $i -lt 1000 ]; do echo '{"method":"news"}'; i=$((i+1)); done
echo '{"id":"q","method":"ask"}'
answer 1
read -r refused; next; answer "$refused"
"#;
    let (sender, inbox) = mpsc::channel(1);
    let link = dial(&script(text)).dial(sender).await.unwrap();
    let talk = Talk { link, inbox };
    assert_eq!(talk.ask(1).await.unwrap(), 1);
    // The question that found no room was refused, not forgotten.
    let refused = talk.ask(2).await.unwrap();
    assert_eq!(refused["id"], "q");
    assert_eq!(refused["error"]["code"], -32000);
    talk.abandon().await;
}

#[tokio::test]
async fn nobody_is_kept_by_a_child_that_does_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut endpoint = script(
        r#"
while [ ! -e go ]; do sleep 0.01; done
while :; do next; echo "$id" >&2; answer $id; done
"#,
    );
    endpoint.dir = dir.path().to_owned();
    endpoint.stderr = Some(dir.path().join("seen"));
    let talk = talk_through(&dial(&endpoint)).await;
    let large = json!({"text": "x".repeat(100_000)});
    let stuck = talk.link.request(request(1, large));
    let mut stuck = Box::pin(stuck);
    {
        // More than pipe and queue can take. All are given up after they had the time to get as far as they can.
        let many = (100..300).map(|id| talk.link.request(request(id, json!({}))));
        let many = join_all(many);
        let moment = tokio::time::sleep(std::time::Duration::from_millis(200));
        tokio::select! {
            biased;
            _ = &mut stuck => panic!("nobody could have answered"),
            _ = many => panic!("nobody could have answered"),
            () = moment => {}
        }
    }
    std::fs::write(dir.path().join("go"), "").unwrap();
    assert_eq!(within(stuck).await.unwrap(), 1);
    assert_eq!(talk.ask(2).await.unwrap(), 2);
    // What was given up before it was sent is not done later.
    let seen = read(&dir.path().join("seen"));
    let seen: Vec<&str> = seen.lines().skip(1).collect();
    assert_eq!(seen, ["1", "2"]);
    talk.abandon().await;
}

#[tokio::test]
async fn a_given_up_request_is_forgotten() {
    let text = r#"next; echo '{"method":"got"}'; next; answer 2; id=1; answer 1; next; printf '{"jsonrpc":"2.0","error":{}}\n'"#;
    let mut talk = talk(text).await;
    let link = talk.link.clone();
    tokio::select! {
        _ = link.request(request(1, json!({}))) => panic!("nobody answers this one"),
        method = talk.hear() => assert_eq!(method, "got"),
    }
    // The late answer to the first goes nowhere, and an error without an address has one request to be about.
    assert_eq!(talk.ask(2).await.unwrap(), 2);
    assert_eq!(talk.ask(3).await.unwrap_err().class, Class::App);
    talk.abandon().await;
}
