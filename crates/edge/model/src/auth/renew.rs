//! Renewing a login, whoever it is with.

use jiff::Timestamp;

use super::cooldown::moment;
use super::endpoints::Endpoints;
use super::entry::{Credential, Kind};
use super::web::Web;
use super::{AuthError, codex, nous};

/// Whether a credential should be renewed before it is used.
pub(crate) fn needs_renewal(
    provider: &str,
    entry: &Credential,
    endpoints: &Endpoints,
    now: Timestamp,
) -> bool {
    if !is_renewable(provider, entry) {
        return false;
    }
    match provider {
        "nous" => nous::needs_renewal(entry, endpoints, now),
        _ => codex::needs_renewal(entry, now),
    }
}

/// Whether a credential can be replaced by a newer one without its owner.
pub(crate) fn is_renewable(provider: &str, entry: &Credential) -> bool {
    let has_token = !entry.text("refresh_token").is_empty();
    entry.kind() == Kind::OAuth
        && match provider {
            "nous" => has_token || !entry.text("access_token").is_empty(),
            "openai-codex" => has_token,
            _ => false,
        }
}

/// Whether there is anything to send, or a way to get it.
pub(crate) fn is_alive(provider: &str, entry: &Credential, now: Timestamp) -> bool {
    if is_renewable(provider, entry) {
        return true;
    }
    let ends = match provider {
        "nous" => moment(entry.get("agent_key_expires_at")),
        _ if entry.kind() == Kind::OAuth => moment(entry.get("expires_at")),
        _ => None,
    };
    !entry.key(provider).is_empty() && ends.is_none_or(|ends| ends > now)
}

/// Replaces what is old in `entry`. Also on error the entry has what was replaced before: most such tokens work
/// only once.
pub(crate) async fn renew(
    provider: &str,
    web: Web<'_>,
    endpoints: &Endpoints,
    entry: &mut Credential,
) -> Result<(), AuthError> {
    match provider {
        "nous" => nous::renew(web, endpoints, entry).await,
        "openai-codex" => codex::renew(web, endpoints, entry).await,
        _ => Err(AuthError::invalid(format!(
            "a login with {provider} cannot be renewed"
        ))),
    }
}
