//! What is shown of a match: its snippet, its session and its neighbours.

use hermes_types::{Role, SessionId};
use rusqlite::{OptionalExtension, params};

use super::{
    ContextLine, Hit,
    find::{Found, Snippets},
};
use crate::{codec, connect::Db, error::Sql, time::moment};

const CONTEXT_CHARS: usize = 200;
const AROUND_CHARS: usize = 40;

/// The matching part of message `id`.
pub(super) fn snippet(db: &Db, found: &Found, id: i64) -> Sql<String> {
    let snippet = match &found.snippets {
        Snippets::Cut(terms) => {
            let candidate = found.candidates.iter().find(|c| c.id == id);
            candidate.map(|c| cut_around(&c.text, terms))
        }
        Snippets::Words(expression) => {
            let mut stmt = db.conn.prepare_cached(
                "SELECT snippet(messages_fts, 0, '>>>', '<<<', '...', 40) FROM messages_fts
                 WHERE messages_fts MATCH ?1 AND rowid = ?2",
            )?;
            let text = stmt.query_row(params![expression, id], |row| {
                Ok(codec::text_of(row.get_ref(0)?))
            });
            text.optional()?.flatten()
        }
    };
    // Structured content begins with a NUL; it is of no use to anybody who reads.
    Ok(snippet.unwrap_or_default().replace('\0', ""))
}

/// The first of `terms` in `text`, marked, with some text on both sides.
fn cut_around(text: &str, terms: &[String]) -> String {
    let lower = text.to_lowercase();
    let place = terms
        .iter()
        .filter_map(|term| Some((lower.find(term.as_str())?, term.len())))
        .min();
    // Lower case may be longer; then places do not correspond, and unmarked text must do.
    let parts = place
        .filter(|_| lower.len() == text.len())
        .and_then(|(start, length)| {
            let (before, rest) = text.split_at_checked(start)?;
            let (found, after) = rest.split_at_checked(length)?;
            Some((before, found, after))
        });
    let Some((before, found, after)) = parts else {
        return text.chars().take(3 * AROUND_CHARS).collect();
    };
    let from = before.char_indices().rev().nth(AROUND_CHARS - 1);
    let left = match from {
        Some((start, _)) if start > 0 => format!("...{}", &before[start..]),
        _ => before.to_owned(),
    };
    let right = match after.char_indices().nth(AROUND_CHARS) {
        Some((end, _)) => format!("{}...", &after[..end]),
        None => after.to_owned(),
    };
    format!("{left}>>>{found}<<<{right}").trim().to_owned()
}

/// Everything else about message `id`.
pub(super) fn hit(db: &Db, id: i64, snippet: String) -> Sql<Option<Hit>> {
    let mut stmt = db.conn.prepare_cached(
        "SELECT m.session_id, m.role, m.timestamp, m.tool_name, s.source, s.model, s.started_at
         FROM messages AS m JOIN sessions AS s ON s.id = m.session_id WHERE m.id = ?1",
    )?;
    let mut rows = stmt.query([id])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let timestamp: f64 = row.get(2)?;
    let session: String = row.get(0)?;
    Ok(Some(Hit {
        message: id,
        role: Role::from(row.get::<_, String>(1)?.as_str()),
        snippet,
        at: moment(timestamp),
        tool_name: row.get(3)?,
        source: row.get(4)?,
        model: row.get(5)?,
        session_started_at: moment(row.get(6)?),
        context: context(db, &session, timestamp, id)?,
        session: SessionId::new(session),
    }))
}

/// The neighbours are found by the index on session and time, which ends in the id.
fn context(db: &Db, session: &str, timestamp: f64, id: i64) -> Sql<Vec<ContextLine>> {
    let side = |compare: &str, direction: &str, limit: usize| -> Sql<Vec<ContextLine>> {
        let mut stmt = db.conn.prepare_cached(&format!(
            "SELECT m.role, m.content FROM messages AS m
             WHERE m.session_id = ?1 AND (m.timestamp, m.id) {compare} (?2, ?3){}
             ORDER BY m.timestamp {direction}, m.id {direction} LIMIT {limit}",
            db.shape.searchable()
        ))?;
        let rows = stmt.query_map(params![session, timestamp, id], context_line)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    };
    let mut lines = side("<=", "DESC", 2)?;
    lines.reverse();
    lines.extend(side(">", "ASC", 1)?);
    Ok(lines)
}

fn context_line(row: &rusqlite::Row<'_>) -> rusqlite::Result<ContextLine> {
    let stored = codec::text_of(row.get_ref(1)?).unwrap_or_default();
    let text = codec::decode_content(&stored).plain();
    Ok(ContextLine {
        role: Role::from(row.get::<_, String>(0)?.as_str()),
        text: text.chars().take(CONTEXT_CHARS).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::cut_around;

    #[test]
    fn a_short_match_is_cut_out_and_marked() {
        let check = |text: &str, terms: &[&str], expected: &str| {
            let terms: Vec<String> = terms.iter().map(|t| (*t).to_owned()).collect();
            assert_eq!(cut_around(text, &terms), expected);
        };
        check("我在广西工作", &["广西"], "我在>>>广西<<<工作");
        check("到桂林再到广西", &["广西", "桂林"], "到>>>桂林<<<再到广西");
        let long = format!("{}广西{}", "前".repeat(50), "后".repeat(50));
        let expected = format!("...{}>>>广西<<<{}...", "前".repeat(40), "后".repeat(40));
        check(&long, &["广西"], &expected);
        check("İx广西", &["广西"], "İx广西");
    }
}
