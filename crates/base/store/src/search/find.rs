//! Collecting candidates: from the index of words, the index of three-letter pieces, or the text.

use rusqlite::params_from_iter;

use super::{
    SearchOrder, SearchQuery,
    query::{Query, Route, TRIGRAM, quoted},
    rank::Candidate,
};
use crate::{codec, connect::Db, error::Sql};

/// Messages that match, newest first, and how to show them.
pub(super) struct Found {
    pub candidates: Vec<Candidate>,
    pub snippets: Snippets,
    /// Matches of a letter or two are all alike: the newest are as good as any.
    pub worth_ranking: bool,
}

pub(super) enum Snippets {
    /// Let the index of words make them, for this expression.
    Words(String),
    /// Cut them out of the text around these terms: a substring was looked for.
    Cut(Vec<String>),
}

const WORDS: &str = "messages_fts";
const TRIGRAMS: &str = "messages_fts_trigram";

/// How many of the newest matches are compared.
const WINDOW: usize = 200;

/// Beyond this many entries of the trigram index a scan is quicker.
const MOST_PIECES: usize = 600;

pub(super) fn find(db: &Db, query: &SearchQuery, parsed: &Query) -> Sql<Found> {
    let route = parsed.route();
    if route == Route::Words && db.shape.has_words {
        let expression = parsed.words();
        let candidates = indexed(db, query, WORDS, &expression, &[])?;
        if !candidates.is_empty() {
            return Ok(Found {
                candidates,
                snippets: Snippets::Words(expression),
                worth_ranking: true,
            });
        }
    }
    let terms = parsed.wanted();
    let candidates = match parsed.trigrams() {
        // Also for ordinary words that were not found: between other letters without spaces they
        // are no words of their own.
        Some(expression) if route != Route::Short && db.shape.has_trigrams => {
            match parsed.mixed() {
                Some((pieces, words)) if is_rare(db, &pieces)? => {
                    indexed(db, query, TRIGRAMS, &pieces, &words)?
                }
                _ => indexed(db, query, TRIGRAMS, &expression, &[])?,
            }
        }
        _ if route == Route::Words && db.shape.has_words => Vec::new(),
        _ => short(db, query, &terms, &parsed.unwanted())?,
    };
    Ok(Found {
        candidates,
        snippets: Snippets::Cut(terms),
        worth_ranking: route != Route::Short,
    })
}

/// The newest matches in one of the indexes, with their text. Those that lack one of `words`
/// do not count.
fn indexed(
    db: &Db,
    query: &SearchQuery,
    table: &str,
    expression: &str,
    words: &[String],
) -> Sql<Vec<Candidate>> {
    let (filter, values) = filter(db, query);
    let contain = format!(" AND {CONTAINS}").repeat(words.len());
    // CROSS JOIN keeps the index outermost: it delivers in the wanted order, so the first few
    // hundred matches are all that is ever looked at.
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT m.id, {SEARCHED_TEXT} FROM {table} AS f
         CROSS JOIN messages AS m ON m.id = f.rowid
         CROSS JOIN sessions AS s ON s.id = m.session_id
         WHERE {table} MATCH ?{filter}{contain} ORDER BY f.rowid {} LIMIT {}",
        direction(query.order),
        window(query)
    ))?;
    let values = std::iter::once(expression)
        .chain(values.iter().map(String::as_str))
        .chain(words.iter().map(String::as_str));
    let rows = stmt.query_map(params_from_iter(values), candidate)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether so few messages match that all their texts can be read.
fn is_rare(db: &Db, pieces: &str) -> Sql<bool> {
    const FEW: i64 = 2000;
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT COUNT(*) FROM (SELECT 1 FROM {TRIGRAMS} WHERE {TRIGRAMS} MATCH ?1 LIMIT {FEW})"
    ))?;
    Ok(stmt.query_row([pieces], |row| row.get::<_, i64>(0))? < FEW)
}

/// Pieces shorter than the index knows. Every occurrence is the beginning of some three-letter piece
/// (the indexed text never ends right after one), so a rare one can be found by those. A common one
/// begins too many of them, but turns up soon when reading from the newest message on.
fn short(
    db: &Db,
    query: &SearchQuery,
    terms: &[String],
    unwanted: &[String],
) -> Sql<Vec<Candidate>> {
    let mut found = match pieces(db, terms)? {
        Some(pieces) if pieces.is_empty() => Vec::new(),
        Some(pieces) => {
            let pieces: Vec<String> = pieces.iter().map(|p| quoted(p)).collect();
            indexed(db, query, TRIGRAMS, &pieces.join(" OR "), &[])?
        }
        None => scanned(db, query, terms)?,
    };
    found.retain(|candidate| {
        let text = candidate.text.to_lowercase();
        terms.iter().any(|t| text.contains(t)) && !unwanted.iter().any(|t| text.contains(t))
    });
    Ok(found)
}

/// All entries of the trigram index that begin with one of `terms`; none if they are too many.
fn pieces(db: &Db, terms: &[String]) -> Sql<Option<Vec<String>>> {
    if !db.shape.has_trigrams {
        return Ok(None);
    }
    db.conn.execute_batch(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.trigram_pieces
         USING fts5vocab('main', 'messages_fts_trigram', 'row')",
    )?;
    let mut stmt = db.conn.prepare(&format!(
        "SELECT term FROM temp.trigram_pieces WHERE term >= ?1 AND term < ?2 LIMIT {}",
        MOST_PIECES + 1
    ))?;
    let mut pieces = Vec::new();
    for term in terms {
        if term.chars().count() >= TRIGRAM {
            pieces.push(term.clone());
            continue;
        }
        let end = format!("{term}\u{10ffff}");
        for piece in stmt.query_map([term, &end], |row| row.get(0))? {
            pieces.push(piece?);
        }
    }
    Ok((pieces.len() <= MOST_PIECES).then_some(pieces))
}

/// Reads messages from the newest on until enough contain one of `terms`.
fn scanned(db: &Db, query: &SearchQuery, terms: &[String]) -> Sql<Vec<Candidate>> {
    let (filter, values) = filter(db, query);
    let mut stmt = db.conn.prepare(&format!(
        "SELECT m.id, {SEARCHED_TEXT} FROM messages AS m
         CROSS JOIN sessions AS s ON s.id = m.session_id
         WHERE ({}){filter} ORDER BY m.id {} LIMIT {}",
        vec![CONTAINS; terms.len()].join(" OR "),
        direction(query.order),
        query.offset.saturating_add(query.limit),
    ))?;
    let values = terms.iter().cloned().chain(values);
    let rows = stmt.query_map(params_from_iter(values), candidate)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// INSTR and not LIKE, which stops at the NUL that begins structured content.
const CONTAINS: &str = "INSTR(LOWER(COALESCE(m.content, '') || ' ' || COALESCE(m.tool_name, '') \
     || ' ' || COALESCE(m.tool_calls, '')), ?) > 0";

/// What the indexes hold of a message.
pub(super) const SEARCHED_TEXT: &str = "COALESCE(m.content, '') || ' ' || COALESCE(m.tool_name, '') \
     || ' ' || COALESCE(m.tool_calls, '')";

fn candidate(row: &rusqlite::Row<'_>) -> rusqlite::Result<Candidate> {
    Ok(Candidate {
        id: row.get(0)?,
        text: codec::text_of(row.get_ref(1)?).unwrap_or_default(),
    })
}

/// The conditions of a query that are not about text, and their values.
fn filter(db: &Db, query: &SearchQuery) -> (String, Vec<String>) {
    let mut sql = db.shape.searchable().to_owned();
    let mut values = Vec::new();
    let roles: Vec<String> = query.roles.iter().map(|r| r.as_str().to_owned()).collect();
    for (condition, list) in [
        ("s.source IN", &query.sources),
        ("s.source NOT IN", &query.hide),
        ("m.role IN", &roles),
    ] {
        if !list.is_empty() {
            let marks = vec!["?"; list.len()].join(", ");
            sql.push_str(&format!(" AND {condition} ({marks})"));
            values.extend(list.iter().cloned());
        }
    }
    (sql, values)
}

fn direction(order: SearchOrder) -> &'static str {
    match order {
        SearchOrder::Oldest => "ASC",
        SearchOrder::Relevance | SearchOrder::Newest => "DESC",
    }
}

fn window(query: &SearchQuery) -> usize {
    let wanted = query.offset.saturating_add(query.limit);
    match query.order {
        SearchOrder::Relevance => wanted.max(WINDOW),
        SearchOrder::Newest | SearchOrder::Oldest => wanted,
    }
}
