//! `hermes logs`

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use hermes_home::log::{self, Follow, LogName, Query};
use hermes_lines::{Table, printable};

use super::{ago, size};
use crate::cli::Logs;
use crate::wire::App;

/// How often a followed log is looked at.
const POLL: Duration = Duration::from_millis(250);

pub fn run(app: &mut App, logs: &Logs) -> Result<()> {
    if logs.log == "list" {
        return list(app);
    }
    let name: LogName = logs.log.parse()?;
    let path = name.path(&app.home.logs_dir());
    let query = Query {
        lines: logs.lines,
        level: logs.level.as_deref().map(str::parse).transpose()?,
        session: logs.session.clone(),
        since: logs.since.as_deref().map(log::parse_since).transpose()?,
        component: logs.component.as_deref().map(str::parse).transpose()?,
        ..Query::new(&path)
    };
    let header = app
        .out
        .faint(format!("--- {} (last {}) ---", path.display(), logs.lines));
    writeln!(app.out, "{header}")?;
    if !logs.follow {
        return print(app, &log::tail(&query)?);
    }
    let (lines, mut follow) = Follow::start(&query, POLL)?;
    print(app, &lines)?;
    loop {
        app.out.flush()?;
        let lines = follow.next_batch(Duration::from_secs(60))?;
        print(app, &lines)?;
    }
}

fn print(app: &mut App, lines: &[String]) -> Result<()> {
    lines
        .iter()
        .try_for_each(|line| Ok(writeln!(app.out, "{}", printable(line))?))
}

fn list(app: &mut App) -> Result<()> {
    let dir = app.home.logs_dir();
    let logs = log::list(&dir)?;
    if logs.is_empty() {
        return Ok(writeln!(app.out, "No logs in {} yet.", dir.display())?);
    }
    let mut table = Table::new(&["log", "size", "last line"], 0);
    for info in logs {
        let age = i64::try_from(info.age.as_secs()).unwrap_or(i64::MAX);
        table.row(vec![info.name, size(info.bytes), ago(age)]);
    }
    Ok(table.print(&mut app.out)?)
}
