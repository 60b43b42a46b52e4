//! Totals over the whole file.

use crate::{
    Store,
    error::{Result, Sql},
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub sessions: i64,
    pub messages: i64,
    /// Sessions by source, the most frequent first.
    pub sources: Vec<(String, i64)>,
    /// The size of the file, without its log.
    pub bytes: u64,
}

impl Store {
    pub async fn stats(&self) -> Result<Stats> {
        let path = self.path().to_owned();
        self.read(move |db| {
            let count = |sql: &str| -> Sql<i64> { Ok(db.conn.query_row(sql, [], |r| r.get(0))?) };
            let mut stmt = db.conn.prepare(
                "SELECT source, COUNT(*) AS n FROM sessions GROUP BY source ORDER BY n DESC, source",
            )?;
            let sources = stmt.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(Stats {
                sources: sources.collect::<rusqlite::Result<_>>()?,
                sessions: count("SELECT COUNT(*) FROM sessions")?,
                messages: count("SELECT COUNT(*) FROM messages")?,
                // A file that has just been read has a size; if not, zero says so.
                bytes: std::fs::metadata(&path).map_or(0, |m| m.len()),
            })
        })
        .await
    }
}
