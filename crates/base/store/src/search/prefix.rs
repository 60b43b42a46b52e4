//! `begin*`, when it is the beginning of too many words.
//!
//! For a prefix FTS5 joins the lists of all its words before it gives the first match; for a common
//! one that takes seconds. Such a prefix is replaced by the words it stands for in recent messages:
//! their lists are read side by side, newest first.

use std::collections::HashMap;

use super::{
    find::SEARCHED_TEXT,
    query::{Ending, Query},
};
use crate::{codec, connect::Db, error::Sql};

/// Messages looked at, and how many of them must have such a word to call it common.
const SAMPLE: usize = 300;
const COMMON: usize = 6;
/// The most frequent words stand for the prefix.
const WORDS: usize = 12;

pub(super) fn expand(db: &Db, query: &mut Query) -> Sql<()> {
    let mut open: Vec<_> = query
        .terms_mut()
        .filter(|term| term.ending == Ending::Open && term.text.chars().all(char::is_alphanumeric))
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    let sample = recent_words(db)?;
    for term in &mut open {
        let prefix = term.text.to_lowercase();
        if let Some(words) = common_words(&sample, &prefix) {
            term.ending = Ending::OneOf(words);
        }
    }
    Ok(())
}

/// The words beginning with `prefix` by frequency, if they are in enough messages.
fn common_words(sample: &[Vec<String>], prefix: &str) -> Option<Vec<String>> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut having = 0;
    for words in sample {
        let mut found = words.iter().filter(|w| w.starts_with(prefix)).peekable();
        having += usize::from(found.peek().is_some());
        found.for_each(|word| *counts.entry(word).or_default() += 1);
    }
    if having < COMMON {
        return None;
    }
    let mut words: Vec<(&str, usize)> = counts.into_iter().collect();
    words.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    words.truncate(WORDS);
    Some(words.into_iter().map(|(word, _)| word.to_owned()).collect())
}

fn recent_words(db: &Db) -> Sql<Vec<Vec<String>>> {
    let mut stmt = db.conn.prepare_cached(&format!(
        "SELECT {SEARCHED_TEXT} FROM messages AS m ORDER BY m.id DESC LIMIT {SAMPLE}"
    ))?;
    let rows = stmt.query_map([], |row| {
        let text = codec::text_of(row.get_ref(0)?).unwrap_or_default();
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric());
        Ok(words.filter(|w| !w.is_empty()).map(str::to_owned).collect())
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_common_prefix_is_spelled_out() {
        let sample = |texts: &[&str]| -> Vec<Vec<String>> {
            let split = |t: &&str| t.split(' ').map(str::to_owned).collect();
            texts.iter().map(split).collect()
        };
        let rare = sample(&["deploy it", "nothing", "deployment"]);
        assert_eq!(common_words(&rare, "deploy"), None);
        let common = sample(&[
            "deploy deployed",
            "deploy",
            "x deploy",
            "deployed",
            "deploy",
            "deploy",
        ]);
        let expected = vec!["deploy".to_owned(), "deployed".to_owned()];
        assert_eq!(common_words(&common, "deploy"), Some(expected));
        assert_eq!(common_words(&common, "y"), None);
    }
}
