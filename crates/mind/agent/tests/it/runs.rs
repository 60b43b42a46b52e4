//! Whole conversations, made up: whatever a model, its tools and its owner do, every request is valid and
//! extends the one before.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, StreamExt};
use hermes_agent::{Conversation, Events, Hints, Limits, Steer, Toolbox, Turn};
use hermes_testkit::doubles::{CannedModel, FixedAsker, MemoryJournal, MemoryWorkspace};
use hermes_types::{
    Answer, Args, CallCx, Content, Cost, Journal, Message, ModelClient, ModelError, ModelErrorKind,
    ModelEvent, ModelInfo, ModelReply, ModelRequest, Parallel, Role, Scope, Tool, ToolOutput,
    ToolSpec, TurnEnd, Usage,
};
use proptest::prelude::*;

use crate::script::{Between, Doing, Prompted, Reply, Script, Step, script};
use crate::valid::{assert_valid, is_prefill};
use crate::{made_spec, text, with_picture};

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_valid_and_extends_the_one_before(script in script()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(Run::new(&script).play(&script));
    }
}

// What was read before an interrupt was said: the model must see it, too.
#[tokio::test]
async fn an_interrupted_answer_is_kept_as_far_as_it_came() {
    let turn = |prompt: &str, replies: &[Reply]| Prompted {
        prompt: prompt.to_owned(),
        picture: false,
        steps: replies
            .iter()
            .map(|reply| Step {
                reply: reply.clone(),
                meanwhile: Doing::Nothing,
            })
            .collect(),
        then: Between::Nothing,
    };
    let script = Script {
        turns: vec![turn("go", &[Reply::Stalls]), turn("on", &[Reply::Hangs])],
        iterations: 90,
        guarded: false,
    };
    let run = Run::new(&script);
    let journal = run.journal.clone();
    run.play(&script).await;
    let said: Vec<String> = journal.messages().iter().map(text).collect();
    assert_eq!(said, ["go", "so far", "on"]);
}

/// A conversation while it is being played.
struct Run {
    world: Arc<World>,
    journal: Arc<MemoryJournal>,
    conversation: Conversation,
    limits: Limits,
    asked: Vec<Asked>,
}

/// A request, and what came of it.
struct Asked {
    request: ModelRequest,
    /// How the conversation may differ afterwards.
    changes: Changes,
}

#[derive(Clone, Copy, PartialEq)]
enum Changes {
    Nothing,
    /// The turn failed, and what hung in the air was taken back.
    Dangling,
    /// Pictures were taken out, or the process died in between.
    Anything,
}

/// What the model, the tools and the owner share.
struct World {
    info: ModelInfo,
    steps: Mutex<VecDeque<Step>>,
    requests: Mutex<Vec<(ModelRequest, Option<ModelErrorKind>)>>,
    /// The arguments tools were run with.
    ran: Mutex<Vec<Args>>,
    scope: Mutex<Scope>,
    steer: Steer,
}

impl Run {
    fn new(script: &Script) -> Self {
        let world = World {
            info: CannedModel::new([]).info().clone(),
            steps: Mutex::default(),
            requests: Mutex::default(),
            ran: Mutex::default(),
            scope: Mutex::new(Scope::new("s".into())),
            steer: Steer::default(),
        };
        let journal = Arc::new(MemoryJournal::default());
        let mut limits = Limits {
            iterations: script.iterations,
            ..Limits::default()
        };
        limits.guard.stop = script.guarded;
        Self {
            world: Arc::new(world),
            conversation: Conversation::resume("system".to_owned(), Vec::new(), journal.clone()),
            journal,
            limits,
            asked: Vec::new(),
        }
    }

    async fn play(mut self, script: &Script) {
        for turn in &script.turns {
            *self.world.steps.lock().unwrap() = turn.steps.iter().cloned().collect();
            let prompt = match turn.picture {
                true => with_picture(&turn.prompt),
                false => Message::user(&turn.prompt),
            };
            let end = self.turn(prompt).await;
            self.note(&end);
            self.check_end(&end);
            match turn.then {
                Between::Nothing => {}
                Between::Resumed => self.resume(usize::MAX).await,
                Between::Killed(len) => self.resume(len).await,
            }
        }
        let killed = |turn: &Prompted| matches!(turn.then, Between::Killed(_));
        self.check_requests(script.turns.iter().any(killed));
    }

    async fn turn(&mut self, prompt: Message) -> TurnEnd {
        let world = self.world.clone();
        let scope = Scope::new("s".into());
        *world.scope.lock().unwrap() = scope.clone();
        let turn = Turn {
            model: world.clone(),
            toolbox: toolbox(&world),
            workspace: MemoryWorkspace::with(&[]),
            asker: FixedAsker::new(Answer::Deny),
            models: CannedModel::new([]),
            witness: None,
            scope,
            events: Events::new(|_| {}),
            steer: world.steer.clone(),
            hints: Arc::new(Mutex::new(Hints::new(PathBuf::from("/project")))),
            limits: self.limits.clone(),
        };
        turn.run(&mut self.conversation, prompt).await
    }

    /// Takes down what the turn asked, and what may have changed since.
    fn note(&mut self, end: &TurnEnd) {
        let requests = std::mem::take(&mut *self.world.requests.lock().unwrap());
        self.asked
            .extend(requests.into_iter().map(|(request, error)| Asked {
                changes: match error {
                    Some(ModelErrorKind::ImagesRejected | ModelErrorKind::ImageTooLarge) => {
                        Changes::Anything
                    }
                    _ => Changes::Nothing,
                },
                request,
            }));
        if let Some(last) = self.asked.last_mut()
            && end.error.is_some()
            && last.changes == Changes::Nothing
        {
            last.changes = Changes::Dangling;
        }
    }

    /// Another process takes the conversation up; the first may have died before it could store everything.
    async fn resume(&mut self, len: usize) {
        let mut stored = self.journal.messages();
        let had_pictures = stored
            .iter()
            .any(|message| matches!(message.content, Some(Content::Parts(_))));
        if let Some(last) = self.asked.last_mut()
            && (len < stored.len() || had_pictures)
        {
            last.changes = Changes::Anything;
        }
        stored.truncate(len.max(1));
        let journal = MemoryJournal::default();
        journal.rewrite(&stored).await.unwrap();
        self.journal = Arc::new(journal);
        self.conversation = Conversation::resume("system".to_owned(), stored, self.journal.clone());
    }

    fn check_end(&self, end: &TurnEnd) {
        let outcomes = [end.interrupted, end.error.is_some(), end.answered()];
        assert_eq!(
            outcomes.iter().filter(|is_so| **is_so).count(),
            1,
            "{end:?}"
        );
        for args in self.world.ran.lock().unwrap().iter() {
            assert!(!args.contains_key("cut"), "a call that was cut off has run");
        }
        for message in self.journal.messages() {
            let is_private = message.extra.keys().any(|name| name.starts_with('_'));
            assert!(!is_private && text(&message) != "(empty)", "{message:?}");
        }
    }

    fn check_requests(&self, was_killed: bool) {
        for Asked { request, .. } in &self.asked {
            assert_valid(request);
            assert_eq!(request.system, "system");
            let is_stub = |message: &Message| text(message).contains("No result was recorded");
            let lacks_results = request.messages.iter().any(is_stub);
            assert!(was_killed || !lacks_results, "{:#?}", request.messages);
        }
        for pair in self.asked.windows(2) {
            let (before, after) = (lasting(&pair[0].request), &pair[1].request.messages);
            let extends = extends(&before, after)
                || match pair[0].changes {
                    Changes::Nothing => false,
                    Changes::Dangling => extends_without_last_calls(&before, after),
                    Changes::Anything => true,
                };
            assert!(extends, "{before:#?}\n is not how this begins: {after:#?}");
        }
    }
}

/// A request without what was said in it only.
fn lasting(request: &ModelRequest) -> Vec<Message> {
    let mut messages = request.messages.clone();
    messages.retain(|message| !is_prefill(message));
    if let [.., empty, nudge] = messages.as_slice()
        && empty.role == Role::Assistant
        && text(empty) == "(empty)"
        && text(nudge).contains("last reply was empty")
    {
        messages.truncate(messages.len() - 2);
    }
    messages
}

/// Whether `after` goes on from `before`. A user who speaks twice in a row goes on in the same message.
fn extends(before: &[Message], after: &[Message]) -> bool {
    let Some((last, earlier)) = before.split_last() else {
        return true;
    };
    let goes_on = |then: &Message| {
        then == last
            || then.role == Role::User
                && last.role == Role::User
                && text(then).starts_with(&(text(last) + "\n\n"))
    };
    after.starts_with(earlier) && after.get(earlier.len()).is_some_and(goes_on)
}

fn extends_without_last_calls(before: &[Message], after: &[Message]) -> bool {
    let asked = before
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    asked.is_some_and(|at| extends(&before[..at], after))
}

impl World {
    fn owner_does(&self, doing: &Doing) {
        match doing {
            Doing::Nothing => {}
            Doing::Steer => self.steer.push("rather this"),
            Doing::Interrupt => self.scope.lock().unwrap().cancel.cancel(),
        }
    }
}

impl ModelClient for World {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(
        &self,
        request: ModelRequest,
        scope: Scope,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let step = self
            .steps
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or_else(Step::done);
        let error = match &step.reply {
            Reply::Error(kind) => Some(*kind),
            _ => None,
        };
        self.requests.lock().unwrap().push((request, error));
        self.owner_does(&step.meanwhile);
        let broken = |kind| Err(ModelError::new(kind, format!("{kind:?}")));
        match step.reply {
            Reply::Message(message, finish) => {
                let done = ModelReply {
                    message,
                    finish,
                    usage: Usage::default(),
                    cost: Cost::default(),
                };
                stream::iter([Ok(ModelEvent::Done(done))]).boxed()
            }
            Reply::Error(kind) => stream::iter([broken(kind)]).boxed(),
            Reply::BreaksOff => stream::iter([Ok(ModelEvent::Text("so far".to_owned()))]).boxed(),
            Reply::Hangs | Reply::Stalls => {
                self.owner_does(&Doing::Interrupt);
                let text = matches!(step.reply, Reply::Stalls)
                    .then(|| Ok(ModelEvent::Text("so far".to_owned())));
                let ended = async move { scope.cancel.cancelled().await };
                let end = stream::once(ended.map(move |()| broken(ModelErrorKind::Cancelled)));
                stream::iter(text).chain(end).boxed()
            }
        }
    }
}

/// A tool that does what its name says.
struct Acting {
    spec: ToolSpec,
    world: Arc<World>,
}

fn toolbox(world: &Arc<World>) -> Toolbox {
    let acting = |name: &&str| {
        let parallel = if name.starts_with("read") {
            Parallel::Always
        } else {
            Parallel::Never
        };
        Arc::new(Acting {
            spec: made_spec(name, parallel),
            world: world.clone(),
        }) as Arc<dyn Tool>
    };
    Toolbox::new(crate::script::TOOLS.iter().map(acting))
}

impl Tool for Acting {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        self.world.ran.lock().unwrap().push(args);
        match self.spec.name.as_str() {
            "fail" => std::future::ready(ToolOutput::failed("no luck")).boxed(),
            "panic" => async { panic!("inside a tool") }.boxed(),
            "panic_at_once" => panic!("before a tool has begun"),
            "slow" => tokio::time::sleep(Duration::from_millis(1))
                .map(|()| ToolOutput::done("at last"))
                .boxed(),
            "steered" => {
                self.world.owner_does(&Doing::Steer);
                std::future::ready(ToolOutput::done("")).boxed()
            }
            "interrupted" => {
                self.world.owner_does(&Doing::Interrupt);
                cx.scope
                    .cancel
                    .cancelled()
                    .map(|()| ToolOutput::cancelled("stopped"))
                    .boxed()
            }
            "deaf" => {
                self.world.owner_does(&Doing::Interrupt);
                std::future::pending().boxed()
            }
            _ => std::future::ready(ToolOutput::done("ok")).boxed(),
        }
    }
}
