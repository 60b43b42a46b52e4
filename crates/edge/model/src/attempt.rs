//! One attempt: a request sent, a response read as it comes, silence noticed.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use hermes_net::{Ended, sse, within};
use hermes_types::{ModelEvent, ModelReply};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;

use crate::aws;
use crate::call::Call;
use crate::classify::SessionSize;
use crate::dialect::{self, Decoder, Ending, Fault, Wire};
use crate::dump::Why;
use crate::frames::Frames;
use crate::reply::Draft;
use crate::timing::{Limits, Load};
use crate::tokens;
use crate::trouble::{Failed, Trouble, Where};

/// One event of a stream; the largest real ones carry a picture.
const MAX_EVENT: usize = 32 << 20;
/// A whole reply, as bytes on the wire.
const MAX_BODY: usize = 64 << 20;
/// Nobody reads more of an error.
const MAX_ERROR: usize = 64 << 10;
/// How long to wait for the end of a stream whose reply is complete, so that the connection can be used again.
const LINGER: Duration = Duration::from_millis(50);

/// An attempt that failed, and what had arrived by then.
pub(crate) struct Broken {
    pub trouble: Trouble,
    pub draft: Draft,
}

impl From<Trouble> for Broken {
    fn from(trouble: Trouble) -> Self {
        Self {
            trouble,
            draft: Draft::default(),
        }
    }
}

impl Call<'_> {
    pub(crate) async fn attempt(&mut self) -> Result<ModelReply, Broken> {
        let wire = dialect::encode(&self.route, self.request, &self.scope.session);
        if let Some(dumps) = self.inner.dumps.as_ref().filter(|dumps| dumps.wants_all()) {
            let session = &self.scope.session;
            dumps
                .write(session, &self.route, wire.clone(), Why::Sending)
                .await;
        }
        // A JSON value can always be written.
        let body = serde_json::to_vec(&wire.body).unwrap_or_default();
        self.size.tokens = tokens(body.len());
        let patience = Patience::new(self.inner.timing.limits(Load {
            model: &self.route.model,
            tokens: self.size.tokens,
            is_local: self.route.is_local(),
            is_streaming: !self.route.concessions.no_streaming,
        }));
        let mut response = self.send(wire, body, &patience).await?;
        // Some servers answer as a whole whatever they are asked; some gateways with a page.
        if self.route.concessions.no_streaming || !may_be_a_stream(&response) {
            let text = self.body(&mut response, MAX_BODY, &patience).await?;
            return self.whole(&text).await;
        }
        let mut reading = Reading::new(Decoder::new(self.route.mode), patience);
        let outcome = self.read(&mut response, &mut reading).await;
        self.emit(reading.unseen).await;
        let draft = reading.draft;
        let ending = outcome.and_then(|()| self.ending(reading.decoder));
        match ending {
            Ok(ending) => Ok(self.finish(draft, ending).await),
            Err(trouble) => Err(Broken { trouble, draft }),
        }
    }

    /// Posts the request and waits for the head of a good response.
    async fn send(
        &self,
        wire: Wire,
        body: Vec<u8>,
        patience: &Patience,
    ) -> Result<Response, Trouble> {
        let client = self.inner.http.client(&wire.url);
        let client = client.map_err(|error| Failed::unusable(&error))?;
        let mut post = client
            .post(wire.url)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        for (name, value) in wire.headers {
            post = post.header(name, value);
        }
        if let Some((name, value)) = dialect::auth_header(&self.route) {
            post = post.header(name, value);
        }
        let request = post.build();
        let mut request =
            request.map_err(|error| Failed::transport(&error, Where::NoAnswer, self.size))?;
        if let Some(pair) = self.route.key.as_pair() {
            aws::sign(&mut request, pair, SystemTime::now()).map_err(Failed::unsigned)?;
        }
        let limit = patience.for_an_answer();
        let response = within(self.scope, limit, client.execute(request))
            .await
            .map_err(|ended| Trouble::ended(ended, limit, Where::NoAnswer))?
            .map_err(|error| Failed::transport(&error, Where::NoAnswer, self.size))?;
        self.inner.heard(response.status(), response.headers());
        match response.status().is_success() {
            true => Ok(response),
            false => Err(self.refused(response, patience).await),
        }
    }

    async fn refused(&self, mut response: Response, patience: &Patience) -> Trouble {
        let status = response.status().as_u16();
        let headers = std::mem::take(response.headers_mut());
        let text = match self.body(&mut response, MAX_ERROR, patience).await {
            Ok(text) => text,
            // A body that can't be read has nothing to say; the status has.
            Err(Trouble::Failed(_)) => String::new(),
            Err(trouble) => return trouble,
        };
        Failed::refused(status, &headers, &text, self.size).into()
    }

    /// At most `max` bytes of a body, as text.
    async fn body(
        &self,
        response: &mut Response,
        max: usize,
        patience: &Patience,
    ) -> Result<String, Trouble> {
        let mut body = Vec::new();
        while body.len() < max {
            match self.chunk(response, patience.for_bytes()).await? {
                Some(bytes) => body.extend_from_slice(&bytes),
                None => break,
            }
        }
        body.truncate(max);
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    async fn chunk(
        &self,
        response: &mut Response,
        limit: Duration,
    ) -> Result<Option<Bytes>, Trouble> {
        let chunk = within(self.scope, limit, response.chunk()).await;
        self.arrived(chunk, limit)
    }

    fn arrived(
        &self,
        chunk: Result<reqwest::Result<Option<Bytes>>, Ended>,
        limit: Duration,
    ) -> Result<Option<Bytes>, Trouble> {
        let chunk = chunk.map_err(|ended| Trouble::ended(ended, limit, Where::Dropped))?;
        chunk.map_err(|error| Failed::transport(&error, Where::Dropped, self.size).into())
    }

    /// Reads a stream to its end.
    async fn read(
        &mut self,
        response: &mut Response,
        reading: &mut Reading,
    ) -> Result<(), Trouble> {
        let mut stream = Frames::new(self.route.mode, MAX_EVENT);
        let mut size = 0;
        while !reading.decoder.is_done() {
            let Some(bytes) = self.next(response, reading).await? else {
                let rest = stream.finish().map_err(Failed::garbled)?;
                return reading.take(rest, self.size);
            };
            size += bytes.len();
            if size > MAX_BODY {
                return Err(Failed::garbled(sse::TooLarge { limit: MAX_BODY }).into());
            }
            let events = stream.push(&bytes).map_err(Failed::garbled)?;
            reading.take(events, self.size)?;
        }
        // The reply is complete; whether its connection ends well is of no interest.
        let _ = self.chunk(response, LINGER).await;
        Ok(())
    }

    /// The next bytes. What nobody has seen yet is shown meanwhile, but not in smaller portions than an eye or a
    /// terminal can use: a fast stream would keep everybody busy with single words.
    async fn next(
        &mut self,
        response: &mut Response,
        reading: &mut Reading,
    ) -> Result<Option<Bytes>, Trouble> {
        loop {
            let limit = reading.patience.for_an_event();
            let frame = reading.until_shown(self.inner.timing.frame);
            if frame.is_zero() {
                self.emit(std::mem::take(&mut reading.unseen)).await;
                reading.shown = Some(Instant::now());
                continue;
            }
            match within(self.scope, limit.min(frame), response.chunk()).await {
                Err(Ended::TooSlow) if frame < limit => {}
                arrived => return self.arrived(arrived, limit),
            }
        }
    }

    fn ending(&self, decoder: Decoder) -> Result<Ending, Trouble> {
        let ending = decoder.finish();
        let ending = ending.map_err(|fault| Failed::fault(fault, self.size))?;
        match ending.finish {
            Some(_) => Ok(ending),
            None => Err(Failed::cut(self.size).into()),
        }
    }

    /// A reply that came as one body, be it asked for or not.
    async fn whole(&mut self, text: &str) -> Result<ModelReply, Broken> {
        let decoded = dialect::decode_whole(self.route.mode, text);
        let (deltas, ending) =
            decoded.map_err(|fault| Trouble::from(self.no_reply(text, fault)))?;
        let mut draft = Draft::default();
        let mut events = Vec::new();
        for delta in deltas {
            draft.add(delta, &mut events);
        }
        self.emit(events).await;
        Ok(self.finish(draft, ending).await)
    }

    fn no_reply(&self, text: &str, fault: Fault) -> Failed {
        match text.trim_start().starts_with('<') {
            true => Failed::page(text),
            false => Failed::fault(fault, self.size),
        }
    }

    async fn finish(&mut self, draft: Draft, ending: Ending) -> ModelReply {
        let mut events = Vec::new();
        let reply = draft.finish(ending, &mut events);
        self.emit(events).await;
        reply
    }
}

/// A stream in the middle of being read.
struct Reading {
    decoder: Decoder,
    draft: Draft,
    patience: Patience,
    /// What has arrived since anybody was told something.
    unseen: Vec<ModelEvent>,
    /// When that was.
    shown: Option<Instant>,
}

impl Reading {
    fn new(decoder: Decoder, patience: Patience) -> Self {
        Self {
            decoder,
            draft: Draft::default(),
            patience,
            unseen: Vec::new(),
            shown: None,
        }
    }

    fn take(
        &mut self,
        arrived: impl IntoIterator<Item = sse::Event>,
        size: SessionSize,
    ) -> Result<(), Trouble> {
        for event in arrived {
            self.patience.last_event = Instant::now();
            let deltas = self.decoder.push(&event);
            for delta in deltas.map_err(|fault| Failed::fault(fault, size))? {
                self.draft.add(delta, &mut self.unseen);
            }
        }
        Ok(())
    }

    /// How long what has arrived can wait.
    fn until_shown(&self, frame: Duration) -> Duration {
        match self.shown {
            _ if self.unseen.is_empty() => Duration::MAX,
            Some(shown) => frame.saturating_sub(shown.elapsed()),
            None => Duration::ZERO,
        }
    }
}

fn may_be_a_stream(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    !content_type.is_some_and(|kind| kind.contains("json") || kind.contains("html"))
}

/// How much longer one attempt may take.
struct Patience {
    limits: Limits,
    began: Instant,
    last_event: Instant,
}

impl Patience {
    fn new(limits: Limits) -> Self {
        let now = Instant::now();
        Self {
            limits,
            began: now,
            last_event: now,
        }
    }

    fn for_an_answer(&self) -> Duration {
        self.limits.stale.max(self.limits.read).min(self.left())
    }

    fn for_bytes(&self) -> Duration {
        self.limits.read.min(self.left())
    }

    fn for_an_event(&self) -> Duration {
        let stale = self.limits.stale.saturating_sub(self.last_event.elapsed());
        stale.min(self.for_bytes())
    }

    fn left(&self) -> Duration {
        self.limits.total.saturating_sub(self.began.elapsed())
    }
}
