//! Having the summary written: by the side model in as many pieces as it needs, else by the main one.

use std::sync::Arc;

use futures::StreamExt;
use hermes_types::{
    Content, Cost, ModelClient, ModelError, ModelErrorKind, ModelEvent, ModelReply, ModelRequest,
    Models, Purpose, Scope, Usage,
};

use super::brief::{Brief, Wish, request};
use super::prune::cut;
use super::settings::Compaction;
use super::tokens;

/// Pieces one model reads at most, one after another.
const CHUNKS: usize = 8;
/// Smaller pieces would say nothing.
const LEAST_CHUNK: usize = 2_000;
/// What a request has besides the record: instructions, and what servers count and we don't.
const FRAME: u64 = 2_000;
/// How often a record is cut smaller for a model that says it is too long.
const SHRINKS: u32 = 2;
const LONGEST: usize = 80_000;

pub(super) struct Writer<'w> {
    pub main: &'w Arc<dyn ModelClient>,
    /// The main model's window as far as is known by now.
    pub window: u64,
    pub models: &'w dyn Models,
    pub scope: &'w Scope,
    pub settings: &'w Compaction,
}

#[derive(Debug, Default)]
pub(super) struct Written {
    pub text: String,
    /// What its owner should know.
    pub note: Option<String>,
    /// What it took.
    pub used: Vec<(Usage, Cost)>,
}

impl Writer<'_> {
    /// Secrets are taken out before anybody reads the record, and again from what was written.
    pub async fn write(&self, brief: Brief, wish: &Wish<'_>) -> Result<Written, ModelError> {
        let brief = brief.map(|text| self.settings.redact.apply(text));
        let mut written = match self.models.client(&Purpose::Aux("compression")) {
            Err(error) => self.by_main(&brief, wish, error).await?,
            Ok(side) if is_same(&side, self.main) => {
                self.by(&side, self.window, &brief, wish).await?
            }
            Ok(side) => {
                let window = self
                    .settings
                    .side_window
                    .unwrap_or(side.info().context_length);
                match self.by(&side, window, &brief, wish).await {
                    Err(error) if error.kind != ModelErrorKind::Cancelled => {
                        self.by_main(&brief, wish, error).await?
                    }
                    other => other?,
                }
            }
        };
        written.text = self.settings.redact.apply(&written.text);
        Ok(written)
    }

    async fn by_main(
        &self,
        brief: &Brief,
        wish: &Wish<'_>,
        why: ModelError,
    ) -> Result<Written, ModelError> {
        let written = self.by(self.main, self.window, brief, wish).await?;
        let note =
            format!("the side model for summaries failed ({why}); the main model wrote this one");
        Ok(Written {
            note: Some(note),
            ..written
        })
    }

    /// Piece by piece: each brings what was written before up to date.
    async fn by(
        &self,
        client: &Arc<dyn ModelClient>,
        window: u64,
        brief: &Brief,
        wish: &Wish<'_>,
    ) -> Result<Written, ModelError> {
        let mut window = window;
        for _ in 0..SHRINKS {
            match self.pieces(client, window, brief, wish).await {
                Err(error) if matches!(error.kind, ModelErrorKind::ContextOverflow { .. }) => {
                    window /= 2
                }
                other => return other,
            }
        }
        self.pieces(client, window, brief, wish).await
    }

    async fn pieces(
        &self,
        client: &Arc<dyn ModelClient>,
        window: u64,
        brief: &Brief,
        wish: &Wish<'_>,
    ) -> Result<Written, ModelError> {
        let earlier = brief
            .earlier
            .as_deref()
            .map_or(0, tokens::text)
            .max(wish.budget);
        let besides = tokens::text(wish.besides);
        let room = window.saturating_sub(wish.budget * 13 / 10 + earlier + besides + FRAME);
        // A quarter stays free: four characters a token is a guess.
        let chunks = brief.chunks(LEAST_CHUNK.max((room * 3) as usize));
        if chunks.len() > CHUNKS {
            let name = &client.info().model;
            let told =
                format!("{name} takes {window} tokens, too few to read what is to be summed up");
            return Err(ModelError::new(
                ModelErrorKind::ContextOverflow { limit: None },
                told,
            ));
        }
        let mut written = Written {
            text: brief.earlier.clone().unwrap_or_default(),
            ..Written::default()
        };
        for chunk in chunks {
            let earlier = Some(written.text.as_str()).filter(|text| !text.is_empty());
            let reply = self.ask(client, request(&chunk, earlier, wish)).await?;
            let text = reply
                .message
                .content
                .as_ref()
                .map(Content::plain)
                .unwrap_or_default();
            if text.trim().is_empty() {
                return Err(ModelError::new(
                    ModelErrorKind::Malformed,
                    "an empty summary",
                ));
            }
            written.used.push((reply.usage, reply.cost));
            written.text = cut(text.trim(), LONGEST).to_owned();
        }
        Ok(written)
    }

    async fn ask(
        &self,
        client: &Arc<dyn ModelClient>,
        request: ModelRequest,
    ) -> Result<ModelReply, ModelError> {
        let scope = self.scope.within(self.settings.timeout);
        let mut stream = client.stream(request, scope);
        let reply = async {
            while let Some(event) = stream.next().await {
                if let ModelEvent::Done(reply) = event? {
                    return Ok(reply);
                }
            }
            Err(ModelError::new(
                ModelErrorKind::Malformed,
                "the summary ended without an end",
            ))
        };
        tokio::select! {
            biased;
            () = self.scope.cancel.cancelled() => Err(ModelError::new(ModelErrorKind::Cancelled, "interrupted")),
            reply = tokio::time::timeout(self.settings.timeout, reply) => reply.unwrap_or_else(|_| {
                Err(ModelError::new(ModelErrorKind::Timeout, "the summary took too long"))
            }),
        }
    }
}

fn is_same(one: &Arc<dyn ModelClient>, other: &Arc<dyn ModelClient>) -> bool {
    let (one, other) = (one.info(), other.info());
    (&one.model, &one.base_url) == (&other.model, &other.base_url)
}
