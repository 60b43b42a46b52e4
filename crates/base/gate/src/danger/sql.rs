//! Statements that take more away than one might think.

use crate::program::{name, started};
use crate::shell::{Script, Simple};

/// Programs that do what they read.
const CLIENTS: [&str; 12] = [
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "duckdb",
    "sqlcmd",
    "isql",
    "clickhouse-client",
    "cockroach",
    "sqlplus",
    "turso",
];

pub(super) fn of(simple: &Simple, script: &Script) -> Option<&'static str> {
    let mut texts = simple.words.iter().chain(script.documents_of(simple));
    if !texts.any(|text| mentions_verb(text)) {
        return None;
    }
    let program = simple.words.first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let text_at = match program {
        // Where somebody reads it, the pipeline tells.
        "echo" | "printf" | "cat" | "tee" => return None,
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" => pattern(&simple.words),
        "git" | "gh" => message(&simple.words),
        _ => None,
    };
    let words = simple.words.iter().enumerate();
    let shown = words
        .filter(|(at, _)| Some(*at) != text_at)
        .map(|(_, word)| word);
    of_texts(shown).or_else(|| of_texts(script.documents_of(simple)))
}

/// `echo '…' | psql`
pub(super) fn of_pipeline(pipeline: &[Simple], script: &Script) -> Option<&'static str> {
    let client = |simple: &Simple| {
        let started = started(&simple.words);
        started.iter().any(|words| CLIENTS.contains(&&*name(words)))
    };
    let reader = pipeline.iter().rposition(client)?;
    pipeline[..reader].iter().find_map(|simple| {
        of_texts(simple.words.iter()).or_else(|| of_texts(script.documents_of(simple)))
    })
}

/// What grep looks for.
fn pattern(words: &[String]) -> Option<usize> {
    let at = words
        .iter()
        .skip(1)
        .position(|word| !word.starts_with('-'))?;
    Some(at + 1)
}

/// What a commit says.
fn message(words: &[String]) -> Option<usize> {
    let at = words.iter().position(|word| {
        matches!(word.as_str(), "--message" | "--body" | "--title")
            || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('m'))
    })?;
    Some(at + 1)
}

fn of_texts<'t>(texts: impl Iterator<Item = &'t String> + Clone) -> Option<&'static str> {
    if !texts.clone().any(|text| mentions_verb(text)) {
        return None;
    }
    let words: Vec<String> = texts.flat_map(|text| statements(text)).collect();
    let (mut next, mut after) = ("", "");
    // From behind, so that it is known at every word whether a condition follows.
    let mut limited = false;
    let mut found = None;
    for word in words.iter().rev() {
        match word.as_str() {
            ";" => limited = false,
            "where" => limited = true,
            "drop" if matches!(next, "table" | "database") => found = Some("SQL DROP"),
            "truncate" if is_name(next) => found = Some("SQL TRUNCATE"),
            "delete" if next == "from" && is_name(after) && !limited => {
                found = Some("SQL DELETE without WHERE");
            }
            _ => {}
        }
        (after, next) = (next, word);
    }
    found
}

/// In lower case, with the ends of statements and lines as words of their own.
fn statements(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace(['\n', ';'], " ; ").to_lowercase();
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'', '(', ')', '`']).to_owned())
        .collect();
    words.into_iter()
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c == '_' || c.is_alphanumeric())
}

/// Whether it is worth reading as statements. In one pass: it is asked of every word of every command.
fn mentions_verb(text: &str) -> bool {
    let bytes = text.as_bytes();
    let begins = |at: usize, verb: &str| {
        let word = bytes.get(at..at + verb.len());
        word.is_some_and(|word| word.eq_ignore_ascii_case(verb.as_bytes()))
    };
    bytes.iter().enumerate().any(|(at, byte)| match byte {
        b'd' | b'D' => begins(at, "drop") || begins(at, "delete"),
        b't' | b'T' => begins(at, "truncate"),
        _ => false,
    })
}
