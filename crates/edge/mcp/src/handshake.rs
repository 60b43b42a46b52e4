//! Getting to know a server: which generation of the protocol it speaks, and what it offers.

use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::config::{EraChoice, ServerConfig};
use crate::failure::{Class, Failure};
use crate::link::{Era, Link, Protocol, Request};
use crate::timing::Timing;

pub(crate) const MODERN: &str = "2026-07-28";
/// The versions with `initialize`, newest first: the first one is what we ask for.
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const HEADER_MISMATCH: i64 = -32020;
const MISSING_CAPABILITY: i64 = -32021;
const UNSUPPORTED_VERSION: i64 = -32022;
const METHOD_NOT_FOUND: i64 = -32601;
/// A late answer to one question must not be taken for the answer to the other.
const DISCOVER_ID: u64 = 0;
const INITIALIZE_ID: u64 = 1;
const DISCOVER_AGAIN_ID: u64 = 2;
/// Where the ids of everybody else begin.
pub(crate) const FIRST_ID: u64 = 3;

/// Who we are, as servers are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub name: String,
    pub version: String,
}

/// How we introduce ourselves to one server.
#[derive(Clone, Debug)]
pub(crate) struct Introduction {
    client: Client,
    capabilities: Value,
}

/// What the server said of itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hello {
    pub protocol: Protocol,
    pub has_tools: bool,
    pub has_resources: bool,
    pub has_prompts: bool,
    /// It tells when its lists change.
    pub tells_changes: bool,
    pub server: String,
    pub instructions: Option<String>,
}

impl Introduction {
    pub(crate) fn new(client: Client, config: &ServerConfig) -> Self {
        let mut capabilities = Map::new();
        if config.sampling {
            capabilities.insert("sampling".to_owned(), json!({"tools": {}}));
        }
        if config.elicitation {
            capabilities.insert("elicitation".to_owned(), json!({"form": {}}));
        }
        Self {
            client,
            capabilities: Value::Object(capabilities),
        }
    }

    /// Adds to the parameters what every request of that era carries.
    pub(crate) fn dress(&self, mut params: Value, protocol: &Protocol) -> Value {
        if protocol.era == Era::Modern
            && let Some(fields) = params.as_object_mut()
        {
            let meta = fields.entry("_meta").or_insert_with(|| json!({}));
            let prefix = "io.modelcontextprotocol";
            meta[format!("{prefix}/protocolVersion")] = json!(protocol.version);
            meta[format!("{prefix}/clientCapabilities")] = self.capabilities.clone();
            meta[format!("{prefix}/clientInfo")] = self.info();
        }
        params
    }

    fn info(&self) -> Value {
        json!({"name": self.client.name, "version": self.client.version})
    }
}

/// Shakes hands. `known` is the era the server spoke before: it is tried first.
pub(crate) async fn shake(
    link: &dyn Link,
    introduction: &Introduction,
    choice: EraChoice,
    known: Option<Era>,
    timing: &Timing,
) -> Result<Hello, Failure> {
    let first = match (choice, known) {
        (EraChoice::Legacy, _) | (EraChoice::Auto, Some(Era::Legacy)) => Era::Legacy,
        (EraChoice::Modern, _) | (EraChoice::Auto, _) => Era::Modern,
    };
    match (first, choice) {
        (Era::Legacy, EraChoice::Legacy) => initialize(link, introduction).await,
        (Era::Modern, EraChoice::Modern) => discover(link, introduction).await,
        (Era::Legacy, _) => match initialize(link, introduction).await {
            Err(failure) if speaks_modern_only(&failure) => discover(link, introduction).await,
            decided => decided,
        },
        (Era::Modern, _) => match timeout(timing.discover, discover(link, introduction)).await {
            Ok(Err(failure)) if !speaks_legacy(&failure) => Err(failure),
            Ok(Ok(hello)) => Ok(hello),
            Ok(Err(_)) | Err(_) => initialize(link, introduction).await,
        },
    }
}

/// Whether a refused `server/discover` tells a server of the older era.
fn speaks_legacy(failure: &Failure) -> bool {
    match failure.class {
        Class::App => !matches!(failure.code, Some(HEADER_MISMATCH | MISSING_CAPABILITY)),
        Class::SessionLost | Class::Protocol => true,
        _ => false,
    }
}

fn speaks_modern_only(failure: &Failure) -> bool {
    matches!(failure.code, Some(UNSUPPORTED_VERSION | METHOD_NOT_FOUND))
}

async fn discover(link: &dyn Link, introduction: &Introduction) -> Result<Hello, Failure> {
    let protocol = Protocol {
        version: MODERN.to_owned(),
        era: Era::Modern,
    };
    // The headers of the request must already say which version it speaks.
    link.agreed(&protocol);
    let request = Request {
        id: DISCOVER_ID,
        method: "server/discover",
        params: introduction.dress(json!({}), &protocol),
        mirrored: Vec::new(),
    };
    let result = match link.request(request.clone()).await {
        // It refused the version it says it speaks: what comes after the first request may know better.
        Err(failure)
            if failure
                .versions
                .iter()
                .flatten()
                .any(|version| version == MODERN) =>
        {
            let id = DISCOVER_AGAIN_ID;
            link.request(Request { id, ..request }).await?
        }
        answered => answered?,
    };
    let supported = result["supportedVersions"].as_array();
    let speaks = supported.is_some_and(|versions| versions.iter().any(|version| version == MODERN));
    if !speaks {
        let message = format!("the server does not speak {MODERN}");
        return Err(
            Failure::new(Class::App, "Protocol version", message).with_code(UNSUPPORTED_VERSION)
        );
    }
    let info = match &result["_meta"]["io.modelcontextprotocol/serverInfo"] {
        Value::Null => &result["serverInfo"],
        info => info,
    };
    Ok(Hello::read(protocol, info, &result))
}

async fn initialize(link: &dyn Link, introduction: &Introduction) -> Result<Hello, Failure> {
    let asked = Protocol {
        version: LEGACY[0].to_owned(),
        era: Era::Legacy,
    };
    link.agreed(&asked);
    let params = json!({
        "protocolVersion": asked.version,
        "capabilities": introduction.capabilities,
        "clientInfo": introduction.info(),
    });
    let request = Request {
        id: INITIALIZE_ID,
        method: "initialize",
        params,
        mirrored: Vec::new(),
    };
    let result = link.request(request).await?;
    let version = result["protocolVersion"].as_str().unwrap_or_default();
    if !LEGACY.contains(&version) {
        let message =
            format!("the server wants protocol version {version:?}, which nobody here speaks");
        return Err(Failure::new(Class::Protocol, "Protocol version", message));
    }
    let protocol = Protocol {
        version: version.to_owned(),
        era: Era::Legacy,
    };
    link.agreed(&protocol);
    link.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await?;
    Ok(Hello::read(protocol, &result["serverInfo"], &result))
}

impl Hello {
    fn read(protocol: Protocol, info: &Value, result: &Value) -> Self {
        let offers = &result["capabilities"];
        let has = |name: &str| offers.get(name).is_some_and(Value::is_object);
        let tells = |name: &str| offers[name]["listChanged"] == true;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            protocol,
            has_tools: has("tools"),
            has_resources: has("resources"),
            has_prompts: has("prompts"),
            tells_changes: tells("tools") || tells("prompts") || tells("resources"),
            server: format!("{} {}", text(&info["name"]), text(&info["version"]))
                .trim()
                .to_owned(),
            instructions: result["instructions"].as_str().map(str::to_owned),
        }
    }
}
