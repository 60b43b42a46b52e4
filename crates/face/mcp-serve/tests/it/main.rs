//! The server as a client sees it, over a pipe in memory, on a home of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "clippy excuses tests, but not what they share"
)]

mod chats;
mod events;
mod protocol;

use std::time::Duration;

use hermes_home::{Env, Home, Resolved};
use hermes_mcp_serve::serve;
use hermes_store::{NewSession, OpenOptions, Store};
use hermes_testkit::TempHome;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Nothing here takes long, unless it is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client and the server it talks to.
struct Client {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    server: JoinSet<std::io::Result<()>>,
    last_id: u64,
}

impl Client {
    fn new(temp: &TempHome) -> Self {
        let (input, theirs) = tokio::io::duplex(1 << 16);
        let (answers, output) = tokio::io::duplex(1 << 16);
        let mut server = JoinSet::new();
        server.spawn(serve(home(temp), theirs, answers));
        Self {
            input: Some(input),
            output: BufReader::new(output).lines(),
            server,
            last_id: 0,
        }
    }

    async fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        let line = format!("{line}\n");
        let written = timeout(PATIENCE, input.write_all(line.as_bytes())).await;
        written.expect("the server reads").unwrap();
    }

    async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&request.to_string()).await;
        id
    }

    /// The next answer, whatever it answers.
    async fn read(&mut self) -> Value {
        let line = timeout(PATIENCE, self.output.next_line()).await;
        let line = line.expect("an answer comes").unwrap();
        serde_json::from_str(&line.expect("the server is there")).unwrap()
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let answer = self.read().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The document a tool answers with.
    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        document(&self.request("tools/call", params).await)
    }

    /// Ends the input and waits for the server to be gone.
    async fn end(mut self) {
        self.input = None;
        let ended = timeout(PATIENCE, self.server.join_next()).await;
        ended.expect("it ends").unwrap().unwrap().unwrap();
    }
}

/// What is in a tool's answer, which says it twice.
fn document(answer: &Value) -> Value {
    let result = &answer["result"];
    let content = result["content"].as_array().expect("content");
    assert_eq!(
        (content.len(), &content[0]["type"]),
        (1, &json!("text")),
        "{answer}"
    );
    assert_eq!(
        result["structuredContent"],
        json!({"result": content[0]["text"]})
    );
    assert_eq!(result["isError"], false);
    serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap()
}

fn home(temp: &TempHome) -> Home {
    let mut env = Env::default();
    env.set("HERMES_HOME", temp.hermes().to_string_lossy());
    Resolved::from(None, &env).unwrap().home(&env)
}

async fn store(temp: &TempHome) -> Store {
    let path = temp.hermes().join("state.db");
    Store::open(path, OpenOptions::default()).await.unwrap()
}

/// Two chats and a conversation of the terminal, with a database for what is said in them.
async fn chats(temp: &TempHome) -> Store {
    let index = json!({
        "_README": "not a chat",
        "agent:main:telegram:dm:7": {
            "session_key": "agent:main:telegram:dm:7", "session_id": "ada", "platform": "telegram",
            "chat_type": "dm", "display_name": "Ada", "created_at": "2026-01-01T10:00:00",
            "updated_at": "2026-01-02T10:00:00", "input_tokens": 5, "output_tokens": 6, "total_tokens": 11,
            "origin": {"platform": "telegram", "chat_id": 7, "chat_name": "Ada Lovelace", "user_name": "ada"},
        },
        "agent:main:slack:channel:C1:T1": {
            "session_id": "team", "display_name": "", "updated_at": "2026-01-03T10:00:00",
            "origin": {"platform": "slack", "chat_id": "C1", "chat_name": "Team", "chat_type": "channel",
                "thread_id": "T1"},
        },
        "broken": 7,
    });
    temp.write("sessions/sessions.json", index.to_string());
    let store = store(temp).await;
    for (session, source) in [("ada", "telegram"), ("team", "slack"), ("terminal", "cli")] {
        let new = NewSession::new(session, source);
        store.ensure_session(new).await.unwrap();
    }
    store
}
