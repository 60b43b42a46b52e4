//! The journal of a session: its rows in the store.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::{BoxFuture, FutureExt};
use hermes_agent::Continuation;
use hermes_home::clock;
use hermes_store::{NewSession, Occasion, Shortened, Store};
use hermes_types::{Content, Cost, Journal, KnownPart, Message, Part, SessionId, Shorter, Usage};
use jiff::Timestamp;
use tokio::sync::watch;

use crate::begin::{Current, new_id};

/// What the store shows instead of a picture: pictures are for the model, the record is for reading.
const PICTURE: &str = "[screenshot]";

/// Writes to the store; the session's own row is made by the first message, so that a session in which
/// nothing was said leaves nothing behind.
pub struct StoreJournal {
    store: Store,
    /// What the row is made from.
    session: NewSession,
    begun: AtomicBool,
    continuation: Continuation,
    /// Where the conversation is; changed here and read by everybody.
    current: watch::Sender<Current>,
}

impl StoreJournal {
    pub fn new(
        store: Store,
        session: NewSession,
        continuation: Continuation,
        current: watch::Sender<Current>,
    ) -> Self {
        Self {
            store,
            session,
            begun: AtomicBool::new(false),
            continuation,
            current,
        }
    }

    pub fn id(&self) -> SessionId {
        self.current.borrow().row.clone()
    }

    async fn begin(&self) -> Result<(), String> {
        if self.begun.load(Ordering::Acquire) {
            return Ok(());
        }
        self.store
            .ensure_session(self.session.clone())
            .await
            .map_err(|error| error.to_string())?;
        self.begun.store(true, Ordering::Release);
        Ok(())
    }
}

impl StoreJournal {
    /// In the same row if that is wanted and nothing is lost by it, else in a new one.
    async fn go_on(&self, shortened: Shortened) -> hermes_store::Result<Option<SessionId>> {
        let here = self.id();
        if self.continuation == Continuation::InPlace
            && self.store.set_aside(&here, shortened.clone()).await?
        {
            return Ok(None);
        }
        let next = new_id();
        self.store.split(&here, &next, shortened).await?;
        self.current
            .send_modify(|current| current.row = next.clone());
        Ok(Some(next))
    }
}

impl Journal for StoreJournal {
    fn append<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>> {
        async move {
            self.begin().await?;
            let stored = self
                .store
                .append(&self.id(), &for_record(message), Timestamp::now())
                .await;
            stored.map(|_| ()).map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn rewrite<'a>(&'a self, messages: &'a [Message]) -> BoxFuture<'a, Result<(), String>> {
        async move {
            self.begin().await?;
            let messages: Vec<Message> = messages.iter().map(for_record).collect();
            let stored = self
                .store
                .replace_messages(&self.id(), &messages, Timestamp::now())
                .await;
            stored.map(|_| ()).map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn compact<'a>(
        &'a self,
        shorter: Shorter<'a>,
    ) -> BoxFuture<'a, Result<Option<SessionId>, String>> {
        async move {
            self.begin().await?;
            let shortened = Shortened {
                system_prompt: shorter.system.to_owned(),
                messages: shorter.messages.iter().map(for_record).collect(),
                at: Timestamp::now(),
            };
            self.go_on(shortened)
                .await
                .map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn usage<'a>(&'a self, usage: &'a Usage, cost: &'a Cost) -> BoxFuture<'a, Result<(), String>> {
        self.side_usage("", usage, cost)
    }

    fn side_usage<'a>(
        &'a self,
        task: &'static str,
        usage: &'a Usage,
        cost: &'a Cost,
    ) -> BoxFuture<'a, Result<(), String>> {
        async move {
            self.begin().await?;
            count(&self.store, &self.id(), task, (usage, cost)).await
        }
        .boxed()
    }
}

/// Adds one reply to a session's account; `task` is empty for the conversation itself.
pub(crate) async fn count(
    store: &Store,
    id: &SessionId,
    task: &'static str,
    (usage, cost): (&Usage, &Cost),
) -> Result<(), String> {
    // What a side model's price is known from says nothing about the conversation's.
    let own = |text: &str| filled(text).filter(|_| task.is_empty());
    let counted = hermes_store::Usage {
        input_tokens: usage.input as i64,
        output_tokens: usage.output as i64,
        cache_read_tokens: usage.cache_read as i64,
        cache_write_tokens: usage.cache_write as i64,
        reasoning_tokens: usage.reasoning as i64,
        api_calls: 1,
        estimated_cost_usd: cost.usd,
        cost_status: own(&cost.status),
        cost_source: own(&cost.source),
        billing_provider: filled(&cost.to.provider),
        billing_base_url: filled(&cost.to.base_url),
        model: filled(&cost.to.model),
        ..hermes_store::Usage::default()
    };
    let occasion = Occasion {
        day: clock::now().date(),
        task,
    };
    let added = store.add_usage(id, &counted, &occasion).await;
    added.map_err(|error| error.to_string())
}

fn filled(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The message without what must not be stored: pictures and private marks.
fn for_record(message: &Message) -> Message {
    let mut message = message.clone();
    message.extra.retain(|key, _| !key.starts_with('_'));
    if let Some(Content::Parts(parts)) = &mut message.content {
        for part in parts {
            if matches!(part, Part::Known(KnownPart::ImageUrl { .. })) {
                let text = PICTURE.to_owned();
                *part = Part::Known(KnownPart::Text {
                    text,
                    extra: serde_json::Map::new(),
                });
            }
        }
    }
    message
}
