//! `hermes mcp …`, against a server that fails on demand.

mod calls;
mod chat;
mod login;
mod servers;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use hermes_scripted::mcp::{Flaky, Options};
use hermes_testkit::{Cmd, Exit, Output, TempHome};
use serde_json::{Value, json};

use crate::command;

const PATIENCE: Duration = Duration::from_secs(20);
/// Where [`child`] finds its server.
const CONTROL: &str = "FLAKY_CONTROL";

/// A home with one server in it, called `s`.
struct Bench {
    home: TempHome,
    flaky: Flaky,
}

impl Bench {
    /// Over HTTP, with `more` in its entry.
    fn http(options: Options, more: &str) -> Self {
        let flaky = Flaky::start(options).unwrap();
        let entry = format!("url: {}\n{more}", flaky.url());
        Self::with(flaky, &entry)
    }

    /// As a program.
    fn stdio(options: Options, more: &str) -> Self {
        let flaky = Flaky::start(options).unwrap();
        let entry = format!("{}\n{more}", program(&flaky));
        Self::with(flaky, &entry)
    }

    fn with(flaky: Flaky, entry: &str) -> Self {
        let home = TempHome::new();
        home.write("config.yaml", servers(&[("s", entry)]));
        Self { home, flaky }
    }

    /// `hermes mcp …`
    fn mcp(&self, args: &[&str]) -> Cmd {
        command(&self.home, &["mcp"]).args(args)
    }

    fn run(&self, args: &[&str]) -> Output {
        self.mcp(args).run()
    }

    /// `hermes mcp call s … --json`: its answers.
    #[track_caller]
    fn answers(&self, args: &[&str], exit: i32) -> Vec<Value> {
        let output = self.mcp(&["call", "s"]).args(args).arg("--json").run();
        assert_eq!(output.exit, Exit::Code(exit), "{args:?}\n{output}");
        let lines = output.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn requests(&self, method: &str) -> u64 {
        let counters = self.flaky.counters();
        counters.requests.get(method).copied().unwrap_or_default()
    }
}

/// `mcp_servers` with these entries, each in lines of YAML.
fn servers(entries: &[(&str, &str)]) -> String {
    let mut text = "mcp_servers:\n".to_owned();
    for (name, entry) in entries {
        text += &format!("  {name}:\n");
        for line in entry.lines().filter(|line| !line.is_empty()) {
            text += &format!("    {line}\n");
        }
    }
    text
}

/// The entry of a stdio server: this very program.
fn program(flaky: &Flaky) -> String {
    let this = std::env::current_exe().unwrap();
    format!(
        "command: {}\nargs: [--exact, 'mcp::child', --ignored, --nocapture]\nenv: {{{CONTROL}: '{}'}}",
        this.display(),
        flaky.control()
    )
}

#[test]
#[ignore = "the stdio server of the other tests: started by hermes"]
fn child() {
    let control: SocketAddr = std::env::var(CONTROL).unwrap().parse().unwrap();
    // The harness may have begun a line.
    println!();
    hermes_scripted::mcp::relay(control).unwrap();
}

/// `hermes` while it runs; killed when dropped.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    fn start(home: &TempHome, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hermes"))
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.home())
            .env("HERMES_HOME", home.hermes())
            .env("HERMES_CONTAINER", "0")
            .current_dir(home.work())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines() {
                let _ = sender.send(line.unwrap()); // the test may be over
            }
        });
        Self { child, lines }
    }

    #[track_caller]
    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line in time")
    }

    #[track_caller]
    fn answer(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// The first line with `part` in it.
    #[track_caller]
    fn line_with(&self, part: &str) -> String {
        loop {
            let line = self.line();
            if line.contains(part) {
                return line;
            }
        }
    }

    #[track_caller]
    fn exit(&mut self) -> Option<i32> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("it goes on and on");
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A web server that says the same to everybody, for as long as the test lasts.
fn web(content_type: &'static str, body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, body) = (stream.unwrap(), body.clone());
            thread::spawn(move || {
                let mut seen = Vec::new();
                let mut buffer = [0; 4096];
                while !is_whole(&seen) {
                    match stream.read(&mut buffer) {
                        Ok(size @ 1..) => seen.extend_from_slice(&buffer[..size]),
                        _ => return,
                    }
                }
                let size = body.len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n"
                );
                let body = if seen.starts_with(b"HEAD") { "" } else { &body };
                let _ = stream.write_all(format!("{head}{body}").as_bytes()); // who left needs no answer
            });
        }
    });
    address
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let size = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let size = size.map_or(0, |size| size.trim().parse().unwrap());
    body.len() >= size
}

/// What a browser does with an address: follow where it leads.
pub fn browse(url: &str) -> String {
    let mut url = url.to_owned();
    loop {
        let rest = url.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        let location = page.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("location")
                .then(|| value.trim().to_owned())
        });
        match location {
            Some(next) => url = next,
            None => return page,
        }
    }
}

fn result(text: &str) -> Value {
    json!({ "result": text })
}

fn seconds(answer: &Value) -> f64 {
    answer["elapsed_ms"].as_f64().unwrap() / 1000.0
}
