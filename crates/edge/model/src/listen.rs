//! Whoever waits for a reply, as the code that makes one sees them.

use std::future::{Future, ready};

use futures::channel::mpsc::{self, Sender};
use futures::stream::{self, BoxStream};
use futures::{SinkExt, StreamExt};
use hermes_types::{ModelError, ModelEvent, ModelReply};

/// Events on their way to the caller; a few, so that a slow reader slows the server down.
const CHANNEL: usize = 16;

pub(crate) type Item = Result<ModelEvent, ModelError>;

pub(crate) struct Listener {
    events: Sender<Item>,
    /// A part of an answer was delivered: from now on nobody else may begin one.
    has_heard: bool,
}

/// A stream that does its own work: dropping it drops the work, and the connection with it.
pub(crate) fn working<W, F>(work: W) -> BoxStream<'static, Item>
where
    W: FnOnce(Listener) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let (events, received) = mpsc::channel(CHANNEL);
    let listener = Listener {
        events,
        has_heard: false,
    };
    let work = stream::once(work(listener)).filter_map(|()| ready(None));
    stream::select(received, work).boxed()
}

impl Listener {
    pub async fn tell(&mut self, event: ModelEvent) {
        if let ModelEvent::Text(text) = &event {
            self.has_heard |= !text.trim().is_empty();
        }
        // Without a listener the whole work is about to be dropped.
        let _ = self.events.send(Ok(event)).await;
    }

    pub async fn end(mut self, last: Result<ModelReply, ModelError>) {
        // Fails only if nobody listens any more, and then nobody minds.
        let _ = self.events.send(last.map(ModelEvent::Done)).await;
    }

    pub fn has_heard(&self) -> bool {
        self.has_heard
    }
}
