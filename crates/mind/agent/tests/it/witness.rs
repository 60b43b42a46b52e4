//! Every call is written down before the model hears of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use hermes_agent::{Conversation, Events, Hints, Toolbox, Turn};
use hermes_testkit::doubles::{
    Canned, CannedModel, FixedAsker, MemoryJournal, MemoryWitness, MemoryWorkspace,
};
use hermes_types::{
    Act, AgentEvent, Answer, Message, Outcome, Parallel, Role, Scope, ToolOutput, Witness,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Bench, tool};

/// Tool, decision and outcome of everything that was seen.
fn seen(witness: &MemoryWitness) -> Vec<(String, String, Outcome)> {
    let acts = witness.acts().into_iter();
    acts.map(|act| (act.tool, act.decision, act.outcome))
        .collect()
}

fn entry(tool: &str, decision: &str, outcome: Outcome) -> (String, String, Outcome) {
    (tool.to_owned(), decision.to_owned(), outcome)
}

// spec: state §16.1
#[tokio::test]
async fn every_way_a_call_can_end_is_seen() {
    let mut bench = Bench::new([
        Canned::calls(&[("echo", "{}"), ("fail", "{}"), ("panic", "{}")]),
        // One that is wrong takes the others of its reply with it.
        Canned::calls(&[("nonsense", "{}"), ("echo", "{}")]),
        Canned::text("ok"),
    ]);
    bench.turn("go").await;
    assert_eq!(
        seen(&bench.witness),
        [
            entry("echo", "", Outcome::Done),
            entry("fail", "", Outcome::Failed),
            entry("panic", "", Outcome::Failed),
            entry("nonsense", "", Outcome::Failed),
            entry("echo", "", Outcome::Failed),
        ]
    );
    let acts = bench.witness.acts();
    assert_eq!(acts[0].place, PathBuf::from("/project"));
    assert_eq!(acts[0].session, "s".into());
    assert!(acts[3].about.contains("does not exist"), "{acts:?}");
}

// spec: state §16.1
#[tokio::test]
async fn calls_that_were_stopped_or_never_began_are_seen() {
    let mut bench = Bench::new([Canned::calls(&[("hang", "{}"), ("echo", "{}")])]);
    let cancel = bench.scope.cancel.clone();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        cancel.cancel();
    };
    tokio::join!(bench.turn("go"), stop);
    assert_eq!(
        seen(&bench.witness),
        [
            entry("hang", "", Outcome::Cancelled),
            entry("echo", "", Outcome::Cancelled),
        ]
    );
    let about = &bench.witness.acts()[1].about;
    assert_eq!(about, "cancelled by the user before it started");
}

#[tokio::test]
async fn a_call_the_guard_stops_says_so() {
    let same = || Canned::calls(&[("fail", "{}")]);
    let mut bench = Bench::new((0..7).map(|_| same()));
    bench.limits.guard.stop = true;
    bench.turn("go").await;
    let last = seen(&bench.witness).pop();
    assert_eq!(last, Some(entry("fail", "guardrail", Outcome::Denied)));
}

// spec: state §16.1
#[tokio::test]
async fn calls_that_tools_make_are_seen_with_their_decisions() {
    let tools = [
        tool("outer", Parallel::Never, |args, cx| {
            async move {
                cx.caller.call("inner", args).await;
                cx.caller
                    .call("nobody", json!({}).as_object().unwrap().clone())
                    .await;
                ToolOutput::done("outer")
            }
            .boxed()
        }),
        tool("inner", Parallel::Never, |_, _| {
            let output = ToolOutput {
                changed: vec![PathBuf::from("/project/f")],
                ..ToolOutput::done("inner")
            };
            async { output.decided("owner: once") }.boxed()
        }),
    ];
    let witness = Arc::new(MemoryWitness::default());
    let model = CannedModel::new([
        Canned::calls(&[("outer", "{\"path\": \"a\"}")]),
        Canned::text("ok"),
    ]);
    run(&model, Toolbox::new(tools), witness.clone()).await;
    assert_eq!(
        seen(&witness),
        [
            entry("inner", "owner: once", Outcome::Done),
            entry("nobody", "", Outcome::Failed),
            entry("outer", "", Outcome::Done),
        ]
    );
    let inner = &witness.acts()[0];
    assert_eq!(inner.about, "a");
    assert_eq!(inner.changed, [PathBuf::from("/project/f")]);
}

/// Looks at what the model has been asked when it sees something.
struct Early {
    model: Arc<CannedModel>,
    requests: Mutex<Vec<usize>>,
}

impl Witness for Early {
    fn saw(&self, _: Act) -> BoxFuture<'_, Option<String>> {
        async {
            // As a slow disk does: others get their turn first.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            let asked = self.model.requests().len();
            self.requests.lock().unwrap().push(asked);
            None
        }
        .boxed()
    }
}

// spec: state §16.2
#[tokio::test]
async fn the_model_hears_of_nothing_that_is_not_written_down() {
    let model = CannedModel::new([
        Canned::calls(&[("echo", "{}"), ("nonsense", "{}")]),
        Canned::calls(&[("echo", "{}")]),
        Canned::text("ok"),
    ]);
    let witness = Arc::new(Early {
        model: model.clone(),
        requests: Mutex::default(),
    });
    run(&model, crate::toolbox(), witness.clone()).await;
    assert_eq!(*witness.requests.lock().unwrap(), [1, 1, 2]);
}

// spec: state §16.7
#[tokio::test]
async fn a_witness_that_cannot_write_is_told_of_and_stops_nothing() {
    let mut bench = Bench::new([Canned::calls(&[("echo", "{}")]), Canned::text("ok")]);
    bench.witness = Arc::new(MemoryWitness::failing("the disk is full"));
    let end = bench.turn("go").await;
    assert!(end.answered());
    let events = bench.events.lock().unwrap();
    let notice = AgentEvent::Notice("the disk is full".to_owned());
    assert!(events.contains(&notice), "{events:?}");
    let messages = bench.journal.messages();
    let results = messages.iter().filter(|m| m.role == Role::Tool);
    assert_eq!(results.count(), 1);
}

async fn run(model: &Arc<CannedModel>, toolbox: Toolbox, witness: Arc<dyn Witness>) {
    let journal = Arc::new(MemoryJournal::default());
    let mut conversation = Conversation::resume("system".to_owned(), Vec::new(), journal);
    let turn = Turn {
        model: model.clone(),
        toolbox,
        workspace: MemoryWorkspace::with(&[]),
        asker: FixedAsker::new(Answer::Deny),
        models: model.clone(),
        witness: Some(witness),
        scope: Scope::new("s".into()),
        events: Events::new(|_| {}),
        steer: hermes_agent::Steer::default(),
        hints: Arc::new(Mutex::new(Hints::new(PathBuf::from("/project")))),
        limits: hermes_agent::Limits::default(),
    };
    let end = turn.run(&mut conversation, Message::user("go")).await;
    assert!(end.answered(), "{end:?}");
}
