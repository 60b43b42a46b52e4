//! Commands and what stands between them.

use std::mem;
use std::ops::Range;

use super::words::{self, Expansion, assignment, plain};
use super::{How, MAX_DEPTH, Reader, Simple, Substitution};

/// Words that stand before a command without being one; the last two are marked braces.
const KEYWORDS: [&str; 12] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "\u{e000}", "\u{e002}",
];

/// A list of commands while it is read.
#[derive(Default)]
pub(super) struct Frame {
    end: End,
    mode: Mode,
    pipeline: Vec<Simple>,
    pub simple: Simple,
    pub word: Option<String>,
    /// Where the word began.
    pub start: usize,
    /// Part of the word was quoted.
    pub quoted: bool,
    /// An operator that waits for its word.
    redirect: Option<&'static str>,
    /// Parentheses open in this list.
    open: usize,
    /// From how many open ones on it is a calculation, where `<<` is no document.
    calculation: Option<usize>,
    /// `case` in `case`; what the innermost waits for is the mode.
    cases: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum End {
    #[default]
    Text,
    Parenthesis,
}

/// What words are at the moment.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Command,
    /// `for x in …`
    For,
    /// Between `case` and `in`.
    Subject,
    /// Before the parenthesis of a branch.
    Pattern,
    /// `[[ … ]]`
    Condition,
    /// Behind `function`.
    Name,
}

impl Reader<'_, '_> {
    /// Reads to the end of this list: which pipelines came of it, and whether it had an end.
    pub(super) fn list(&mut self, end: End) -> (Range<usize>, Done) {
        let start = self.script.pipelines.len();
        // `$((`: perhaps a calculation, perhaps a subshell. What could run in it is seen in either case.
        let calculation = (end == End::Parenthesis && self.peek() == Some('(')).then_some(0);
        let frame = Frame {
            end,
            calculation,
            ..Frame::default()
        };
        let outer = mem::replace(&mut self.frame, frame);
        self.depth += 1;
        let mut done = Done::No;
        while done == Done::No
            && let Some(c) = self.take()
        {
            done = self.token(c);
        }
        self.end_command("");
        self.depth -= 1;
        self.frame = outer;
        (start..self.script.pipelines.len(), done)
    }

    /// `$(`, `<(`: what runs to make a word. `None` if that is too deep to follow.
    pub(super) fn substitution(&mut self, how: How) -> Option<Range<usize>> {
        if self.depth >= MAX_DEPTH {
            self.script.cut = true;
            return None;
        }
        let calculation = how == How::Dollar && self.peek() == Some('(');
        let (pipelines, done) = self.list(End::Parenthesis);
        if done == Done::No {
            self.malformed();
        }
        if !calculation {
            let pipelines = pipelines.clone();
            let substitution = Substitution { how, pipelines };
            self.frame.simple.substitutions.push(substitution);
        }
        Some(pipelines)
    }

    fn token(&mut self, c: char) -> Done {
        match c {
            '\n' => self.end_line(),
            c if c.is_whitespace() => self.end_word(),
            '#' if self.frame.word.is_none() => self.skip_comment(),
            _ if self.frame.mode == Mode::Condition && "()|&<>".contains(c) => {
                self.word().push(c);
            }
            ';' => self.semicolon(),
            '(' => self.open(),
            ')' => return self.close(),
            '|' => self.bar(),
            '&' => self.ampersand(),
            '<' | '>' => self.angle(c),
            c => self.part(c),
        }
        Done::No
    }

    fn end_line(&mut self) {
        match self.frame.mode {
            Mode::Condition => self.end_word(),
            _ => self.end_command(";"),
        }
        self.read_documents();
    }

    pub(super) fn word(&mut self) -> &mut String {
        let start = self.pos.saturating_sub(1);
        let frame = &mut self.frame;
        frame.word.get_or_insert_with(|| {
            frame.start = start;
            String::new()
        })
    }

    fn skip_comment(&mut self) {
        while self.text.get(self.pos).is_some_and(|c| *c != '\n') {
            self.pos += 1;
            self.script.steps += 1;
        }
    }

    fn semicolon(&mut self) {
        self.end_command(";");
        let next_branch = self.take_if(';') || self.take_if('&');
        if next_branch {
            self.take_if('&');
            if self.frame.cases > 0 {
                self.frame.mode = Mode::Pattern;
            }
        }
    }

    fn open(&mut self) {
        if self.frame.mode == Mode::Pattern {
            return;
        }
        if self.is_array() {
            return self.array();
        }
        if self.is_function() {
            return;
        }
        self.end_command(";");
        self.frame.open += 1;
        if self.peek() == Some('(') && self.frame.calculation.is_none() {
            self.frame.calculation = Some(self.frame.open);
        }
    }

    fn close(&mut self) -> Done {
        if self.frame.mode == Mode::Pattern {
            self.frame.word = None;
            self.frame.quoted = false;
            self.frame.simple.words.clear();
            self.frame.mode = Mode::Command;
            return Done::No;
        }
        self.end_command(";");
        let frame = &mut self.frame;
        if frame.open == 0 {
            return match frame.end {
                End::Parenthesis => Done::Yes,
                // Too many: a shell would refuse all of it.
                End::Text => Done::No,
            };
        }
        frame.open -= 1;
        frame.calculation = frame.calculation.filter(|from| frame.open >= *from);
        Done::No
    }

    /// `name() …`: the name is not called.
    fn is_function(&mut self) -> bool {
        let frame = &self.frame;
        let named = match (&frame.word, frame.simple.words.as_slice()) {
            (Some(_), []) => !frame.quoted,
            (None, [_]) => true,
            _ => false,
        };
        let closed = self.text[self.pos..]
            .iter()
            .position(|c| !matches!(c, ' ' | '\t'))
            .map(|at| self.pos + at)
            .filter(|at| self.text[*at] == ')');
        let (true, Some(at)) = (named && frame.redirect.is_none(), closed) else {
            return false;
        };
        self.pos = at + 1;
        let name = self.frame.word.take();
        let name = name.or_else(|| self.frame.simple.words.pop());
        self.script.functions.extend(name.map(|n| plain(&n)));
        true
    }

    fn is_array(&self) -> bool {
        let named = |word: &String| {
            let name = word.strip_suffix('=').unwrap_or_default();
            let name = name.trim_end_matches('+');
            !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        };
        !self.frame.quoted && self.frame.word.as_ref().is_some_and(named)
    }

    /// `a=(…)`: words to be used later.
    fn array(&mut self) {
        let name = self.frame.word.take().unwrap_or_default();
        let outer = mem::take(&mut self.frame);
        loop {
            match self.take() {
                Some(')') => break,
                None => {
                    self.malformed();
                    break;
                }
                Some(c) if c.is_whitespace() => self.end_word(),
                Some('#') if self.frame.word.is_none() => self.skip_comment(),
                Some(c) if "<>;|&(".contains(c) => self.word().push(c),
                Some(c) => self.part(c),
            }
        }
        self.end_word();
        let inner = mem::replace(&mut self.frame, outer);
        let substitutions = inner.simple.substitutions;
        self.frame.simple.substitutions.extend(substitutions);
        let value = inner.simple.words.join(words::SEPARATOR);
        self.frame.word = Some(format!("{}{value}", name.replace("+=", "=")));
        self.frame.quoted = true;
    }

    fn bar(&mut self) {
        match self.peek() {
            Some('|') => {
                self.pos += 1;
                self.end_command("||");
            }
            // Alternatives of a pattern.
            _ if self.frame.mode == Mode::Pattern => {}
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
            self.frame.redirect = Some(">");
        } else {
            self.end_command("&");
        }
    }

    fn angle(&mut self, c: char) {
        // `2>`: the digits are no word.
        let number = |word: &String| word.chars().all(|c| c.is_ascii_digit());
        if !self.frame.quoted && self.frame.word.as_ref().is_some_and(number) {
            self.frame.word = None;
        }
        if self.peek() == Some('(') {
            let from = self.pos - 1;
            self.word();
            self.pos += 1;
            self.substitution(How::Process);
            self.keep_as_written(from, "<()");
            return;
        }
        self.end_word();
        self.frame.redirect = Some(self.operator(c));
    }

    fn operator(&mut self, c: char) -> &'static str {
        let next = self.peek();
        self.pos += usize::from(matches!(next, Some('<' | '>' | '&' | '|')));
        match (c, next) {
            ('<', Some('<')) if self.frame.calculation.is_some() => "<",
            ('<', Some('<')) if self.take_if('<') => "<<<",
            ('<', Some('<')) if self.take_if('-') => "<<-",
            ('<', Some('<')) => "<<",
            ('<', Some('&')) => "<&",
            ('<', Some('>')) => "<>",
            ('>', Some('>')) => ">>",
            ('>', Some('&')) => ">&",
            ('>', Some('|')) => ">",
            ('<', Some('|')) => {
                self.pos -= 1;
                "<"
            }
            ('>', Some('<')) => {
                self.pos -= 1;
                ">"
            }
            ('<', _) => "<",
            _ => ">",
        }
    }

    pub(super) fn end_word(&mut self) {
        let Some(word) = self.frame.word.take() else {
            return;
        };
        let quoted = mem::take(&mut self.frame.quoted);
        if let Some(operator) = self.frame.redirect.take() {
            return self.redirected(operator, &word, quoted);
        }
        if !quoted && self.is_structure(&word) {
            return;
        }
        match words::expand(&word) {
            Expansion::None => self.frame.simple.words.push(word),
            Expansion::Words(words) => {
                let bytes = words.iter().map(String::len).sum();
                if self.grows_by(bytes) {
                    self.frame.simple.words.extend(words);
                } else {
                    self.frame.simple.words.push(plain(&word));
                }
            }
            Expansion::TooMany(words) => {
                self.script.cut = true;
                self.frame.simple.words.extend(words);
            }
        }
    }

    fn redirected(&mut self, operator: &'static str, word: &str, quoted: bool) {
        match operator {
            "<<" | "<<-" => self.announce(operator, quoted),
            "<<<" => self.here(plain(word)),
            _ => self.frame.simple.redirects.push((operator, plain(word))),
        }
    }

    /// Whether a word belongs to the grammar rather than to a command.
    fn is_structure(&mut self, word: &str) -> bool {
        let first = self.frame.simple.words.is_empty();
        let frame = &mut self.frame;
        match (frame.mode, word) {
            (Mode::Subject, "in") => {
                frame.simple.words.clear();
                frame.mode = Mode::Pattern;
            }
            (Mode::Pattern, "esac") if first => frame.leave_case(),
            (Mode::Command, "esac") if first && frame.cases > 0 => frame.leave_case(),
            (Mode::Condition, "]]") => {
                frame.simple.words.clear();
                frame.mode = Mode::Command;
            }
            (Mode::Name, name) => {
                frame.mode = Mode::Command;
                self.script.functions.insert(plain(name));
            }
            (Mode::Command, keyword) if first => match keyword {
                "case" => {
                    frame.cases += 1;
                    frame.mode = Mode::Subject;
                }
                "for" | "select" => frame.mode = Mode::For,
                "function" => frame.mode = Mode::Name,
                "[[" => frame.mode = Mode::Condition,
                other => return KEYWORDS.contains(&other),
            },
            _ => return false,
        }
        true
    }

    fn end_command(&mut self, joint: &'static str) {
        self.end_word();
        let mode = self.frame.mode;
        let mut simple = mem::take(&mut self.frame.simple);
        match mode {
            Mode::For => {
                self.bind(&simple.words);
                self.frame.mode = Mode::Command;
                simple.words.clear();
            }
            // A pattern may stand behind a newline; the rest has ended too early.
            Mode::Pattern => simple.words.clear(),
            Mode::Subject | Mode::Condition => {
                self.malformed();
                self.frame.mode = Mode::Command;
            }
            Mode::Command | Mode::Name => {}
        }
        self.remember(&simple.words);
        if !simple.is_empty() {
            simple.joint = joint;
            // Most have one command; they are many, and each is large.
            if self.frame.pipeline.is_empty() {
                self.frame.pipeline.reserve_exact(1);
            }
            self.frame.pipeline.push(simple);
        }
        if joint != "|" && !self.frame.pipeline.is_empty() {
            let pipeline = mem::take(&mut self.frame.pipeline);
            self.script.pipelines.push(pipeline);
        }
    }

    /// `X=rm; $X -rf /`
    fn remember(&mut self, words: &[String]) {
        let assigned = match words.first().map(String::as_str) {
            Some("export" | "declare" | "local" | "readonly" | "typeset") => &words[1..],
            // With a command behind them they are only for that command.
            Some(_) if words.iter().all(|word| assignment(word).is_some()) => words,
            _ => return,
        };
        for (name, value) in assigned.iter().filter_map(|word| assignment(word)) {
            self.script.vars.insert(name.to_owned(), value.to_owned());
        }
    }

    /// `for x in a b`: wherever `x` is used, both.
    fn bind(&mut self, words: &[String]) {
        let [name, inside, values @ ..] = words else {
            return;
        };
        if inside == "in" && self.grows_by(values.iter().map(String::len).sum()) {
            let values = words::alternatives(values);
            self.script.vars.insert(name.clone(), values);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    Yes,
    No,
}

impl Frame {
    fn leave_case(&mut self) {
        self.cases = self.cases.saturating_sub(1);
        self.mode = Mode::Command;
    }
}

impl Simple {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.redirects.is_empty() && self.documents.is_empty()
    }
}
