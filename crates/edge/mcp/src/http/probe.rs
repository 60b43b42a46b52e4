//! What to ask a server aside, and what to make of its answer.

use serde_json::json;

use crate::failure::{Class, Failure};
use crate::link::{Era, Protocol, Request, SideProbe};

/// Apart from the numbers of all other requests.
pub(super) const ID: &str = "hermes-side-probe";

pub(super) fn request(protocol: Option<&Protocol>) -> Request {
    let (method, params) = match protocol {
        Some(Protocol {
            version,
            era: Era::Modern,
        }) => {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            ("server/discover", json!({"_meta": meta}))
        }
        _ => ("ping", json!({})),
    };
    Request {
        id: 0,
        method,
        params,
        mirrored: Vec::new(),
    }
}

pub(super) fn verdict(failure: &Failure) -> SideProbe {
    match failure.class {
        Class::NotSent | Class::Cut => SideProbe::Unreachable,
        Class::SessionLost => SideProbe::SessionLost,
        Class::App if failure.code.is_some() => SideProbe::Alive,
        _ => SideProbe::Inconclusive,
    }
}
