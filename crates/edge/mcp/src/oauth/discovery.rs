//! Finding out who gives out the tokens of a server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response};
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, OAuthHttpClient, OAuthHttpClientFuture,
    OAuthHttpRequest,
};
use serde_json::{Value, json};
use url::Url;

use crate::handshake::MODERN;
use crate::oauth::address::Boundary;
use crate::oauth::store::Fields;
use crate::oauth::tokens;
use crate::oauth::web::Web;

/// Bound of one request on the way.
const REQUEST: Duration = Duration::from_secs(10);

/// The authorization server of an MCP server.
pub(crate) struct Found {
    pub manager: AuthorizationManager,
    pub metadata: AuthorizationMetadata,
    pub line: Arc<Line>,
}

/// Asks the server, the documents it names and the well-known places, in the order the protocol gives.
pub(crate) async fn discover(
    web: &Web,
    server: &Url,
    challenge: Option<&str>,
) -> Result<Found, String> {
    let line = Arc::new(Line::new(web, server));
    let mut manager = manager(server, &line).await?;
    let challenge = match challenge {
        Some(given) => Some(given.to_owned()),
        None => line.challenge().await,
    };
    let resolved = manager
        .resolve_metadata_from_challenge(challenge.as_deref())
        .await;
    let metadata = match resolved {
        Ok(resolution) => resolution.metadata,
        Err(error) => match private_metadata(&line).await {
            Some(metadata) => metadata,
            None => return Err(line.explain(&error)),
        },
    };
    check_endpoints(&line.boundary, &metadata).await?;
    manager.set_metadata(metadata.clone());
    Ok(Found {
        manager,
        metadata,
        line,
    })
}

async fn manager(url: &Url, line: &Arc<Line>) -> Result<AuthorizationManager, String> {
    let line: Arc<dyn OAuthHttpClient> = line.clone();
    let made = AuthorizationManager::new_with_oauth_http_client(url.as_str(), line).await;
    made.map_err(|error| error.to_string())
}

/// The library refuses authorization servers at private addresses, whatever the server's own address is. Ours
/// may name one when it is private itself.
async fn private_metadata(line: &Arc<Line>) -> Option<AuthorizationMetadata> {
    if !line.boundary.is_private().await {
        return None;
    }
    for name in line.noted().authorization_servers {
        let Ok(url) = Url::parse(&name) else { continue };
        let Ok(manager) = manager(&url, line).await else {
            continue;
        };
        if let Ok(resolution) = manager.resolve_metadata().await
            && resolution.source.is_discovered()
        {
            return Some(resolution.metadata);
        }
    }
    None
}

async fn check_endpoints(
    boundary: &Boundary,
    metadata: &AuthorizationMetadata,
) -> Result<(), String> {
    let required = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    for endpoint in required.into_iter().chain(&metadata.registration_endpoint) {
        let url = Url::parse(endpoint).map_err(|_| format!("{endpoint:?} is no address"))?;
        if let Some(refusal) = boundary.refusal(&url).await {
            return Err(refusal);
        }
    }
    Ok(())
}

/// What is stored about an authorization server; `resource` is what tokens are asked for.
pub(crate) fn document(metadata: &AuthorizationMetadata, resource: &str) -> Fields {
    let mut fields = match serde_json::to_value(metadata) {
        Ok(Value::Object(fields)) => fields,
        _ => Fields::new(),
    };
    fields.retain(|_, value| !value.is_null());
    fields.insert("resource".to_owned(), resource.into());
    fields
}

/// The library's requests go through here: within our rules, and with what it would not tell us noted down.
pub(crate) struct Line {
    web: Web,
    server: Url,
    boundary: Boundary,
    noted: Mutex<Noted>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Noted {
    /// What the resource's metadata named.
    authorization_servers: Vec<String>,
    /// The `error` of the last answer that had one.
    pub error: Option<String>,
    /// What the last request came to grief with.
    problem: Option<String>,
}

impl Line {
    fn new(web: &Web, server: &Url) -> Self {
        Self {
            web: web.clone(),
            server: server.clone(),
            boundary: Boundary::of(server),
            noted: Mutex::default(),
        }
    }

    /// What a request without credentials is refused with. The library asks with GET, which many servers don't
    /// know and refuse with nothing to go by.
    async fn challenge(&self) -> Option<String> {
        let request = self
            .web
            .post(self.server.clone())
            .headers(question_headers());
        let request = request.json(&question());
        // The well-known places remain when nobody answers.
        let head = self.web.head(request.build().ok()?, REQUEST).await.ok()?;
        let is_refused = matches!(head.status().as_u16(), 401 | 403);
        let challenges = head.headers().get_all(WWW_AUTHENTICATE).into_iter();
        let mut challenges = challenges.filter_map(|value| value.to_str().ok());
        let bearer = challenges.find(|text| is_bearer(text))?;
        is_refused.then(|| bearer.to_owned())
    }

    pub(crate) fn noted(&self) -> Noted {
        let noted = self.noted.lock();
        noted.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The library's text, with the cause it left out.
    pub(crate) fn explain(&self, error: &dyn std::error::Error) -> String {
        let text = match self.noted().problem {
            Some(problem) if !error.to_string().contains(&problem) => format!("{error}: {problem}"),
            _ => error.to_string(),
        };
        text.replace(char::is_control, " ")
    }

    async fn pass(&self, request: reqwest::Request) -> Result<Response<Vec<u8>>, String> {
        if let Some(refusal) = self.boundary.refusal(request.url()).await {
            return Err(refusal);
        }
        let sent = self.web.send(request, REQUEST).await;
        sent.map_err(|failure| failure.to_string())
    }

    fn note(&self, is_question: bool, result: &Result<Response<Vec<u8>>, String>) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.problem = result.as_ref().err().cloned();
        let Ok(response) = result else { return };
        let Ok(Value::Object(fields)) = serde_json::from_slice(response.body()) else {
            return;
        };
        if let Some(error) = tokens::text(&fields, "error") {
            noted.error = Some(error.to_owned());
            noted.problem = tokens::text(&fields, "error_description").map(str::to_owned);
        }
        if is_question
            && tokens::text(&fields, "resource").is_some_and(|it| is_part(&self.server, it))
            && let Some(Value::Array(list)) = fields.get("authorization_servers")
        {
            let named = list.iter().filter_map(Value::as_str).map(str::to_owned);
            noted.authorization_servers = named.collect();
        }
    }
}

/// The least one can ask a server, of either era: nothing comes of it.
fn question() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 0,
        "method": "server/discover",
        "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }},
    })
}

fn question_headers() -> HeaderMap {
    let accept = "application/json, text/event-stream";
    let headers = [
        (ACCEPT, accept),
        (HeaderName::from_static("mcp-protocol-version"), MODERN),
        (HeaderName::from_static("mcp-method"), "server/discover"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    headers.into_iter().collect()
}

/// Whether a server belongs to what a document calls its resource. Tokens for another one are not for us to ask for.
fn is_part(server: &Url, resource: &str) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let path = resource.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(path);
    resource.origin() == server.origin()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_bearer(challenge: &str) -> bool {
    let scheme = challenge.split_whitespace().next();
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
}

impl OAuthHttpClient for Line {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(request.request)?;
            let is_question = request.method() == Method::GET;
            let result = self.pass(request).await;
            self.note(is_question, &result);
            Ok(result?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_the_server_or_what_it_is_part_of() {
        let check = |resource: &str, expected: bool| {
            let server = Url::parse("https://a.test/mcp/v1").unwrap();
            assert_eq!(is_part(&server, resource), expected, "{resource}");
        };
        check("https://a.test/mcp/v1", true);
        check("https://a.test/mcp", true);
        check("https://a.test/", true);
        check("https://a.test/mc", false);
        check("https://a.test/mcp/v1/more", false);
        check("https://b.test/mcp/v1", false);
        check("http://a.test/mcp/v1", false);
        check("mcp", false);
    }
}
