//! Asks the OSV database whether a package about to be run is known malware. Never stands in the way otherwise.

mod package;
mod verdicts;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use hermes_home::{Env, Home, Modes};
use hermes_mcp::{Endpoint, Permission, ServerConfig};
use serde_json::{Value, json};

pub use package::{Ecosystem, Package, package};
use verdicts::Verdicts;
pub use verdicts::{Advisory, Verdict};

const ENDPOINT: &str = "https://api.osv.dev/v1/query";
/// Bound of one question, from the connect to the last byte.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than any real answer.
const LARGEST: usize = 16 << 20;

/// One place to ask, and where its answers are kept.
#[derive(Clone, Debug)]
pub struct Osv {
    client: reqwest::Client,
    endpoint: String,
    file: PathBuf,
    modes: Modes,
}

impl Osv {
    pub fn new(client: reqwest::Client, env: &Env, home: &Home) -> Self {
        Self {
            client,
            endpoint: env.filled("OSV_ENDPOINT").unwrap_or(ENDPOINT).to_owned(),
            file: home.dir().join("cache/osv.json"),
            modes: home.modes().clone(),
        }
    }

    /// To be asked before each start of a server's program.
    pub fn permission(self: Arc<Self>) -> Permission {
        Arc::new(move |config: &ServerConfig| {
            let osv = Arc::clone(&self);
            let command = match &config.endpoint {
                Endpoint::Stdio(stdio) => Some((stdio.program.clone(), stdio.args.clone())),
                Endpoint::Http(_) => None,
            };
            async move {
                let Some((program, args)) = command else {
                    return Ok(());
                };
                osv.check(&program, &args)
                    .await
                    .refusal()
                    .map_or(Ok(()), Err)
            }
            .boxed()
        })
    }

    /// Looks at the real command line of a server. What cannot be found out is no reason against it.
    pub async fn check(&self, program: &Path, args: &[String]) -> Verdict {
        let Some(package) = package(program, args) else {
            return Verdict::Clean;
        };
        let now = now();
        let known = Verdicts::load(self.file.clone()).await;
        if let Some(verdict) = known.get(&package, now) {
            return verdict;
        }
        let asked = tokio::time::timeout(PATIENCE, self.ask(&package)).await;
        let why = match asked {
            Ok(Ok(found)) => {
                let verdict = Verdict::of(found);
                // Without the file the same question is asked again next time.
                known
                    .remember(&self.file, &self.modes, &package, &verdict, now)
                    .await;
                return verdict;
            }
            Ok(Err(why)) => why,
            Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
        };
        tracing::debug!(
            "the malware check of {} did not happen: {why}",
            package.name
        );
        Verdict::Unknown(why)
    }

    async fn ask(&self, package: &Package) -> Result<Vec<Advisory>, String> {
        let mut question = json!({
            "package": {"name": package.name, "ecosystem": package.ecosystem.name()},
        });
        if let Some(version) = &package.version {
            question["version"] = version.as_str().into();
        }
        let sent = self
            .client
            .post(&self.endpoint)
            .json(&question)
            .send()
            .await;
        let mut response = sent
            .and_then(reqwest::Response::error_for_status)
            .map_err(|error| error.without_url().to_string())?;
        let mut body = Vec::new();
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| error.without_url().to_string())?
        {
            body.extend_from_slice(&piece);
            if body.len() > LARGEST {
                return Err("the answer is too large".to_owned());
            }
        }
        let answer: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        Ok(Advisory::all(&answer))
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
