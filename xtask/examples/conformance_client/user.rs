//! The person who logs in: has a browser, and agrees to everything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_mcp::{
    Access, Document, Fields, Grant, IdentityProvider, LoginOptions, LoginPrompt, LoginUi,
    OAuthConfig, Secret, SigningKey, StoreError, StoreGuard, Stored, SystemClock, TokenStore,
    login,
};
use hermes_net::{Options, Reach, Redirects};
use reqwest::header::LOCATION;
use serde_json::Value;

/// The suites refuse a client that asks again and again.
const LOGINS: usize = 3;
/// The address under which the suites expect a client to describe itself.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const NAME: &str = "scenario";
const HOPS: usize = 5;

pub struct User {
    pub access: Access,
    logins: usize,
}

impl User {
    pub fn new(url: &str, context: &Value) -> Result<Self> {
        let text = |key: &str| context[key].as_str().map(str::to_owned);
        let mut config = OAuthConfig::new("Hermes conformance");
        config.client_id = text("client_id");
        config.client_secret = text("client_secret").map(Secret::new);
        config.client_metadata_url = Some(CLIENT_DOCUMENT.to_owned());
        config.timeout = Duration::from_secs(10);
        config.grant = grant(context)?;
        let options = Options {
            redirects: Redirects::Never,
            ..Options::new(
                "HermesConformance/1",
                Duration::from_secs(5),
                Reach::Loopback,
            )
        };
        let access = Access {
            server: NAME.to_owned(),
            url: url.to_owned(),
            config,
            store: Arc::new(Drawer::default()),
            http: hermes_net::client(&options)?,
            clock: Arc::new(SystemClock),
        };
        Ok(Self { access, logins: 0 })
    }

    /// Logs in; for what is needed besides what was granted before, if the server said what is missing.
    pub async fn log_in(&mut self, missing: Option<&str>) -> Result<()> {
        self.logins += 1;
        ensure!(self.logins <= LOGINS, "no login helps");
        let mut access = self.access.clone();
        access.config.scope = missing.map(|missing| match self.granted() {
            Some(granted) => format!("{granted} {missing}"),
            None => missing.to_owned(),
        });
        let mut browser = Browser {
            http: access.http.clone(),
            page: None,
        };
        Ok(login(&access, &mut browser, LoginOptions::default()).await?)
    }

    fn granted(&self) -> Option<String> {
        let stored = self.access.store.load(NAME, Document::Tokens).ok()??;
        Some(stored.fields.get("scope")?.as_str()?.to_owned())
    }
}

/// How the scenario wants its client to come by tokens.
fn grant(context: &Value) -> Result<Grant> {
    let text = |key: &str| context[key].as_str();
    let named = |key: &str| text(key).with_context(|| format!("no {key}"));
    let name = text("name").unwrap_or_default();
    if name.starts_with("auth/client-credentials") {
        let signing_key = text("private_key_pem").map(SigningKey::from_pem);
        let signing_key = signing_key.transpose()?;
        return Ok(Grant::ClientCredentials { signing_key });
    }
    if name.starts_with("auth/cross-app-access") {
        return Ok(Grant::CrossApp(Box::new(IdentityProvider {
            token_endpoint: named("idp_token_endpoint")?.parse()?,
            client_id: named("idp_client_id")?.to_owned(),
            client_secret: None,
            id_token: Secret::new(named("idp_id_token")?),
        })));
    }
    Ok(Grant::AuthorizationCode)
}

/// Goes where it is sent until it is back.
struct Browser {
    http: reqwest::Client,
    page: Option<String>,
}

impl Browser {
    async fn visit(&self, page: &str) -> Result<()> {
        let mut page = page.to_owned();
        for _ in 0..HOPS {
            let answer = self.http.get(&page).send().await?;
            if !answer.status().is_redirection() {
                return Ok(());
            }
            let next = answer.headers().get(LOCATION).context("sent nowhere")?;
            page = answer.url().join(next.to_str()?)?.into();
        }
        Ok(())
    }
}

impl LoginUi for Browser {
    fn show(&mut self, prompt: &LoginPrompt) {
        self.page = Some(prompt.url.clone());
    }

    /// Nothing is pasted: the browser comes back to the listener by itself.
    fn pasted(&mut self) -> BoxFuture<'_, Option<String>> {
        async {
            let page = self.page.take()?;
            if let Err(error) = self.visit(&page).await {
                eprintln!("{page}: {error:#}");
            }
            None
        }
        .boxed()
    }

    fn complain(&mut self, text: &str) {
        eprintln!("{text}");
    }
}

/// Keeps the documents for as long as the scenario lasts.
#[derive(Default)]
struct Drawer(Mutex<HashMap<&'static str, Fields>>);

impl Drawer {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<&'static str, Fields>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn label(document: Document) -> &'static str {
    match document {
        Document::Tokens => "tokens",
        Document::Client => "client",
        Document::ClientBackup => "backup",
        Document::Metadata => "metadata",
    }
}

impl TokenStore for Drawer {
    fn load(&self, _: &str, document: Document) -> Result<Option<Stored>, StoreError> {
        let fields = self.with(|documents| documents.get(label(document)).cloned());
        Ok(fields.map(|fields| Stored {
            fields,
            modified: None,
        }))
    }

    fn save(&self, _: &str, document: Document, fields: &Fields) -> Result<(), StoreError> {
        self.with(|documents| documents.insert(label(document), fields.clone()));
        Ok(())
    }

    fn remove(&self, _: &str, document: Document) -> Result<(), StoreError> {
        self.with(|documents| documents.remove(label(document)));
        Ok(())
    }

    fn try_lock(&self, _: &str) -> Result<Option<StoreGuard>, StoreError> {
        Ok(Some(StoreGuard::new(())))
    }
}
