//! Tokens that expire, are refused, or are replaced by somebody else.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use futures::FutureExt;
use futures::future::join_all;
use pretty_assertions::assert_eq;

use super::server::Fake;
use super::*;
use crate::auth::Authorizer;
use crate::config::Secret;
use crate::failure::{Class, Refused};

const CHILD: &str = "oauth::tests::renewing::child_renews";
const YEAR: i64 = 365 * 24 * 3600;

pub fn refused(token: &str) -> Refused {
    Refused {
        token: Some(Secret::new(token)),
        challenge: None,
    }
}

pub async fn token(oauth: &OAuth) -> String {
    let token = oauth.token().await.unwrap();
    token.unwrap().expose().to_owned()
}

struct Scene {
    desk: Desk,
    server: Fake,
    oauth: OAuth,
}

async fn scene() -> Scene {
    let (desk, server) = (Desk::new(), Fake::start().await);
    desk.logged_in(&server);
    let oauth = OAuth::new(desk.access(server.url("/mcp")), poll());
    Scene {
        desk,
        server,
        oauth,
    }
}

#[tokio::test]
async fn twenty_refusals_are_one_renewal() {
    let Scene {
        desk,
        server,
        oauth,
    } = scene().await;
    server.world().delay = Duration::from_millis(100);
    let other = OAuth::new(desk.access(server.url("/mcp")), poll());
    let calls = (0..20).map(|n| {
        let oauth = if n % 2 == 0 { &oauth } else { &other };
        oauth.recover(refused("access-0"))
    });
    for done in join_all(calls).await {
        done.unwrap();
    }
    assert_eq!(server.refreshes(), 1);
    assert_eq!(token(&oauth).await, "access-1");
    assert_eq!(token(&other).await, "access-1");
    // Somebody who was refused long ago is told the same without a request.
    oauth.recover(refused("access-0")).await.unwrap();
    assert_eq!(server.refreshes(), 1);
    let form = server.world().token_requests[0].clone();
    assert_eq!(form["resource"], server.url("/mcp"));
    assert_eq!(form["client_id"], "client-7");
    assert_eq!(desk.read(Document::Tokens).unwrap()["id_token"], "kept");
}

// spec: mcp §15.14
#[tokio::test]
async fn two_processes_renew_once() {
    let Scene { desk, server, .. } = scene().await;
    server.world().delay = Duration::from_millis(300);
    #[expect(clippy::disallowed_methods, reason = "the test is its own child")]
    let children: Vec<_> = (0..2)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", CHILD, "--ignored", "--nocapture"])
                .env("TOKENS_DIR", desk.dir.path())
                .env("TOKENS_URL", server.url("/mcp"))
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let ended = tokio::task::spawn_blocking(|| child.wait_with_output());
        let output = ended.await.unwrap().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("token: access-1"), "{said}");
    }
    assert_eq!(server.refreshes(), 1);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(desk.dir.path()), 0o700);
    assert_eq!(mode(&desk.dir.path().join("fake.json")), 0o600);
}

#[tokio::test]
#[ignore = "started by two_processes_renew_once"]
#[expect(clippy::disallowed_methods, reason = "the parent says what to do")]
async fn child_renews() {
    let store = FileTokens::new(std::env::var("TOKENS_DIR").unwrap());
    let url = std::env::var("TOKENS_URL").unwrap();
    let oauth = OAuth::new(access(store, url, Arc::new(Wrong::default())), poll());
    let calls = (0..10).map(|_| oauth.recover(refused("access-0")));
    for done in join_all(calls).await {
        done.unwrap();
    }
    println!("token: {}", token(&oauth).await);
}

#[tokio::test]
async fn a_dead_refresh_token_needs_a_login_and_a_login_is_noticed() {
    let Scene {
        desk,
        server,
        oauth,
    } = scene().await;
    server.world().generation = 9;
    assert_eq!(token(&oauth).await, "access-0");
    let failure = oauth.recover(refused("access-0")).await.unwrap_err();
    assert_eq!(failure.class, Class::Auth, "{failure}");
    assert!(failure.message.contains("invalid_grant"), "{failure}");
    assert_eq!(
        desk.read(Document::Tokens).unwrap()["refresh_token"],
        "refresh-0"
    );

    assert!(oauth.changed().now_or_never().is_none());
    let login = async {
        tokio::time::sleep(poll()).await;
        desk.write(Document::Tokens, &json!({"access_token": "fresh"}));
    };
    let both = futures::future::join(oauth.changed(), login);
    tokio::time::timeout(Duration::from_secs(2), both)
        .await
        .unwrap();
    assert_eq!(token(&oauth).await, "fresh");
}

#[tokio::test]
async fn trouble_at_the_token_endpoint_passes() {
    let Scene {
        desk,
        server,
        oauth,
    } = scene().await;
    server.world().refusal = Some((503, json!({"error": "invalid_grant"})));
    let failure = oauth.recover(refused("access-0")).await.unwrap_err();
    assert_eq!(failure.class, Class::Gateway, "{failure}");
    desk.write(
        Document::Tokens,
        &json!({"access_token": "access-0", "refresh_token": "refresh-0", "expires_in": 60, "expires_at": 1}),
    );
    assert_eq!(oauth.token().await.unwrap_err().class, Class::Gateway);
    server.world().refusal = None;
    assert_eq!(token(&oauth).await, "access-3");

    let unreachable = json!({"token_endpoint": format!("{}/token", nowhere().await)});
    desk.write(Document::Metadata, &unreachable);
    let failure = oauth.recover(refused("access-3")).await.unwrap_err();
    assert_eq!(failure.class, Class::NotSent, "{failure}");
}

#[tokio::test]
async fn a_client_nobody_knows_is_put_aside() {
    let Scene {
        desk,
        server,
        oauth,
    } = scene().await;
    server.world().refusal = Some((401, json!({"error": "invalid_client"})));
    let mut access = desk.access(server.url("/mcp"));
    access.config.client_id = Some("by-hand".to_owned());
    let failure = OAuth::new(access, poll())
        .recover(refused("access-0"))
        .await;
    assert_eq!(failure.unwrap_err().class, Class::Auth);
    assert!(desk.read(Document::Client).is_some());

    let failure = oauth.recover(refused("access-0")).await.unwrap_err();
    assert_eq!(failure.class, Class::Auth);
    assert_eq!(
        desk.read(Document::ClientBackup).unwrap()["client_id"],
        "client-7"
    );
    assert_eq!(desk.read(Document::Client), None);
    assert_eq!(desk.read(Document::Metadata), None);
    assert!(desk.read(Document::Tokens).is_some());
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires() {
    let Scene {
        desk,
        server,
        oauth,
    } = scene().await;
    let soon = tokens::epoch(SystemTime::now()) + 20.0;
    let dying =
        json!({"access_token": "access-0", "refresh_token": "refresh-0", "expires_at": soon});
    desk.write(Document::Tokens, &dying);
    server.world().keeps_refresh_token = true;
    assert_eq!(token(&oauth).await, "access-1");
    assert_eq!(
        desk.read(Document::Tokens).unwrap()["refresh_token"],
        "refresh-0"
    );

    // While it is still good, a failed renewal costs nothing and is not tried for every request.
    desk.write(Document::Tokens, &dying);
    server.world().refusal = Some((500, json!({})));
    for _ in 0..3 {
        assert_eq!(token(&oauth).await, "access-0");
    }
    assert_eq!(server.refreshes(), 2);
    assert!(oauth.secrets().contains(&Secret::new("refresh-0")));
}

#[tokio::test]
async fn a_wrong_clock_costs_one_renewal_at_most() {
    let Scene {
        desk,
        server,
        oauth,
    } = scene().await;
    oauth.recover(refused("access-0")).await.unwrap();
    for (jump, refreshes) in [(YEAR, 2), (-YEAR, 2), (-YEAR, 2), (2 * YEAR, 2), (YEAR, 3)] {
        desk.clock.jump(jump);
        for _ in 0..3 {
            token(&oauth).await;
        }
        assert_eq!(server.refreshes(), refreshes, "after a jump of {jump} s");
    }
}

#[tokio::test]
async fn without_tokens_the_server_is_asked_and_nothing_is_opened() {
    let Scene {
        desk,
        server,
        oauth,
    } = scene().await;
    desk.store().remove(SERVER, Document::Tokens).unwrap();
    assert_eq!(oauth.token().await.unwrap(), None);
    let failure = oauth.recover(Refused::default()).await.unwrap_err();
    assert_eq!(failure.class, Class::Auth);
    assert_eq!(server.refreshes(), 0);
    std::fs::write(desk.dir.path().join("fake.json"), "{\"access_to").unwrap();
    assert_eq!(oauth.token().await.unwrap(), None);
}

#[tokio::test]
async fn who_stops_waiting_stops_no_renewal() {
    let Scene {
        desk,
        server,
        oauth,
    } = scene().await;
    server.world().delay = Duration::from_millis(200);
    let wait = oauth.recover(refused("access-0"));
    tokio::time::timeout(Duration::from_millis(50), wait)
        .await
        .unwrap_err();
    oauth.settle().await;
    assert_eq!(
        desk.read(Document::Tokens).unwrap()["access_token"],
        "access-1"
    );
}

#[tokio::test]
async fn a_home_without_metadata_finds_the_right_endpoint() {
    let Scene {
        desk,
        server,
        oauth,
    } = scene().await;
    desk.store().remove(SERVER, Document::Metadata).unwrap();
    oauth.recover(refused("access-0")).await.unwrap();
    let metadata = desk.read(Document::Metadata).unwrap();
    assert_eq!(metadata["token_endpoint"], server.url("/token"));
    assert_eq!(metadata["x_vendor"], true);
}

#[tokio::test]
async fn a_secret_goes_into_the_header_where_the_server_wants_it_there() {
    let Scene {
        desk,
        server,
        oauth,
    } = scene().await;
    desk.write(
        Document::Client,
        &json!({"client_id": "a:b", "client_secret": "c d", "token_endpoint_auth_method": "client_secret_basic"}),
    );
    oauth.recover(refused("access-0")).await.unwrap();
    let world = server.world();
    // a%3Ab:c+d
    assert_eq!(
        world.authorizations[0].as_deref(),
        Some("Basic YSUzQWI6Yytk")
    );
    assert!(!world.token_requests[0].contains_key("client_secret"));
}

#[tokio::test]
async fn a_refresh_on_demand() {
    let Scene { desk, server, .. } = scene().await;
    let access = desk.access(server.url("/mcp"));
    refresh(&access).await.unwrap();
    refresh(&access).await.unwrap();
    assert_eq!(
        desk.read(Document::Tokens).unwrap()["access_token"],
        "access-2"
    );
    desk.store().remove(SERVER, Document::Tokens).unwrap();
    assert_eq!(refresh(&access).await.unwrap_err().class, Class::Auth);
}
