//! `hermes doctor`: each part reports on itself; this prints it and runs the repairs.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use hermes_home::{audit, doctor};
use hermes_skills::memory::Memory;
use hermes_types::{Finding, Level};
use serde_json::{Value, json};

use super::{Failed, checkpoints, curator, mcp};
use crate::cli::Format;
use crate::wire::App;

/// Programs Hermes can make use of, and for what.
const PROGRAMS: &[(&str, &str)] = &[
    ("git", "checkpoints and worktrees"),
    ("rg", "searching files in remote places"),
    ("docker", "the docker terminal backend"),
    ("ssh", "the ssh terminal backend"),
    ("node", "MCP servers from npm"),
    ("ffmpeg", "voice messages"),
];

pub fn run(app: &mut App, fix: bool, format: Format) -> Result<()> {
    let mut sections = examine(app);
    let repaired = if fix {
        repair(&mut sections)
    } else {
        Vec::new()
    };
    if !repaired.is_empty() {
        sections = examine(app);
    }
    let failed = sections
        .iter()
        .flat_map(|(_, findings)| findings)
        .any(|finding| finding.level == Level::Error);
    match format {
        Format::Json => app.out.json(&as_json(&sections, &repaired))?,
        Format::Text => print(app, &sections, &repaired)?,
    }
    if failed {
        Err(Failed(1).into())
    } else {
        Ok(())
    }
}

type Sections = Vec<(&'static str, Vec<Finding>)>;

fn examine(app: &App) -> Sections {
    let mut sections = vec![
        ("Program", program(app)),
        ("Configuration", doctor::configuration(&app.home, &app.env)),
        ("Home", doctor::directories(&app.home)),
        ("Conversations", hermes_store::check(&app.home.state_db())),
        ("Memory", Memory::findings(&app.home, &app.settings)),
        ("Audit log", vec![audit::check(&app.home, &app.settings)]),
        ("External programs", externals(app)),
    ];
    sections.push(("Skills", curator::findings(app)));
    let kept = checkpoints::finding(app);
    sections.extend(kept.map(|finding| ("Checkpoints", vec![finding])));
    let program = std::env::current_exe().unwrap_or_default();
    let findings = async { Ok(app.sandbox_plan(&program).findings().await) };
    // Without a runtime nothing runs at all.
    sections.push(("Sandbox", app.block_on(findings).unwrap_or_default()));
    let servers = mcp::findings(app);
    if !servers.is_empty() {
        sections.push(("MCP servers", servers));
    }
    sections
}

fn program(app: &App) -> Vec<Finding> {
    let version = env!("CARGO_PKG_VERSION");
    let mut findings = vec![Finding::ok(format!(
        "hermes {version} on {}-{}",
        std::env::consts::OS,
        std::env::consts::ARCH
    ))];
    if on_path(app, "hermes").is_none() {
        findings.push(Finding::warning(
            "hermes is not on your PATH",
            "profile commands and completions call it by name",
            "add the directory of the program to PATH in your shell's start file",
        ));
    }
    findings
}

/// Missing ones are optional, so they are told in one line rather than as warnings.
fn externals(app: &App) -> Vec<Finding> {
    let (found, missing): (Vec<_>, Vec<_>) = PROGRAMS
        .iter()
        .partition(|(name, _)| on_path(app, name).is_some());
    let names = |list: &[&(&str, &str)]| {
        list.iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut findings = vec![Finding::ok(format!("found: {}", names(&found)))];
    for (name, purpose) in missing {
        findings.push(Finding::ok(format!(
            "{name} not found (only needed for {purpose})"
        )));
    }
    findings
}

fn on_path(app: &App, program: &str) -> Option<std::path::PathBuf> {
    let path = app.env.get("PATH").unwrap_or_default();
    std::env::split_paths(path)
        .map(|dir| dir.join(program))
        .find(|path: &std::path::PathBuf| is_file(path))
}

fn is_file(path: &Path) -> bool {
    path.is_file()
}

fn repair(sections: &mut Sections) -> Vec<String> {
    let findings = sections.iter_mut().flat_map(|(_, findings)| findings);
    findings
        .filter_map(|finding| Some((finding.text.clone(), finding.repair.take()?)))
        .map(|(text, repair)| match repair() {
            Ok(done) => done,
            Err(reason) => format!("could not repair \"{text}\": {reason}"),
        })
        .collect()
}

fn print(app: &mut App, sections: &Sections, repaired: &[String]) -> Result<()> {
    for (title, findings) in sections {
        let title = app.out.heading(title);
        writeln!(app.out, "{title}")?;
        for finding in findings {
            let mark = match finding.level {
                Level::Ok => app.out.good("✓"),
                Level::Warning => app.out.warn("⚠"),
                Level::Error => app.out.bad("✗"),
            };
            writeln!(app.out, "  {mark} {}", finding.text)?;
            if finding.level != Level::Ok {
                let why = app.out.faint(&finding.why);
                writeln!(app.out, "      {why}\n      → {}", finding.fix)?;
            }
        }
    }
    for line in repaired {
        writeln!(app.out, "repaired: {line}")?;
    }
    summary(app, sections)
}

fn summary(app: &mut App, sections: &Sections) -> Result<()> {
    let issues: Vec<_> = sections
        .iter()
        .flat_map(|(_, findings)| findings)
        .filter(|finding| finding.level != Level::Ok)
        .collect();
    if issues.is_empty() {
        let well = app.out.good("All is well.");
        return Ok(writeln!(app.out, "\n{well}")?);
    }
    writeln!(app.out)?;
    for (index, finding) in issues.iter().enumerate() {
        writeln!(app.out, "{}. {} → {}", index + 1, finding.text, finding.fix)?;
    }
    if issues.iter().any(|finding| finding.repair.is_some()) {
        writeln!(app.out, "`hermes doctor --fix` can mend some of these.")?;
    }
    Ok(())
}

fn as_json(sections: &Sections, repaired: &[String]) -> Value {
    let findings: Vec<Value> = sections
        .iter()
        .flat_map(|(section, findings)| findings.iter().map(move |finding| (section, finding)))
        .map(|(section, finding)| {
            let level = match finding.level {
                Level::Ok => "ok",
                Level::Warning => "warning",
                Level::Error => "error",
            };
            json!({
                "section": section, "level": level, "text": finding.text, "why": finding.why,
                "fix": finding.fix, "repairable": finding.repair.is_some(),
            })
        })
        .collect();
    json!({ "findings": findings, "repaired": repaired })
}
