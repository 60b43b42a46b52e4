//! `oauth:` of a server.

use std::fs;

use hermes_mcp::{Grant, OAuthConfig, Secret, SigningKey};

use super::section::Section;
use super::{Problem, Surroundings, path};

/// How we are called on consent pages.
const CLIENT_NAME: &str = "Hermes Agent";

pub(super) fn read(
    section: &Section<'_>,
    around: Surroundings<'_>,
) -> Result<OAuthConfig, Problem> {
    let default = OAuthConfig::new(
        section
            .text("client_name")
            .unwrap_or_else(|| CLIENT_NAME.to_owned()),
    );
    Ok(OAuthConfig {
        client_id: section.text("client_id"),
        client_secret: section.text("client_secret").map(Secret::new),
        client_metadata_url: section.text("client_metadata_url"),
        scope: section.text("scope"),
        grant: grant(section, around)?,
        redirect_host: section
            .text("redirect_host")
            .unwrap_or(default.redirect_host),
        redirect_port: port(section),
        redirect_uri: section.text("redirect_uri"),
        timeout: section.seconds("timeout", default.timeout),
        authorize_params: section.texts("authorize_params"),
        client_name: default.client_name,
    })
}

fn grant(section: &Section<'_>, around: Surroundings<'_>) -> Result<Grant, Problem> {
    let words = [("authorization_code", false), ("client_credentials", true)];
    let is_program = section.choice("grant", &words, false);
    let signing_key = signing_key(section, around)?;
    if is_program {
        return Ok(Grant::ClientCredentials { signing_key });
    }
    if signing_key.is_some() {
        section
            .notes()
            .warn("'oauth.private_key' is used with 'grant: client_credentials' only");
    }
    Ok(Grant::AuthorizationCode)
}

fn signing_key(
    section: &Section<'_>,
    around: Surroundings<'_>,
) -> Result<Option<SigningKey>, Problem> {
    let Some(text) = section.text("private_key") else {
        return Ok(None);
    };
    let path = path(&text, around);
    let refuse = |why: String| {
        let message = format!("{}: {why}", path.display());
        Problem::broken(section.notes().server(), "oauth.private_key", message)
    };
    let pem = fs::read_to_string(&path).map_err(|error| refuse(error.to_string()))?;
    let key = SigningKey::from_pem(&pem).map_err(|error| refuse(error.to_string()))?;
    Ok(Some(key))
}

/// Zero is any free port.
fn port(section: &Section<'_>) -> Option<u16> {
    let port = u16::try_from(section.count("redirect_port", 0, 0)).unwrap_or_else(|_| {
        section
            .notes()
            .warn("'oauth.redirect_port' is no port; using any free one");
        0
    });
    Some(port).filter(|port| *port != 0)
}
