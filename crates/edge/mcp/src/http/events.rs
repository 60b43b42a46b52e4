//! An answer that comes as events, and what is needed to come back to it after a cut.

use std::collections::VecDeque;
use std::time::Duration;

use hermes_net::sse::{Decoder, Event};
use reqwest::Response;
use serde::de::IgnoredAny;

use super::body::{self, Body};
use crate::failure::{Class, Failure};

pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// A stream being read.
pub(super) struct EventStream {
    body: Body,
    /// `None` once the body has ended.
    decoder: Option<Decoder>,
    ready: VecDeque<Event>,
    limit: usize,
    trail: Trail,
}

/// Where a stream can be taken up again.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    pub last_id: Option<String>,
    /// How long the server wants us to wait before.
    pub retry: Option<Duration>,
    /// Whether the stream brought anything at all.
    pub is_fruitful: bool,
}

impl EventStream {
    pub(super) fn new(response: Response, limit: usize, patience: Duration) -> Self {
        Self {
            body: Body::new(response, patience),
            decoder: Some(Decoder::new(limit)),
            ready: VecDeque::new(),
            limit,
            trail: Trail::default(),
        }
    }

    /// The next event with data; `None` at the end. A failure of class `Cut` may be repaired by resuming.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(decoder) = &mut self.decoder else {
                return Ok(None);
            };
            match self.body.next().await? {
                Some(piece) => {
                    let events = decoder.push(&piece);
                    self.ready
                        .extend(events.map_err(|_| body::too_large(self.limit))?);
                    self.trail.note(decoder, !self.ready.is_empty());
                }
                None => return self.end(),
            }
        }
    }

    /// Some servers forget the blank line after the last event, so half an event is taken for one if it is whole.
    fn end(&mut self) -> Result<Option<Event>, Failure> {
        let Some(decoder) = self.decoder.take() else {
            return Ok(None);
        };
        let was_inside = decoder.is_inside_block();
        let last = decoder.finish().map_err(|_| body::too_large(self.limit))?;
        let is_whole = |event: &Event| serde_json::from_str::<IgnoredAny>(&event.data).is_ok();
        match last.filter(is_whole) {
            None if was_inside => Err(Failure::new(
                Class::Cut,
                "Connection closed",
                "the stream ended in the middle of an event",
            )),
            last => Ok(last),
        }
    }

    pub(super) fn trail(&self) -> &Trail {
        &self.trail
    }

    pub(super) fn into_body(self) -> Body {
        self.body
    }
}

impl Trail {
    fn note(&mut self, decoder: &Decoder, has_events: bool) {
        if decoder.last_id() != self.last_id.as_deref() {
            self.last_id = decoder.last_id().map(str::to_owned);
            self.is_fruitful = true;
        }
        self.retry = decoder.retry().or(self.retry);
        self.is_fruitful |= has_events;
    }

    /// Goes on with what a later part of the same stream said.
    pub(super) fn follow(&mut self, later: &Self) {
        if later.last_id.is_some() {
            self.last_id.clone_from(&later.last_id);
        }
        self.retry = later.retry.or(self.retry);
        self.is_fruitful = later.is_fruitful;
    }
}
