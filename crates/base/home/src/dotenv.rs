//! The home's `.env`: secrets as `KEY=value` lines.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::{Env, Error, FileLock, Home, Result, envvars, write};

/// The file's lines, kept as they are; only the touched line of an edit changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotEnv {
    lines: Vec<String>,
}

impl DotEnv {
    /// An absent file is an empty one.
    pub fn load(path: &Path) -> Result<Self> {
        match fs::read(path) {
            Ok(bytes) => Ok(Self::parse(&decode(&bytes))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::io("read", path)(error)),
        }
    }

    pub fn parse(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            lines: text.lines().map(str::to_owned).collect(),
        }
    }

    pub fn text(&self) -> String {
        self.lines
            .iter()
            .flat_map(|line| [line.as_str(), "\n"])
            .collect()
    }

    /// The assignments in order; a later one of the same name wins.
    pub fn vars(&self) -> impl Iterator<Item = (String, String)> {
        self.lines
            .iter()
            .filter_map(|line| assignment(line))
            .map(|(name, value)| (name.to_owned(), unquote(value)))
    }

    pub fn get(&self, name: &str) -> Option<String> {
        self.vars()
            .filter(|(known, _)| known == name)
            .last()
            .map(|(_, value)| value)
    }

    /// Replaces the first line that sets `name`, drops further ones, or appends.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        check_name(name)?;
        let line = format!("{name}={}", quote_if_needed(value));
        match self.lines.iter().position(|line| sets(line, name)) {
            Some(first) => {
                self.lines[first] = line;
                let mut index = 0;
                self.lines.retain(|line| {
                    index += 1;
                    index - 1 <= first || !sets(line, name)
                });
            }
            None => self.lines.push(line),
        }
        Ok(())
    }

    /// Drops every line that sets `name`; true if there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.lines.len();
        self.lines.retain(|line| !sets(line, name));
        self.lines.len() < before
    }

    /// Splits lines in which several known assignments were glued together by a bad paste.
    pub fn repair(&mut self) -> bool {
        let lines: Vec<_> = self.lines.iter().flat_map(|line| unglue(line)).collect();
        let changed = lines != self.lines;
        self.lines = lines;
        changed
    }
}

/// Lays the file over the environment; what was odd about it comes back as warnings.
///
/// The file wins over the shell, because a stale export is the more common mistake;
/// `HERMES_ENV_PRECEDENCE=process` turns that round for service managers.
pub fn overlay(home: &Home, env: &mut Env) -> Vec<String> {
    let path = home.env_path();
    let mut warnings = Vec::new();
    let mut file = match DotEnv::load(&path) {
        Ok(file) => file,
        Err(error) => return vec![error.to_string()],
    };
    if file.repair()
        && let Err(error) = edit(home, |file| Ok(file.repair()))
    {
        warnings.push(format!(
            "{} has several assignments on one line: {error}",
            path.display()
        ));
    }
    let process_wins = env.filled("HERMES_ENV_PRECEDENCE") == Some("process");
    let mut stripped = BTreeSet::new();
    for (name, mut value) in file.vars() {
        if process_wins && env.get(&name).is_some() {
            continue;
        }
        if envvars::is_credential(&name) && !value.is_ascii() {
            value.retain(|c| c.is_ascii());
            stripped.insert(name.clone());
        }
        env.set(name, value);
    }
    warnings.extend(stripped.iter().map(|name| {
        format!("{name} in {} had characters no key can have (a copy-paste artefact?); they are ignored", path.display())
    }));
    warnings
}

/// Changes the file under its lock, atomically; written only if `change` says something changed.
pub fn edit(home: &Home, change: impl FnOnce(&mut DotEnv) -> Result<bool>) -> Result<()> {
    home.writable()?;
    let path = home.env_path();
    let _lock = FileLock::for_file(&path)?;
    let mut file = DotEnv::load(&path)?;
    if change(&mut file)? {
        write::replace_secret(&path, file.text(), home.modes())?;
    }
    Ok(())
}

/// Stores one variable.
pub fn save(home: &Home, name: &str, value: &str) -> Result<()> {
    edit(home, |file| file.set(name, value).map(|()| true))
}

fn check_name(name: &str) -> Result<()> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts_well && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "'{name}' cannot be a variable: use letters, digits and underscores"
    )))
}

/// Invalid UTF-8 is taken for Latin-1, as the Python program does.
fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    if line.starts_with('#') {
        return None;
    }
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    check_name(name).ok()?;
    Some((name, value.trim()))
}

fn sets(line: &str, name: &str) -> bool {
    assignment(line).is_some_and(|(known, _)| known == name)
}

/// The value as the shell would see it: quotes removed, a comment after blank space cut off.
fn unquote(value: &str) -> String {
    match value.chars().next() {
        Some('\'') => value[1..].split('\'').next().unwrap_or_default().to_owned(),
        Some('"') => unescape(&value[1..]),
        _ => {
            let comment = value.char_indices().find(|(at, c)| {
                *c == '#' && (*at == 0 || value[..*at].ends_with(char::is_whitespace))
            });
            value[..comment.map_or(value.len(), |(at, _)| at)]
                .trim_end()
                .to_owned()
        }
    }
}

fn unescape(quoted: &str) -> String {
    let mut out = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some(c @ ('"' | '\\' | '$')) => out.push(c),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

/// Bare where that reads back the same; line breaks never reach the file.
fn quote_if_needed(value: &str) -> String {
    let value: String = value
        .chars()
        .filter(|c| !matches!(c, '\n' | '\r'))
        .collect();
    if unquote(&value) == value && value.trim() == value {
        return value;
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// One line per known `NAME=`; a name that is the tail of a longer known one doesn't count.
fn unglue(line: &str) -> Vec<String> {
    if assignment(line).is_none() || line.matches('=').count() < 2 {
        return vec![line.to_owned()];
    }
    let mut starts: Vec<(usize, usize)> = envvars::storable()
        .flat_map(|var| {
            line.match_indices(var.name)
                .map(|(at, name)| (at, at + name.len()))
        })
        .filter(|(_, end)| line[*end..].starts_with('='))
        .collect();
    let inside_longer = |start: &(usize, usize)| {
        starts
            .iter()
            .any(|other| other.1 == start.1 && other.0 < start.0)
    };
    let mut cuts: Vec<usize> = starts
        .iter()
        .filter(|start| !inside_longer(start))
        .map(|start| start.0)
        .collect();
    cuts.sort_unstable();
    starts.clear();
    let lead = cuts.first().map_or("", |first| &line[..*first]);
    // A URL or a comment may mention a name; only a line that begins with one is a glued line.
    if cuts.len() < 2 || !matches!(lead.trim(), "" | "export") {
        return vec![line.to_owned()];
    }
    let ends = cuts.iter().skip(1).copied().chain([line.len()]);
    let mut lines: Vec<String> = cuts
        .iter()
        .zip(ends)
        .map(|(start, end)| line[*start..end].trim_end().to_owned())
        .collect();
    lines[0].insert_str(0, lead);
    lines
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_read_as_a_shell_would() {
        let check = |line: &str, expected: Option<(&str, &str)>| {
            let vars: Vec<_> = DotEnv::parse(line).vars().collect();
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(n, v)| (n.to_owned(), v.to_owned()))
                .collect();
            assert_eq!(vars, expected, "{line:?}");
        };
        check("A=1", Some(("A", "1")));
        check("\u{feff}A=1\r", Some(("A", "1")));
        check("  export A = b c  ", Some(("A", "b c")));
        check("A=a#b # note", Some(("A", "a#b")));
        check("A=#gone", Some(("A", "")));
        check("A='x # \"y' # c", Some(("A", "x # \"y")));
        check(
            r#"A="l1\nl2 \"q\" \\ \z" tail"#,
            Some(("A", "l1\nl2 \"q\" \\ \\z")),
        );
        check("A=b=c", Some(("A", "b=c")));
        check("# A=1", None);
        check("no assignment", None);
        check("1A=x", None);
        check("", None);
    }

    #[test]
    fn setting_keeps_everything_else() {
        let mut file = DotEnv::parse("# keys\nA=1\n\nB=2 # two\nexport A=old\n");
        file.set("A", "9").unwrap();
        file.set("C", "has space # and hash").unwrap();
        assert_eq!(
            file.text(),
            "# keys\nA=9\n\nB=2 # two\nC=\"has space # and hash\"\n"
        );
        assert!(file.remove("B"));
        assert!(!file.remove("B"));
        assert!(file.set("bad name", "x").is_err());
    }

    // spec: state §13.4
    #[test]
    fn glued_lines_are_split_at_known_names_only() {
        let check = |line: &str, expected: &[&str]| {
            let mut file = DotEnv::parse(line);
            assert_eq!(file.repair(), expected.len() > 1, "{line}");
            assert_eq!(file.lines, expected, "{line}");
        };
        check(
            "OPENAI_API_KEY=aTELEGRAM_BOT_TOKEN=b",
            &["OPENAI_API_KEY=a", "TELEGRAM_BOT_TOKEN=b"],
        );
        check(
            "KIMI_CN_API_KEY=aGLM_API_KEY=b",
            &["KIMI_CN_API_KEY=a", "GLM_API_KEY=b"],
        );
        check(
            "X=http://h/?OPENAI_API_KEY=a&GLM_API_KEY=b",
            &["X=http://h/?OPENAI_API_KEY=a&GLM_API_KEY=b"],
        );
        check(
            "# OPENAI_API_KEY=aGLM_API_KEY=b",
            &["# OPENAI_API_KEY=aGLM_API_KEY=b"],
        );
        check("OPENAI_API_KEY=abc==", &["OPENAI_API_KEY=abc=="]);
    }

    #[test]
    fn latin_1_is_read_rather_than_lost() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".env");
        fs::write(&path, b"NAME=caf\xe9\n").unwrap();
        assert_eq!(
            DotEnv::load(&path).unwrap().get("NAME").as_deref(),
            Some("café")
        );
    }

    proptest! {
        #[test]
        fn what_is_set_is_read_back(value in "\\PC{0,40}") {
            let mut file = DotEnv::default();
            file.set("A", &value).unwrap();
            let kept: String = value.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
            prop_assert_eq!(DotEnv::parse(&file.text()).get("A"), Some(kept));
        }
    }
}
