//! Where logins happen and how patient they are. Everything can be pointed elsewhere by variables.

use std::time::Duration;

use hermes_home::Env;

#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    pub nous_portal: String,
    pub nous_inference: String,
    pub codex_issuer: String,
    pub codex_inference: String,
    pub openrouter: String,
    /// A minted key that lasts no longer is replaced.
    pub min_key_ttl: Duration,
    /// For one request to a login server.
    pub timeout: Duration,
}

impl Endpoints {
    pub fn from_env(env: &Env) -> Self {
        let url = |names: &[&str], default: &str| {
            let set = names.iter().find_map(|name| env.filled(name));
            set.unwrap_or(default).trim_end_matches('/').to_owned()
        };
        let seconds = |name: &str, least: u64, default: u64| {
            let set = env.filled(name).and_then(|text| text.parse::<f64>().ok());
            let set = set.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            set.unwrap_or(Duration::from_secs(default))
                .max(Duration::from_secs(least))
        };
        Self {
            nous_portal: url(
                &["HERMES_PORTAL_BASE_URL", "NOUS_PORTAL_BASE_URL"],
                "https://portal.nousresearch.com",
            ),
            nous_inference: url(
                &["NOUS_INFERENCE_BASE_URL"],
                "https://inference-api.nousresearch.com/v1",
            ),
            codex_issuer: url(&["HERMES_CODEX_ISSUER"], "https://auth.openai.com"),
            codex_inference: url(
                &["HERMES_CODEX_BASE_URL"],
                "https://chatgpt.com/backend-api/codex",
            ),
            openrouter: url(&["HERMES_OPENROUTER_LOGIN_URL"], "https://openrouter.ai"),
            min_key_ttl: seconds("HERMES_NOUS_MIN_KEY_TTL_SECONDS", 60, 1800),
            timeout: seconds("HERMES_NOUS_TIMEOUT_SECONDS", 1, 15),
        }
    }
}
