//! Where the browser comes back to after a login: a listener on this machine, or a line somebody pastes.
//!
//! The answer carries the mark of the question (`state`) in its query, or, with servers that send nothing back
//! but a code, as a part of the path they were told to come back to.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tracing::debug;
use url::{Url, form_urlencoded};

/// The request line of a browser with a long code.
const MAX_REQUEST: usize = 16 << 10;
/// A browser that opened a connection says what it wants soon.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections looked at together; the others wait in the queue of the system.
const MAX_OPEN: usize = 16;

/// What somebody who was sent back brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Brought {
    Code {
        code: String,
        issuer: Option<String>,
    },
    /// The server or the user said no.
    Refused(String),
    /// An answer to a question we did not ask.
    WrongState,
    /// Nothing of interest.
    Nothing,
    /// The user does not want to.
    Skipped,
}

/// A port of this machine, ours from the moment it is chosen.
#[derive(Debug)]
pub struct Callback {
    listener: TcpListener,
    open: JoinSet<io::Result<Brought>>,
}

impl Callback {
    pub async fn reserve(port: u16) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?,
            open: JoinSet::new(),
        })
    }

    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Waits for a browser with an answer to the question marked `state`. Can be dropped and called again.
    pub async fn next(&mut self, state: &str) -> Brought {
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if self.open.len() < MAX_OPEN => match accepted {
                    Ok((stream, _)) => {
                        let state = state.to_owned();
                        self.open.spawn(async move { serve(stream, &state).await });
                    }
                    Err(error) => {
                        debug!(%error, "a browser could not be let in");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                Some(served) = self.open.join_next() => match served {
                    Ok(Ok(brought @ (Brought::Code { .. } | Brought::Refused(_)))) => return brought,
                    other => debug!(?other, "a visitor without an answer"),
                },
            }
        }
    }
}

async fn serve(mut stream: TcpStream, state: &str) -> io::Result<Brought> {
    let brought = match tokio::time::timeout(PATIENCE, target(&mut stream)).await {
        Ok(target) => read_target(&target?, state),
        Err(_) => return Ok(Brought::Nothing),
    };
    let (status, text) = match &brought {
        Brought::Code { .. } => ("200 OK", "You are logged in. You can close this page."),
        Brought::Refused(_) => ("200 OK", "The login was refused. You can close this page."),
        Brought::WrongState => ("400 Bad Request", "This page belongs to another login."),
        Brought::Nothing | Brought::Skipped => ("404 Not Found", "There is nothing here."),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>Login</title><p>{text}</p>");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // The answer counts whether or not the browser waits for its page.
    let _ = tokio::time::timeout(PATIENCE, stream.write_all(answer.as_bytes())).await;
    Ok(brought)
}

/// The target of a GET request; empty for anything else.
async fn target(stream: &mut TcpStream) -> io::Result<String> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MAX_REQUEST {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    let text = String::from_utf8_lossy(&request);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    Ok(match (words.next(), words.next()) {
        (Some("GET"), Some(target)) => target.to_owned(),
        _ => String::new(),
    })
}

fn read_target(target: &str, state: &str) -> Brought {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    read_query(path, query, state)
}

/// Reads what somebody pasted: the address of the page the browser ended on, its query, or a word that means no.
pub fn read_pasted(line: &str, state: &str) -> Brought {
    let line = line.trim();
    let skips = ["skip", "cancel", "s", "n", "no", "q", "quit"];
    if skips.contains(&line.to_lowercase().as_str()) {
        return Brought::Skipped;
    }
    match Url::parse(line) {
        Ok(url) => read_query(url.path(), url.query().unwrap_or_default(), state),
        Err(_) => read_query("", line.trim_start_matches('?'), state),
    }
}

fn read_query(path: &str, query: &str, state: &str) -> Brought {
    let find = |name: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs
            .find(|(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.into_owned())
    };
    let in_path = || {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        parts.find(|part| *part == state).map(str::to_owned)
    };
    let given = find("state").or_else(in_path);
    let (code, error) = (find("code"), find("error"));
    match (code, error) {
        (None, None) => Brought::Nothing,
        // Some servers forget the state when they refuse; nothing is lost by believing them.
        (_, Some(error)) if given.as_deref().is_none_or(|given| given == state) => {
            let text = match find("error_description") {
                Some(more) => format!("{error}: {more}"),
                None => error,
            };
            // It ends up on somebody's terminal.
            Brought::Refused(text.replace(char::is_control, " "))
        }
        (Some(code), None) if given.as_deref() == Some(state) => Brought::Code {
            code,
            issuer: find("iss"),
        },
        _ => Brought::WrongState,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_somebody_pastes() {
        let check = |line: &str, brought: Brought| {
            assert_eq!(read_pasted(line, "right"), brought, "{line}");
        };
        let code = || Brought::Code {
            code: "a b".to_owned(),
            issuer: None,
        };
        check("http://127.0.0.1:9/callback?code=a%20b&state=right", code());
        check(" ?code=a+b&state=right\n", code());
        check("code=a+b&state=right", code());
        check(
            "code=c&state=right&iss=https%3A%2F%2Fx",
            Brought::Code {
                code: "c".to_owned(),
                issuer: Some("https://x".to_owned()),
            },
        );
        check("code=c&state=wrong", Brought::WrongState);
        check("code=c", Brought::WrongState);
        check("http://127.0.0.1:9/callback/right?code=a+b", code());
        check(
            "http://127.0.0.1:9/callback/wrong?code=c",
            Brought::WrongState,
        );
        check(
            "http://127.0.0.1:9/right?code=c&state=wrong",
            Brought::WrongState,
        );
        let refused = || Brought::Refused("access_denied: no".to_owned());
        check(
            "error=access_denied&error_description=no&state=right",
            refused(),
        );
        check("error=access_denied&error_description=no", refused());
        check("error=access_denied&state=wrong", Brought::WrongState);
        check("what?", Brought::Nothing);
        check("", Brought::Nothing);
        for word in ["skip", "CANCEL", " s ", "n", "no", "q", "quit"] {
            check(word, Brought::Skipped);
        }
    }
}
