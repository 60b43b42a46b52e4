//! Entries as people write them, and the servers they amount to.

mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hermes_home::Resolved;
use hermes_mcp::{Grant, HttpEndpoint, HttpFlavour, SigningKey, Verify};
use hermes_testkit::TempHome;
use pretty_assertions::assert_eq;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair as Ecdsa};
use serde_json::json;

use super::*;

struct Desk {
    temp: TempHome,
    work: PathBuf,
    home: Home,
    env: Env,
}

impl Desk {
    fn new() -> Self {
        let temp = TempHome::new();
        let (user, hermes) = (
            temp.home().display().to_string(),
            temp.hermes().display().to_string(),
        );
        let path = temp.home().join("bin").display().to_string();
        let env = Env::from([
            ("HOME", user.as_str()),
            ("HERMES_HOME", &hermes),
            ("PATH", &path),
            ("XDG_DATA_HOME", "/xdg"),
            ("OPENAI_API_KEY", "sk-not-for-children"),
            ("KEY", "hunter2-hunter2"),
        ]);
        let home = Resolved::from(None, &env).unwrap().home(&env);
        let work = temp.work();
        Self {
            temp,
            work,
            home,
            env,
        }
    }

    fn program(&self, path: &str) -> PathBuf {
        let program = self.temp.write(self.temp.home().join(path), "#!/bin/sh\n");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    fn around(&self) -> Surroundings<'_> {
        Surroundings {
            env: &self.env,
            home: &self.home,
            dir: &self.work,
        }
    }

    fn read(&self, value: Value) -> Result<Entry, Problem> {
        Entry::read("s", &value, self.around())
    }

    /// An HTTP entry with this key.
    fn with(&self, key: &str, value: Value) -> Entry {
        let mut entry = json!({"url": "https://h.example/mcp"});
        entry[key] = value;
        self.read(entry).unwrap()
    }

    #[track_caller]
    fn refuses(&self, value: Value, key: &str, message: &str) {
        let problem = self.read(value).unwrap_err();
        assert_eq!((problem.server.as_str(), problem.key.as_str()), ("s", key));
        assert!(problem.message.contains(message), "{problem}");
    }
}

fn http(entry: &Entry) -> &HttpEndpoint {
    match &entry.server.endpoint {
        Endpoint::Http(http) => http,
        Endpoint::Stdio(stdio) => panic!("{stdio:?}"),
    }
}

#[test]
fn an_address_alone_has_all_defaults() {
    let entry = Desk::new()
        .read(json!({"url": " https://h.example/mcp "}))
        .unwrap();
    let mut expected = ServerConfig::new(
        "s",
        Endpoint::Http(HttpEndpoint::new("https://h.example/mcp")),
    );
    expected.sampling = true;
    expected.elicitation = true;
    assert_eq!(entry.server, expected);
    assert!(entry.enabled && !entry.parallel && entry.warnings.is_empty());
    assert_eq!(
        (&entry.filter, &entry.auth),
        (&Filter::default(), &Auth::Static)
    );
    assert_eq!(
        (entry.sampling, entry.elicitation),
        (SamplingPolicy::default(), Some(Duration::from_secs(300)))
    );
}

#[test]
fn times_and_choices() {
    let desk = Desk::new();
    let keepalive = |value: Value| desk.with("keepalive_interval", value).server.keepalive;
    let s = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(keepalive(json!(0)), None);
    assert_eq!(keepalive(json!("0")), None);
    assert_eq!(keepalive(json!(0.5)), s(5));
    assert_eq!(keepalive(json!(60)), s(60));
    assert_eq!(keepalive(json!(-1)), s(180));
    assert_eq!(keepalive(json!("often")), s(180));
    assert_eq!(
        desk.with("timeout", json!("30")).server.timeout,
        Duration::from_secs(30)
    );
    assert_eq!(
        desk.with("connect_timeout", json!(1.5))
            .server
            .connect_timeout,
        Duration::from_millis(1500)
    );
    assert_eq!(
        desk.with("max_timeout", json!(9)).server.max_timeout,
        Duration::from_secs(9)
    );
    assert_eq!(
        desk.with("max_response_bytes", json!(1024))
            .server
            .max_response_bytes,
        1024
    );
    assert_eq!(
        desk.with("protocol", json!("Modern")).server.era,
        EraChoice::Modern
    );
    let retry = |value: &str| {
        desk.with("retry_ambiguous_calls", json!(value))
            .server
            .retry_ambiguous
    };
    assert_eq!(
        (retry("always"), retry("never")),
        (RetryAmbiguous::Always, RetryAmbiguous::Never)
    );
    let odd = desk.with("protocol", json!("future"));
    assert_eq!((odd.server.era, odd.warnings.len()), (EraChoice::Auto, 1));
    assert!(
        !desk
            .with("elicitation", json!({"enabled": "no"}))
            .server
            .elicitation
    );
    let sampling = desk.with(
        "sampling",
        json!({"enabled": false, "max_rpm": "3", "allowed_models": "m"}),
    );
    assert!(!sampling.server.sampling);
    assert_eq!(
        (sampling.sampling.max_rpm, sampling.sampling.allowed_models),
        (3, vec!["m".to_owned()])
    );
}

#[test]
fn addresses_are_checked_once() {
    let desk = Desk::new();
    let refuses = |url: Value, message: &str| desk.refuses(json!({ "url": url }), "url", message);
    refuses(json!(5), "expects a text");
    refuses(json!("ftp://h/x"), "neither http nor https");
    refuses(json!("https://"), "no address");
    refuses(json!("not an address"), "no address");
    refuses(json!("ftp://me:secret@h/x"), "'ftp://h/x'");
    desk.refuses(json!({}), "command", "neither url nor command");
    desk.refuses(json!("x"), "mcp_servers", "expects a section");
}

#[test]
fn headers_are_sent_unless_they_are_the_protocols() {
    let desk = Desk::new();
    let entry = desk.with(
        "headers",
        json!({"Authorization": "Bearer ${KEY}", "X-Count": 5, "ACCEPT": "x", "mcp-session-id": "y",
            "MCP-protocol-version": "2025-03-26", "X-Unset": "${env:NOPE}"}),
    );
    let sent: Vec<_> = http(&entry)
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose()))
        .collect();
    assert_eq!(
        sent,
        [
            ("Authorization", "Bearer hunter2-hunter2"),
            ("MCP-protocol-version", "2025-03-26"),
            ("X-Count", "5"),
            ("X-Unset", "${env:NOPE}"),
        ]
    );
    let warnings = entry.warnings.join("\n");
    assert!(
        warnings.contains("${NOPE} is not set") && warnings.contains("ACCEPT is reserved"),
        "{warnings}"
    );
    assert_eq!(entry.warnings.len(), 3);
    assert_eq!(entry.secrets.hide("x hunter2-hunter2 y"), "x [REDACTED] y");
    let refuses = |headers: Value, key: &str| {
        desk.refuses(
            json!({"url": "http://h", "headers": headers}),
            key,
            "header",
        );
    };
    refuses(json!({"a b": "c"}), "headers.a b");
    refuses(json!({"a": "c\nd"}), "headers.a");
}

#[test]
fn transport_and_certificates() {
    let desk = Desk::new();
    let file = desk.temp.write(desk.temp.home().join("ca.pem"), "x");
    let verify = |value: Value| http(&desk.with("ssl_verify", value)).tls.verify.clone();
    assert_eq!(verify(json!(true)), Verify::System);
    assert_eq!(verify(json!("off")), Verify::Nothing);
    assert_eq!(verify(json!("~/ca.pem")), Verify::Bundle(file.clone()));
    let url = "https://h";
    desk.refuses(
        json!({"url": url, "ssl_verify": "/no/ca.pem"}),
        "ssl_verify",
        "no file /no/ca.pem",
    );
    desk.refuses(
        json!({"url": url, "client_cert": "~/no.pem"}),
        "client_cert",
        "no file",
    );
    desk.refuses(
        json!({"url": url, "client_cert": ["a", "b", "c"]}),
        "client_cert",
        "passphrase",
    );
    let cert = |value: Value| {
        http(&desk.with("client_cert", value))
            .tls
            .client_cert
            .clone()
            .unwrap()
    };
    assert_eq!(cert(json!("~/ca.pem")).key, None);
    assert_eq!(cert(json!(["~/ca.pem", "~/ca.pem"])).key, Some(file));
    assert_eq!(
        http(&desk.with("transport", json!("SSE"))).flavour,
        HttpFlavour::Sse
    );
    let both = desk.with("command", json!("x"));
    assert!(
        both.warnings[0].contains("url and command; url is used"),
        "{:?}",
        both.warnings
    );
}

#[test]
fn logins() {
    let desk = Desk::new();
    let entry = desk
        .read(json!({"url": "https://h", "auth": " OAuth ", "oauth": {"client_id": "me", "client_secret": "${KEY}",
            "redirect_port": "8765", "timeout": 60, "grant": "client_credentials",
            "authorize_params": {"access_type": "offline"}}}))
        .unwrap();
    let Auth::OAuth(oauth) = &entry.auth else {
        panic!("{entry:?}")
    };
    let expected = OAuthConfig {
        client_id: Some("me".to_owned()),
        client_secret: Some(Secret::new("hunter2-hunter2")),
        redirect_port: Some(8765),
        timeout: Duration::from_secs(60),
        grant: Grant::ClientCredentials { signing_key: None },
        authorize_params: BTreeMap::from([("access_type".to_owned(), "offline".to_owned())]),
        ..OAuthConfig::new("Hermes Agent")
    };
    assert_eq!(**oauth, expected);
    assert!(http(&entry).skip_preflight);
    assert_eq!(entry.secrets.hide("hunter2-hunter2"), "[REDACTED]");
    assert_eq!(desk.with("auth", json!("header")).auth, Auth::Static);
    assert_eq!(desk.with("auth", json!("")).warnings, Vec::<String>::new());
}

#[test]
fn keys_to_sign_with() {
    let desk = Desk::new();
    let key = Ecdsa::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(key.unwrap())
    );
    desk.temp.write(desk.temp.home().join("key.pem"), &pem);
    desk.temp.write(desk.temp.home().join("odd.pem"), "odd");
    let entry = |path: &str, grant: &str| {
        let oauth = json!({"client_id": "me", "private_key": path, "grant": grant});
        json!({"url": "https://h", "auth": "oauth", "oauth": oauth})
    };
    let read = |grant: &str| {
        let entry = desk.read(entry("~/key.pem", grant)).unwrap();
        let Auth::OAuth(oauth) = entry.auth else {
            panic!("{entry:?}")
        };
        (oauth.grant, entry.warnings)
    };
    let signing_key = Some(SigningKey::from_pem(&pem).unwrap());
    let signed = Grant::ClientCredentials { signing_key };
    assert_eq!(read("client_credentials"), (signed, vec![]));
    let (grant, warnings) = read("authorization_code");
    assert_eq!(grant, Grant::AuthorizationCode);
    assert!(warnings[0].contains("client_credentials"), "{warnings:?}");
    let refuses = |path: &str, message: &str| {
        let entry = entry(path, "client_credentials");
        desk.refuses(entry, "oauth.private_key", message);
    };
    refuses("~/none.pem", "No such file");
    refuses("~/odd.pem", "PKCS#8");
}

#[test]
fn all_servers_together() {
    let desk = Desk::new();
    let section = json!({
        "b": {"url": "https://h"},
        "a": {"url": "https://h", "enabled": "yes"},
        "off": {"url": "broken", "enabled": "No"},
        "bad": {"url": "broken"},
    });
    let servers = Servers::read(&section, desk.around());
    let names: Vec<_> = servers.entries.iter().map(Entry::name).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(servers.disabled, ["off"]);
    assert_eq!(servers.problems.len(), 1);
    let text = servers.problems[0].to_string();
    assert!(
        text.starts_with("MCP server 'bad': url: 'broken' is no address"),
        "{text}"
    );
    assert_eq!(
        Servers::read(&Value::Null, desk.around()),
        Servers::default()
    );
    let mut safe = desk.env.clone();
    safe.set("HERMES_SAFE_MODE", "1");
    let around = Surroundings {
        env: &safe,
        ..desk.around()
    };
    assert_eq!(Servers::read(&section, around), Servers::default());
}
