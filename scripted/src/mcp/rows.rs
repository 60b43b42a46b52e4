//! The table of faults: code, words, where, and the parameters the fault matrix gives them.

use std::time::Duration;

use super::fault::{Fault, Form, LostEvent, Moment, Page, Realm, Wrong};

#[derive(Debug)]
pub(crate) struct Row {
    pub code: &'static str,
    pub title: &'static str,
    pub realms: &'static [Realm],
    pub fault: fn() -> Fault,
}

const WEB: &[Realm] = &[Realm::Http, Realm::Sse];
const ALL: &[Realm] = &[Realm::Http, Realm::Sse, Realm::Stdio];
const HTTP: &[Realm] = &[Realm::Http];
const STDIO: &[Realm] = &[Realm::Stdio];
const NETWORK: &[Realm] = &[Realm::Network];
const CLOCK: &[Realm] = &[Realm::Clock];

const fn row(
    code: &'static str,
    title: &'static str,
    realms: &'static [Realm],
    fault: fn() -> Fault,
) -> Row {
    Row {
        code,
        title,
        realms,
        fault,
    }
}

pub(crate) const ROWS: &[Row] = &[
    row("F01", "session gone, 404", WEB, || Fault::SessionNotFound),
    row("F02", "session gone, 400 without an id", WEB, || {
        Fault::SessionBadRequest
    }),
    row(
        "F03",
        "session gone, 200 with a JSON-RPC error",
        WEB,
        || Fault::SessionRpcError,
    ),
    row(
        "F04",
        "session gone, a stream without an answer",
        WEB,
        || Fault::SessionEvent(LostEvent::Bare),
    ),
    row("F05", "restart, connections refused meanwhile", WEB, || {
        Fault::Restart(Duration::from_secs(3))
    }),
    row("F06", "pod rotation", WEB, || Fault::PodRotation),
    row("F07", "two instances without stickiness", HTTP, || {
        Fault::TwoInstances
    }),
    row(
        "F08",
        "open connections are silent, new ones work",
        WEB,
        || Fault::SilentSockets,
    ),
    row("F09", "blackhole", NETWORK, || Fault::Blackhole),
    row("F10", "reset before the answer", WEB, || Fault::ResetBefore),
    row("F11", "reset in the middle of the answer", WEB, || {
        Fault::ResetWithin
    }),
    row("F12", "500", WEB, || Fault::ServerError(Page::Json)),
    row("F13", "502 or 504", WEB, || Fault::Gateway(502)),
    row("F14", "503 with Retry-After", WEB, || Fault::Unavailable(2)),
    row("F15", "429 with Retry-After", WEB, || Fault::Throttled(2)),
    row("F16", "429 with a long Retry-After", WEB, || {
        Fault::ThrottledLong(3600)
    }),
    row("F17", "slow-loris", WEB, || {
        Fault::SlowLoris(Duration::from_secs(1))
    }),
    row("F18", "stream cut, resumable", HTTP, || {
        Fault::CutResumable(Duration::from_millis(500))
    }),
    row("F19", "stream cut, no ids", WEB, || Fault::Cut),
    row("F20", "garbage instead of JSON", ALL, || Fault::Garbage),
    row("F21", "login page", WEB, || Fault::LoginPage),
    row("F22", "foreign id, or 202 and nothing", ALL, || {
        Fault::WrongAnswer(Wrong::ForeignId)
    }),
    row("F23", "401, refresh works", WEB, || Fault::TokenExpired),
    row("F24", "401, refresh tokens rotate", WEB, || {
        Fault::TokenRotates
    }),
    row("F25", "401, refresh token dead", WEB, || Fault::RefreshDead),
    row("F26", "401 without a challenge", WEB, || Fault::KeyRefused),
    row("F27", "403 insufficient_scope", WEB, || {
        Fault::InsufficientScope("files:write".to_owned())
    }),
    row("F28", "token endpoint 503", WEB, || {
        Fault::TokenEndpointDown
    }),
    row("F29", "child killed while idle", STDIO, || {
        Fault::ChildKilled
    }),
    row("F30", "child killed during the call", STDIO, || {
        Fault::ChildKilledBusy
    }),
    row("F31", "child stopped", STDIO, || {
        Fault::ChildStopped(Moment::Busy)
    }),
    row("F32", "junk lines before the answer", STDIO, || {
        Fault::ChildJunk(10_000)
    }),
    row("F33", "child closes stdout and lives on", STDIO, || {
        Fault::ChildMute(2)
    }),
    row("F34", "list_changed storm", ALL, || Fault::Storm {
        per_second: 1000,
        seconds: 10,
    }),
    row("F35", "result too large", ALL, || {
        Fault::TooLarge(200 << 20, Form::Json)
    }),
    row("F36", "large result under the cap", ALL, || {
        Fault::Large(40_000_000)
    }),
    row("F37", "wall clock jumps", CLOCK, || Fault::ClockJump),
    row("F38", "suspend and resume", NETWORK, || Fault::Suspend),
    row("F39", "initialize never answered", ALL, || {
        Fault::InitializeSilent
    }),
    row("F40", "name resolution fails", NETWORK, || Fault::NameFails),
    row("F41", "server down", WEB, || Fault::Down(None)),
    row("F42", "call held until cancelled", ALL, || Fault::Held),
    row("F43", "server without ping", ALL, || Fault::NoPing),
    row("F44", "redirect to another origin", WEB, || Fault::Redirect),
    row("F45", "tool says it failed", ALL, || Fault::ToolError),
    row("F46", "every fresh session is lost", WEB, || {
        Fault::FreshSessionsLost
    }),
];
