//! Pages of the Internet, fetched under the rules for addresses that somebody else may have chosen.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use encoding_rs::{Encoding, UTF_8};
use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use hermes_net::guarded::{Blocklist, Guarded, Private, PrivateSettings, Refused, Rules, read};
use hermes_net::{Addresses, Options, Reach, Tls, TlsSettings, Trust};
use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;

use crate::html;
use crate::read::{Content, size};

const CONNECT: Duration = Duration::from_secs(10);
/// From the question to the last byte.
const TIME: Duration = Duration::from_secs(30);
/// More of a page is not read.
const MAX_BYTES: usize = 2 << 20;
/// Where a page says in which encoding it is written.
const HEAD: usize = 1_024;
const ACCEPTED: &str = "text/html, text/plain, text/markdown, application/json, */*;q=0.5";

/// Why a page is not attached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the server answered with status {0}")]
    Status(u16),
    #[error("it took longer than {} s", TIME.as_secs())]
    Slow,
    #[error("it ended early: {}", hermes_net::trouble_kind(.0))]
    Broken(#[source] reqwest::Error),
    #[error("it holds no text")]
    Empty,
}

/// The client pages are fetched with, as the owner's settings want it.
pub(crate) fn client(home: &Home, settings: &Settings, env: &Env) -> Guarded {
    let user_agent = concat!("HermesAgent/", env!("CARGO_PKG_VERSION"));
    let mut options = Options::new(user_agent, CONNECT, Reach::World);
    if settings.is_on("network.force_ipv4") {
        options.addresses = Addresses::V4;
    }
    if let Some(bundle) = env.filled("HERMES_CA_BUNDLE") {
        let trust = Trust::Bundle(bundle.into());
        let loaded = Tls::load(&TlsSettings {
            trust,
            identity: None,
        });
        // Without it the system's certificates count, and the connection says what is wrong.
        options.tls = loaded.ok();
    }
    let private = PrivateSettings {
        variable: env.get("HERMES_ALLOW_PRIVATE_URLS"),
        security: settings.is_on("security.allow_private_urls"),
        browser: settings.is_on("browser.allow_private_urls"),
    };
    let rules = Rules {
        private: Private::from(private),
        blocklist: blocklist(home.dir(), settings),
        patience: TIME,
        ..Rules::default()
    };
    Guarded::new(options, rules)
}

fn blocklist(home: &Path, settings: &Settings) -> Option<Arc<Blocklist>> {
    let list = |key: &str| -> Vec<String> {
        let found = settings.get(&format!("security.website_blocklist.{key}"));
        let found = found.and_then(Value::as_array).into_iter().flatten();
        found
            .filter_map(|one| one.as_str().map(str::to_owned))
            .collect()
    };
    let is_on = settings.is_on("security.website_blocklist.enabled");
    is_on.then(|| {
        let files = list("shared_files").into_iter();
        let files = files.map(|file| home.join(file)).collect();
        Arc::new(Blocklist::new(&list("domains"), files))
    })
}

/// The text of a page.
pub(crate) async fn fetch(client: &Guarded, url: &str) -> Result<Content, Trouble> {
    let url = read(url)?;
    let work = async {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        let mut response = client.get(&url, headers).await?;
        if !response.status().is_success() {
            return Err(Trouble::Status(response.status().as_u16()));
        }
        let kind = content_type(&response);
        let (bytes, is_cut) = body(&mut response).await?;
        shown(&kind, &bytes, is_cut)
    };
    let done = tokio::time::timeout(TIME, work).await;
    done.unwrap_or(Err(Trouble::Slow))
}

async fn body(response: &mut Response) -> Result<(Vec<u8>, bool), Trouble> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Trouble::Broken)? {
        let room = chunk.len().min(MAX_BYTES - bytes.len());
        bytes.extend_from_slice(&chunk[..room]);
        if room < chunk.len() {
            return Ok((bytes, true));
        }
    }
    Ok((bytes, false))
}

fn content_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.to_lowercase()
}

fn shown(kind: &str, bytes: &[u8], is_cut: bool) -> Result<Content, Trouble> {
    let plain = kind.split(';').next().unwrap_or_default().trim();
    let is_html = matches!(plain, "text/html" | "application/xhtml+xml");
    let is_text = plain.is_empty()
        || plain.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml"]
            .iter()
            .any(|word| plain.contains(word));
    if !is_text || (plain.is_empty() && bytes.contains(&0)) {
        let (kind, size) = (
            if plain.is_empty() { "data" } else { plain },
            size(bytes.len() as u64),
        );
        let more = if is_cut { "more than " } else { "" };
        return Ok(Content::Note(format!(
            "The page is no text ({kind}, {more}{size}); its content is not shown."
        )));
    }
    let (text, _, _) = encoding(kind, bytes).decode(bytes);
    let mut text = match is_html {
        true => html::text(&text),
        false => text.into_owned(),
    };
    if text.trim().is_empty() {
        return Err(Trouble::Empty);
    }
    if is_cut {
        text.push_str(&format!(
            "\n[… the page goes on after {}]",
            size(MAX_BYTES as u64)
        ));
    }
    Ok(Content::Fenced { language: "", text })
}

/// As the server says, else as the page says, else as nearly everybody writes.
fn encoding(kind: &str, bytes: &[u8]) -> &'static Encoding {
    let after = |text: &str| -> Option<&'static Encoding> {
        let (_, label) = text.split_once("charset=")?;
        let label = label.trim_start_matches(['"', '\'']);
        let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c));
        Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])
    };
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]).to_lowercase();
    after(kind).or_else(|| after(&head)).unwrap_or(UTF_8)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn pages_are_read_as_what_they_are() {
        let check = |kind: &str, bytes: &[u8], expected: &str| {
            let said = match shown(kind, bytes, false) {
                Ok(Content::Fenced { text, .. }) => text,
                Ok(Content::Note(note)) => note,
                Err(trouble) => trouble.to_string(),
            };
            assert_eq!(said, expected, "{kind}");
        };
        check("text/html", b"<p>a</p><p>b</p>", "a\n\nb");
        check("text/plain; charset=utf-8", b"<p>", "<p>");
        check("application/vnd.api+json", b"{}", "{}");
        check("", b"text", "text");
        check("text/html; charset=GBK", b"<b>\xc4\xe3\xba\xc3</b>", "你好");
        check(
            "text/html",
            b"<meta charset=\"shift_jis\"><p>\x93\xfa\x96\x7b</p>",
            "日本",
        );
        check("text/plain", b"  ", "it holds no text");
        check(
            "image/png",
            &[0; 5],
            "The page is no text (image/png, 5 B); its content is not shown.",
        );
    }
}
