//! The rows of the fault matrix: what they are called, where they happen, what can be set about them.

use std::time::Duration;

use thiserror::Error;

use super::rows::{ROWS, Row};

/// One way to fail. The numbers are those of the fault matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// F01: sessions are gone: 404 with a body.
    SessionNotFound,
    /// F02: sessions are gone: 400 and an error without an id.
    SessionBadRequest,
    /// F03: sessions are gone: 200 and a JSON-RPC error.
    SessionRpcError,
    /// F04: sessions are gone: a stream whose only event is no answer.
    SessionEvent(LostEvent),
    /// F05: connections are refused for a while, sessions are gone.
    Restart(Duration),
    /// F06: connections are closed, sessions are gone, the same address answers at once.
    PodRotation,
    /// F07: two instances take turns, and each knows only its own sessions. Until healed.
    TwoInstances,
    /// F08: connections that are open never say anything again; new ones work.
    SilentSockets,
    /// F09: nothing is answered, old connection or new. Until healed.
    Blackhole,
    /// F10: a reset instead of the answer.
    ResetBefore,
    /// F11: a reset in the middle of the answer.
    ResetWithin,
    /// F12: 500.
    ServerError(Page),
    /// F13: 502 or 504, and the call was made all the same.
    Gateway(u16),
    /// F14: 503 with `Retry-After` in seconds.
    Unavailable(u32),
    /// F15: 429 with `Retry-After` in seconds.
    Throttled(u32),
    /// F16: 429 with a `Retry-After` nobody waits for.
    ThrottledLong(u32),
    /// F17: headers, then a byte each time this has passed.
    SlowLoris(Duration),
    /// F18: a stream with event ids, cut in the middle of the answer; it can be resumed after so long.
    CutResumable(Duration),
    /// F19: a stream without ids, cut in the middle of the answer.
    Cut,
    /// F20: 200 with something that isn't JSON.
    Garbage,
    /// F21: 200 with a page to log in.
    LoginPage,
    /// F22: an answer to nobody's question, or 202 and nothing.
    WrongAnswer(Wrong),
    /// F23: access tokens have expired; refreshing works.
    TokenExpired,
    /// F24: like F23, and each refresh token works once.
    TokenRotates,
    /// F25: access tokens have expired, refresh tokens are dead.
    RefreshDead,
    /// F26: 401 without a challenge.
    KeyRefused,
    /// F27: 403 that asks for this scope.
    InsufficientScope(String),
    /// F28: access tokens have expired, and the token endpoint answers 503.
    TokenEndpointDown,
    /// F29: the child is killed at once.
    ChildKilled,
    /// F30: the child is killed while it answers.
    ChildKilledBusy,
    /// F31: the child is stopped, not ended.
    ChildStopped(Moment),
    /// F32: so many lines that aren't JSON before the answer.
    ChildJunk(u32),
    /// F33: the child closes its stdout, lives on, and has so many children of its own.
    ChildMute(u32),
    /// F34: `tools/list_changed`, so many a second for so many seconds.
    Storm { per_second: u32, seconds: u32 },
    /// F35: a result nobody wants to hold in memory: bytes, and how it comes.
    TooLarge(usize, Form),
    /// F36: a large result that is just acceptable.
    Large(usize),
    /// F37: nothing happens here; the driver moves the clock.
    ClockJump,
    /// F38: what a suspended machine finds: no session, and silence on every open connection.
    Suspend,
    /// F39: sessions are gone and children killed; `initialize` is never answered.
    InitializeSilent,
    /// F40: nothing happens here; the driver takes the name away.
    NameFails,
    /// F41: connections are refused: for so long, or until healed.
    Down(Option<Duration>),
    /// F42: the call is held until it is cancelled.
    Held,
    /// F43: `ping` is unknown.
    NoPing,
    /// F44: 307 to another origin.
    Redirect,
    /// F45: the tool says that it failed.
    ToolError,
    /// F46: each session is lost to its first operation.
    FreshSessionsLost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostEvent {
    /// `{"error": "Session not found"}`
    Bare,
    /// A JSON-RPC error with `"id": null`.
    NullId,
}

/// The body of a 500.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    Json,
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    ForeignId,
    Accepted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// While it answers.
    Busy,
    /// At once.
    Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    Sse,
}

/// Where a fault happens. On a transport that isn't listed the server stays healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Realm {
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
    Stdio,
    /// The client's clock.
    Clock,
    /// Between the two: loopback can't do it alone.
    Network,
}

/// How many requests a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    Once,
    Count(u32),
    /// Until healed.
    Always,
}

#[derive(Debug, Error)]
#[error(
    "no fault is called `{0}`: say F01 to F46, with a parameter behind a colon where it has one"
)]
pub struct UnknownFault(String);

impl Fault {
    /// `F05`, or with its parameter `F05:500`.
    pub fn parse(text: &str) -> Result<Self, UnknownFault> {
        let (code, parameter) = match text.split_once(':') {
            Some((code, parameter)) => (code, Some(parameter)),
            None => (text, None),
        };
        let unknown = || UnknownFault(text.to_owned());
        let fault = Self::all()
            .into_iter()
            .find(|fault| fault.code() == code)
            .ok_or_else(unknown)?;
        match parameter {
            None => Ok(fault),
            Some(parameter) => fault.with(parameter).ok_or_else(unknown),
        }
    }

    /// `F05`
    pub fn code(&self) -> &'static str {
        self.row().code
    }

    /// What happens, in a few words.
    pub fn title(&self) -> &'static str {
        self.row().title
    }

    pub fn realms(&self) -> &'static [Realm] {
        self.row().realms
    }

    /// All of them in order, with the parameters of the matrix.
    pub fn all() -> Vec<Self> {
        ROWS.iter().map(|row| (row.fault)()).collect()
    }

    fn row(&self) -> &'static Row {
        let kind = std::mem::discriminant(self);
        let row = ROWS
            .iter()
            .find(|row| std::mem::discriminant(&(row.fault)()) == kind);
        // A test holds the table to having a row for each.
        row.unwrap_or(&ROWS[0])
    }

    /// The same fault with another parameter. Durations are in milliseconds.
    fn with(&self, text: &str) -> Option<Self> {
        let ms = || text.parse().map(Duration::from_millis).ok();
        Some(match self {
            Self::SessionEvent(_) => Self::SessionEvent(match text {
                "bare" => LostEvent::Bare,
                "null" => LostEvent::NullId,
                _ => return None,
            }),
            Self::Restart(_) => Self::Restart(ms()?),
            Self::ServerError(_) => Self::ServerError(match text {
                "json" => Page::Json,
                "html" => Page::Html,
                _ => return None,
            }),
            Self::Gateway(_) => Self::Gateway(text.parse().ok()?),
            Self::Unavailable(_) => Self::Unavailable(text.parse().ok()?),
            Self::Throttled(_) => Self::Throttled(text.parse().ok()?),
            Self::ThrottledLong(_) => Self::ThrottledLong(text.parse().ok()?),
            Self::SlowLoris(_) => Self::SlowLoris(ms()?),
            Self::CutResumable(_) => Self::CutResumable(ms()?),
            Self::WrongAnswer(_) => Self::WrongAnswer(match text {
                "foreign" => Wrong::ForeignId,
                "202" => Wrong::Accepted,
                _ => return None,
            }),
            Self::InsufficientScope(_) => Self::InsufficientScope(text.to_owned()),
            Self::ChildStopped(_) => Self::ChildStopped(match text {
                "busy" => Moment::Busy,
                "idle" => Moment::Idle,
                _ => return None,
            }),
            Self::ChildJunk(_) => Self::ChildJunk(text.parse().ok()?),
            Self::ChildMute(_) => Self::ChildMute(text.parse().ok()?),
            Self::Storm { .. } => {
                let (per_second, seconds) = text.split_once('x')?;
                let (per_second, seconds) = (per_second.parse().ok()?, seconds.parse().ok()?);
                Self::Storm {
                    per_second,
                    seconds,
                }
            }
            Self::TooLarge(..) => match text.split_once(',') {
                None => Self::TooLarge(text.parse().ok()?, Form::Json),
                Some((bytes, "json")) => Self::TooLarge(bytes.parse().ok()?, Form::Json),
                Some((bytes, "sse")) => Self::TooLarge(bytes.parse().ok()?, Form::Sse),
                Some(_) => return None,
            },
            Self::Large(_) => Self::Large(text.parse().ok()?),
            Self::Down(_) => Self::Down(Some(ms()?)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_row() {
        let all = Fault::all();
        assert_eq!(all.len(), 46);
        for (number, fault) in (1..).zip(&all) {
            assert_eq!(fault.code(), format!("F{number:02}"));
            assert_eq!(Fault::parse(fault.code()).unwrap(), *fault);
        }
    }

    #[test]
    fn parameters_come_behind_a_colon() {
        let check = |text, fault| assert_eq!(Fault::parse(text).unwrap(), fault);
        check("F05:500", Fault::Restart(Duration::from_millis(500)));
        check("F12:html", Fault::ServerError(Page::Html));
        check("F22:202", Fault::WrongAnswer(Wrong::Accepted));
        check(
            "F34:10x2",
            Fault::Storm {
                per_second: 10,
                seconds: 2,
            },
        );
        check("F35:1000,sse", Fault::TooLarge(1000, Form::Sse));
        for wrong in ["", "F00", "F47", "f01", "F01:x", "F05:soon", "F34:10"] {
            let error = Fault::parse(wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("`{wrong}`")), "{error}");
        }
    }
}
