//! Replies that are no answers.

use hermes_testkit::doubles::Canned;
use hermes_types::{Finish, Message, Role, Whom};
use pretty_assertions::assert_eq;

use crate::{Bench, text};

fn cut(reply: &str) -> Canned {
    Canned::reply(Message::assistant(reply), Finish::Length)
}

#[tokio::test]
async fn an_unknown_tool_is_explained_and_three_in_a_row_end_the_turn() {
    let mut bench = Bench::new([
        Canned::calls(&[("frobnicate", "{}"), ("echo", "{}")]),
        Canned::text("sorry"),
    ]);
    bench.turn("go").await;
    let results = bench.results();
    assert!(
        results[0].contains("does not exist") && results[0].contains("read_file"),
        "{results:?}"
    );
    assert!(results[1].contains("Skipped"));

    let mut stubborn = Bench::new(std::iter::repeat_n(
        Canned::calls(&[("frobnicate", "{}")]),
        9,
    ));
    let end = stubborn.turn("go").await;
    assert_eq!(stubborn.model.requests().len(), 3);
    assert!(end.error.unwrap().contains("frobnicate"));
}

#[tokio::test]
async fn a_wrong_name_finds_its_tool() {
    let mut bench = Bench::new([
        Canned::calls(&[("Echo_tool", "{\"n\": \"7\"}")]),
        Canned::text("ok"),
    ]);
    bench.turn("go").await;
    assert_eq!(bench.results(), ["{\"n\":7}"]);
}

#[tokio::test]
async fn almost_json_runs_and_broken_json_is_asked_for_again() {
    let mut comma = Bench::new([
        Canned::calls(&[("echo", "{\"n\": 1,}")]),
        Canned::text("ok"),
    ]);
    comma.turn("go").await;
    assert_eq!(comma.results(), ["{\"n\":1}"]);

    let broken = Canned::calls(&[("echo", "{\"n\": nope}")]);
    let mut bench = Bench::new([
        broken.clone(),
        broken.clone(),
        broken,
        Canned::text("gave up"),
    ]);
    bench.turn("go").await;
    assert_eq!(bench.model.requests().len(), 4);
    assert!(bench.results()[0].contains("Invalid JSON"));
}

#[tokio::test]
async fn a_cut_off_call_never_runs() {
    let cut = Canned::calls(&[("write_file", "{\"path\":\"x\",\"content\":\"abc")]);
    let mut bench = Bench::new(std::iter::repeat_n(cut, 20));
    let end = bench.turn("go").await;
    assert!(
        bench.model.requests().len() <= 5,
        "{}",
        bench.model.requests().len()
    );
    assert!(end.error.unwrap().contains("truncated"));
    assert_eq!(bench.workspace.text("/project/x"), None);
    assert_eq!(
        bench.model.requests()[1].max_output,
        Some(32_768),
        "the first retry gets more room"
    );
}

#[tokio::test]
async fn a_cut_off_text_is_continued_and_joined() {
    let mut bench = Bench::new([cut("AAA"), Canned::text("BBB")]);
    let end = bench.turn("go").await;
    assert_eq!(end.text, "AAABBB");
    let last = bench.model.requests().pop().unwrap();
    assert!(text(last.messages.last().unwrap()).contains("Continue exactly"));
}

#[tokio::test]
async fn an_empty_reply_after_tools_is_nudged_and_leaves_no_trace() {
    let mut bench = Bench::new([
        Canned::calls(&[("echo", "{}")]),
        Canned::text(""),
        Canned::text("Done"),
    ]);
    let end = bench.turn("go").await;
    assert_eq!(end.text, "Done");
    assert_eq!(bench.model.requests().len(), 3);
    assert!(
        bench
            .journal
            .messages()
            .iter()
            .all(|message| !text(message).contains("(empty)"))
    );
}

#[tokio::test]
async fn who_says_nothing_is_replaced_if_there_is_somebody() {
    let nothing = || [(); 4].map(|()| Canned::text(""));
    let mut bench = Bench::new(nothing().into_iter().chain([Canned::text("Hi")]));
    assert_eq!(bench.turn("go").await.text, "Hi");
    let whom: Vec<_> = bench.model.requests().iter().map(|r| r.whom).collect();
    let stay = Whom::Stay;
    assert_eq!(whom, [Whom::Usual, stay, stay, stay, Whom::Next]);

    let mut alone = Bench::new(nothing());
    let end = alone.turn("go").await;
    assert_eq!(
        (end.reason.as_str(), end.api_calls),
        ("empty_response_exhausted", 4)
    );
    assert!(end.error.unwrap().contains("returned nothing"));
}

#[tokio::test]
async fn nothing_but_thinking_is_sent_back_to_be_continued() {
    let thought = Message {
        reasoning: Some("hmm".to_owned()),
        ..Message::assistant("")
    };
    let mut bench = Bench::new([
        Canned::reply(thought.clone(), Finish::Stop),
        Canned::text("so: 4"),
    ]);
    assert_eq!(bench.turn("2+2").await.text, "so: 4");
    assert_eq!(
        bench.model.requests()[1].messages.last().unwrap().role,
        Role::Assistant
    );

    let mut exhausted = Bench::new([Canned::reply(thought, Finish::Length)]);
    assert!(
        exhausted
            .turn("2+2")
            .await
            .error
            .unwrap()
            .contains("reasoning_effort")
    );
}

#[tokio::test]
async fn text_beside_housekeeping_is_the_answer_if_nothing_follows() {
    let Canned::Reply(mut reply) = Canned::calls(&[("todo", "{}")]) else {
        unreachable!()
    };
    reply.message.content = Some(hermes_types::Content::Text("All set.".to_owned()));
    let mut bench = Bench::new([Canned::Reply(reply), Canned::text("")]);
    assert_eq!(bench.turn("go").await.text, "All set.");
}

#[tokio::test]
async fn giving_up_takes_the_dangling_calls_back() {
    let mut bench = Bench::new(
        [Canned::calls(&[("echo", "{}")])]
            .into_iter()
            .chain(std::iter::repeat_n(Canned::text(""), 9)),
    );
    let end = bench.turn("go").await;
    assert!(end.error.unwrap().contains("nothing"));
    let roles: Vec<_> = bench
        .journal
        .messages()
        .into_iter()
        .map(|message| message.role)
        .collect();
    assert_eq!(roles, [Role::User]);
}

#[tokio::test]
async fn an_unfinished_reply_stays_and_is_continued() {
    let step = |sealed: &str, text: &str| {
        let mut step = Message::assistant(text);
        let item = serde_json::json!([{"type": "reasoning", "encrypted_content": sealed}]);
        step.codex_reasoning_items = Some(item);
        Canned::reply(step, Finish::Incomplete)
    };
    let mut bench = Bench::new([
        step("one", ""),
        step("two", "Looking."),
        step("two", "Looking."),
        Canned::text("Found."),
    ]);
    let end = bench.turn("go").await;
    assert_eq!(end.text, "Found.");
    // What came twice is sent once.
    let sent: Vec<_> = bench.model.requests()[3]
        .messages
        .iter()
        .map(|message| message.content.as_ref().unwrap().plain())
        .collect();
    assert_eq!(sent, ["go", "", "Looking."]);

    let mut endless = Bench::new((0..9).map(|n| step(&n.to_string(), "")));
    let end = endless.turn("go").await;
    assert_eq!(endless.model.requests().len(), 4);
    assert!(end.error.unwrap().contains("without giving an answer"));

    // Words are better than an error.
    let mut talker = Bench::new((0..9).map(|n| step(&n.to_string(), &format!("part {n}"))));
    let end = talker.turn("go").await;
    assert_eq!((end.text.as_str(), end.error), ("part 3", None));
}
