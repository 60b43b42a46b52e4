//! What is to be said against a command. The one function everything else goes through.

use std::collections::HashMap;
use std::path::PathBuf;

use super::shell::{self, Script, Simple};
use super::{danger, hardline, program, runs};
use crate::terminal::strip_ansi;

/// Longer commands are not looked at but refused; the kernel takes no longer argument anyway.
const MAX_CHARS: usize = 128_000;
/// A command with no separator at all is rarely this long unless it hides something.
const MAX_UNBROKEN: usize = 4_096;
const MAX_COMMANDS: usize = 25_000;
/// Shells started by shells started by shells.
const MAX_DEPTH: usize = 5;

const TOO_MUCH: &str = "command parser limit exceeded";
const MALFORMED: &str = "command parser limit or malformed executable payload";

/// Directories that commands name in several ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// What `~` means.
    pub user_home: PathBuf,
    /// HERMES_HOME.
    pub hermes_home: PathBuf,
    pub temp_dir: PathBuf,
}

/// Keys of what was found; empty for nearly every command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Never runs.
    pub hardline: Option<String>,
    /// Runs if the owner agrees.
    pub dangers: Vec<String>,
    /// The program names and words of all that would run, one command per line, for rules of the owner.
    pub lines: Vec<String>,
}

pub(super) fn look(command: &str, places: &Places) -> Findings {
    let mut findings = Findings::default();
    if command.chars().count() > MAX_CHARS {
        findings.hardline = Some(TOO_MUCH.to_owned());
        return findings;
    }
    let text = normalise(command);
    let mut seen = Seen {
        places,
        commands: 0,
        findings: &mut findings,
    };
    seen.script(&text, 0);
    if text.len() > MAX_UNBROKEN && !text.contains([';', '&', '|', '\n']) {
        findings.add(TOO_MUCH);
    }
    if !findings.dangers.is_empty() && exempt(command, places) {
        findings.dangers.clear();
    }
    findings
}

impl Findings {
    fn add(&mut self, key: &str) {
        if !self.dangers.iter().any(|known| known == key) {
            self.dangers.push(key.to_owned());
        }
    }
}

/// The walk through a command and all it starts.
struct Seen<'f> {
    places: &'f Places,
    commands: usize,
    findings: &'f mut Findings,
}

impl Seen<'_> {
    fn script(&mut self, text: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return self.findings.add(TOO_MUCH);
        }
        let mut script = shell::parse(text, &known());
        self.commands += script.pipelines.iter().map(Vec::len).sum::<usize>();
        if self.commands > MAX_COMMANDS {
            return self.findings.add(TOO_MUCH);
        }
        self.fold(&mut script);
        if hardline::fork_bomb(text) {
            self.forbid("fork bomb");
        }
        if script.malformed && text_runs_code(&script) {
            self.findings.add(MALFORMED);
        }
        for key in danger::of_script(&script) {
            self.findings.add(key);
        }
        for pipeline in &script.pipelines {
            self.pipeline(pipeline, depth);
        }
    }

    fn pipeline(&mut self, pipeline: &[Simple], depth: usize) {
        for simple in pipeline {
            self.simple(simple, depth);
        }
        if let Some(key) = danger::of_pipeline(pipeline) {
            self.findings.add(key);
        }
        for payload in runs::fed_to_shell(pipeline) {
            self.script(&payload, depth + 1);
        }
    }

    fn simple(&mut self, simple: &Simple, depth: usize) {
        self.findings.lines.push(danger::line(simple));
        for words in program::started(&simple.words) {
            if let Some(key) = hardline::of(words, &simple.redirects) {
                self.forbid(key);
            }
            if let Some(key) = runs::code(words, simple) {
                self.findings.add(&key);
            }
            for payload in runs::payloads(words, simple) {
                self.script(&payload, depth + 1);
            }
        }
        if let Some(key) = danger::of(simple) {
            self.findings.add(key);
        }
    }

    fn forbid(&mut self, key: &str) {
        self.findings.hardline.get_or_insert_with(|| key.to_owned());
    }

    fn fold(&self, script: &mut Script) {
        for simple in script.pipelines.iter_mut().flatten() {
            for word in &mut simple.words {
                *word = self.places.fold(word);
            }
            for (_, target) in &mut simple.redirects {
                *target = self.places.fold(target);
            }
        }
    }
}

impl Places {
    /// `/home/me/x` as `~/x`, and the Hermes home as `~/.hermes`, also behind `option=`.
    fn fold(&self, word: &str) -> String {
        let start = word.find('=').map_or(0, |i| i + 1);
        for start in [0, start] {
            let (before, path) = word.split_at(start);
            for (place, short) in [(&self.hermes_home, "~/.hermes"), (&self.user_home, "~")] {
                if place.iter().count() > 1
                    && let Some(rest) = place.to_str().and_then(|place| path.strip_prefix(place))
                    && (rest.is_empty() || rest.starts_with('/'))
                {
                    return format!("{before}{short}{rest}");
                }
            }
        }
        word.to_owned()
    }
}

fn known() -> HashMap<String, String> {
    [("HOME", "~"), ("HERMES_HOME", "~/.hermes")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// Takes away what only serves to look different: colours, NULs, full-width letters, `$IFS`.
fn normalise(command: &str) -> String {
    let mut text: String = strip_ansi(command)
        .chars()
        // The last range marks braces while reading; nobody has a use for it in a command.
        .filter(|c| *c != '\0' && !('\u{e000}'..='\u{e00f}').contains(c))
        .map(|c| match c {
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xff01 + 0x21).unwrap_or(c),
            '\u{3000}' | '\u{a0}' => ' ',
            c => c,
        })
        .collect();
    while let Some(start) = text.find("${IFS") {
        let end = text[start..]
            .find('}')
            .map_or(text.len(), |i| start + i + 1);
        text.replace_range(start..end, " ");
    }
    text.replace("$IFS", " ")
}

fn text_runs_code(script: &Script) -> bool {
    let mut commands = script.pipelines.iter().flatten();
    commands.any(|simple| {
        program::started(&simple.words)
            .iter()
            .any(|words| runs::is_interpreter(words))
    })
}

/// Clearing away exactly one of the files the verifier makes.
fn exempt(command: &str, places: &Places) -> bool {
    let script = shell::parse(command, &known());
    let [pipeline] = script.pipelines.as_slice() else {
        return false;
    };
    let [simple] = pipeline.as_slice() else {
        return false;
    };
    let [rm, force, path] = simple.words.as_slice() else {
        return false;
    };
    let name = places
        .temp_dir
        .to_str()
        .and_then(|temp| path.strip_prefix(temp)?.strip_prefix('/'));
    let made = |name: &str| {
        let rest = name
            .strip_prefix("hermes-verify-")
            .or_else(|| name.strip_prefix("hermes-ad-hoc-"));
        rest.is_some_and(|rest| {
            !rest.is_empty()
                && rest
                    .chars()
                    .all(|c| c.is_alphanumeric() || "_.-".contains(c))
        })
    };
    rm == "rm"
        && force == "-f"
        && simple.redirects.is_empty()
        && !script.malformed
        && name.is_some_and(made)
}
