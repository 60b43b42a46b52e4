//! F23 to F28: keys and tokens.

use hermes_scripted::mcp::{Auth, Flaky, Options, Tokens};
use serde_json::Value;

use super::link::{Link, PATIENCE, Reply, armed};

fn protected() -> (Flaky, Link, Tokens) {
    let auth = Auth::Oauth {
        expires_in_s: 3600,
        rotate: false,
        clients: vec!["me".to_owned()],
    };
    let flaky = Flaky::start(Options {
        auth,
        ..Options::default()
    })
    .unwrap();
    let tokens = flaky.issue_tokens();
    let mut link = Link::open(&flaky);
    link.headers = bearer(&tokens.access);
    link.initialize();
    assert_eq!(link.tool("write").said(), "written 1");
    (flaky, link, tokens)
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

fn refresh(flaky: &Flaky, token: &str) -> Reply {
    let mut link = Link::open(flaky);
    let form = format!("grant_type=refresh_token&client_id=me&refresh_token={token}");
    link.post("/token", &form);
    link.reply(PATIENCE)
}

fn word(reply: &Reply, key: &str) -> String {
    reply.json()[key].as_str().unwrap_or_default().to_owned()
}

#[test]
fn f23_expired_tokens_can_be_refreshed() {
    let (flaky, mut link, tokens) = protected();
    armed(&flaky, "F23");
    let refused = link.tool("write");
    assert_eq!(refused.status, 401);
    let challenge = refused.header("www-authenticate");
    let metadata = format!(
        "resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"",
        flaky.origin()
    );
    assert!(challenge.contains(&metadata), "{challenge}");
    for _ in 0..2 {
        let fresh = refresh(&flaky, &tokens.refresh);
        assert_eq!(word(&fresh, "refresh_token"), tokens.refresh);
        link.headers = bearer(&word(&fresh, "access_token"));
        assert_eq!(link.tool("read").said(), "read done");
    }
    let counters = flaky.counters();
    assert_eq!((counters.refreshes, counters.token_requests), (2, 2));
    assert_eq!(counters.executions["write"], 1);
}

#[test]
fn f24_refresh_tokens_work_once() {
    let (flaky, mut link, tokens) = protected();
    armed(&flaky, "F24");
    assert_eq!(link.tool("write").status, 401);
    let fresh = refresh(&flaky, &tokens.refresh);
    assert_ne!(word(&fresh, "refresh_token"), tokens.refresh);
    let again = refresh(&flaky, &tokens.refresh);
    assert_eq!(
        (again.status, word(&again, "error").as_str()),
        (400, "invalid_grant")
    );
    assert_eq!(flaky.counters().refreshes, 1);
}

#[test]
fn f25_dead_refresh_tokens() {
    let (flaky, mut link, tokens) = protected();
    armed(&flaky, "F25");
    assert_eq!(link.tool("write").status, 401);
    assert_eq!(
        word(&refresh(&flaky, &tokens.refresh), "error"),
        "invalid_grant"
    );
    // Somebody logs in again.
    let tokens = flaky.issue_tokens();
    link.headers = bearer(&tokens.access);
    assert_eq!(link.tool("write").said(), "written 2");
    flaky.forget_clients();
    let unknown = refresh(&flaky, &tokens.refresh);
    assert_eq!(
        (unknown.status, word(&unknown, "error").as_str()),
        (401, "invalid_client")
    );
}

#[test]
fn f28_the_token_endpoint_is_down() {
    let (flaky, mut link, tokens) = protected();
    armed(&flaky, "F28");
    assert_eq!(link.tool("write").status, 401);
    assert_eq!(refresh(&flaky, &tokens.refresh).status, 503);
    assert_eq!(refresh(&flaky, &tokens.refresh).status, 200);
}

#[test]
fn codes_want_their_verifier() {
    let (flaky, _, _) = protected();
    let code = || {
        let mut link = Link::open(&flaky);
        // The example of RFC 7636, appendix B.
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        let query = format!(
            "client_id=me&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcb&state=s%26t&code_challenge={challenge}"
        );
        let reply = link.get(&format!("/authorize?{query}"), "");
        assert_eq!(reply.status, 302);
        let location = reply.header("location");
        assert!(
            location.starts_with("http://127.0.0.1/cb?code=code-"),
            "{location}"
        );
        assert!(location.contains("&state=s%26t&iss="), "{location}");
        let code = location.split("code=").nth(1).unwrap();
        code.split('&').next().unwrap().to_owned()
    };
    let exchange = |code: &str, verifier: &str| {
        let mut link = Link::open(&flaky);
        let grant = "grant_type=authorization_code&client_id=me";
        link.post(
            "/token",
            &format!("{grant}&code={code}&code_verifier={verifier}"),
        );
        link.reply(PATIENCE).status
    };
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let first = code();
    assert_eq!(exchange(&first, verifier), 200);
    assert_eq!(exchange(&first, verifier), 400, "a code works once");
    assert_eq!(exchange(&code(), "wrong"), 400);
    assert_eq!(flaky.counters().authorize, 2);
}

#[test]
fn metadata_names_the_places() {
    let (flaky, _, _) = protected();
    let get = |path: &str| -> Value { Link::open(&flaky).get(path, "").json() };
    let resource = get("/.well-known/oauth-protected-resource/mcp");
    assert_eq!(resource["resource"], flaky.url());
    assert_eq!(resource["authorization_servers"][0], flaky.origin());
    let server = get("/.well-known/oauth-authorization-server");
    assert_eq!(
        server["token_endpoint"],
        format!("{}/token", flaky.origin())
    );
}

#[test]
fn keys_are_compared() {
    let auth = Auth::Key {
        header: "X-Api-Key".to_owned(),
        value: "secret".to_owned(),
    };
    let flaky = Flaky::start(Options {
        auth,
        ..Options::default()
    })
    .unwrap();
    let mut link = Link::open(&flaky);
    let refused = link.initialize();
    assert_eq!(
        (refused.status, refused.header("www-authenticate")),
        (401, "")
    );
    link.headers = "x-api-key: secret\r\n".to_owned();
    assert_eq!(link.initialize().status, 200);
    assert_eq!(link.tool("write").said(), "written 1");
}
