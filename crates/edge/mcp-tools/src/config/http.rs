//! A server at an address.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hermes_mcp::{ClientCert, HttpEndpoint, HttpFlavour, Secret, Tls, Verify, redact};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::section::{Section, boolish, scalar};
use super::{Problem, Surroundings, path};

/// Headers whose values are the protocol's business.
const RESERVED: &[&str] = &["accept", "mcp-session-id", "last-event-id"];

pub(super) fn read(
    section: &Section<'_>,
    around: Surroundings<'_>,
) -> Result<HttpEndpoint, Problem> {
    let flavours = [("http", HttpFlavour::Streamable), ("sse", HttpFlavour::Sse)];
    Ok(HttpEndpoint {
        url: url(section)?,
        flavour: section.choice("transport", &flavours, HttpFlavour::Streamable),
        headers: headers(section)?,
        tls: Tls {
            verify: verify(section, around)?,
            client_cert: client_cert(section, around)?,
        },
        skip_preflight: section.boolish("skip_preflight", false),
    })
}

fn url(section: &Section<'_>) -> Result<String, Problem> {
    let refuse = |why: String| Err(Problem::broken(section.notes().server(), "url", why));
    let Some(Value::String(text)) = section.get("url") else {
        return refuse("expects a text such as https://example.com/mcp".to_owned());
    };
    let text = text.trim();
    let shown = redact(text, &[]);
    match Url::parse(text) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            refuse(format!("'{shown}' is neither http nor https"))
        }
        Ok(url) if url.host_str().is_none_or(str::is_empty) => {
            refuse(format!("'{shown}' names no host"))
        }
        Ok(_) => Ok(text.to_owned()),
        Err(error) => refuse(format!("'{shown}' is no address: {error}")),
    }
}

fn headers(section: &Section<'_>) -> Result<BTreeMap<String, Secret>, Problem> {
    let mut headers = BTreeMap::new();
    for (name, value) in section.texts("headers") {
        let refuse = |why: &str| {
            let key = format!("headers.{name}");
            Problem::broken(section.notes().server(), &key, why)
        };
        if RESERVED.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            let warning = format!("the header {name} is reserved and not sent");
            section.notes().warn(warning);
            continue;
        }
        let value = value.trim().to_owned();
        HeaderName::try_from(&name).map_err(|_| refuse("is no name of a header"))?;
        HeaderValue::try_from(&value).map_err(|_| refuse("has a value no header can carry"))?;
        headers.insert(name, Secret::new(value));
    }
    Ok(headers)
}

fn verify(section: &Section<'_>, around: Surroundings<'_>) -> Result<Verify, Problem> {
    let Some(value) = section.get("ssl_verify") else {
        return Ok(Verify::System);
    };
    match (boolish(value), section.text("ssl_verify")) {
        (Some(true), _) | (None, None) => Ok(Verify::System),
        (Some(false), _) => {
            section
                .notes()
                .warn("its certificate is not checked (ssl_verify)");
            Ok(Verify::Nothing)
        }
        (None, Some(bundle)) => file(section, "ssl_verify", &bundle, around).map(Verify::Bundle),
    }
}

fn client_cert(
    section: &Section<'_>,
    around: Surroundings<'_>,
) -> Result<Option<ClientCert>, Problem> {
    let parts: Vec<String> = match section.get("client_cert") {
        None => return Ok(None),
        Some(Value::Array(parts)) => parts.iter().filter_map(scalar).collect(),
        Some(one) => scalar(one).into_iter().collect(),
    };
    let refuse = |why: &str| Problem::broken(section.notes().server(), "client_cert", why);
    let (cert, key) = match parts.as_slice() {
        [cert] => (cert, section.text("client_key")),
        [cert, key] => (cert, Some(key.clone())),
        [_, _, _] => {
            return Err(refuse(
                "has a passphrase; encrypted keys are not supported, store the key without one",
            ));
        }
        _ => return Err(refuse("expects a path or [cert, key]")),
    };
    let cert = file(section, "client_cert", cert, around)?;
    let key = key.map(|key| file(section, "client_key", &key, around));
    Ok(Some(ClientCert {
        cert,
        key: key.transpose()?,
    }))
}

/// A file that must be there.
fn file(
    section: &Section<'_>,
    key: &str,
    text: &str,
    around: Surroundings<'_>,
) -> Result<PathBuf, Problem> {
    let path = path(text, around);
    if path.is_file() {
        return Ok(path);
    }
    let message = format!("there is no file {}", path.display());
    Err(Problem::broken(section.notes().server(), key, message))
}
