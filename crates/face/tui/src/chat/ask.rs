//! Questions to the owner: one at a time on the screen, the others wait.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hermes_types::{Answer, Consent, Countdown, Question};

use crate::input::{Editor, Pressed};

/// Keys that were on their way when the question appeared answer nothing.
const GUARD: Duration = Duration::from_millis(300);
/// The session hears of somebody who is at a question no more often than this.
const OFTEN: Duration = Duration::from_secs(1);

/// What can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub label: String,
    answer: Chosen,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Chosen {
    Answer(Answer),
    /// The whole command is shown.
    Show,
    /// The owner types.
    Type,
}

/// A question on the screen.
#[derive(Debug)]
pub struct Asking {
    pub id: u64,
    pub question: Question,
    pub choices: Vec<Choice>,
    pub selected: usize,
    /// While the answer is typed.
    pub editor: Option<Editor>,
    /// The command is shown in full.
    pub whole: bool,
    since: Instant,
    /// The time it has, if it is one that is shown.
    pub countdown: Option<Countdown>,
    /// When the session was last told that somebody is at it.
    attended: Option<Instant>,
}

/// What became of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    Nothing,
    Changed,
    Answered(Answer),
}

impl Asking {
    fn new(id: u64, question: Question, now: Instant) -> Self {
        let choices = choices(&question);
        let editor = match (&question, choices.is_empty()) {
            (Question::Secret { .. }, _) => Some(Editor::masked()),
            (_, true) => Some(Editor::line()),
            _ => None,
        };
        let limit = match &question {
            Question::Approve { timeout, .. } | Question::Elicit { timeout, .. } => Some(*timeout),
            _ => None,
        };
        Self {
            id,
            question,
            choices,
            selected: 0,
            editor,
            whole: false,
            since: now,
            countdown: limit.map(|limit| Countdown::new(limit, now)),
            attended: None,
        }
    }

    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Asked {
        if now.saturating_duration_since(self.since) < GUARD {
            return Asked::Nothing;
        }
        if is_cancel(key) {
            return Asked::Answered(self.cancelled());
        }
        match &mut self.editor {
            Some(editor) => match editor.key(key, now) {
                Pressed::Submit | Pressed::Run => Asked::Answered(self.typed()),
                Pressed::Changed | Pressed::Moved => Asked::Changed,
                Pressed::Nothing | Pressed::Ignored(_) => Asked::Nothing,
            },
            None => self.choose(key),
        }
    }

    /// Somebody is at it, so its time stands still. True if the session has to hear of it.
    pub fn attend(&mut self, now: Instant) -> bool {
        let told = self.attended.is_some_and(|at| now < at + OFTEN);
        if !told {
            self.attended = Some(now);
            if let Some(countdown) = &mut self.countdown {
                countdown.attend(now);
            }
        }
        !told
    }

    /// Pasted text goes where text is wanted.
    pub fn paste(&mut self, text: &str) {
        if let Some(editor) = &mut self.editor {
            editor.insert(text);
        }
    }

    fn choose(&mut self, key: KeyEvent) -> Asked {
        let last = self.choices.len().saturating_sub(1);
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => {
                self.selected = self.selected.checked_sub(1).unwrap_or(last);
            }
            KeyCode::Down | KeyCode::Char('j') => {
                self.selected = if self.selected == last {
                    0
                } else {
                    self.selected + 1
                };
            }
            KeyCode::Enter => return self.take(self.selected),
            KeyCode::Char(c @ '1'..='9') => {
                let number = c as usize - '1' as usize;
                return match number <= last {
                    true => self.take(number),
                    false => Asked::Nothing,
                };
            }
            KeyCode::Char('y') if self.is_yes_or_no() => return Asked::Answered(Answer::Once),
            KeyCode::Char('n') if self.is_yes_or_no() => return Asked::Answered(Answer::Deny),
            _ => return Asked::Nothing,
        }
        Asked::Changed
    }

    fn take(&mut self, index: usize) -> Asked {
        match self.choices[index].answer.clone() {
            Chosen::Answer(answer) => Asked::Answered(answer),
            Chosen::Show => {
                self.whole = true;
                self.choices.remove(index);
                self.selected = 0;
                Asked::Changed
            }
            Chosen::Type => {
                self.editor = Some(Editor::line());
                Asked::Changed
            }
        }
    }

    fn typed(&mut self) -> Answer {
        let editor = self.editor.as_mut();
        let text = editor.map(|editor| editor.take().text).unwrap_or_default();
        match &self.question {
            Question::Elicit { .. } if text.trim().is_empty() => Answer::Deny,
            _ => Answer::Text(text.trim().to_owned()),
        }
    }

    fn cancelled(&self) -> Answer {
        match self.question {
            Question::Clarify { .. } | Question::Secret { .. } => Answer::Cancelled,
            _ => Answer::Deny,
        }
    }

    fn is_yes_or_no(&self) -> bool {
        matches!(
            self.question,
            Question::Confirm { .. } | Question::Elicit { .. }
        )
    }
}

fn is_cancel(key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Esc || control && matches!(key.code, KeyCode::Char('c' | 'q'))
}

/// Commands longer than this are cut until somebody wants to see all of it.
pub const COMMAND: usize = 70;

fn choices(question: &Question) -> Vec<Choice> {
    let choice = |label: &str, answer: Chosen| Choice {
        label: label.to_owned(),
        answer,
    };
    let answer = |label: &str, answer: Answer| choice(label, Chosen::Answer(answer));
    match question {
        Question::Approve {
            command, longest, ..
        } => {
            let mut choices = vec![answer("Allow once", Answer::Once)];
            if *longest >= Consent::Session {
                choices.push(answer("Allow for this session", Answer::Session));
            }
            if *longest >= Consent::Always {
                choices.push(answer("Add to permanent allowlist", Answer::Always));
            }
            choices.push(answer("Deny", Answer::Deny));
            if command.chars().count() > COMMAND || command.contains('\n') {
                choices.push(choice("Show full command", Chosen::Show));
            }
            choices
        }
        Question::Clarify { choices: given, .. } if !given.is_empty() => {
            let given = given
                .iter()
                .map(|text| answer(text, Answer::Text(text.clone())));
            let other = choice("Other (type your answer)", Chosen::Type);
            given.chain([other]).collect()
        }
        Question::Confirm { longest, .. } => {
            let always = (*longest == Consent::Always)
                .then(|| answer("Yes, and never ask again", Answer::Always));
            let yes = [answer("Yes", Answer::Once)].into_iter().chain(always);
            yes.chain([answer("No", Answer::Deny)]).collect()
        }
        Question::Elicit { .. } => vec![
            answer("Accept", Answer::Once),
            answer("Decline", Answer::Deny),
            choice("Type the fields as JSON", Chosen::Type),
        ],
        Question::Clarify { .. } | Question::Secret { .. } => Vec::new(),
    }
}

/// All questions without an answer; the first is on the screen.
#[derive(Debug, Default)]
pub struct Questions(VecDeque<Asking>);

impl Questions {
    pub fn add(&mut self, id: u64, question: Question, now: Instant) {
        self.0.push_back(Asking::new(id, question, now));
    }

    pub fn current(&self) -> Option<&Asking> {
        self.0.front()
    }

    pub fn current_mut(&mut self) -> Option<&mut Asking> {
        self.0.front_mut()
    }

    /// Takes a question away that has its answer; the next one appears, and with it its guard.
    pub fn remove(&mut self, id: u64, now: Instant) -> Option<Asking> {
        let place = self.0.iter().position(|asking| asking.id == id)?;
        let gone = self.0.remove(place);
        if let (0, Some(next)) = (place, self.0.front_mut()) {
            next.since = now;
        }
        gone
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn approve(command: &str, longest: Consent) -> Question {
        Question::Approve {
            command: command.to_owned(),
            warnings: vec!["deletes things".to_owned()],
            longest,
            timeout: Duration::from_secs(60),
        }
    }

    fn press(asking: &mut Asking, code: KeyCode, after: Duration) -> Asked {
        let now = asking.since + after;
        asking.key(KeyEvent::from(code), now)
    }

    #[test]
    fn a_key_that_was_typed_ahead_approves_nothing() {
        let mut asking = Asking::new(1, approve("rm -r x", Consent::Always), Instant::now());
        let early = Duration::from_millis(200);
        assert_eq!(
            press(&mut asking, KeyCode::Char('1'), early),
            Asked::Nothing
        );
        let late = Duration::from_millis(400);
        let once = Asked::Answered(Answer::Once);
        assert_eq!(press(&mut asking, KeyCode::Char('1'), late), once);
    }

    #[test]
    fn numbers_and_arrows_choose() {
        let late = Duration::from_secs(1);
        let deny = || Asked::Answered(Answer::Deny);
        let mut asking = Asking::new(1, approve("rm -r x", Consent::Always), Instant::now());
        assert_eq!(press(&mut asking, KeyCode::Char('4'), late), deny());
        assert_eq!(press(&mut asking, KeyCode::Char('5'), late), Asked::Nothing);
        assert_eq!(press(&mut asking, KeyCode::Up, late), Asked::Changed);
        assert_eq!(press(&mut asking, KeyCode::Enter, late), deny());
        assert_eq!(press(&mut asking, KeyCode::Esc, late), deny());
        // Where nothing may be allowed for good, there is nothing to choose it with.
        let once = Asking::new(1, approve("rm -r x", Consent::Once), Instant::now());
        let labels: Vec<_> = once.choices.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["Allow once", "Deny"]);
    }

    #[test]
    fn the_time_stands_still_while_somebody_moves() {
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        let mut asking = Asking::new(1, approve("rm -r x", Consent::Always), begun);
        assert!(asking.attend(at(10_000)));
        // The session need not hear of every key.
        assert!(!asking.attend(at(10_500)));
        assert!(asking.attend(at(11_000)));
        let countdown = asking.countdown.unwrap();
        assert!(countdown.is_paused(at(15_999)));
        assert_eq!(countdown.left(at(15_999)).as_secs(), 50);
        assert_eq!(countdown.left(at(17_000)).as_secs(), 49);
        let free = Question::Clarify {
            question: "which?".to_owned(),
            choices: Vec::new(),
        };
        assert!(Asking::new(2, free, begun).attend(begun));
    }

    #[test]
    fn a_long_command_can_be_seen_whole() {
        let late = Duration::from_secs(1);
        let long = "x".repeat(100);
        let mut asking = Asking::new(1, approve(&long, Consent::Always), Instant::now());
        assert_eq!(press(&mut asking, KeyCode::Char('5'), late), Asked::Changed);
        assert!(asking.whole);
        assert_eq!(asking.choices.len(), 4);
    }

    #[test]
    fn an_answer_of_its_own_is_typed() {
        let late = Duration::from_secs(1);
        let question = Question::Clarify {
            question: "which?".to_owned(),
            choices: vec!["a".to_owned()],
        };
        let mut asking = Asking::new(1, question, Instant::now());
        assert_eq!(press(&mut asking, KeyCode::Char('2'), late), Asked::Changed);
        press(&mut asking, KeyCode::Char('1'), late);
        let typed = Asked::Answered(Answer::Text("1".to_owned()));
        assert_eq!(press(&mut asking, KeyCode::Enter, late), typed);
    }
}
