//! Websites the owner does not want visited: `security.website_blocklist`.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use url::Url;

use super::url::bare;

/// Files others may change are read again after this time.
const FRESH: Duration = Duration::from_secs(30);
/// Of a larger one, only the beginning counts.
const MAX_FILE: u64 = 4 << 20;

/// Rules from the settings and from files that several programs share.
#[derive(Debug)]
pub struct Blocklist {
    own: Vec<Rule>,
    files: Vec<PathBuf>,
    read: Mutex<Option<Reading>>,
}

/// Which rule a page meets. Tools hand it on as `blocked_by_policy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Blocked {
    pub url: String,
    pub host: String,
    pub rule: String,
    /// `config`, or the file.
    pub source: String,
    pub message: String,
}

impl std::error::Error for Blocked {}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[derive(Debug)]
struct Rule {
    /// A host, perhaps with `*` in it.
    pattern: String,
    source: Arc<str>,
}

/// What the files said last.
#[derive(Debug)]
struct Reading {
    at: Instant,
    rules: Arc<[Rule]>,
    /// Those that could not be read: told once.
    failed: Vec<PathBuf>,
}

impl Blocklist {
    /// `domains` as in the settings; `files` have one rule per line.
    pub fn new(domains: &[String], files: Vec<PathBuf>) -> Self {
        Self {
            own: rules(domains.iter().map(String::as_str), &"config".into()).collect(),
            files,
            read: Mutex::default(),
        }
    }

    /// What stands against a page. A file that cannot be read says nothing.
    pub fn check(&self, url: &Url) -> Result<(), Blocked> {
        self.check_at(url, Instant::now())
    }

    fn check_at(&self, url: &Url, now: Instant) -> Result<(), Blocked> {
        let host = bare(url.host_str().unwrap_or_default());
        let shared = self.shared(now);
        let rule = self
            .own
            .iter()
            .chain(shared.iter())
            .find(|rule| rule.meets(host));
        let Some(rule) = rule else {
            return Ok(());
        };
        let (pattern, source) = (&rule.pattern, &rule.source);
        Err(Blocked {
            url: url.to_string(),
            host: host.to_owned(),
            rule: pattern.clone(),
            source: source.to_string(),
            message: format!(
                "{host} is blocked by the website policy (rule '{pattern}' of {source})"
            ),
        })
    }

    fn shared(&self, now: Instant) -> Arc<[Rule]> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*read
            && now.saturating_duration_since(last.at) < FRESH
        {
            return last.rules.clone();
        }
        let told = read.take().map(|last| last.failed).unwrap_or_default();
        let mut reading = Reading {
            at: now,
            rules: Arc::default(),
            failed: Vec::new(),
        };
        let mut found = Vec::new();
        for file in &self.files {
            match text_of(file) {
                Ok(text) => found.extend(rules(text.lines(), &file.to_string_lossy().into())),
                Err(error) => {
                    if !told.contains(file) {
                        tracing::warn!("website blocklist {}: {error}", file.display());
                    }
                    reading.failed.push(file.clone());
                }
            }
        }
        reading.rules = found.into();
        read.insert(reading).rules.clone()
    }
}

impl Rule {
    /// A host is met with all below it, unless stars say what exactly is meant.
    fn meets(&self, host: &str) -> bool {
        if self.pattern.contains('*') {
            return fits(&self.pattern, host);
        }
        let below = host.strip_suffix(self.pattern.as_str());
        below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
    }
}

fn text_of(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(file)?.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn rules<'t>(
    lines: impl Iterator<Item = &'t str>,
    source: &Arc<str>,
) -> impl Iterator<Item = Rule> {
    lines.filter_map(pattern).map(|pattern| Rule {
        pattern,
        source: source.clone(),
    })
}

/// `https://www.Example.com/path # why` is about `example.com`.
fn pattern(line: &str) -> Option<String> {
    let line = line.split('#').next()?.trim();
    let line = line.split_once("://").map_or(line, |(_, rest)| rest);
    let host = line.split(['/', '?']).next()?;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.to_lowercase();
    let (stars, host) = match host.rfind('*') {
        Some(at) => host.split_at(at + 1),
        None => ("", host.as_str()),
    };
    let (dot, host) = match host.strip_prefix('.') {
        Some(host) => (".", host),
        None => ("", host),
    };
    // As it stands in addresses: without a port, in the letters names are looked up by.
    let read = Url::parse(&format!("http://{host}")).ok();
    let read = read.as_ref().and_then(Url::host_str).unwrap_or(host);
    let read = bare(read);
    let read = read.strip_prefix("www.").unwrap_or(read);
    let pattern = format!("{stars}{}{read}", if stars.is_empty() { "" } else { dot });
    (!pattern.is_empty() && !pattern.contains(char::is_whitespace)).then_some(pattern)
}

/// Whether the pieces between the stars stand in the host in this order.
fn fits(pattern: &str, host: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = host.strip_prefix(pieces.next().unwrap_or_default()) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.split_once(piece) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(domains: &[&str]) -> Blocklist {
        let domains: Vec<String> = domains.iter().map(|text| (*text).to_owned()).collect();
        Blocklist::new(&domains, Vec::new())
    }

    #[track_caller]
    fn rule_for(list: &Blocklist, host: &str) -> Option<String> {
        let url = Url::parse(&format!("https://{host}/x")).unwrap();
        list.check(&url).err().map(|blocked| blocked.rule)
    }

    // spec: terminal-and-safety §13.20
    #[test]
    fn a_domain_with_all_below_it_or_only_what_is_below() {
        let list = list(&["example.com", "*.test.org"]);
        let check = |host: &str, expected: Option<&str>| {
            assert_eq!(rule_for(&list, host).as_deref(), expected, "{host}");
        };
        check("a.example.com", Some("example.com"));
        check("EXAMPLE.com.", Some("example.com"));
        check("notexample.com", None);
        check("example.com.evil.net", None);
        check("test.org", None);
        check("x.test.org", Some("*.test.org"));
        check("a.b.test.org", Some("*.test.org"));
        let url = Url::parse("https://a.example.com/x").unwrap();
        let blocked = serde_json::to_value(list.check(&url).unwrap_err()).unwrap();
        let expected = serde_json::json!({
            "url": "https://a.example.com/x",
            "host": "a.example.com",
            "rule": "example.com",
            "source": "config",
            "message": "a.example.com is blocked by the website policy (rule 'example.com' of config)",
        });
        assert_eq!(blocked, expected);
    }

    #[test]
    fn rules_are_read_as_people_write_them() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(pattern(line).as_deref(), expected, "{line:?}");
        };
        check(
            "https://www.Example.com:8080/path?q # why",
            Some("example.com"),
        );
        check("  # nothing", None);
        check("", None);
        check("bücher.example", Some("xn--bcher-kva.example"));
        check("*.Bücher.example.", Some("*.xn--bcher-kva.example"));
        check(".example.com", Some("example.com"));
        check("ads*.example.com", Some("ads*.example.com"));
        check("me@example.com", Some("example.com"));
        check("10.0.0.1", Some("10.0.0.1"));
        check("[::1]", Some("[::1]"));
        check("two words", None);
        assert!(fits("ads*.example.*", "ads7.example.net"));
        assert!(!fits("ads*.example.*", "bads7.example.net"));
        assert!(!fits("*a*a", "a"));
    }

    #[test]
    fn files_are_read_again_after_a_while_and_a_missing_one_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (file, missing) = (dir.path().join("shared"), dir.path().join("missing"));
        std::fs::write(&file, "# ours\nbad.test\n").unwrap();
        let list = Blocklist::new(&[], vec![missing, file.clone()]);
        let start = Instant::now();
        let check = |host: &str, seconds: u64, expected: bool| {
            let url = Url::parse(&format!("https://{host}/")).unwrap();
            let found = list.check_at(&url, start + Duration::from_secs(seconds));
            assert_eq!(found.is_err(), expected, "{host} after {seconds} s");
            found.err().map(|blocked| blocked.source)
        };
        assert_eq!(check("bad.test", 0, true).as_deref(), file.to_str());
        std::fs::write(&file, "worse.test\n").unwrap();
        check("worse.test", 29, false);
        check("bad.test", 29, true);
        check("worse.test", 31, true);
        check("bad.test", 31, false);
        std::fs::remove_file(&file).unwrap();
        check("worse.test", 62, false);
    }
}
