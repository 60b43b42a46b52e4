//! What is to be said against a command. The one function everything else goes through.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::danger::{self, Together};
use crate::runs::{self, Place};
use crate::shell::{self, MARKS, Script, Simple};
use crate::{hardline, program};
use hermes_proc::strip_ansi;
use icu_normalizer::ComposingNormalizerBorrowed;

/// Longer commands are not looked at but refused; the kernel takes no longer argument anyway.
const MAX_CHARS: usize = 128_000;
/// A command with no separator at all is rarely this long unless it hides something.
const MAX_UNBROKEN: usize = 4_096;
const MAX_COMMANDS: usize = 25_000;
/// Shells started by shells started by shells.
const MAX_DEPTH: usize = 5;
/// Characters to look at for each one of the command, texts in texts and both spellings included.
const MAX_STEPS_EACH: usize = 40;
/// And for any command.
const MAX_STEPS: usize = 1 << 20;

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
#[derive(Debug, Default)]
pub struct Findings {
    /// Never runs.
    pub hardline: Option<String>,
    /// Runs if the owner agrees. Not looked for any further in what never runs.
    pub dangers: Vec<String>,
    /// `sudo -S`: it waits for a password where the command's data comes from.
    pub sudo_reads_input: bool,
    /// A quote, a parenthesis or a document was never closed: a shell would wait for more, or refuse it.
    pub unfinished: bool,
    /// Characters looked at until this was known.
    pub steps: usize,
    /// All that was read, texts inside texts too.
    scripts: Vec<Script>,
}

/// Looks at a command and at all it would start.
pub fn look(command: &str, places: &Places) -> Findings {
    let mut findings = Findings::default();
    if is_too_long(command) {
        findings.hardline = Some(TOO_MUCH.to_owned());
        return findings;
    }
    let mut seen = Seen {
        places: Spelled::new(places),
        most: MAX_STEPS + MAX_STEPS_EACH * command.len(),
        expanded: 0,
        commands: 0,
        interprets: false,
        unfollowed: false,
        findings: &mut findings,
    };
    let literal = literal(command);
    seen.script(&literal, Vec::new(), 0, Place::Here);
    let folded = folded(&literal);
    if !seen.is_settled() && folded != literal {
        // One character can become eighteen.
        match is_too_long(&folded) {
            true => seen.forbid(TOO_MUCH, Place::Here),
            false => seen.script(&folded, Vec::new(), 0, Place::Here),
        }
    }
    if literal.len() > MAX_UNBROKEN && !literal.contains([';', '&', '|', '\n']) {
        seen.unfollowed = true;
    }
    seen.conclude();
    if !findings.dangers.is_empty() && exempt(&findings, places) {
        findings.dangers.clear();
    }
    findings
}

impl Findings {
    /// Every program that would be started, as it is called.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let started = self.started();
        started.filter_map(|words| words.first().map(String::as_str))
    }

    /// The words of every program that would be started.
    pub fn started(&self) -> impl Iterator<Item = &[String]> {
        let commands = self.scripts.iter().flat_map(Script::commands);
        commands.flat_map(|simple| program::started(&simple.words))
    }

    /// The files a `>` would empty first. What is no file, such as another output, is not among them.
    pub fn overwritten(&self) -> impl Iterator<Item = &str> {
        let commands = self.scripts.iter().flat_map(Script::commands);
        let redirects = commands.flat_map(|simple| &simple.redirects);
        redirects
            .filter(|(operator, _)| matches!(*operator, ">" | ">&"))
            .map(|(_, target)| target.as_str())
            .filter(|target| {
                let number = target.chars().all(|c| c.is_ascii_digit());
                !number && *target != "-" && !target.starts_with("/dev/")
            })
    }

    /// Everything that would run, one command per line, for rules of the owner.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let commands = self.scripts.iter().flat_map(Script::commands);
        commands.flat_map(|simple| {
            let own = simple.words.join(" ");
            let behind = program::started(&simple.words).into_iter();
            let behind = behind.map(|words| words.join(" "));
            let behind: Vec<_> = behind.filter(|line| *line != own).collect();
            behind.into_iter().chain([own])
        })
    }

    fn add(&mut self, key: &str) {
        if !self.dangers.iter().any(|known| known == key) {
            self.dangers.push(key.to_owned());
        }
    }
}

/// The walk through a command and all it starts.
struct Seen<'f> {
    places: Spelled,
    /// Steps after which it is given up.
    most: usize,
    /// Bytes that came out of variables.
    expanded: usize,
    commands: usize,
    /// A shell or an interpreter is started somewhere.
    interprets: bool,
    /// Something was too large or too deep to be followed to its end.
    unfollowed: bool,
    findings: &'f mut Findings,
}

impl Seen<'_> {
    fn script(&mut self, text: &str, vars: Vec<(String, String)>, depth: usize, place: Place) {
        if self.findings.steps > self.most {
            return self.forbid(TOO_MUCH, Place::Here);
        }
        if depth > MAX_DEPTH {
            self.unfollowed = true;
            return self.flat(text, place);
        }
        let known = [("HOME", "~"), ("HERMES_HOME", "~/.hermes")];
        let known = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let known = known.into_iter().chain(vars).collect();
        let mut script = shell::parse_after(text, known, self.expanded);
        self.expanded = script.expanded;
        self.findings.steps += script.steps;
        self.commands += script.pipelines.iter().map(Vec::len).sum::<usize>();
        if self.commands > MAX_COMMANDS {
            return self.forbid(TOO_MUCH, place);
        }
        self.places.fold(&mut script);
        let interpreted = std::mem::replace(&mut self.interprets, false);
        let mut together = Together::default();
        for pipeline in &script.pipelines {
            if self.is_settled() {
                break;
            }
            pipeline.iter().for_each(|simple| together.note(simple));
            self.pipeline(pipeline, &script, depth, place);
        }
        self.whole(text, &script, together, place);
        self.interprets |= interpreted;
        self.findings.scripts.push(script);
    }

    /// It never runs: whatever else could be said changes nothing.
    fn is_settled(&self) -> bool {
        self.findings.hardline.is_some()
    }

    /// What only all of a script tells.
    fn whole(&mut self, text: &str, script: &Script, together: Together, place: Place) {
        if hardline::is_fork_bomb(script) {
            self.forbid("fork bomb", place);
        }
        for key in together.dangers(script) {
            self.findings.add(key);
        }
        self.unfollowed |= script.cut;
        self.findings.unfinished |= script.malformed;
        if script.malformed && self.interprets {
            self.findings.add(MALFORMED);
        }
        if script.malformed || script.cut {
            self.flat(text, place);
        }
    }

    fn pipeline(&mut self, pipeline: &[Simple], script: &Script, depth: usize, place: Place) {
        let mut notable = false;
        for simple in pipeline {
            if program::is_notable(&simple.words) {
                notable = true;
                self.simple(simple, script, depth, place);
            } else {
                self.surroundings(simple, &[], script, depth, place);
            }
        }
        if pipeline.len() < 2 || !notable {
            return;
        }
        if let Some(key) = danger::of_pipeline(pipeline, script) {
            self.findings.add(key);
        }
        for text in runs::fed(pipeline, script) {
            let vars = used(&text, script, None);
            self.script(&text, vars, depth + 1, place);
        }
    }

    fn simple(&mut self, simple: &Simple, script: &Script, depth: usize, place: Place) {
        let started = program::started(&simple.words);
        self.unfollowed |= program::is_stacked_too_high(&started);
        for words in &started {
            if let Some(key) = hardline::of(words) {
                self.forbid(key, place);
            }
            if let Some(key) = runs::code(words, simple) {
                self.findings.add(&key);
            }
            self.interprets |= runs::is_interpreter(words);
            self.findings.sudo_reads_input |= asks_on_input(words);
            for payload in runs::payloads(words) {
                let vars = used(&payload.text, script, Some(simple));
                let place = if place == Place::Here {
                    payload.place
                } else {
                    place
                };
                self.script(&payload.text, vars, depth + 1, place);
            }
        }
        if started.iter().any(|words| runs::runs_documents(words)) {
            for text in script.documents_of(simple) {
                let vars = used(text, script, Some(simple));
                self.script(text, vars, depth + 1, place);
            }
        }
        self.surroundings(simple, &started, script, depth, place);
    }

    /// What a program is given and where its output goes; of one no rule knows, only that can matter.
    fn surroundings(
        &mut self,
        simple: &Simple,
        started: &[&[String]],
        script: &Script,
        depth: usize,
        place: Place,
    ) {
        if let Some(key) = hardline::of_redirects(simple) {
            self.forbid(key, place);
        }
        for text in runs::run_later(simple) {
            self.script(text, Vec::new(), depth + 1, place);
        }
        if let Some(key) = danger::of(simple, started, script) {
            self.findings.add(key);
        }
    }

    /// A second look at a text that could not be read to its end: quotes don't count, so nothing can hide in them.
    fn flat(&mut self, text: &str, place: Place) {
        self.findings.steps += text.len();
        let text = text.replace("\\\n", "");
        for part in text.split([';', '&', '|', '\n', '(', ')', '{', '}', '`']) {
            let words: Vec<String> = part
                .split_whitespace()
                .map(|word| word.replace(['\'', '"', '\\'], ""))
                .filter(|word| !matches!(word.as_str(), "" | "then" | "do" | "else" | "!" | "$"))
                .collect();
            for words in program::started(&words) {
                if let Some(key) = hardline::of(words) {
                    self.forbid(key, place);
                }
            }
        }
    }

    fn conclude(&mut self) {
        if !self.unfollowed {
            return;
        }
        if self.interprets {
            self.forbid(TOO_MUCH, Place::Here);
        } else {
            self.findings.add(TOO_MUCH);
        }
    }

    fn forbid(&mut self, key: &str, place: Place) {
        match place {
            Place::Here => {
                self.findings.hardline.get_or_insert_with(|| key.to_owned());
            }
            Place::Elsewhere => self.findings.add(key),
        }
    }
}

/// Which variables a text uses that whoever runs it has set.
fn used(text: &str, script: &Script, by: Option<&Simple>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let own = by.into_iter().flat_map(|simple| &simple.words);
    let own: Vec<(&str, &str)> = own.map_while(|word| shell::assignment(word)).collect();
    for piece in text.split('$').skip(1) {
        let name = piece.trim_start_matches('{');
        let end = name.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        let name = &name[..end.unwrap_or(name.len())];
        let set = own
            .iter()
            .find(|(own, _)| *own == name)
            .map(|(_, value)| *value);
        let value = set.or_else(|| script.vars.get(name).map(String::as_str));
        found.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }
    found
}

/// The places as they are written in commands.
struct Spelled {
    homes: Vec<(String, &'static str)>,
}

impl Spelled {
    fn new(places: &Places) -> Self {
        let homes = [(&places.hermes_home, "~/.hermes"), (&places.user_home, "~")];
        let spelled = |(place, short): (&PathBuf, &'static str)| {
            let deep = place.iter().count() > 1;
            let text = place.to_str().filter(|_| deep)?;
            Some((text.trim_end_matches('/').to_owned(), short))
        };
        Self {
            homes: homes.into_iter().filter_map(spelled).collect(),
        }
    }

    fn fold(&self, script: &mut Script) {
        for simple in script.pipelines.iter_mut().flatten() {
            for word in &mut simple.words {
                self.fold_word(word);
            }
            for (_, target) in &mut simple.redirects {
                self.fold_word(target);
            }
        }
    }

    /// `/home/me/x` as `~/x`, and the Hermes home as `~/.hermes`, also behind `option=`.
    fn fold_word(&self, word: &mut String) {
        if !word.bytes().any(|byte| byte == b'/') {
            return;
        }
        let behind = word.find('=').map_or(0, |at| at + 1);
        for (home, short) in &self.homes {
            for start in [0, behind] {
                let rest = word[start..].strip_prefix(home.as_str());
                if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                    word.replace_range(start..start + home.len(), short);
                    return;
                }
            }
        }
    }
}

fn is_too_long(text: &str) -> bool {
    text.len() > MAX_CHARS && text.chars().nth(MAX_CHARS).is_some()
}

/// The command as a shell would get it. Our own marks mean nothing to anybody.
fn literal(command: &str) -> Cow<'_, str> {
    let meant = |c: char| c != '\0' && !MARKS.contains(&c);
    match command.bytes().all(|byte| byte.is_ascii() && byte != 0) || command.chars().all(meant) {
        true => command.into(),
        false => command.chars().filter(|c| meant(*c)).collect(),
    }
}

/// Without what only serves to look different: colours, letters from other corners of Unicode (NFKC).
fn folded(literal: &str) -> Cow<'_, str> {
    if literal.is_ascii() && !literal.contains('\u{1b}') {
        return literal.into();
    }
    let folds = ComposingNormalizerBorrowed::new_nfkc();
    match strip_ansi(literal) {
        Cow::Borrowed(same) => folds.normalize(same),
        Cow::Owned(stripped) => folds.normalize(&stripped).into_owned().into(),
    }
}

fn asks_on_input(words: &[String]) -> bool {
    *program::name(words) == *"sudo"
        && program::sudo_options(&words[1..]).any(|option| match option.strip_prefix("--") {
            Some(long) => long.starts_with("st"),
            None => option.contains('S'),
        })
}

/// Clearing away exactly one of the files the verifier makes.
fn exempt(findings: &Findings, places: &Places) -> bool {
    let [script] = findings.scripts.as_slice() else {
        return false;
    };
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
        let letter = |c: char| c.is_alphanumeric() || "_.-".contains(c);
        rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(letter))
    };
    rm == "rm"
        && force == "-f"
        && simple.redirects.is_empty()
        && !script.malformed
        && name.is_some_and(made)
}
