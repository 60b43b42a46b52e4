//! A person logs in, or fails to.

use futures::future::{BoxFuture, pending, ready};
use pretty_assertions::assert_eq;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;
use url::Url;

use super::server::Fake;
use super::*;

/// A user: a browser that goes where it is sent, or somebody who pastes.
#[derive(Default)]
struct User {
    /// What the browser comes back with, one visit each; `STATE` stands for the right state.
    visits: Vec<&'static str>,
    /// What is pasted, line by line.
    lines: Vec<&'static str>,
    tasks: TaskTracker,
    prompts: Vec<LoginPrompt>,
    complaints: usize,
}

impl User {
    fn visiting(visits: &[&'static str]) -> Self {
        Self {
            visits: visits.to_vec(),
            ..Self::default()
        }
    }

    fn pasting(lines: &[&'static str]) -> Self {
        Self {
            lines: lines.to_vec(),
            ..Self::default()
        }
    }

    fn filled(&self, text: &str) -> String {
        let state = parameter(&self.prompts[0].url, "state").unwrap();
        text.replace("STATE", &state)
    }
}

impl LoginUi for User {
    fn show(&mut self, prompt: &LoginPrompt) {
        self.prompts.push(prompt.clone());
        let targets: Vec<_> = self.visits.iter().map(|visit| self.filled(visit)).collect();
        let port = prompt.port.unwrap_or_default();
        self.tasks.spawn(async move {
            for target in targets {
                visit(port, &target).await;
            }
        });
    }

    fn pasted(&mut self) -> BoxFuture<'_, Option<String>> {
        if self.visits.is_empty() && !self.lines.is_empty() {
            let line = self.lines.remove(0);
            return Box::pin(ready(Some(self.filled(line))));
        }
        if self.visits.is_empty() {
            return Box::pin(ready(None));
        }
        Box::pin(pending())
    }

    fn complain(&mut self, _: &str) {
        self.complaints += 1;
    }
}

async fn visit(port: u16, target: &str) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
}

fn parameter(url: &str, name: &str) -> Option<String> {
    let url = Url::parse(url).unwrap();
    let mut pairs = url.query_pairs();
    pairs
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

async fn try_login(access: &Access, user: &mut User) -> Result<(), LoginError> {
    login(access, user, LoginOptions::default()).await
}

#[tokio::test]
async fn a_browser_comes_back_with_a_code() {
    let (desk, server) = (Desk::new(), Fake::start().await);
    let mut access = desk.access(server.url("/mcp"));
    let params = [("access_type", "offline"), ("state", "mine")];
    access.config.authorize_params = params.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    server.world().extra = json!({"id_token": "x", "scope": "read write"});
    let mut user = User::visiting(&[
        "/favicon.ico",
        "/callback?code=bad&state=wrong",
        "/callback?code=good&state=STATE",
    ]);
    try_login(&access, &mut user).await.unwrap();

    let prompt = &user.prompts[0];
    let asked = |name| parameter(&prompt.url, name);
    assert_eq!(asked("access_type").as_deref(), Some("offline"));
    assert_eq!(asked("code_challenge_method").as_deref(), Some("S256"));
    assert_eq!(asked("resource"), Some(server.url("/mcp")));
    assert_eq!(asked("scope").as_deref(), Some("read write offline_access"));
    assert_eq!(asked("redirect_uri").as_ref(), Some(&prompt.redirect_uri));

    let tokens = desk.read(Document::Tokens).unwrap();
    assert_eq!(tokens["access_token"], "access-1");
    assert_eq!(tokens["refresh_token"], "refresh-1");
    assert_eq!(tokens["token_type"], "Bearer");
    assert_eq!(tokens["scope"], "read write");
    assert_eq!(tokens["id_token"], "x");
    assert!(tokens["expires_at"].as_f64().unwrap() > 1e9);
    let client = desk.read(Document::Client).unwrap();
    assert_eq!(client["client_id"], "client-1");
    assert_eq!(client["client_name"], "Test Program");
    assert_eq!(client["client_id_issued_at"], 17);
    assert_eq!(client["token_endpoint_auth_method"], "none");
    assert_eq!(client["redirect_uris"], json!([prompt.redirect_uri]));
    assert_eq!(client["issuer"], server.url(""));
    let metadata = desk.read(Document::Metadata).unwrap();
    assert_eq!(metadata["token_endpoint"], server.url("/token"));
    assert_eq!(metadata["x_vendor"], true);
    assert_eq!(metadata["resource"], server.url("/mcp"));
    assert_eq!(server.world().token_requests.len(), 1);
    refresh(&access).await.unwrap();
}

#[tokio::test]
async fn a_server_is_asked_in_the_way_it_answers() {
    let (desk, server) = (Desk::new(), Fake::start().await);
    let access = desk.access(server.url("/post-only"));
    let mut user = User::visiting(&["/callback?code=good&state=STATE"]);
    try_login(&access, &mut user).await.unwrap();
    let asked = |name| parameter(&user.prompts[0].url, name);
    assert_eq!(asked("scope").as_deref(), Some("write offline_access"));
    assert_eq!(asked("resource"), Some(server.url("/post-only")));
}

#[tokio::test]
async fn nobody_logs_in_to_something_else_than_the_server() {
    let (desk, server) = (Desk::new(), Fake::start().await);
    let access = desk.access(server.url("/elsewhere"));
    let mut user = User::visiting(&["/callback?code=good&state=STATE"]);
    let error = try_login(&access, &mut user).await.unwrap_err();
    assert!(error.to_string().contains("resource mismatch"), "{error}");
    assert_eq!(user.prompts, []);
    assert_eq!(server.world().registrations.len(), 0);
}

#[tokio::test]
async fn a_registration_is_used_again_at_its_port() {
    let (desk, server) = (Desk::new(), Fake::start().await);
    let access = desk.access(server.url("/mcp"));
    let good = ["/callback?code=good&state=STATE"];
    let ports = async |options: LoginOptions| {
        let mut user = User::visiting(&good);
        login(&access, &mut user, options).await.unwrap();
        user.prompts[0].port.unwrap()
    };
    let first = ports(LoginOptions::default()).await;
    assert_eq!(ports(LoginOptions::default()).await, first);
    assert_eq!(server.world().registrations.len(), 1);

    let taken = TcpListener::bind(("127.0.0.1", first)).await.unwrap();
    let other = ports(LoginOptions::default()).await;
    assert_ne!(other, first);
    assert_eq!(server.world().registrations.len(), 2);
    drop(taken);
    let new = LoginOptions {
        registration: Registration::New,
        ..LoginOptions::default()
    };
    ports(new).await;
    assert_eq!(server.world().registrations.len(), 3);
}

#[tokio::test]
async fn a_line_is_pasted() {
    let (desk, server) = (Desk::new(), Fake::start().await);
    let mut access = desk.access(server.url("/mcp"));
    access.config.redirect_uri = Some("https://proxy.example/back".to_owned());
    access.config.client_id = Some("by-hand".to_owned());
    let lines = [
        "what?",
        "code=good&state=wrong",
        "https://proxy.example/back?code=good&state=STATE",
    ];
    let mut user = User::pasting(&lines);
    try_login(&access, &mut user).await.unwrap();
    assert_eq!(user.complaints, 2);
    assert_eq!(user.prompts[0].port, None);
    assert_eq!(desk.read(Document::Client), None);
    assert_eq!(
        desk.read(Document::Tokens).unwrap()["access_token"],
        "access-1"
    );
    assert_eq!(server.world().registrations, Vec::<Value>::new());

    let skipped = try_login(&access, &mut User::pasting(&["Quit"])).await;
    assert!(matches!(skipped, Err(LoginError::Skipped)), "{skipped:?}");
    let silent = try_login(&access, &mut User::default()).await;
    assert!(matches!(silent, Err(LoginError::Skipped)), "{silent:?}");
}

#[tokio::test]
async fn a_login_that_fails_changes_nothing() {
    let (desk, server) = (Desk::new(), Fake::start().await);
    desk.logged_in(&server);
    let documents = [Document::Tokens, Document::Client, Document::Metadata];
    let before = documents.map(|document| desk.read(document));
    let mut access = desk.access(server.url("/mcp"));

    let refused = ["/callback?error=access_denied&error_description=no&state=STATE"];
    let error = try_login(&access, &mut User::visiting(&refused))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("access_denied: no"), "{error}");
    let bad_code = ["/callback?code=bad&state=STATE"];
    let error = try_login(&access, &mut User::visiting(&bad_code))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("invalid_grant"), "{error}");
    let wrong_issuer = ["/callback?code=good&state=STATE&iss=https%3A%2F%2Fevil.example"];
    let error = try_login(&access, &mut User::visiting(&wrong_issuer))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("evil.example"), "{error}");
    assert_eq!(server.world().token_requests.len(), 1);

    access.config.timeout = Duration::from_millis(300);
    let error = try_login(&access, &mut User::visiting(&["/nothing"]))
        .await
        .unwrap_err();
    assert!(matches!(error, LoginError::TimedOut { .. }), "{error}");
    assert_eq!(documents.map(|document| desk.read(document)), before);
}

#[tokio::test]
async fn what_makes_a_login_impossible_is_said() {
    let (desk, server) = (Desk::new(), Fake::start().await);
    let access = desk.access(server.url("/mcp"));
    let check = async |access: &Access, text: &str| {
        let error = try_login(access, &mut User::default()).await.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    };
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut pinned = access.clone();
    pinned.config.redirect_port = Some(taken.local_addr().unwrap().port());
    check(&pinned, "oauth.redirect_port").await;
    check(&pinned, SERVER).await;

    server.world().metadata = json!({"code_challenge_methods_supported": ["plain"]});
    check(&access, "PKCE").await;
    server.world().metadata = json!({"registration_endpoint": null});
    check(&access, "oauth.client_id").await;
    let mut silent = access.clone();
    silent.url = format!("{}/mcp", nowhere().await);
    check(&silent, "Connection refused").await;
    server.world().metadata = json!({"token_endpoint": "http://169.254.169.254/token"});
    check(&access, "private network").await;
    assert_eq!(desk.read(Document::Tokens), None);
}

#[tokio::test]
async fn a_forgotten_client_is_registered_anew_next_time() {
    let (desk, server) = (Desk::new(), Fake::start().await);
    let access = desk.access(server.url("/mcp"));
    let good = ["/callback?code=good&state=STATE"];
    try_login(&access, &mut User::visiting(&good))
        .await
        .unwrap();
    server.world().refusal = Some((401, json!({"error": "invalid_client"})));
    try_login(&access, &mut User::visiting(&good))
        .await
        .unwrap_err();
    assert_eq!(
        desk.read(Document::ClientBackup).unwrap()["client_id"],
        "client-1"
    );
    server.world().refusal = None;
    try_login(&access, &mut User::visiting(&good))
        .await
        .unwrap();
    assert_eq!(
        desk.read(Document::Client).unwrap()["client_id"],
        "client-2"
    );
}
