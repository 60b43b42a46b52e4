//! A login server on loopback: device codes, tokens that work once, minted keys, and a page that agrees at once.
//!
//! It answers at the paths of the Nous portal, of ChatGPT accounts and of OpenRouter.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The server. Its thread ends with the test's process.
#[derive(Debug)]
pub struct LoginServer {
    addr: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Visit {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    /// A form, a query or JSON, flat.
    pub fields: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
struct Shared {
    visits: Vec<Visit>,
    /// How many more times a device code is not confirmed yet.
    pending: u32,
    /// How many tokens were given out; the newest is the only good one.
    tokens: u32,
    /// How many keys were minted.
    keys: u32,
    /// Whether tokens are refused, whatever they are.
    revoked: bool,
    delay: Duration,
    inference_url: Option<String>,
}

impl LoginServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listen on loopback");
        let addr = listener.local_addr().expect("a bound address");
        let shared = Arc::new(Mutex::new(Shared::default()));
        let state = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = state.clone();
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self { addr, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The next login is confirmed after so many questions.
    pub fn confirm_after(&self, questions: u32) {
        self.state().pending = questions;
    }

    /// From now on no token is good any more.
    pub fn revoke(&self) {
        self.state().revoked = true;
    }

    /// Answers take this long.
    pub fn delay(&self, delay: Duration) {
        self.state().delay = delay;
    }

    /// Where the portal says its models are.
    pub fn set_inference_url(&self, url: &str) {
        self.state().inference_url = Some(url.to_owned());
    }

    pub fn visits(&self) -> Vec<Visit> {
        self.state().visits.clone()
    }

    /// How often somebody renewed a token.
    pub fn refreshes(&self) -> usize {
        let visits = self.visits();
        let is_refresh = |visit: &&Visit| {
            visit
                .fields
                .get("grant_type")
                .is_some_and(|grant| grant == "refresh_token")
        };
        visits.iter().filter(is_refresh).count()
    }

    fn state(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("nobody panics with the lock")
    }
}

fn serve(mut stream: TcpStream, shared: &Mutex<Shared>) {
    // A client that goes away is a client's right.
    let Some(visit) = read(&stream) else { return };
    let delay = shared.lock().expect("nobody panics with the lock").delay;
    thread::sleep(delay);
    let (status, body, location) = {
        let mut state = shared.lock().expect("nobody panics with the lock");
        state.visits.push(visit.clone());
        state.answer(&visit)
    };
    let body = body.to_string();
    let location = location.map_or_else(String::new, |url| format!("location: {url}\r\n"));
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{location}connection: close\r\n\r\n{body}",
        body.len()
    );
}

impl Shared {
    fn answer(&mut self, visit: &Visit) -> (u16, Value, Option<String>) {
        let field = |name: &str| visit.fields.get(name).map_or("", String::as_str);
        let (status, body) = match visit.path.as_str() {
            "/auth" => {
                let back = format!("{}?code=or-code", field("callback_url"));
                return (302, json!({}), Some(back));
            }
            "/api/oauth/device/code" => (
                200,
                json!({"device_code": "dc-1", "user_code": "ABCD-EFGH",
                "verification_uri": "https://portal.test/device", "verification_uri_complete": "https://portal.test/device?c=ABCD",
                "expires_in": 60, "interval": 1}),
            ),
            "/api/accounts/deviceauth/usercode" => (
                200,
                json!({"user_code": "WXYZ-1234", "device_auth_id": "da-1", "interval": "1"}),
            ),
            "/api/accounts/deviceauth/token" if self.is_pending() => (403, json!({})),
            "/api/accounts/deviceauth/token" => (
                200,
                json!({"authorization_code": "ac-1", "code_verifier": "v-1"}),
            ),
            "/api/oauth/token" | "/oauth/token" => self.token(visit),
            "/api/oauth/agent-key" => self.mint(visit),
            "/api/v1/auth/keys" if field("code") == "or-code" => {
                (200, json!({"key": "sk-or-v1-from-login", "user_id": "u"}))
            }
            _ => (404, json!({"error": "not_found"})),
        };
        (status, body, None)
    }

    fn is_pending(&mut self) -> bool {
        let pending = self.pending > 0;
        self.pending = self.pending.saturating_sub(1);
        pending
    }

    fn token(&mut self, visit: &Visit) -> (u16, Value) {
        let field = |name: &str| visit.fields.get(name).map_or("", String::as_str);
        let refused = (
            400,
            json!({"error": "invalid_grant", "error_description": "used or revoked"}),
        );
        match field("grant_type") {
            "refresh_token" => {
                let given = visit
                    .headers
                    .get("x-nous-refresh-token")
                    .map_or_else(|| field("refresh_token"), String::as_str);
                if self.revoked || given != format!("rt-{}", self.tokens) {
                    return refused;
                }
            }
            _ if self.is_pending() => return (400, json!({"error": "authorization_pending"})),
            _ => {}
        }
        self.tokens += 1;
        let mut tokens = json!({"access_token": format!("at-{}", self.tokens), "refresh_token": format!("rt-{}", self.tokens),
            "token_type": "Bearer", "expires_in": 3600});
        if let Some(url) = &self.inference_url {
            tokens["inference_base_url"] = json!(url);
        }
        (200, tokens)
    }

    fn mint(&mut self, visit: &Visit) -> (u16, Value) {
        let bearer = visit
            .headers
            .get("authorization")
            .map_or("", String::as_str);
        if self.revoked || bearer != format!("Bearer at-{}", self.tokens) {
            return (401, json!({"error": "invalid_token"}));
        }
        self.keys += 1;
        let key = format!("ak-{}", self.keys);
        (
            200,
            json!({"api_key": key, "key_id": "k", "expires_at": "2099-01-01T00:00:00Z", "expires_in": 86400, "reused": false}),
        )
    }
}

fn read(stream: &TcpStream) -> Option<Visit> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let target = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let size = headers
        .get("content-length")
        .and_then(|size| size.parse().ok());
    let mut body = vec![0; size.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let fields = match serde_json::from_str(&body) {
        Ok(Value::Object(map)) => map
            .into_iter()
            .map(|(name, value)| {
                (
                    name,
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned),
                )
            })
            .collect(),
        _ => pairs(if body.is_empty() { query } else { &body }),
    };
    Some(Visit {
        path: path.to_owned(),
        headers,
        fields,
    })
}

fn pairs(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let hex: Vec<u8> = rest.by_ref().take(2).collect();
                let hex = String::from_utf8_lossy(&hex).into_owned();
                u8::from_str_radix(&hex, 16).expect("two hexadecimal digits")
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
