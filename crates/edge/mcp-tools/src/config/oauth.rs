//! `oauth:` of a server.

use hermes_mcp::{Grant, OAuthConfig, Secret};

use super::section::Section;

/// How we are called on consent pages.
const CLIENT_NAME: &str = "Hermes Agent";

pub(super) fn read(section: &Section<'_>) -> OAuthConfig {
    let default = OAuthConfig::new(
        section
            .text("client_name")
            .unwrap_or_else(|| CLIENT_NAME.to_owned()),
    );
    let grants = [
        ("authorization_code", Grant::AuthorizationCode),
        ("client_credentials", Grant::ClientCredentials),
    ];
    OAuthConfig {
        client_id: section.text("client_id"),
        client_secret: section.text("client_secret").map(Secret::new),
        client_metadata_url: section.text("client_metadata_url"),
        scope: section.text("scope"),
        grant: section.choice("grant", &grants, default.grant),
        redirect_host: section
            .text("redirect_host")
            .unwrap_or(default.redirect_host),
        redirect_port: port(section),
        redirect_uri: section.text("redirect_uri"),
        timeout: section.seconds("timeout", default.timeout),
        authorize_params: section.texts("authorize_params"),
        client_name: default.client_name,
    }
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
