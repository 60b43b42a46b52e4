//! Tokens nobody has to log in for: with a secret, with a key, by the word of an identity provider.

use pretty_assertions::{assert_eq, assert_ne};

use super::renewing::{refused, token};
use super::server::Fake;
use super::*;
use crate::auth::Authorizer;
use crate::config::Secret;
use crate::failure::Class;
use crate::oauth::assertion::tests::{key, verified};

#[tokio::test]
async fn a_program_with_credentials_needs_nobody() {
    let (desk, server) = (Desk::new(), Fake::start().await);
    let mut access = desk.access(server.url("/mcp"));
    access.config.grant = Grant::ClientCredentials { signing_key: None };
    access.config.client_id = Some("robot".to_owned());
    access.config.client_secret = Some(Secret::new("a-long-secret"));
    access.config.scope = Some("read".to_owned());
    let oauth = OAuth::new(access, poll());
    assert_eq!(token(&oauth).await, "access-1");
    assert_eq!(token(&oauth).await, "access-1");
    oauth.recover(refused("access-1")).await.unwrap();
    assert_eq!(token(&oauth).await, "access-2");
    assert_eq!(server.world().token_requests[0]["scope"], "read");
    assert!(oauth.secrets().contains(&Secret::new("a-long-secret")));
}

#[tokio::test]
async fn a_program_with_a_key_signs_every_request() {
    let (desk, server) = (Desk::new(), Fake::start().await);
    let key = key();
    let mut access = desk.access(server.url("/mcp"));
    access.config.grant = Grant::ClientCredentials {
        signing_key: Some(key.clone()),
    };
    access.config.client_id = Some("robot".to_owned());
    access.config.client_secret = Some(Secret::new("not-for-them"));
    let oauth = OAuth::new(access, poll());
    assert_eq!(token(&oauth).await, "access-1");
    oauth.recover(refused("access-1")).await.unwrap();
    let requests = server.world().token_requests.clone();
    let [first, second] = requests.as_slice() else {
        panic!("{requests:?}")
    };
    assert_eq!(first["client_id"], "robot");
    assert!(!first.contains_key("client_secret"));
    assert_eq!(
        first["client_assertion_type"],
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    );
    let (_, claims) = verified(&key, &first["client_assertion"]);
    assert_eq!(claims["iss"], "robot");
    assert_eq!(claims["aud"], server.url(""));
    assert_ne!(first["client_assertion"], second["client_assertion"]);
}

fn provider(idp: &Fake) -> IdentityProvider {
    IdentityProvider {
        token_endpoint: idp.url("/token").parse().unwrap(),
        client_id: "at-the-provider".to_owned(),
        client_secret: None,
        id_token: Secret::new("a-long-id-token"),
    }
}

#[tokio::test]
async fn an_identity_provider_vouches_for_somebody() {
    let (desk, server, idp) = (Desk::new(), Fake::start().await, Fake::start().await);
    idp.world().extra = json!({
        "access_token": "word", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
    });
    let mut access = desk.access(server.url("/mcp"));
    access.config.grant = Grant::CrossApp(Box::new(provider(&idp)));
    access.config.client_id = Some("at-the-server".to_owned());
    access.config.scope = Some("read".to_owned());
    let oauth = OAuth::new(access, poll());
    assert_eq!(token(&oauth).await, "access-1");
    let asked = idp.world().token_requests[0].clone();
    assert_eq!(asked["client_id"], "at-the-provider");
    assert_eq!(asked["subject_token"], "a-long-id-token");
    assert_eq!(asked["audience"], server.url(""));
    assert_eq!(asked["resource"], server.url("/mcp"));
    assert_eq!(asked["scope"], "read");
    let asked = server.world().token_requests[0].clone();
    assert_eq!(asked["client_id"], "at-the-server");
    assert_eq!(asked["assertion"], "word");
    assert_eq!(asked["scope"], "read");
    assert!(oauth.secrets().contains(&Secret::new("a-long-id-token")));
}

#[tokio::test]
async fn a_provider_that_does_not_vouch_is_not_taken_at_its_word() {
    let (desk, server, idp) = (Desk::new(), Fake::start().await, Fake::start().await);
    let mut access = desk.access(server.url("/mcp"));
    access.config.grant = Grant::CrossApp(Box::new(provider(&idp)));
    access.config.client_id = Some("at-the-server".to_owned());
    let oauth = OAuth::new(access, poll());
    // A token, but not the kind that was asked for.
    let failure = oauth.token().await.unwrap_err();
    assert_eq!(failure.class, Class::Auth, "{failure}");
    idp.world().refusal = Some((401, json!({"error": "invalid_client"})));
    let failure = oauth.token().await.unwrap_err();
    assert_eq!(failure.class, Class::Auth, "{failure}");
    assert!(
        failure.to_string().contains("identity provider"),
        "{failure}"
    );
    assert_eq!(server.world().token_requests.len(), 0);
}
