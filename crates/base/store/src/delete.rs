//! Taking sessions away, one by one, by age, or because they never were any.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use hermes_types::SessionId;
use jiff::{SignedDuration, Timestamp};
use rusqlite::params;
use tracing::warn;

use crate::{
    Store,
    connect::Db,
    error::{Error, Result, Sql},
    time::seconds,
};

/// Which sessions are old enough to go. Only ended ones ever do.
#[derive(Clone, Debug)]
pub struct Prune {
    pub started_before: Timestamp,
    /// Only this source, if given.
    pub source: Option<String>,
}

/// The automatic clean-up at start, `sessions.*` in the configuration.
#[derive(Clone, Debug)]
pub struct Maintenance {
    pub keep: SignedDuration,
    pub at_most_every: SignedDuration,
    /// Give the freed space back to the disk.
    pub shrink: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaintenanceReport {
    /// It was done recently, so nothing was done now.
    pub skipped: bool,
    /// Their files are the caller's to remove: see [`session_files`].
    pub removed: Vec<SessionId>,
    pub shrunk: bool,
}

/// Small enough that other writers get their turn in between.
const SESSIONS_PER_TRANSACTION: usize = 20;
const LAST_RUN: &str = "last_auto_prune";

impl Store {
    /// Deletes a session and its messages; sessions that came from it stay, on their own.
    pub async fn delete_session(&self, session: &SessionId) -> Result<()> {
        let id = session.as_str().to_owned();
        self.write(move |db| {
            if remove(db, std::slice::from_ref(&id))? == 0 {
                return Err(Error::not_found(&id).into());
            }
            Ok(())
        })
        .await
    }

    /// The sessions [`prune`](Self::prune) would delete.
    pub async fn prune_candidates(&self, prune: &Prune) -> Result<Vec<SessionId>> {
        let prune = prune.clone();
        let ids = self.read(move |db| prune.candidates(db)).await?;
        Ok(ids.into_iter().map(SessionId::new).collect())
    }

    /// Deletes ended sessions that are old enough, and says which.
    pub async fn prune(&self, prune: &Prune) -> Result<Vec<SessionId>> {
        let candidates = self.prune_candidates(prune).await?;
        let ids: Vec<String> = candidates.iter().map(|s| s.as_str().to_owned()).collect();
        for chunk in ids.chunks(SESSIONS_PER_TRANSACTION) {
            let chunk = chunk.to_vec();
            self.write(move |db| remove(db, &chunk)).await?;
        }
        Ok(candidates)
    }

    /// Prunes and shrinks, but not more often than asked for.
    pub async fn maintain(&self, plan: Maintenance) -> Result<MaintenanceReport> {
        let now = Timestamp::now();
        let last = self.meta(LAST_RUN).await?;
        let last: Option<f64> = last.and_then(|text| text.parse().ok());
        if last.is_some_and(|last| seconds(now) - last < plan.at_most_every.as_secs_f64()) {
            return Ok(MaintenanceReport {
                skipped: true,
                ..MaintenanceReport::default()
            });
        }
        let prune = Prune {
            started_before: now.saturating_sub(plan.keep).unwrap_or(Timestamp::MIN),
            source: None,
        };
        let removed = self.prune(&prune).await?;
        let shrunk = plan.shrink && !removed.is_empty() && self.shrink().await;
        self.set_meta(LAST_RUN, &seconds(now).to_string()).await?;
        Ok(MaintenanceReport {
            skipped: false,
            removed,
            shrunk,
        })
    }

    /// Removes what the terminal interface left behind when nothing was ever said: ended, untitled,
    /// empty, older than a day.
    pub async fn remove_ghosts(&self, now: Timestamp) -> Result<Vec<SessionId>> {
        let before = seconds(now) - 86_400.0;
        self.write(move |db| {
            let ids = ids(
                db,
                "SELECT id FROM sessions AS s WHERE source = 'tui' AND title IS NULL
                     AND ended_at IS NOT NULL AND started_at < ?1
                     AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = s.id)",
                params![before],
            )?;
            remove(db, &ids)?;
            Ok(ids.into_iter().map(SessionId::new).collect())
        })
        .await
    }

    /// Ends continuations of compressed sessions that nobody has touched for a week. Returns how
    /// many.
    pub async fn end_orphans(&self, now: Timestamp) -> Result<usize> {
        let now = seconds(now);
        self.write(move |db| {
            Ok(db.conn.execute(
                "UPDATE sessions SET ended_at = ?1, end_reason = 'orphaned_compression'
                 WHERE api_call_count = 0 AND ended_at IS NULL AND started_at < ?1 - 604800
                     AND EXISTS (SELECT 1 FROM sessions AS p WHERE p.id = sessions.parent_session_id
                         AND p.end_reason = 'compression' AND p.ended_at IS NOT NULL)
                     AND EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = sessions.id)",
                params![now],
            )?)
        })
        .await
    }

    /// Best effort: a disk too full for it, or another writer, only means "not today".
    async fn shrink(&self) -> bool {
        let done = match self.writer() {
            Ok(writer) => {
                writer
                    .run_bare(|db| Ok(db.conn.execute_batch("VACUUM")?))
                    .await
            }
            Err(reason) => Err(reason),
        };
        if let Err(error) = &done {
            warn!("not shrunk: {error}");
        }
        done.is_ok()
    }
}

impl Prune {
    fn candidates(&self, db: &Db) -> Sql<Vec<String>> {
        ids(
            db,
            "SELECT id FROM sessions WHERE started_at < ?1 AND ended_at IS NOT NULL
                 AND (?2 IS NULL OR source = ?2)",
            params![seconds(self.started_before), self.source],
        )
    }
}

fn ids(db: &Db, sql: &str, params: &[&dyn rusqlite::ToSql]) -> Sql<Vec<String>> {
    let mut stmt = db.conn.prepare(sql)?;
    let rows = stmt.query_map(params, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Deletes sessions and returns how many there were.
fn remove(db: &Db, ids: &[String]) -> Sql<usize> {
    let mut removed = 0;
    for id in ids {
        for sql in [
            "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?1",
            "DELETE FROM messages WHERE session_id = ?1",
        ] {
            db.conn.prepare_cached(sql)?.execute([id])?;
        }
        let mut stmt = db
            .conn
            .prepare_cached("DELETE FROM sessions WHERE id = ?1")?;
        removed += stmt.execute([id])?;
    }
    Ok(removed)
}

/// The files in the `sessions/` directory `dir` that belong to one of `sessions`.
pub fn session_files(dir: &Path, sessions: &[SessionId]) -> Vec<PathBuf> {
    let ids: HashSet<&str> = sessions.iter().map(SessionId::as_str).collect();
    // No directory, no files.
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| belongs_to(name, &ids))
        })
        .collect();
    files.sort();
    files
}

/// `<id>.json`, `<id>.jsonl`, `session_<id>.json` and `request_dump_<id>_*.json`.
fn belongs_to(name: &str, ids: &HashSet<&str>) -> bool {
    if let Some(stem) = name.strip_suffix(".jsonl") {
        return ids.contains(stem);
    }
    let Some(stem) = name.strip_suffix(".json") else {
        return false;
    };
    let snapshot = stem.strip_prefix("session_");
    let dump = stem.strip_prefix("request_dump_");
    ids.contains(stem)
        || snapshot.is_some_and(|id| ids.contains(id))
        || dump.is_some_and(|rest| {
            rest.match_indices('_')
                .any(|(end, _)| ids.contains(&rest[..end]))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_names() {
        let ids = HashSet::from(["20261115_093000_a1b2c3", "cafe0123"]);
        let check = |name: &str, expected| assert_eq!(belongs_to(name, &ids), expected, "{name}");
        check("session_20261115_093000_a1b2c3.json", true);
        check("20261115_093000_a1b2c3.json", true);
        check("cafe0123.jsonl", true);
        check(
            "request_dump_20261115_093000_a1b2c3_20261115_100000.json",
            true,
        );
        check(
            "request_dump_20261115_093000_a1b2c4_20261115_100000.json",
            false,
        );
        check("request_dump_20261115_093000_a1b2c3.json", false);
        check("sessions.json", false);
        check("session_cafe01234.json", false);
        check("cafe0123.txt", false);
    }
}
