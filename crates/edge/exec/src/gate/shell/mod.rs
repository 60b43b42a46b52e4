//! Reading a command line the way a shell would: which programs it starts, with which words.
//!
//! Not a shell: it follows everything that could *run*, takes both ways of every branch, and resolves only what
//! is written in the text itself. What it cannot resolve stays as written.

mod expand;
mod words;

use std::collections::HashMap;

pub(in crate::gate) use words::assignment;
use words::{expand_braces, plain};

/// Substitutions inside substitutions.
const MAX_DEPTH: usize = 8;

/// Words that stand before a command without being one.
const KEYWORDS: [&str; 13] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{", "}", "time",
];

/// Everything a text would run, also inside substitutions.
#[derive(Debug, Default)]
pub(in crate::gate) struct Script {
    pub pipelines: Vec<Vec<Simple>>,
    /// A quote or a parenthesis was never closed, or it grows beyond all measure.
    pub malformed: bool,
    /// Characters that came out of variables.
    expanded: usize,
}

/// One program with its words: quotes, escapes and what is known of variables resolved.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::gate) struct Simple {
    pub words: Vec<String>,
    /// `>` or `<` and the like, with what comes after.
    pub redirects: Vec<(String, String)>,
    /// What it is given to read, written in the command line itself.
    pub documents: Vec<String>,
    /// What stands behind it: `|`, `&`, `;`, …
    pub joint: &'static str,
}

pub(in crate::gate) fn parse(text: &str, known: &HashMap<String, String>) -> Script {
    let mut script = Script::default();
    let mut vars = known.clone();
    parse_into(text, &mut vars, 0, &mut script);
    script
}

fn parse_into(
    text: &str,
    vars: &mut HashMap<String, String>,
    depth: usize,
    script: &mut Script,
) -> Vec<Vec<Simple>> {
    if depth > MAX_DEPTH {
        script.malformed = true;
        return Vec::new();
    }
    let reader = Reader {
        text: text.chars().collect(),
        pos: 0,
        resume: None,
        vars,
        depth,
        script,
        pipelines: Vec::new(),
        pipeline: Vec::new(),
        simple: Simple::default(),
        word: None,
        quoted: false,
        redirect: None,
    };
    let own = reader.run();
    script.pipelines.extend(own.iter().cloned());
    own
}

struct Reader<'s> {
    text: Vec<char>,
    pos: usize,
    /// Where the text goes on behind the documents that follow the current line.
    resume: Option<usize>,
    vars: &'s mut HashMap<String, String>,
    depth: usize,
    script: &'s mut Script,
    pipelines: Vec<Vec<Simple>>,
    pipeline: Vec<Simple>,
    simple: Simple,
    word: Option<String>,
    /// Part of the word was quoted.
    quoted: bool,
    /// An operator that waits for its word.
    redirect: Option<String>,
}

impl Reader<'_> {
    fn run(mut self) -> Vec<Vec<Simple>> {
        while let Some(c) = self.take() {
            match c {
                '\n' => self.end_line(),
                c if c.is_whitespace() => self.end_word(),
                '#' if self.word.is_none() => self.skip_comment(),
                ';' => self.end_command(";"),
                '(' | ')' => self.end_command(";"),
                '|' => self.bar(),
                '&' => self.ampersand(),
                '<' | '>' => self.angle(c),
                c => self.part(c),
            }
        }
        self.end_command("");
        self.pipelines
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek();
        self.pos += 1;
        c
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.pos).copied()
    }

    fn take_if(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.pos += usize::from(found);
        found
    }

    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn quote(&mut self) -> &mut String {
        self.quoted = true;
        self.word()
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.pos += 1;
        }
    }

    fn end_line(&mut self) {
        self.end_command(";");
        if let Some(resume) = self.resume.take() {
            self.pos = resume;
        }
    }

    fn bar(&mut self) {
        match self.peek() {
            Some('|') => {
                self.pos += 1;
                self.end_command("||");
            }
            other => {
                self.pos += usize::from(other == Some('&'));
                self.end_command("|");
            }
        }
    }

    fn ampersand(&mut self) {
        if self.take_if('&') {
            self.end_command("&&");
        } else if self.take_if('>') {
            self.take_if('>');
            self.end_word();
            self.redirect = Some(">".to_owned());
        } else {
            self.end_command("&");
        }
    }

    fn angle(&mut self, c: char) {
        // `2>`: the digits are no word.
        if self
            .word
            .as_ref()
            .is_some_and(|word| word.chars().all(|c| c.is_ascii_digit()))
        {
            self.word = None;
        }
        if self.peek() == Some('(') {
            self.pos += 1;
            let inner = self.until_close();
            self.nested(&inner);
            self.word().push_str(&format!("{c}({inner})"));
            return;
        }
        self.end_word();
        let mut operator = c.to_string();
        while operator.len() < 3 && self.peek().is_some_and(|c| "<>|&".contains(c)) {
            operator.extend(self.take());
        }
        if operator == "<<" && self.take_if('-') {
            operator.push('-');
        }
        self.redirect = Some(operator);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let quoted = std::mem::take(&mut self.quoted);
        match self.redirect.take() {
            Some(operator) => self.redirected(operator, &word, quoted),
            None => self.simple.words.extend(expand_braces(&word)),
        }
    }

    fn redirected(&mut self, operator: String, word: &str, quoted: bool) {
        let word = plain(word);
        match operator.as_str() {
            "<<" | "<<-" => {
                let body = self.document(&word, operator == "<<-");
                if !quoted {
                    self.nested_if_any(&body);
                }
                self.simple.documents.push(body);
            }
            "<<<" => self.simple.documents.push(word),
            _ => self.simple.redirects.push((operator, word)),
        }
    }

    /// The lines behind the current one, up to the one that says `end`.
    fn document(&mut self, end: &str, indented: bool) -> String {
        let newline = |from: usize| (from..self.text.len()).find(|&i| self.text[i] == '\n');
        // Reading of the delimiter may have taken the newline already.
        let here = self.pos.saturating_sub(1).min(self.text.len());
        let mut at = match self.resume.or_else(|| newline(here).map(|i| i + 1)) {
            Some(at) => at,
            None => return String::new(),
        };
        let mut body = String::new();
        while at < self.text.len() {
            let stop = newline(at).unwrap_or(self.text.len());
            let line: String = self.text[at..stop].iter().collect();
            at = stop + 1;
            let bare = if indented {
                line.trim_start_matches('\t')
            } else {
                &line
            };
            if bare == end {
                break;
            }
            body += &line;
            body.push('\n');
        }
        self.resume = Some(at);
        body
    }

    fn end_command(&mut self, joint: &'static str) {
        self.end_word();
        let mut simple = std::mem::take(&mut self.simple);
        let keywords = simple
            .words
            .iter()
            .take_while(|word| KEYWORDS.contains(&word.as_str()))
            .count();
        simple.words.drain(..keywords);
        self.remember(&simple.words);
        simple.joint = joint;
        if simple
            != (Simple {
                joint,
                ..Simple::default()
            })
        {
            self.pipeline.push(simple);
        }
        if joint != "|" && !self.pipeline.is_empty() {
            self.pipelines.push(std::mem::take(&mut self.pipeline));
        }
    }

    /// `X=rm; $X -rf /`
    fn remember(&mut self, words: &[String]) {
        let assigned = match words.first().map(String::as_str) {
            Some("export" | "declare" | "local" | "readonly" | "typeset") => &words[1..],
            _ if words.iter().all(|word| assignment(word).is_some()) => words,
            _ => &[],
        };
        for (name, value) in assigned.iter().filter_map(|word| assignment(word)) {
            self.vars.insert(name.to_owned(), value.to_owned());
        }
    }
}
