//! Commands that drop what was said: the owner is asked first if there is something to lose.

use hermes_types::{AgentEvent, Answer, Asker, Consent, Content, Question};
use serde_json::json;

use crate::actor::{After, Live};
use crate::command::Then;

/// Where it is written down that nobody wants to be asked.
const SETTING: &str = "approvals.destructive_slash_confirm";

/// Whether the owner is asked before something is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Losing {
    #[default]
    Asked,
    Unasked,
}

/// What came of asking.
enum Consented {
    Yes,
    No,
    Left,
}

impl Live {
    /// `/new`, `/clear` and `/undo`, while nothing runs. With `now` at the end, at once.
    pub(crate) async fn drop_said(&mut self, command: &str, rest: &str) -> Then {
        let (rest, is_decided) = match rest.strip_suffix("now") {
            Some(before) if before.is_empty() || before.ends_with(' ') => (before.trim(), true),
            _ => (rest, false),
        };
        let count = match (command, rest) {
            ("undo", "") | ("new" | "clear", _) => Some(1),
            (_, number) => number.parse().ok().filter(|count| *count > 0),
        };
        let Some(count) = count else {
            self.notice("/undo takes a number: how many questions to take back");
            return Then::Wait;
        };
        let consent = match is_decided || !self.has_something_to_lose(command, count) {
            true => Consented::Yes,
            false => self.ask_before(&question(command, count)).await,
        };
        match consent {
            Consented::Left => return Then::Leave,
            Consented::No => self.notice("everything stays as it is"),
            Consented::Yes => {
                let said = match command {
                    "undo" => self.undo(count).await,
                    _ => self.start_anew(rest).await,
                };
                if command == "clear" {
                    self.events.send(AgentEvent::Cleared);
                }
                self.notice(said);
            }
        }
        // What came while the owner was asked is next.
        self.waiting.pop_front().map_or(Then::Wait, Then::Ask)
    }

    fn has_something_to_lose(&self, command: &str, count: usize) -> bool {
        let asks = self.controls.as_ref().map(|controls| controls.losing);
        asks == Some(Losing::Asked)
            && match command {
                "undo" => self.questions().nth(count - 1).is_some(),
                _ => !self.conversation.messages().is_empty(),
            }
    }

    async fn ask_before(&mut self, question: &str) -> Consented {
        let (asker, scope) = (self.asker.clone(), self.work());
        let question = Question::Confirm {
            question: question.to_owned(),
            longest: Consent::Always,
        };
        let asking = asker.ask(question, &scope);
        tokio::pin!(asking);
        match self.watch(asking, &scope).await {
            (_, After::Close) => Consented::Left,
            // Where nobody can be asked, whoever gave the command has decided.
            (Answer::Once | Answer::Session | Answer::Nobody, _) => Consented::Yes,
            (Answer::Always, _) => {
                if let Some(controls) = &mut self.controls {
                    controls.losing = Losing::Unasked;
                }
                let unsaved = self.keep(SETTING, json!(false)).await;
                if !unsaved.is_empty() {
                    self.notice(unsaved.trim_start_matches("; "));
                }
                Consented::Yes
            }
            _ => Consented::No,
        }
    }

    /// Takes back so many questions, and everything since the first of them.
    pub(crate) async fn undo(&mut self, count: usize) -> String {
        let (there, found) = (self.questions().count(), self.questions().nth(count - 1));
        let Some((place, question)) = found else {
            return match there {
                0 => "there is nothing to take back".to_owned(),
                _ => format!("only {there} questions can be taken back"),
            };
        };
        let text = question.content.as_ref().map(Content::plain);
        let text = text.unwrap_or_default();
        let dropped = self.conversation.messages().len() - place;
        self.conversation.truncate(place).await;
        let first: String = first_line(&text).chars().take(60).collect();
        self.events.send(AgentEvent::TookBack(text));
        format!("took back {dropped} messages, from: {first}")
    }
}

fn question(command: &str, count: usize) -> String {
    match (command, count) {
        ("undo", 1) => "Take back the last question and its answer?".to_owned(),
        ("undo", count) => format!("Take back the last {count} questions and their answers?"),
        _ => "End this conversation and start a new one? /resume brings it back.".to_owned(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
