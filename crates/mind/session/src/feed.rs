//! Events on their way to a face. No face ever blocks a turn: text is run together while it waits, and what
//! only shows progress is dropped when the queue is full.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_agent::Events;
use hermes_types::AgentEvent;
use tokio::sync::Notify;

/// Events that may wait, text counted once.
const WAITING: usize = 1_024;

#[derive(Default)]
struct Queue {
    events: VecDeque<AgentEvent>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    filled: Notify,
}

/// The end a face reads from.
pub struct Feed(Arc<Shared>);

/// The end the session writes to; the feed ends when it is dropped.
pub(crate) struct Source(Arc<Shared>);

pub(crate) fn feed() -> (Source, Feed) {
    let shared = Arc::new(Shared::default());
    (Source(shared.clone()), Feed(shared))
}

impl Source {
    pub fn events(&self) -> Events {
        let shared = self.0.clone();
        Events::new(move |event| {
            shared.lock().push(event);
            shared.filled.notify_one();
        })
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.filled.notify_one();
    }
}

impl Feed {
    /// The next event; `None` when the session is over.
    pub async fn next(&self) -> Option<AgentEvent> {
        loop {
            let filled = self.0.filled.notified();
            {
                let mut queue = self.0.lock();
                if let Some(event) = queue.events.pop_front() {
                    return Some(event);
                }
                if queue.closed {
                    return None;
                }
            }
            filled.await;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&mut self, event: AgentEvent) {
        let full = self.events.len() >= WAITING;
        match (self.events.back_mut(), &event) {
            (Some(AgentEvent::Text(text)), AgentEvent::Text(more)) => text.push_str(more),
            (Some(AgentEvent::Reasoning(text)), AgentEvent::Reasoning(more)) => text.push_str(more),
            _ if full && is_passing(&event) => {}
            _ => self.events.push_back(event),
        }
    }
}

/// What a face can do without.
fn is_passing(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::ToolProgress { .. } | AgentEvent::Reasoning(_) | AgentEvent::Usage { .. } => {
            true
        }
        // What a child says comes back in its result.
        AgentEvent::Child(child) => {
            matches!(*child.event, AgentEvent::Text(_)) || is_passing(&child.event)
        }
        _ => false,
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Feed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn text_is_run_together_and_the_end_is_seen() {
        let (source, feed) = feed();
        let events = source.events();
        for part in ["a", "b", "c"] {
            events.send(AgentEvent::Text(part.to_owned()));
        }
        events.send(AgentEvent::TurnStarted);
        drop(source);
        assert_eq!(feed.next().await, Some(AgentEvent::Text("abc".to_owned())));
        assert_eq!(feed.next().await, Some(AgentEvent::TurnStarted));
        assert_eq!(feed.next().await, None);
    }

    #[test]
    fn a_full_queue_drops_progress_only() {
        let mut queue = Queue::default();
        for _ in 0..2 * WAITING {
            queue.push(AgentEvent::ToolProgress {
                id: "1".to_owned(),
                text: "x".to_owned(),
            });
        }
        assert_eq!(queue.events.len(), WAITING);
        let child = |event: AgentEvent| {
            AgentEvent::Child(hermes_types::Child {
                call_id: "1".to_owned(),
                index: 0,
                goal: String::new(),
                event: Box::new(event),
            })
        };
        queue.push(child(AgentEvent::Text("x".to_owned())));
        assert_eq!(queue.events.len(), WAITING);
        queue.push(child(AgentEvent::Notice("important".to_owned())));
        assert_eq!(queue.events.len(), WAITING + 1);
    }
}
