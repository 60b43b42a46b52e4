//! Claude on Bedrock: Anthropic's requests and events, in Amazon's envelope.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hermes_net::sse::Event;
use hermes_types::ModelRequest;
use serde::Deserialize;
use serde_json::Value;

use super::{exception, url};
use crate::dialect::{Delta, Ending, Fault, Wire, anthropic, parse};
use crate::route::{CacheLayout, Route, SchemaFlavour, ThinkingBlocks};

const VERSION: &str = "bedrock-2023-05-31";

pub(crate) fn encode(route: &Route, request: &ModelRequest) -> Wire {
    let mut wire = anthropic::encode(&as_anthropic(route), request);
    let betas = &route.quirks.betas;
    if let Value::Object(body) = &mut wire.body {
        // The address says both.
        body.shift_remove("model");
        body.shift_remove("stream");
        body.insert("anthropic_version".to_owned(), VERSION.into());
        if !betas.is_empty() && !route.concessions.no_betas {
            body.insert("anthropic_beta".to_owned(), betas.clone().into());
        }
    }
    let method = match route.concessions.no_streaming {
        true => "invoke",
        false => "invoke-with-response-stream",
    };
    Wire {
        url: url(route, method),
        headers: Vec::new(),
        body: wire.body,
    }
}

/// Behind the envelope is the vendor's own model: whatever Anthropic's server takes, it takes.
fn as_anthropic(route: &Route) -> Route {
    let mut route = route.clone();
    route.quirks.schema = SchemaFlavour::Anthropic;
    route.quirks.cache = CacheLayout::Native;
    route.quirks.thinking_blocks = ThinkingBlocks::Signed;
    route
}

/// Takes events out of their envelopes.
#[derive(Debug, Default)]
pub(crate) struct Decoder(anthropic::Decoder);

#[derive(Deserialize)]
struct Envelope {
    bytes: String,
}

impl Decoder {
    pub fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        if let Some(fault) = exception(event) {
            return Err(fault);
        }
        if event.name != "chunk" {
            return Ok(Vec::new());
        }
        let Envelope { bytes } = parse(&event.data)?;
        let unreadable = |_| Fault::Malformed("a part of the reply is no base64".to_owned());
        let bytes = STANDARD.decode(bytes).map_err(unreadable)?;
        self.0.push(&Event {
            name: String::new(),
            data: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }

    pub fn is_done(&self) -> bool {
        self.0.is_done
    }

    pub fn finish(self) -> Result<Ending, Fault> {
        self.0.finish()
    }
}
