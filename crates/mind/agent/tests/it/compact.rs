//! Conversations that get too long.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_agent::{
    Compaction, Conversation, Events, Focus, Hints, OnFailure, Passed, Redact, Todo, Toolbox, Turn,
};
use hermes_testkit::doubles::{Canned, CannedModel, FixedAsker, MemoryJournal, SideModel};
use hermes_types::{
    AgentEvent, Answer, Compacted, Message, ModelErrorKind, ModelReply, ModelRequest, Models, Role,
    Tool, TurnEnd, Usage,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::valid::assert_valid;
use crate::{Bench, text, toolbox};

const MARKER: &str = "[CONTEXT COMPACTION — REFERENCE ONLY]";

/// A long conversation: `pairs` questions and answers of about a thousand tokens each.
fn history(pairs: usize) -> Vec<Message> {
    let long = "word ".repeat(800);
    (0..pairs)
        .flat_map(|n| {
            [
                Message::user(format!("question {n}: {long}")),
                Message::assistant(format!("answer {n}: {long}")),
            ]
        })
        .collect()
}

struct Long {
    bench: Bench,
    side: Option<Arc<CannedModel>>,
}

impl Long {
    /// What it was given fits `pairs` pairs; the canned replies come after that.
    fn new(pairs: usize, canned: impl IntoIterator<Item = Canned>) -> Self {
        let mut bench = Bench::new(canned);
        bench.journal = Arc::new(MemoryJournal::default());
        bench.conversation =
            Conversation::resume("system".to_owned(), history(pairs), bench.journal.clone());
        bench.limits.compaction.pause = Duration::ZERO;
        Self { bench, side: None }
    }

    fn with_side(mut self, side: Arc<CannedModel>) -> Self {
        self.side = Some(side);
        self
    }

    fn settings(&mut self) -> &mut Compaction {
        &mut self.bench.limits.compaction
    }

    fn turn(&self, toolbox: Toolbox) -> Turn {
        let events = self.bench.events.clone();
        let models: Arc<dyn Models> = match &self.side {
            Some(side) => Arc::new(SideModel(side.clone())),
            None => Arc::new(SideModel(self.bench.model.clone())),
        };
        Turn {
            model: self.bench.model.clone(),
            toolbox,
            workspace: self.bench.workspace.clone(),
            asker: FixedAsker::new(Answer::Deny),
            models,
            witness: None,
            scope: self.bench.scope.clone(),
            events: Events::new(move |event| events.lock().unwrap().push(event)),
            steer: self.bench.steer.clone(),
            hints: Arc::new(Mutex::new(Hints::new("/project".into()))),
            limits: self.bench.limits.clone(),
        }
    }

    async fn say(&mut self, prompt: &str) -> TurnEnd {
        let turn = self.turn(toolbox());
        let end = turn
            .run(&mut self.bench.conversation, Message::user(prompt))
            .await;
        for request in self
            .bench
            .model
            .requests()
            .iter()
            .filter(|request| !is_for_summary(request))
        {
            assert_valid(request);
        }
        end
    }

    /// Each pass as it was told: what it was told to be, and what became of it.
    fn passes(&self) -> Vec<Compacted> {
        let events = self.bench.events.lock().unwrap();
        let begun = events
            .iter()
            .filter(|event| matches!(event, AgentEvent::Compacting { .. }));
        let ended: Vec<Compacted> = events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::Compacted(compacted) => Some(compacted.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(begun.count(), ended.len(), "told before and after");
        ended
    }

    fn last_request(&self) -> ModelRequest {
        self.bench.model.requests().pop().unwrap()
    }
}

fn is_for_summary(request: &ModelRequest) -> bool {
    request.system.contains("hand-over notes")
}

fn summaries(model: &CannedModel) -> Vec<String> {
    let requests = model.requests();
    let asked = requests.iter().filter(|request| is_for_summary(request));
    asked.map(|request| text(&request.messages[0])).collect()
}

fn holds_summary(request: &ModelRequest, summary: &str) -> bool {
    request
        .messages
        .iter()
        .any(|message| text(message).contains(MARKER) && text(message).contains(summary))
}

#[tokio::test]
async fn a_long_conversation_is_compacted_before_the_first_request() {
    let mut long = Long::new(40, [Canned::text("the notes"), Canned::text("hello")]);
    let end = long.say("and now?").await;
    assert_eq!((end.text.as_str(), end.error), ("hello", None));
    let request = long.last_request();
    assert!(holds_summary(&request, "the notes"));
    assert!(request.messages.len() < 30, "{}", request.messages.len());
    assert_eq!(text(request.messages.last().unwrap()), "and now?");
    assert_eq!(
        text(&request.messages[0]),
        text(&history(1)[0]),
        "the beginning stays"
    );
    let [asked] = summaries(&long.bench.model).try_into().unwrap();
    assert!(asked.contains("[USER]: question 5") && !asked.contains("and now?"));
    let [passed] = long.passes().try_into().unwrap();
    assert!(
        passed.tokens.0 > 65_536 && passed.tokens.1 < 30_000,
        "{passed:?}"
    );
    assert_eq!(passed.messages.1, request.messages.len());
    assert_eq!(passed.note, None);
    assert_eq!(
        long.bench.journal.messages(),
        long.bench.conversation.messages()
    );
    assert_eq!(end.usage.input, 20, "the summary is paid for too");
}

#[tokio::test]
async fn a_conversation_that_fits_or_must_not_be_touched_stays() {
    let mut short = Long::new(25, [Canned::text("hello")]);
    short.say("and now?").await;
    assert_eq!(short.passes(), []);
    let mut off = Long::new(40, [Canned::text("hello")]);
    off.settings().enabled = false;
    off.say("and now?").await;
    assert_eq!(off.passes(), []);
    assert_eq!(off.last_request().messages.len(), 81);
}

/// A reply with calls for which the provider counted this many tokens.
fn counted(tokens: u64) -> Canned {
    let Canned::Reply(reply) = Canned::calls(&[("echo", "{\"n\": 1}")]) else {
        unreachable!()
    };
    Canned::Reply(ModelReply {
        usage: Usage {
            input: tokens,
            ..Usage::default()
        },
        ..reply
    })
}

#[tokio::test]
async fn after_tools_the_providers_own_count_decides() {
    let mut long = Long::new(25, [counted(60_000), Canned::text("fine")]);
    long.say("go").await;
    assert_eq!(long.passes(), [], "it said there is room");
    let mut long = Long::new(
        25,
        [
            counted(66_000),
            Canned::text("the notes"),
            Canned::text("fine"),
        ],
    );
    let end = long.say("go").await;
    assert_eq!((end.text.as_str(), long.passes().len()), ("fine", 1));
    let request = long.last_request();
    assert!(holds_summary(&request, "the notes"));
    assert_eq!(
        request.messages.last().unwrap().role,
        Role::Tool,
        "the work goes on where it was"
    );
    assert!(request.messages.iter().any(|message| text(message) == "go"));
}

#[tokio::test]
async fn one_long_turn_is_compacted_without_losing_what_was_asked() {
    let rounds = 30;
    let big = json!({"n": 1, "text": "y".repeat(9_000)}).to_string();
    let calls = (0..rounds).map(|_| Canned::calls(&[("echo", &big)]));
    let mut long = Long::new(
        2,
        calls.chain([Canned::text("the notes"), Canned::text("done")]),
    );
    // Nothing is counted, so it is estimated.
    let replies = long.bench.model.requests().len();
    assert_eq!(replies, 0);
    long.bench.model = CannedModel::new(
        (0..rounds)
            .map(|_| uncounted(&big))
            .chain([Canned::text("the notes"), Canned::text("done")]),
    );
    let end = long.say("port the parser, all of it").await;
    assert_eq!(end.error, None);
    let passes = long.passes();
    assert!(!passes.is_empty());
    let last = long.bench.conversation.messages();
    let asked = last
        .iter()
        .filter(|message| text(message) == "port the parser, all of it");
    assert_eq!(
        asked.count(),
        1,
        "the request is still there, word for word"
    );
}

fn uncounted(arguments: &str) -> Canned {
    let Canned::Reply(reply) = Canned::calls(&[("echo", arguments)]) else {
        unreachable!()
    };
    Canned::Reply(ModelReply {
        usage: Usage::default(),
        ..reply
    })
}

#[tokio::test]
async fn an_overflow_is_compacted_away_and_the_limit_learned() {
    for kind in [
        ModelErrorKind::ContextOverflow {
            limit: Some(70_000),
        },
        ModelErrorKind::ContextOverflow { limit: None },
        ModelErrorKind::PayloadTooLarge,
        ModelErrorKind::LongContextTier,
    ] {
        let mut long = Long::new(
            25,
            [
                Canned::error(kind),
                Canned::text("the notes"),
                Canned::text("fine"),
            ],
        );
        let end = long.say("go").await;
        assert_eq!((end.text.as_str(), end.error), ("fine", None), "{kind:?}");
        assert!(holds_summary(&long.last_request(), "the notes"));
        assert_eq!(long.passes().len(), 1);
    }
}

#[tokio::test]
async fn what_stays_too_long_ends_with_advice() {
    let overflow = || Canned::error(ModelErrorKind::ContextOverflow { limit: None });
    let notes = || Canned::text("the notes");
    let canned = [
        overflow(),
        notes(),
        overflow(),
        notes(),
        overflow(),
        notes(),
        overflow(),
        overflow(),
    ];
    let mut long = Long::new(25, canned);
    let end = long.say("go").await;
    assert_eq!(end.reason, "compression_exhausted");
    let error = end.error.unwrap();
    assert!(
        error.contains("/new") && error.contains("/compress"),
        "{error}"
    );
    assert!(
        long.bench.model.requests().len() <= 8,
        "{}",
        long.bench.model.requests().len()
    );
    assert!(long.passes().len() <= 4);

    let mut short = Long::new(1, [overflow(), overflow()]);
    let end = short.say("go").await;
    assert_eq!(
        (end.reason.as_str(), end.api_calls),
        ("compression_exhausted", 1)
    );
    assert_eq!(
        short.bench.conversation.messages().len(),
        3,
        "nothing was taken away"
    );
}

#[tokio::test]
async fn restarts_for_room_cost_no_steps() {
    let overflow = Canned::error(ModelErrorKind::ContextOverflow { limit: None });
    let call = Canned::calls(&[("echo", "{}")]);
    let mut long = Long::new(
        25,
        [
            overflow,
            Canned::text("the notes"),
            call,
            Canned::text("fine"),
        ],
    );
    long.bench.limits.iterations = 2;
    assert_eq!(long.say("go").await.text, "fine");
}

#[tokio::test]
async fn without_a_model_for_it_a_summary_is_put_together() {
    let failing = || Canned::error(ModelErrorKind::Server);
    let mut long = Long::new(
        40,
        [failing(), Canned::text("hello"), Canned::text("again")],
    );
    let end = long.say("and now?").await;
    assert_eq!(end.text, "hello");
    let [passed] = long.passes().try_into().unwrap();
    assert!(
        passed
            .note
            .unwrap()
            .contains("no model could write a summary")
    );
    let request = long.last_request();
    assert!(holds_summary(&request, "question 30"));
    let summary = request
        .messages
        .iter()
        .map(text)
        .find(|text| text.contains(MARKER))
        .unwrap();
    assert!(
        summary.chars().count() < 9_500,
        "{}",
        summary.chars().count()
    );
    assert!(
        !summary.contains("and now?"),
        "the request itself is not in it"
    );
}

#[tokio::test]
async fn the_history_is_kept_if_its_owner_wants_that() {
    let mut long = Long::new(
        40,
        [
            Canned::error(ModelErrorKind::Server),
            Canned::text("hello"),
            Canned::text("again"),
        ],
    );
    long.settings().on_failure = OnFailure::Keep;
    assert_eq!(long.say("and now?").await.text, "hello");
    assert_eq!(long.last_request().messages.len(), 81);
    assert_eq!(long.say("and then?").await.text, "again");
    assert_eq!(
        summaries(&long.bench.model).len(),
        1,
        "not tried again at once"
    );
}

#[tokio::test]
async fn a_side_model_writes_the_summary_in_pieces_if_it_is_small() {
    let side = CannedModel::named(
        "side",
        30_000,
        (1..9).map(|n| Canned::text(&format!("notes {n}"))),
    );
    let mut long = Long::new(40, [Canned::text("hello")]).with_side(side.clone());
    assert_eq!(long.say("and now?").await.text, "hello");
    let asked = summaries(&side);
    assert!((2..=8).contains(&asked.len()), "{}", asked.len());
    assert!(
        asked[1].contains("notes 1"),
        "each piece brings the notes up to date"
    );
    assert!(holds_summary(
        &long.last_request(),
        &format!("notes {}", asked.len())
    ));
    assert_eq!(long.passes()[0].note, None);
}

#[tokio::test]
async fn a_side_model_that_fails_is_named_and_the_main_one_helps() {
    for side in [
        CannedModel::named("side", 131_072, [Canned::error(ModelErrorKind::Auth)]),
        CannedModel::named("side", 4_000, []),
        CannedModel::named("side", 131_072, [Canned::text(" ")]),
    ] {
        let mut long =
            Long::new(40, [Canned::text("the notes"), Canned::text("hello")]).with_side(side);
        assert_eq!(long.say("and now?").await.text, "hello");
        let [passed] = long.passes().try_into().unwrap();
        assert!(
            passed
                .note
                .unwrap()
                .contains("the side model for summaries failed")
        );
        assert!(holds_summary(&long.last_request(), "the notes"));
    }
}

#[tokio::test]
async fn it_never_goes_on_for_ever() {
    // A summary as long as what it stands for.
    let useless = "useless ".repeat(60_000);
    let canned = (0..40).map(|n| {
        if n % 2 == 0 {
            Canned::text(&useless)
        } else {
            Canned::text("ok")
        }
    });
    let side = CannedModel::named("side", 131_072, canned);
    let mut long = Long::new(40, (0..9).map(|_| Canned::text("ok"))).with_side(side.clone());
    long.settings().ceiling = Some(20_000);
    for _ in 0..6 {
        long.say("go on").await;
    }
    assert!(summaries(&side).len() <= 3, "{}", summaries(&side).len());
    assert!(long.passes().len() <= 3);
}

#[tokio::test]
async fn an_interrupt_ends_it_and_changes_nothing() {
    let mut long = Long::new(40, [Canned::Hang]);
    let before = long.bench.conversation.messages().len();
    let cancel = long.bench.scope.cancel.clone();
    let model = long.bench.model.clone();
    let stop = async {
        while model.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (end, ()) = tokio::join!(long.say("go"), stop);
    assert!(end.interrupted, "{end:?}");
    assert_eq!(long.bench.conversation.messages().len(), before + 1);
    assert!(
        long.passes()[0]
            .note
            .as_deref()
            .unwrap()
            .contains("interrupted")
    );
}

#[tokio::test]
async fn secrets_are_taken_out_before_and_after() {
    let mut long = Long::new(
        40,
        [Canned::text("the key is hunter2"), Canned::text("hello")],
    );
    long.settings().redact =
        Redact::new(|text| text.replace("hunter2", "***").replace("word", "w"));
    let mut messages = history(40);
    messages[20] = Message::user("my key is hunter2");
    long.bench.conversation =
        Conversation::resume("system".to_owned(), messages, long.bench.journal.clone());
    long.say("and now?").await;
    let [asked] = summaries(&long.bench.model).try_into().unwrap();
    assert!(asked.contains("my key is ***") && !asked.contains("hunter2"));
    assert!(holds_summary(&long.last_request(), "the key is ***"));
}

#[tokio::test]
async fn open_tasks_are_said_again_and_the_prompt_is_built_anew() {
    let todos = json!({"todos": [
        {"id": "1", "content": "read", "status": "completed"},
        {"id": "2", "content": "port", "status": "in_progress"},
        {"id": "3", "content": "test", "status": "pending"},
    ]});
    let canned = [
        Canned::calls(&[("todo", &todos.to_string())]),
        Canned::text("noted"),
        Canned::text("the notes"),
    ];
    let mut long = Long::new(40, canned);
    long.settings().enabled = false;
    long.settings().prompt =
        hermes_agent::Prompt::new(|info| format!("new prompt for {}", info.model));
    let tools = Toolbox::new([Arc::new(Todo::default()) as Arc<dyn Tool>]);
    let turn = long.turn(tools.clone());
    turn.run(&mut long.bench.conversation, Message::user("plan it"))
        .await;
    let passed = long
        .turn(tools)
        .compact(&mut long.bench.conversation, Focus::Topic("the parser"))
        .await;
    assert!(matches!(passed, Passed::Shorter(_)), "{passed:?}");
    let last = text(long.bench.conversation.messages().last().unwrap());
    assert!(
        last.contains("- [>] 2. port\n- [ ] 3. test") && !last.contains("read"),
        "{last}"
    );
    assert_eq!(long.bench.conversation.system, "new prompt for canned-1");
    let [asked] = summaries(&long.bench.model).try_into().unwrap();
    assert!(asked.contains("cares most about: the parser"));
}

#[tokio::test]
async fn from_the_second_time_on_its_owner_is_warned() {
    let notes = || Canned::text("the notes");
    let mut long = Long::new(40, [notes(), notes()]);
    for expected in [false, true] {
        let turn = long.turn(toolbox());
        turn.compact(&mut long.bench.conversation, Focus::Everything)
            .await;
        let warned = long
            .passes()
            .pop()
            .unwrap()
            .note
            .is_some_and(|note| note.contains("2 times"));
        assert_eq!(warned, expected);
        let mut messages = long.bench.conversation.messages().to_vec();
        messages.extend(history(12));
        let load = long.bench.conversation.load().passes();
        assert_eq!(load, 1 + u32::from(expected));
        long.bench.conversation =
            Conversation::resume("system".to_owned(), messages, long.bench.journal.clone());
    }
    let asked = summaries(&long.bench.model);
    assert!(
        asked[1].contains("<notes>\nthe notes\n</notes>"),
        "an earlier summary is brought up to date"
    );
}

#[tokio::test]
async fn a_preview_changes_nothing_and_is_no_promise_broken() {
    let mut long = Long::new(40, [Canned::text("the notes")]);
    let before = long.bench.conversation.messages().to_vec();
    let turn = long.turn(toolbox());
    let preview = turn.preview(&long.bench.conversation).unwrap();
    assert_eq!(long.bench.conversation.messages(), before);
    assert!(long.bench.model.requests().is_empty());
    let Passed::Shorter(compacted) = turn
        .compact(&mut long.bench.conversation, Focus::Everything)
        .await
    else {
        panic!("nothing happened");
    };
    assert_eq!(compacted.messages.0, preview.messages.0);
    assert!(
        compacted.messages.1.abs_diff(preview.messages.1) <= 1,
        "{compacted:?} {preview:?}"
    );
    assert!(
        compacted.tokens.1 <= preview.tokens.1,
        "{compacted:?} {preview:?}"
    );
    let sizes = turn.sizes(&long.bench.conversation);
    assert_eq!(sizes.total(), compacted.tokens.1);
    assert!(sizes.history.iter().any(|(kind, _, _)| *kind == "summary"));
}
