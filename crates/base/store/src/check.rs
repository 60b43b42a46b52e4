//! What `hermes doctor` has to say about the session database.

use std::path::Path;

use hermes_types::Finding;
use rusqlite::Connection;

use crate::{
    connect::Access,
    damage::{Damage, glance, search_counts},
    error::Sql,
    repair::{rebuild_search, sidecar},
    schema,
    shape::Shape,
};

/// A log this long means that nobody could checkpoint for a long time.
const LONG_LOG: u64 = 256 * 1024 * 1024;

/// Examines the file without changing it. Blocks: the whole file is read.
pub fn check(path: &Path) -> Vec<Finding> {
    let name = path.display();
    if !path.exists() {
        return vec![Finding::ok(format!("{name}: not created yet"))];
    }
    let mut findings = Vec::new();
    if let Err(fault) = examine(path, &mut findings) {
        let error = fault.at(path);
        let fix = if fault.is_corrupt() {
            format!("stop other Hermes processes, then run `hermes sessions recover` ({name})")
        } else {
            "make the file readable, then run `hermes doctor` again".to_owned()
        };
        findings.push(Finding::error(
            format!("{name}: cannot be read"),
            error.to_string(),
            fix,
        ));
    }
    findings
}

fn examine(path: &Path, findings: &mut Vec<Finding>) -> Sql<()> {
    let conn = Access::find(path)?.open()?;
    let shape = Shape::read(&conn)?;
    findings.push(version(path, &shape));
    let damage = glance(&conn)?;
    findings.push(integrity(path, &damage));
    if shape.version >= schema::VERSION {
        findings.push(search(path, &conn, damage)?);
    }
    findings.push(log(path));
    Ok(())
}

fn version(path: &Path, shape: &Shape) -> Finding {
    let text = format!("{}: schema version {}", path.display(), shape.version);
    if shape.version >= schema::VERSION {
        return Finding::ok(text);
    }
    Finding::warning(
        text,
        format!("older than {}, which this program uses", schema::VERSION),
        "start a chat once; the file is migrated then",
    )
}

fn integrity(path: &Path, damage: &Damage) -> Finding {
    let (detail, command) = match damage {
        Damage::None | Damage::Search(_) => {
            return Finding::ok(format!("{}: sessions and messages intact", path.display()));
        }
        Damage::Index(detail) | Damage::Schema(detail) => (detail, "repair"),
        Damage::Data(detail) | Damage::NotADatabase(detail) => (detail, "recover"),
    };
    Finding::error(
        format!("{}: damaged", path.display()),
        detail,
        format!("stop other Hermes processes, then run `hermes sessions {command}`"),
    )
}

fn search(path: &Path, conn: &Connection, damage: Damage) -> Sql<Finding> {
    let Some(problem) = search_problem(conn, damage)? else {
        return Ok(Finding::ok(format!(
            "{}: search index complete",
            path.display()
        )));
    };
    let target = path.to_owned();
    let finding = Finding::warning(
        format!("{}: search index incomplete", path.display()),
        format!("some messages cannot be found: {problem}"),
        "run `hermes doctor --fix`: the index is built again from the messages",
    );
    Ok(finding.with_repair(move || {
        rebuild_search(&target)
            .map(|()| "rebuilt the search index".to_owned())
            .map_err(|error| error.to_string())
    }))
}

fn search_problem(conn: &Connection, damage: Damage) -> Sql<Option<String>> {
    if let Damage::Search(detail) = damage {
        return Ok(Some(detail));
    }
    let missing = schema::missing_triggers(&schema::object_names(conn)?);
    if !missing.is_empty() {
        return Ok(Some(format!("missing triggers: {}", missing.join(", "))));
    }
    let counts = match search_counts(conn) {
        Ok(counts) => counts,
        // A table that is not there or not readable is the problem.
        Err(fault) => return Ok(Some(fault.to_string())),
    };
    Ok(counts
        .into_iter()
        .find(|(_, indexed, messages)| indexed != messages)
        .map(|(table, indexed, messages)| format!("{table} has {indexed} of {messages} messages")))
}

fn log(path: &Path) -> Finding {
    let bytes = std::fs::metadata(sidecar(path, "-wal")).map_or(0, |m| m.len());
    let text = format!("{}-wal: {} MB", path.display(), bytes / (1024 * 1024));
    if bytes <= LONG_LOG {
        return Finding::ok(text);
    }
    Finding::warning(
        text,
        "reading gets slower as the log grows; a process that never stops reading may hold it",
        "stop all Hermes processes and start one again: the last one out empties the log",
    )
}
