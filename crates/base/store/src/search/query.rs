//! What a person typed, understood as words, phrases and operators, and written down again in a
//! form FTS5 always accepts.

/// Longer queries are cut: nobody types them, and the work stays bounded.
const MAX_CHARS: usize = 2048;
const MAX_TERMS: usize = 64;
/// The trigram index knows nothing shorter.
pub(super) const TRIGRAM: usize = 3;

#[derive(Debug, PartialEq)]
pub(super) struct Query {
    terms: Vec<Term>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Term {
    pub text: String,
    /// How it is joined to the terms before it; of no meaning for the first.
    pub join: Join,
    pub ending: Ending,
}

#[derive(Debug, PartialEq)]
pub(super) enum Ending {
    Closed,
    /// `deploy*` also finds `deployment`.
    Open,
    /// An open ending, spelled out as the words it stands for.
    OneOf(Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum Join {
    And,
    Or,
    Not,
}

/// Where to look.
#[derive(Debug, PartialEq)]
pub(super) enum Route {
    /// In the index of words.
    Words,
    /// In the index of three-letter pieces: scripts without spaces.
    Trigrams,
    /// Through the text itself: a piece too short for any index.
    Short,
}

impl Query {
    /// Nothing, if there is nothing to look for.
    pub fn parse(text: &str) -> Option<Self> {
        let mut terms: Vec<Term> = Vec::new();
        let mut join = Join::And;
        for token in tokens(text) {
            let operator = match token.as_str() {
                "AND" => Some(Join::And),
                "OR" => Some(Join::Or),
                "NOT" => Some(Join::Not),
                _ => None,
            };
            if let Some(operator) = operator {
                // "a AND NOT b" means "a NOT b": the strongest word counts.
                join = if operator > join { operator } else { join };
                continue;
            }
            if let Some((text, ending)) = searchable(&token)
                && terms.len() < MAX_TERMS
            {
                terms.push(Term { text, join, ending });
            }
            join = Join::And;
        }
        (!terms.is_empty()).then_some(Self { terms })
    }

    pub fn route(&self) -> Route {
        let mut route = Route::Words;
        for term in &self.terms {
            match term.text.chars().filter(|c| is_cjk(*c)).count() {
                0 => {}
                1..TRIGRAM => return Route::Short,
                _ => route = Route::Trigrams,
            }
        }
        route
    }

    pub fn terms_mut(&mut self) -> impl Iterator<Item = &mut Term> {
        self.terms.iter_mut()
    }

    /// The query for the index of words.
    pub fn words(&self) -> String {
        written(self.terms.iter().map(|term| {
            let text = match &term.ending {
                Ending::Closed => quoted(&term.text),
                Ending::Open => format!("{}*", quoted(&term.text)),
                Ending::OneOf(words) => {
                    let words: Vec<String> = words.iter().map(|w| quoted(w)).collect();
                    format!("({})", words.join(" OR "))
                }
            };
            (term.join, text)
        }))
    }

    /// The query for the index of three-letter pieces. Shorter words cannot be looked up there and
    /// only count in the ranking.
    pub fn trigrams(&self) -> Option<String> {
        let mut long = self
            .terms
            .iter()
            .filter(|t| t.text.chars().count() >= TRIGRAM)
            .peekable();
        if self.terms.len() > 1 && long.peek()?.join == Join::Not {
            return None;
        }
        long.peek()?;
        Some(written(long.map(|t| (t.join, quoted(&t.text)))))
    }

    /// For a query in two scripts, all of whose terms must be there: the part for the index of
    /// three-letter pieces, and the plain words, in lower case. The pieces of ordinary words are in
    /// every message, so looking those up is the slow part.
    pub fn mixed(&self) -> Option<(String, Vec<String>)> {
        let (cjk, words): (Vec<&Term>, Vec<&Term>) = self
            .terms
            .iter()
            .partition(|term| term.text.contains(is_cjk));
        let plain = |term: &&Term| term.text.is_ascii() && term.ending == Ending::Closed;
        let all_needed = self.terms.iter().skip(1).all(|t| t.join == Join::And);
        if cjk.is_empty() || words.is_empty() || !all_needed || !words.iter().all(plain) {
            return None;
        }
        let pieces = written(cjk.into_iter().map(|t| (t.join, quoted(&t.text))));
        let words = words.into_iter().map(|t| t.text.to_lowercase());
        Some((pieces, words.collect()))
    }

    /// What must, or at least may, be there, in lower case.
    pub fn wanted(&self) -> Vec<String> {
        let wanted = |(index, term): &(usize, &Term)| *index == 0 || term.join != Join::Not;
        let terms = self.terms.iter().enumerate().filter(wanted);
        terms.map(|(_, term)| term.text.to_lowercase()).collect()
    }

    /// What must not be there, in lower case.
    pub fn unwanted(&self) -> Vec<String> {
        let terms = self.terms.iter().skip(1).filter(|t| t.join == Join::Not);
        terms.map(|term| term.text.to_lowercase()).collect()
    }
}

/// A string FTS5 takes literally, whatever is in it.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn written(terms: impl Iterator<Item = (Join, String)>) -> String {
    let mut query = String::new();
    for (join, term) in terms {
        if !query.is_empty() {
            query.push_str(match join {
                Join::And => " AND ",
                Join::Or => " OR ",
                Join::Not => " NOT ",
            });
        }
        query.push_str(&term);
    }
    query
}

/// Words, and quoted phrases with one leading quote to tell them from operators.
fn tokens(text: &str) -> Vec<String> {
    let text: String = text.chars().take(MAX_CHARS).collect();
    let mut tokens = Vec::new();
    let mut rest = text.as_str();
    while let Some(quote) = rest.find('"') {
        tokens.extend(words(&rest[..quote]));
        let after = &rest[quote + 1..];
        match after.find('"') {
            Some(end) => {
                tokens.push(format!("\"{}", &after[..end]));
                rest = &after[end + 1..];
            }
            None => rest = after, // a stray quote is no more than a space
        }
    }
    tokens.extend(words(rest));
    tokens
}

/// Characters with a meaning for FTS5 part words; dots and hyphens stay inside, so that
/// `my-app.config` is looked up as the phrase it is.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| c.is_whitespace() || c.is_control() || "+{}():^".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
}

/// The part of a token that can be found in an index, and whether more may follow it.
fn searchable(token: &str) -> Option<(String, Ending)> {
    let (text, ending) = match token.strip_prefix('"') {
        Some(phrase) => (phrase, Ending::Closed),
        None if token.ends_with('*') => (token.trim_matches('*'), Ending::Open),
        None => (token.trim_start_matches('*'), Ending::Closed),
    };
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let text = text.trim();
    text.contains(char::is_alphanumeric)
        .then(|| (text.to_owned(), ending))
}

/// Chinese, Japanese and Korean letters and punctuation.
fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3000}'..='\u{303f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{2a6df}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_written_for_fts5() {
        let check = |text: &str, expected: &str| {
            let query = Query::parse(text).map(|q| q.words()).unwrap_or_default();
            assert_eq!(query, expected, "{text}");
        };
        check("docker deploy", r#""docker" AND "deploy""#);
        check("docker OR podman", r#""docker" OR "podman""#);
        check("python AND NOT java", r#""python" NOT "java""#);
        check("salt and pepper", r#""salt" AND "and" AND "pepper""#);
        check("AND hello OR", r#""hello""#);
        check("NOT hello", r#""hello""#);
        check("deploy*", r#""deploy"*"#);
        check("***deploy***", r#""deploy"*"#);
        check("chat-send P2.2 a_b", r#""chat-send" AND "P2.2" AND "a_b""#);
        check(r#""exact phrase" x"#, r#""exact phrase" AND "x""#);
        check(r#"un"balanced"#, r#""un" AND "balanced""#);
        check(r#""OR""#, r#""OR""#);
        check(
            "TODO: fix (now) {x}^2",
            r#""TODO" AND "fix" AND "now" AND "x" AND "2""#,
        );
        check("a\0b", r#""a" AND "b""#);
        check("- ... !", "");
        check("\"\" \"  \"", "");
        check("", "");
    }

    #[test]
    fn scripts_choose_the_index() {
        let check = |text: &str, expected| {
            assert_eq!(Query::parse(text).unwrap().route(), expected, "{text}");
        };
        check("plain words", Route::Words);
        check("über naïve", Route::Words);
        check("大别山项目", Route::Trigrams);
        check("docker 容器化部署", Route::Trigrams);
        check("广西 OR 桂林", Route::Short);
        check("山", Route::Short);
        check("한국어 검색", Route::Short);
        check("カタカナ", Route::Trigrams);
    }

    #[test]
    fn short_words_are_left_out_of_trigrams() {
        let check = |text: &str, expected: Option<&str>| {
            let found = Query::parse(text).unwrap().trigrams();
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("大别山项目 go", Some(r#""大别山项目""#));
        check("go 大别山 OR 桂林市", Some(r#""大别山" OR "桂林市""#));
        check("go NOT 大别山", None);
        check("go", None);
    }

    #[test]
    fn two_scripts_are_parted() {
        let check = |text: &str, expected: Option<(&str, &[&str])>| {
            let found = Query::parse(text).unwrap().mixed();
            let expected = expected.map(|(pieces, words)| {
                let words = words.iter().map(|w| (*w).to_owned()).collect();
                (pieces.to_owned(), words)
            });
            assert_eq!(found, expected, "{text}");
        };
        check(
            "Docker 容器化部署 go",
            Some((r#""容器化部署""#, &["docker", "go"])),
        );
        check(
            "大别山 AND 项目组 x",
            Some((r#""大别山" AND "项目组""#, &["x"])),
        );
        check("docker OR 容器化部署", None);
        check("docker* 容器化部署", None);
        check("über 容器化部署", None);
        check("容器化部署", None);
        check("docker", None);
    }
}
