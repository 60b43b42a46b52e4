//! Names people give to sessions: cleaned, unique, and numbered along a conversation.

use hermes_types::SessionId;
use rusqlite::{OptionalExtension, params};

use crate::{
    Store, chain,
    connect::Db,
    error::{Error, Result, Sql},
};

const LONGEST: usize = 100;

impl Store {
    /// Names a session and returns the name as stored; an empty one takes the name away.
    pub async fn set_title(&self, session: &SessionId, title: &str) -> Result<Option<String>> {
        let title = clean_title(title)?;
        let id = session.as_str().to_owned();
        self.write(move |db| {
            if let Some(title) = &title {
                free_title(db, title, &id)?;
            }
            let changed = db.conn.execute(
                "UPDATE sessions SET title = ?2 WHERE id = ?1",
                params![id, title],
            )?;
            if changed == 0 {
                return Err(Error::not_found(&id).into());
            }
            Ok(title.clone())
        })
        .await
    }

    /// Names a session that has no name yet, numbering the name if it is taken. Returns the name it
    /// has got, or nothing if it had one already.
    pub async fn set_title_if_none(
        &self,
        session: &SessionId,
        title: &str,
    ) -> Result<Option<String>> {
        let Some(title) = clean_title(title)? else {
            return Ok(None);
        };
        let id = session.as_str().to_owned();
        self.write(move |db| {
            let title = match holder(db, &title, &id)? {
                None => title.clone(),
                Some(_) => next_in_lineage(db, &title)?,
            };
            let changed = db.conn.execute(
                "UPDATE sessions SET title = ?2 WHERE id = ?1 AND title IS NULL",
                params![id, title],
            )?;
            Ok((changed > 0).then_some(title))
        })
        .await
    }

    /// The name for the next session of the same lineage: `proj`, `proj #2`, `proj #3`…
    pub async fn next_title(&self, title: &str) -> Result<String> {
        let title = title.to_owned();
        self.read(move |db| next_in_lineage(db, &title)).await
    }

    /// Finds a session by its whole id or a unique beginning of it.
    pub async fn find_by_id(&self, prefix: &str) -> Result<SessionId> {
        let prefix = prefix.to_owned();
        self.read(move |db| by_prefix(db, &prefix)).await
    }

    /// Finds a session by its title; of a numbered lineage the most recently started one.
    pub async fn find_by_title(&self, title: &str) -> Result<SessionId> {
        let title = title.to_owned();
        self.read(move |db| match by_title(db, &title)? {
            Some(id) => Ok(SessionId::new(id)),
            None => Err(Error::not_found(format!("'{title}'")).into()),
        })
        .await
    }

    /// Finds what a person meant: an id, a unique beginning of one, or a title.
    pub async fn find(&self, what: &str) -> Result<SessionId> {
        let what = what.to_owned();
        self.read(move |db| {
            if chain::link(db, &what)?.is_some() {
                return Ok(SessionId::new(what.as_str()));
            }
            match by_title(db, &what)? {
                Some(id) => Ok(SessionId::new(id)),
                None => by_prefix(db, &what),
            }
        })
        .await
    }
}

/// A title as it may be stored: no control, zero-width or bidirectional characters, single spaces.
pub fn clean_title(title: &str) -> Result<Option<String>> {
    let visible: String = title.chars().filter(|c| !is_unwanted(*c)).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let clean = words.join(" ");
    let length = clean.chars().count();
    if length > LONGEST {
        return Err(Error::TitleTooLong {
            length,
            max: LONGEST,
        });
    }
    Ok((!clean.is_empty()).then_some(clean))
}

fn is_unwanted(c: char) -> bool {
    matches!(c,
        '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\x7f'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{fffc}' | '\u{fff9}'..='\u{fffb}')
}

/// Fails if another session has this title. A session this one continues gives it up: it is hidden
/// behind this one in every list, so nobody could take it from there.
fn free_title(db: &Db, title: &str, id: &str) -> Sql<()> {
    let Some(holder) = holder(db, title, id)? else {
        return Ok(());
    };
    if !chain::lineage(db, id)?.contains(&holder) {
        return Err(Error::TitleTaken {
            title: title.to_owned(),
            holder,
        }
        .into());
    }
    db.conn
        .execute("UPDATE sessions SET title = NULL WHERE id = ?1", [holder])?;
    Ok(())
}

fn holder(db: &Db, title: &str, id: &str) -> Sql<Option<String>> {
    let mut stmt = db
        .conn
        .prepare_cached("SELECT id FROM sessions WHERE title = ?1 AND id <> ?2")?;
    Ok(stmt.query_row([title, id], |row| row.get(0)).optional()?)
}

pub(crate) fn next_in_lineage(db: &Db, title: &str) -> Sql<String> {
    let base = base(title);
    let used = numbered(db, base)?;
    let exact = holder(db, base, "")?.is_some();
    let highest = used.iter().map(|(_, number)| *number).max();
    Ok(match (exact, highest) {
        (false, None) => base.to_owned(),
        (_, highest) => format!("{base} #{}", highest.unwrap_or(1).max(1) + 1),
    })
}

fn by_title(db: &Db, title: &str) -> Sql<Option<String>> {
    let newest = numbered(db, title)?.into_iter().next();
    match newest {
        Some((id, _)) => Ok(Some(id)),
        None => holder(db, title, ""),
    }
}

/// Sessions titled `base #N` with their numbers, the most recently started first.
fn numbered(db: &Db, base: &str) -> Sql<Vec<(String, u64)>> {
    let mut stmt = db.conn.prepare_cached(
        r"SELECT id, title FROM sessions WHERE title LIKE ?1 ESCAPE '\' ORDER BY started_at DESC",
    )?;
    let rows = stmt.query_map([format!("{} #%", escape_like(base))], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut found = Vec::new();
    for row in rows {
        let (id, title) = row?;
        match split_number(&title) {
            Some((stem, number)) if stem == base => found.push((id, number)),
            _ => {} // LIKE is not case sensitive, and `#` may be followed by words
        }
    }
    Ok(found)
}

/// A title without the number of its place in a conversation.
pub(crate) fn base(title: &str) -> &str {
    split_number(title).map_or(title, |(base, _)| base)
}

fn split_number(title: &str) -> Option<(&str, u64)> {
    let (base, number) = title.rsplit_once(" #")?;
    Some((base, number.parse().ok()?))
}

fn by_prefix(db: &Db, prefix: &str) -> Sql<SessionId> {
    if chain::link(db, prefix)?.is_some() {
        return Ok(SessionId::new(prefix));
    }
    let mut stmt = db
        .conn
        .prepare_cached(r"SELECT id FROM sessions WHERE id LIKE ?1 ESCAPE '\' LIMIT 2")?;
    let pattern = format!("{}%", escape_like(prefix));
    let found: Vec<String> = stmt
        .query_map([pattern], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    match found.as_slice() {
        [id] if !prefix.is_empty() => Ok(SessionId::new(id.as_str())),
        [_, _] if !prefix.is_empty() => Err(Error::Ambiguous {
            prefix: prefix.to_owned(),
        }
        .into()),
        _ => Err(Error::not_found(prefix).into()),
    }
}

pub(crate) fn escape_like(text: &str) -> String {
    text.replace('\\', r"\\")
        .replace('%', r"\%")
        .replace('_', r"\_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_cleaned() {
        let check = |title: &str, expected: Option<&str>| {
            assert_eq!(clean_title(title).unwrap().as_deref(), expected);
        };
        check("proj", Some("proj"));
        check("a\u{200b}b  c", Some("ab c"));
        check(" tab\tand\nnewline ", Some("tab and newline"));
        check("\u{202e}reversed\u{feff}", Some("reversed"));
        check("bell\u{7}", Some("bell"));
        check("旅行 计划", Some("旅行 计划"));
        check(" \u{200b} ", None);
        check("", None);
        check(&"é".repeat(100), Some(&"é".repeat(100)));
    }

    #[test]
    fn a_long_title_is_refused() {
        let error = clean_title(&"é".repeat(101)).unwrap_err();
        assert_eq!(
            error,
            Error::TitleTooLong {
                length: 101,
                max: 100
            }
        );
    }

    #[test]
    fn numbers_are_split_off() {
        let check = |title: &str, expected| assert_eq!(split_number(title), expected);
        check("proj #2", Some(("proj", 2)));
        check("proj #2 #13", Some(("proj #2", 13)));
        check("proj", None);
        check("issue #x", None);
    }
}
