//! Why a child may never have got going: a file for whoever looks into it.

use std::fmt::Write;
use std::path::PathBuf;

use hermes_home::{clock, replace_file};

use super::Delegate;
use super::args::Role;
use super::child::Child;
use super::record::{Known, Stage};
use super::report::seconds;

/// As much of a goal as is written down.
const GOAL_CHARS: usize = 1_000;

/// Writes the file; where it is, if it could be written.
pub(super) async fn write(
    delegate: &Delegate,
    child: &Child,
    known: (&Known, Stage),
) -> Option<PathBuf> {
    let services = &delegate.services;
    let stamp = clock::now().strftime("%Y%m%d_%H%M%S");
    let name = format!("subagent-timeout-{}-{stamp}.log", child.id);
    let (dir, path) = (services.logs.clone(), services.logs.join(name));
    let text = text(delegate, child, known);
    let text = services.redactor.force(&text).into_owned();
    let (modes, target) = (services.modes.clone(), path.clone());
    let written = tokio::task::spawn_blocking(move || {
        std::fs::create_dir_all(dir).map_err(|error| error.to_string())?;
        replace_file(&target, text, &modes).map_err(|error| error.to_string())
    });
    match written.await {
        Ok(Ok(())) => Some(path),
        Ok(Err(error)) => {
            tracing::warn!("{} was not written: {error}", path.display());
            None
        }
        Err(_) => None,
    }
}

fn text(delegate: &Delegate, child: &Child, (known, stage): (&Known, Stage)) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<16} {value}");
    };
    let task = &child.task;
    let limit = delegate.config.timing.timeout.unwrap_or_default();
    line("subagent", child.id.to_string());
    line("time limit", format!("{} s", seconds(limit)));
    line("ran for", format!("{} s", seconds(child.started.elapsed())));
    line("goal", task.goal.chars().take(GOAL_CHARS).collect());
    match &known.model {
        Some(info) => {
            line("model", info.model.clone());
            line("provider", info.provider.clone());
            line("URL", bare(&info.base_url));
            line("context", format!("{} tokens", info.context_length));
        }
        None => line("model", "not known yet".to_owned()),
    }
    let role = match task.role {
        Role::Leaf => "leaf",
        Role::Orchestrator => "orchestrator",
    };
    line("role", role.to_owned());
    let depth = format!("{} of {}", delegate.depth + 1, delegate.config.depth);
    line("depth", depth);
    let toolsets = match task.toolsets.is_empty() {
        true => "all of the parent".to_owned(),
        false => task.toolsets.join(", "),
    };
    line("toolsets", toolsets);
    line("tools", known.tools.join(", "));
    let (system, tools) = known.preamble;
    line("system prompt", format!("{system} bytes"));
    line("tool schemas", format!("{tools} bytes"));
    let activity = format!(
        "{} API calls, {} tool calls, {} steps",
        known.api_calls,
        known.trace.len(),
        known.steps
    );
    line("activity", activity);
    line("waiting for", waiting(stage).to_owned());
    text
}

fn waiting(stage: Stage) -> &'static str {
    match stage {
        Stage::GettingModel => "its model",
        Stage::MakingTools => "its tools",
        Stage::Beginning => "its first message to be written down",
        Stage::Working => "its model or a tool",
        Stage::Over => "nothing: it ended just then",
    }
}

/// A URL without what may be secret in it: who asks, and with what parameters.
fn bare(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}/{path}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_written_without_secrets() {
        let check = |url: &str, expected: &str| assert_eq!(bare(url), expected);
        check("https://api.x.test/v1", "https://api.x.test/v1");
        check("https://me:key@x.test/v1?api=key#k", "https://x.test/v1");
        check("http://127.0.0.1:80", "http://127.0.0.1:80/");
        check("", "");
    }
}
