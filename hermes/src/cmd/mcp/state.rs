//! How the servers are doing: `hermes mcp status`, and a section of `hermes status` and `hermes doctor`.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use hermes_lines::{Table, one_line};
use hermes_mcp::{BreakerState, Era};
use hermes_mcp_tools::{LiveServers, Report};
use hermes_types::Finding;
use serde_json::{Value, json};

use super::configured;
use crate::cli::Format;
use crate::mcp::Source;
use crate::wire::App;

/// `hermes doctor` has more patience than a session that is about to begin, but not for ever.
const DOCTOR: Duration = Duration::from_secs(10);

pub fn run(app: &mut App, format: Format) -> Result<()> {
    let reports = reports(app, patience(app))?;
    if format == Format::Json {
        let reports: Vec<Value> = reports.iter().map(as_json).collect();
        return Ok(app.out.json(&reports)?);
    }
    if reports.is_empty() {
        return Ok(writeln!(app.out, "No MCP servers are configured.")?);
    }
    let mut table = Table::new(&["name", "status", "tools", "transport"], 0);
    for report in &reports {
        let tools = report.details.as_ref().map(|status| status.tools);
        table.row(vec![
            one_line(&report.name),
            report.status.to_owned(),
            tools.map_or_else(|| "-".to_owned(), |tools| tools.to_string()),
            report.transport.to_owned(),
        ]);
    }
    table.print(&mut app.out)?;
    for report in &reports {
        if let Some(error) = &report.error {
            let name = app.out.warn(one_line(&report.name));
            writeln!(app.out, "{name}: {}", one_line(error))?;
        }
    }
    Ok(())
}

/// One line for each server; none if there is no server.
pub fn lines(app: &App) -> Result<Vec<String>> {
    let reports = reports(app, patience(app))?;
    let line = |report: &Report| {
        let mark = match report.status {
            "connected" => app.out.good("✓"),
            "disabled" => app.out.faint("○"),
            _ => app.out.warn("⚠"),
        };
        let name = one_line(&report.name);
        format!("  {mark} {name:<16} {}", words(report))
    };
    Ok(reports.iter().map(line).collect())
}

/// The same for scripts.
pub fn json(app: &App) -> Result<Vec<Value>> {
    let reports = reports(app, patience(app))?;
    Ok(reports.iter().map(as_json).collect())
}

/// The same for people who look for what is wrong.
pub fn findings(app: &App) -> Vec<Finding> {
    let reports = match reports(app, DOCTOR) {
        Ok(reports) => reports,
        Err(error) => {
            let why = format!("{error:#}");
            let text = "the MCP servers could not be looked at";
            return vec![Finding::warning(text, why, "hermes mcp status")];
        }
    };
    reports.iter().map(finding).collect()
}

fn finding(report: &Report) -> Finding {
    let name = one_line(&report.name);
    let text = format!("{name}: {}", words(report));
    let why = one_line(report.error.as_deref().unwrap_or("it has not answered yet"));
    match report.status {
        "connected" | "disabled" => Finding::ok(text),
        "needs_auth" => Finding::warning(text, why, format!("hermes mcp login {name}")),
        _ if report.details.is_none() => Finding::warning(text, why, "hermes config edit"),
        _ => Finding::warning(text, why, format!("hermes mcp test {name}")),
    }
}

fn words(report: &Report) -> String {
    match (&report.details, report.status) {
        (Some(status), "connected") => format!("connected, {} tools", status.tools),
        (_, "needs_auth") => "needs a login".to_owned(),
        (_, status) => status.to_owned(),
    }
}

/// Connects all servers, for as long as `limit` allows, and lets them go again.
fn reports(app: &App, limit: Duration) -> Result<Vec<Report>> {
    if configured(app).is_empty() {
        return Ok(Vec::new());
    }
    let source = Source::of(app);
    let servers = source.servers();
    app.block_on(async {
        let starter = source.starter(&servers, None)?;
        let live = LiveServers::start(servers, starter);
        live.settled(limit).await;
        let reports = live.reports();
        live.stop().await;
        Ok(reports)
    })
}

/// How long a session would wait for them.
fn patience(app: &App) -> Duration {
    let seconds = app.settings.number("mcp_discovery_timeout");
    Duration::from_secs_f64(seconds.clamp(0.0, 3600.0))
}

fn as_json(report: &Report) -> Value {
    let status = report.details.as_ref();
    let breaker = status.map(|status| match status.breaker {
        BreakerState::Closed => "closed",
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "half_open",
    });
    let era = status.and_then(|status| status.era).map(|era| match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    });
    let next = status.and_then(|status| status.next_attempt);
    json!({
        "name": report.name,
        "transport": report.transport,
        "status": report.status,
        "connected": report.status == "connected",
        "disabled": report.status == "disabled",
        "tools": status.map(|status| status.tools),
        "generation": status.map(|status| status.generation),
        "era": era,
        "error": report.error,
        "breaker": breaker,
        "next_attempt_s": next.map(|wait| wait.as_secs_f64()),
        "sampling": report.sampling.as_ref().map(|counters| json!({
            "requests": counters.requests, "errors": counters.errors,
            "tokens": counters.tokens, "tool_uses": counters.tool_uses,
        })),
    })
}
