//! What a skill might be up to: patterns in its texts, oddities of its files, and what follows from them for whom.
//! A warning system against careless or hostile authors, not a wall.

mod patterns;
mod tree;

pub use tree::{Entry, Tree};

use std::fmt;

use patterns::lines;
pub(crate) use patterns::orders;

/// At most this many findings are told; more change nothing.
const MAX_FINDINGS: usize = 200;
const MAX_FILES: usize = 50;
const MAX_TOTAL: u64 = 1024 * 1024;
const MAX_FILE: u64 = 256 * 1024;
const BINARY: [&str; 12] = [
    "exe", "dll", "so", "dylib", "bin", "dat", "com", "msi", "dmg", "app", "deb", "rpm",
];
/// What may be executable.
const SCRIPTS: [&str; 8] = ["sh", "bash", "py", "rb", "js", "ts", "pl", "php"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

/// Something that was seen, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub id: &'static str,
    pub severity: Severity,
    pub category: &'static str,
    pub file: String,
    /// From 1; 0: the file as a whole.
    pub line: usize,
    /// The beginning of what matched.
    pub text: String,
    pub description: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Safe,
    Caution,
    Dangerous,
}

/// How far an author is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    Builtin,
    Trusted,
    Community,
    AgentCreated,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    Allow,
    /// Somebody must say yes; without anybody it is a no.
    Ask,
    Block,
}

/// Repositories whose authors are known.
const TRUSTED: [&str; 4] = [
    "openai/skills",
    "anthropics/skills",
    "huggingface/skills",
    "nvidia/skills",
];
/// What may stand before a repository.
const ROUTES: [&str; 4] = ["skills-sh", "github", "hermes-index", "claude-marketplace"];

impl Trust {
    /// By where a skill comes from, such as `owner/repo/path` or `official/…`.
    pub fn of(source: &str) -> Self {
        let mut parts = source.trim_matches('/').split('/').peekable();
        if parts.peek().is_some_and(|first| ROUTES.contains(first)) {
            parts.next();
        }
        let (first, second) = (parts.next().unwrap_or_default(), parts.next());
        match (first, second) {
            ("agent-created", _) => Self::AgentCreated,
            ("official", _) => Self::Builtin,
            (owner, Some(repo)) => {
                let whole = format!("{owner}/{repo}").to_lowercase();
                if TRUSTED.contains(&whole.as_str()) {
                    Self::Trusted
                } else {
                    Self::Community
                }
            }
            _ => Self::Community,
        }
    }

    pub fn rule(self, verdict: Verdict) -> Ruling {
        match (self, verdict) {
            (_, Verdict::Safe) | (Self::Builtin, _) => Ruling::Allow,
            (Self::Trusted | Self::AgentCreated, Verdict::Caution) => Ruling::Allow,
            (Self::AgentCreated, Verdict::Dangerous) => Ruling::Ask,
            (Self::Trusted, Verdict::Dangerous) | (Self::Community, _) => Ruling::Block,
        }
    }
}

impl Verdict {
    pub fn of(findings: &[Finding]) -> Self {
        let worst = findings.iter().map(|finding| finding.severity).max();
        match worst {
            None => Self::Safe,
            Some(Severity::Critical) => Self::Dangerous,
            Some(_) => Self::Caution,
        }
    }
}

/// Everything that is odd about a skill, the worst first.
pub fn scan(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = structure(tree);
    for (path, entry) in &tree.entries {
        if let Entry::File {
            text: Some(text), ..
        } = entry
        {
            findings.extend(lines(path, text));
        }
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings.truncate(MAX_FINDINGS);
    findings
}

fn structure(tree: &Tree) -> Vec<Finding> {
    let count = tree.entries.len();
    let whole = [
        (count > MAX_FILES).then(|| odd(&TOO_MANY, "", count)),
        (tree.total() > MAX_TOTAL).then(|| odd(&TOO_LARGE, "", tree.total())),
    ];
    let files = tree.entries.iter();
    let files = files.flat_map(|(path, entry)| oddities(path, entry));
    whole.into_iter().flatten().chain(files).collect()
}

/// A kind of oddity: its id, how bad it is, and what it is.
type Oddity = (&'static str, Severity, &'static str);

const TOO_MANY: Oddity = (
    "too_many_files",
    Severity::Medium,
    "more files than a skill needs",
);
const TOO_LARGE: Oddity = (
    "oversized_skill",
    Severity::High,
    "larger than a skill needs to be",
);
const ESCAPE: Oddity = (
    "symlink_escape",
    Severity::Critical,
    "a link that leads out of the skill",
);
const BROKEN: Oddity = (
    "broken_symlink",
    Severity::Medium,
    "a link that leads nowhere",
);
const PROGRAM: Oddity = (
    "binary_file",
    Severity::Critical,
    "a program nobody can read",
);
const LARGE: Oddity = ("oversized_file", Severity::Medium, "a large file");
const EXECUTABLE: Oddity = (
    "unexpected_executable",
    Severity::Medium,
    "executable, but no script",
);

fn oddities(path: &str, entry: &Entry) -> Vec<Finding> {
    let end = path.rsplit_once('.').map_or("", |(_, end)| end);
    let end = end.to_lowercase();
    let (size, executable) = match entry {
        Entry::Escaping(target) => return vec![odd(&ESCAPE, path, target)],
        Entry::Broken(target) => return vec![odd(&BROKEN, path, target)],
        Entry::File {
            size, executable, ..
        } => (*size, *executable),
    };
    let is = |ends: &[&str]| ends.contains(&end.as_str());
    let found = [
        is(&BINARY).then(|| odd(&PROGRAM, path, &end)),
        (size > MAX_FILE).then(|| odd(&LARGE, path, size)),
        (executable && !is(&SCRIPTS)).then(|| odd(&EXECUTABLE, path, "")),
    ];
    found.into_iter().flatten().collect()
}

fn odd((id, severity, description): &Oddity, file: &str, text: impl fmt::Display) -> Finding {
    Finding {
        id,
        severity: *severity,
        category: "structural",
        file: file.to_owned(),
        line: 0,
        text: text.to_string(),
        description,
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Safe => "safe",
            Self::Caution => "caution",
            Self::Dangerous => "dangerous",
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.severity, self.id, self.description)?;
        if !self.file.is_empty() {
            write!(f, " ({}", self.file)?;
            if self.line > 0 {
                write!(f, ":{}", self.line)?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
