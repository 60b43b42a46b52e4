//! How the two sides find a common revision of the protocol: by `initialize`, or by what each request says of itself.

use serde_json::{Value, json};

use crate::rpc::{Fault, INVALID_PARAMS, Request};

/// The revision without a handshake.
const MODERN: &str = "2026-07-28";
/// Those with one, newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

const UNSUPPORTED_VERSION: i64 = -32022;

const INSTRUCTIONS: &str = "Hermes is a messaging bridge over all connected platforms. List the conversations, read \
    their messages, wait for new ones, and answer through the channels.";

/// Tools and texts change with a new version of the program only, which is a new process.
const CACHE_MS: u64 = 3_600_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

impl Era {
    /// A request that names its version belongs to the revision without a handshake.
    pub fn of(request: &Request) -> Result<Self, Fault> {
        let meta = request.params.get("_meta");
        let version = meta.and_then(|meta| meta.get(META_VERSION));
        let Some(version) = version else {
            // The only request that exists in that revision alone.
            if request.method == "server/discover" {
                let why = format!("Invalid params: _meta lacks {META_VERSION}");
                return Err(Fault::new(INVALID_PARAMS, why));
            }
            return Ok(Self::Legacy);
        };
        if version != MODERN {
            return Err(Fault {
                data: Some(json!({"supported": versions(), "requested": version})),
                ..Fault::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
            });
        }
        if !meta.is_some_and(|meta| meta[META_CAPABILITIES].is_object()) {
            let why = format!("Invalid params: _meta lacks {META_CAPABILITIES}");
            return Err(Fault::new(INVALID_PARAMS, why));
        }
        Ok(Self::Modern)
    }

    /// A result as this revision wants it.
    pub fn finish(self, method: &str, mut result: Value) -> Value {
        if self == Self::Modern {
            result["resultType"] = "complete".into();
            if matches!(method, "server/discover" | "tools/list") {
                result["ttlMs"] = CACHE_MS.into();
                result["cacheScope"] = "public".into();
            }
        }
        result
    }
}

/// `result` of `initialize`: the version asked for if we know it, else the newest with a handshake.
pub(crate) fn initialize(params: &Value) -> Value {
    let known = LEGACY
        .iter()
        .find(|version| params["protocolVersion"] == **version);
    json!({
        "protocolVersion": known.unwrap_or(&LEGACY[0]),
        "capabilities": {"tools": {}},
        "serverInfo": server(),
        "instructions": INSTRUCTIONS,
    })
}

/// `result` of `server/discover`.
pub(crate) fn discover() -> Value {
    json!({
        "supportedVersions": versions(),
        "capabilities": {"tools": {}},
        "instructions": INSTRUCTIONS,
        "_meta": {META_SERVER: server()},
    })
}

fn server() -> Value {
    json!({"name": "hermes", "version": env!("CARGO_PKG_VERSION")})
}

fn versions() -> Vec<&'static str> {
    [&[MODERN], LEGACY.as_slice()].concat()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_version_asked_for_or_the_newest() {
        let check = |asked: Value, answered: &str| {
            let result = initialize(&json!({"protocolVersion": asked}));
            assert_eq!(result["protocolVersion"], answered);
        };
        for version in LEGACY {
            check(json!(version), version);
        }
        check(json!(MODERN), "2025-11-25");
        check(json!("1999-01-01"), "2025-11-25");
        check(json!(7), "2025-11-25");
        assert_eq!(initialize(&Value::Null)["protocolVersion"], "2025-11-25");
    }

    #[test]
    fn requests_say_which_revision_they_belong_to() {
        let check = |method: &str, meta: Value, expected: Result<Era, i64>| {
            let request = Request {
                id: json!(1),
                method: method.into(),
                params: json!({"_meta": meta}),
            };
            assert_eq!(Era::of(&request).map_err(|fault| fault.code), expected);
        };
        check("tools/list", json!({"progressToken": 1}), Ok(Era::Legacy));
        check("tools/list", Value::Null, Ok(Era::Legacy));
        let full = json!({META_VERSION: MODERN, META_CAPABILITIES: {}});
        check("tools/list", full, Ok(Era::Modern));
        check(
            "tools/list",
            json!({META_VERSION: MODERN}),
            Err(INVALID_PARAMS),
        );
        check("server/discover", json!({}), Err(INVALID_PARAMS));
        let unknown = json!({META_VERSION: "2027-01-01", META_CAPABILITIES: {}});
        check("tools/list", unknown, Err(UNSUPPORTED_VERSION));
    }
}
