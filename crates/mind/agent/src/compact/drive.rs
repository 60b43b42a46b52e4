//! When a conversation is made shorter, and how one pass goes.

use hermes_types::{
    AgentEvent, Compacted, Message, ModelError, ModelErrorKind, SessionId, TurnEnd,
};

use super::assemble::assemble;
use super::brief::{Brief, Wish};
use super::fallback::local;
use super::numbers::Numbers;
use super::plan::{Plan, plan, untouched};
use super::prune::prune;
use super::settings::OnFailure;
use super::summary::{Writer, Written};
use super::tokens;
use crate::conversation::Conversation;
use crate::turn::Turn;

/// Passes before a turn's first request.
const PREFLIGHT: u32 = 3;
/// Passes for one request that was too long.
const PER_REQUEST: u32 = 3;
/// Windows to assume when a server says "too long" and not how long it may be.
const TIERS: &[u64] = &[256_000, 128_000, 64_000, 32_000, 16_000, 8_000];
const LONG_CONTEXT: u64 = 200_000;
/// The least of a conversation that is worth making shorter when its owner asks for it.
const LEAST_MESSAGES: usize = 4;

/// How much of the end stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Squeeze {
    Usual,
    /// The usual was not enough.
    Hard,
    /// The owner wants it whatever its size.
    Asked,
}

/// What became of a pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Passed {
    Shorter(Compacted),
    /// The conversation is as it was, and why.
    Same(String),
    Interrupted,
}

/// What a summary should be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus<'a> {
    Everything,
    Topic(&'a str),
}

/// How often the request at hand was too long.
#[derive(Debug, Default)]
pub(crate) struct Strain(u32);

impl Strain {
    pub fn is_over(&mut self) {
        self.0 = 0;
    }
}

/// What can be done about an error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Relief {
    /// The conversation is shorter: ask again.
    Shorter,
    /// It is too long and cannot be made shorter; what its owner is told.
    Exhausted(String),
    /// It was about something else.
    Other,
}

/// A conversation without what can be left out unasked, and what would go besides.
pub(super) struct Draft {
    pub messages: Vec<Message>,
    pub plan: Option<Plan>,
    pub numbers: Numbers,
}

impl Turn {
    /// Before the first request of a turn.
    pub(crate) async fn make_room(&self, conversation: &mut Conversation, end: &mut TurnEnd) {
        let settings = &self.limits.compaction;
        let few = settings.protect_first + settings.protect_last + 1;
        for _ in 0..PREFLIGHT {
            let full = self.request_tokens(conversation) >= self.numbers(conversation).threshold;
            if !full
                || conversation.messages().len() <= few
                || !self.lets_be_shortened(conversation)
            {
                return;
            }
            if !matches!(
                self.pass(conversation, Squeeze::Usual, None, end).await,
                Passed::Shorter(_)
            ) {
                return;
            }
        }
    }

    /// After a round of tools: what the provider counted, and what has come since.
    pub(crate) async fn keep_room(&self, conversation: &mut Conversation, end: &mut TurnEnd) {
        let full = match conversation.load().seen() {
            Some((tokens, count)) => {
                let messages = conversation.messages();
                tokens + tokens::messages(&messages[count.min(messages.len())..])
            }
            None => self.request_tokens(conversation),
        };
        if full >= self.numbers(conversation).threshold && self.lets_be_shortened(conversation) {
            self.pass(conversation, Squeeze::Usual, None, end).await;
        }
    }

    /// After an error: if the conversation was too long, it is made shorter.
    pub(crate) async fn relieve(
        &self,
        error: &ModelError,
        conversation: &mut Conversation,
        strain: &mut Strain,
        end: &mut TurnEnd,
    ) -> Relief {
        let info = self.model.info();
        let window = conversation.load().window(&info.model, info.context_length);
        let Some(limit) = limit_after(error.kind, window) else {
            return Relief::Other;
        };
        if limit < window {
            conversation.load_mut().learn(&info.model, limit);
        }
        strain.0 += 1;
        if !self.limits.compaction.enabled || strain.0 > PER_REQUEST {
            return Relief::Exhausted(exhausted(error, limit));
        }
        let first = if strain.0 == 1 {
            Squeeze::Usual
        } else {
            Squeeze::Hard
        };
        let mut passed = self.pass(conversation, first, None, end).await;
        let still = self.request_tokens(conversation) >= self.numbers(conversation).window;
        if first == Squeeze::Usual && (still || matches!(passed, Passed::Same(_))) {
            let harder = self.pass(conversation, Squeeze::Hard, None, end).await;
            if !matches!(passed, Passed::Shorter(_)) {
                passed = harder;
            }
        }
        match passed {
            Passed::Same(_) => Relief::Exhausted(exhausted(error, limit)),
            // Whoever asks next notices an interrupt.
            Passed::Interrupted => Relief::Shorter,
            Passed::Shorter(_) => {
                tokio::select! {
                    () = tokio::time::sleep(self.limits.compaction.pause) => {}
                    () = self.scope.cancel.cancelled() => {}
                }
                Relief::Shorter
            }
        }
    }

    /// Because its owner wants it, perhaps with most of the summary about one thing.
    pub async fn compact(&self, conversation: &mut Conversation, focus: Focus<'_>) -> Passed {
        if conversation.messages().len() < LEAST_MESSAGES {
            return Passed::Same("there is too little to compact yet".to_owned());
        }
        conversation.load_mut().forgive();
        let focus = match focus {
            Focus::Everything => None,
            Focus::Topic(topic) => Some(topic),
        };
        self.pass(conversation, Squeeze::Asked, focus, &mut TurnEnd::default())
            .await
    }

    fn lets_be_shortened(&self, conversation: &Conversation) -> bool {
        let (settings, load) = (&self.limits.compaction, conversation.load());
        let waits = settings.on_failure == OnFailure::Keep && load.cooldown().is_some();
        settings.enabled && !waits && !load.is_left_alone() && !self.scope.is_cancelled()
    }

    pub(super) fn numbers(&self, conversation: &Conversation) -> Numbers {
        let info = self.model.info();
        let context = conversation.load().window(&info.model, info.context_length);
        let max_output = self.limits.max_output.unwrap_or_default();
        Numbers::new(&info.model, context, max_output, &self.limits.compaction)
    }

    pub(super) fn request_tokens(&self, conversation: &Conversation) -> u64 {
        tokens::text(&conversation.instructions())
            + tokens::tools(&self.toolbox.definitions())
            + tokens::messages(conversation.messages())
    }

    pub(super) fn draft(&self, conversation: &Conversation, squeeze: Squeeze) -> Draft {
        let settings = &self.limits.compaction;
        let mut numbers = self.numbers(conversation);
        let mut messages = conversation.messages().to_vec();
        let mut least = settings.protect_last;
        match squeeze {
            Squeeze::Usual => {}
            Squeeze::Hard => (numbers.tail, least) = (numbers.tail / 2, 3),
            Squeeze::Asked => numbers.tail = numbers.tail.min(tokens::messages(&messages) / 5),
        }
        let upto = untouched(&messages, &numbers, least);
        prune(&mut messages, upto, &self.toolbox);
        let plan = plan(&messages, &numbers, settings);
        Draft {
            messages,
            plan,
            numbers,
        }
    }

    /// One pass: told before and after, and the conversation is whole whatever happens in it.
    async fn pass(
        &self,
        conversation: &mut Conversation,
        squeeze: Squeeze,
        focus: Option<&str>,
        end: &mut TurnEnd,
    ) -> Passed {
        let draft = self.draft(conversation, squeeze);
        let weight = tokens::messages(conversation.messages());
        let before = (
            conversation.messages().len(),
            self.request_tokens(conversation),
        );
        if draft.plan.is_none() && tokens::messages(&draft.messages) >= weight {
            return Passed::Same("nothing in it can be left out".to_owned());
        }
        self.events.send(AgentEvent::Compacting {
            messages: before.0,
            tokens: before.1,
        });
        let (outcome, session, note) = match self.shorter(conversation, draft, focus, end).await {
            Err(stopped) => (Some(stopped.clone()), None, Some(reason(&stopped))),
            Ok((messages, _)) if tokens::messages(&messages) >= weight => {
                conversation.load_mut().passed(weight, weight);
                let told = "it would not have become shorter; it stays as it was".to_owned();
                (Some(Passed::Same(told.clone())), None, Some(told))
            }
            Ok((messages, note)) => {
                let session = self.adopt(conversation, messages, weight).await;
                (
                    None,
                    session,
                    with_warning(note, conversation.load().passes()),
                )
            }
        };
        let compacted = Compacted {
            messages: (before.0, conversation.messages().len()),
            tokens: (before.1, self.request_tokens(conversation)),
            session,
            note,
        };
        self.events.send(AgentEvent::Compacted(compacted.clone()));
        outcome.unwrap_or(Passed::Shorter(compacted))
    }

    /// The messages as they would be, and what their owner should know about it.
    async fn shorter(
        &self,
        conversation: &mut Conversation,
        draft: Draft,
        focus: Option<&str>,
        end: &mut TurnEnd,
    ) -> Result<(Vec<Message>, Option<String>), Passed> {
        let Some(plan) = &draft.plan else {
            return Ok((draft.messages, None));
        };
        let gone = || {
            let middle = plan.middle.clone().filter(|at| Some(*at) != plan.asked);
            middle.map(|at| &draft.messages[at])
        };
        let brief = Brief::of(gone());
        let summarised = gone().map(tokens::message).sum();
        let settings = &self.limits.compaction;
        let besides = settings.besides.ask(gone(), &self.scope).await;
        let besides = settings.redact.apply(besides.trim());
        let wish = Wish {
            budget: draft.numbers.summary(summarised),
            focus,
            besides: &besides,
        };
        let (text, note) = match self.summary(conversation, brief.clone(), &wish).await {
            Ok(written) => {
                self.pay(conversation, &written, end).await;
                (written.text, written.note)
            }
            Err(error) if error.kind == ModelErrorKind::Cancelled => {
                return Err(Passed::Interrupted);
            }
            Err(error) if self.limits.compaction.on_failure == OnFailure::Keep => {
                return Err(Passed::Same(format!(
                    "no summary: {error}; everything stays as it was"
                )));
            }
            Err(error) => {
                let redact = &self.limits.compaction.redact;
                let note = format!(
                    "no model could write a summary ({error}); a plain list of what was done stands in"
                );
                (redact.apply(&local(&brief)), Some(note))
            }
        };
        Ok((assemble(&draft.messages, plan, &text), note))
    }

    async fn summary(
        &self,
        conversation: &mut Conversation,
        brief: Brief,
        wish: &Wish<'_>,
    ) -> Result<Written, ModelError> {
        if let Some(left) = conversation.load().cooldown() {
            let told = format!(
                "the last attempt failed; the next one is in {} s",
                left.as_secs().max(1)
            );
            return Err(ModelError::new(ModelErrorKind::Unknown, told));
        }
        let writer = Writer {
            main: &self.model,
            window: self.numbers(conversation).window,
            models: self.models.as_ref(),
            scope: &self.scope,
            settings: &self.limits.compaction,
        };
        let written = writer.write(brief, wish).await;
        if let Err(error) = &written
            && error.kind != ModelErrorKind::Cancelled
        {
            tracing::warn!("no summary: {error}");
            conversation.load_mut().failed(error.kind);
        }
        written
    }

    async fn pay(&self, conversation: &mut Conversation, written: &Written, end: &mut TurnEnd) {
        for (usage, cost) in &written.used {
            conversation.count_aside("compression", usage, cost).await;
            self.add_up(usage, cost, end);
        }
    }

    /// Goes on with the shorter conversation: prompt built anew, and what tools have to say about it added.
    async fn adopt(
        &self,
        conversation: &mut Conversation,
        messages: Vec<Message>,
        weight: u64,
    ) -> Option<SessionId> {
        let mut messages = messages;
        messages.extend(
            self.toolbox
                .compacted(&self.scope.session)
                .into_iter()
                .map(Message::user),
        );
        let after = tokens::messages(&messages);
        let system = self.limits.compaction.prompt.build(self.model.info());
        let session = conversation.shorten(system, messages).await;
        conversation.load_mut().passed(weight, after);
        session
    }
}

/// The window to assume after an error; `None` if it was about something else.
fn limit_after(kind: ModelErrorKind, window: u64) -> Option<u64> {
    match kind {
        ModelErrorKind::ContextOverflow { limit: Some(limit) } if limit < window => Some(limit),
        ModelErrorKind::ContextOverflow { .. } => {
            let tier = TIERS.iter().copied().find(|tier| *tier < window);
            Some(tier.unwrap_or(window))
        }
        ModelErrorKind::LongContextTier => Some(window.min(LONG_CONTEXT)),
        // Bytes were too many, not tokens.
        ModelErrorKind::PayloadTooLarge => Some(window),
        _ => None,
    }
}

fn exhausted(error: &ModelError, window: u64) -> String {
    format!(
        "{error}\nThe conversation no longer fits the model ({window} tokens) and cannot be made shorter by itself. \
         /new starts a new one; /compress TOPIC keeps what matters for one thing"
    )
}

fn reason(stopped: &Passed) -> String {
    match stopped {
        Passed::Same(why) => why.clone(),
        Passed::Interrupted | Passed::Shorter(_) => {
            "interrupted; everything stays as it was".to_owned()
        }
    }
}

fn with_warning(note: Option<String>, passes: u32) -> Option<String> {
    let warning = (passes > 1).then(|| {
        format!("compacted {passes} times by now: details fade each time, /new starts afresh")
    });
    match (note, warning) {
        (Some(note), Some(warning)) => Some(format!("{note}; {warning}")),
        (note, warning) => note.or(warning),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_tell_about_the_window() {
        let check =
            |kind, window, expected| assert_eq!(limit_after(kind, window), expected, "{kind:?}");
        let overflow = |limit| ModelErrorKind::ContextOverflow { limit };
        check(overflow(Some(70_000)), 131_072, Some(70_000));
        check(overflow(Some(200_000)), 131_072, Some(128_000));
        check(overflow(None), 131_072, Some(128_000));
        check(overflow(None), 128_000, Some(64_000));
        check(overflow(None), 4_000, Some(4_000));
        check(ModelErrorKind::LongContextTier, 1_000_000, Some(200_000));
        check(ModelErrorKind::PayloadTooLarge, 131_072, Some(131_072));
        check(ModelErrorKind::Server, 131_072, None);
    }
}
