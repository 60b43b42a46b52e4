//! A turn on a plain terminal: the answer as it comes, tools as one line each.

use std::io::{self, Write};

use hermes_types::{AgentEvent, Background, Child, Consent, Outcome, Question};

use crate::out::{Out, one_line, printable};

/// Prints events of a session in line mode.
#[derive(Debug)]
pub struct Show {
    /// Whether the cursor stands at the beginning of a line.
    fresh: bool,
}

impl Default for Show {
    fn default() -> Self {
        Self { fresh: true }
    }
}

impl Show {
    pub fn event(&mut self, out: &mut Out, event: &AgentEvent) -> io::Result<()> {
        match event {
            AgentEvent::Text(text) => {
                write!(out, "{}", printable(text))?;
                self.fresh = text.ends_with('\n');
            }
            AgentEvent::ToolStarted { name, about, .. } => {
                let line = out.faint(format!("┊ {name} {}", one_line(about)));
                self.line(out, &line)?;
            }
            AgentEvent::ToolProgress { text, .. } => {
                let line = out.faint(format!("┊ … {}", one_line(text)));
                self.line(out, &line)?;
            }
            AgentEvent::ToolFinished {
                name,
                outcome,
                took,
                ..
            } if *outcome != Outcome::Done => {
                let word = match outcome {
                    Outcome::Denied => "denied",
                    Outcome::Cancelled => "interrupted",
                    Outcome::Done | Outcome::Failed => "failed",
                };
                let line = out.warn(format!("┊ {name} {word} after {:.1} s", took.as_secs_f64()));
                self.line(out, &line)?;
            }
            AgentEvent::Retrying(retrying) => {
                let line = format!(
                    "{} (attempt {} of {}, waiting {:.0} s)",
                    one_line(&retrying.reason),
                    retrying.attempt,
                    retrying.of,
                    retrying.wait.as_secs_f64()
                );
                let line = out.warn(line);
                self.line(out, &line)?;
            }
            AgentEvent::Switched(switched) => {
                let line = format!(
                    "{}: {}; {} answers from here on",
                    one_line(&switched.from),
                    one_line(&switched.reason),
                    one_line(&switched.to)
                );
                let line = out.warn(line);
                self.line(out, &line)?;
            }
            AgentEvent::Notice(text) => {
                let text = out.faint(printable(text));
                self.line(out, &text)?;
            }
            AgentEvent::Child(child) => {
                if let Some(told) = of_child(child) {
                    let line = out.faint(format!("┊ {told}"));
                    self.line(out, &line)?;
                }
            }
            AgentEvent::Background(task) => {
                if let Some(told) = of_task(task) {
                    self.line(out, &told)?;
                }
            }
            AgentEvent::Compacting { .. } | AgentEvent::Compacted(_) => {
                let line = compaction(event).unwrap_or_default();
                let line = out.warn(one_line(&line));
                self.line(out, &line)?;
            }
            AgentEvent::Cleared => {
                out.clear()?;
                self.fresh = true;
            }
            AgentEvent::Asked { question, .. } => self.question(out, question)?,
            AgentEvent::TurnEnded(_) if !self.fresh => self.line(out, "")?,
            _ => {}
        }
        out.flush()
    }

    fn question(&mut self, out: &mut Out, question: &Question) -> io::Result<()> {
        match question {
            Question::Approve {
                command,
                warnings,
                longest,
                ..
            } => {
                let head = out.warn(format!("⚠ {}", one_line(&warnings.join("; "))));
                self.line(out, &head)?;
                self.line(out, &format!("  {}", printable(command)))?;
                self.line(
                    out,
                    match longest {
                        Consent::Once => "  [1] once  [4] deny",
                        Consent::Session => "  [1] once  [2] this session  [4] deny",
                        Consent::Always => "  [1] once  [2] this session  [3] always  [4] deny",
                    },
                )?;
            }
            Question::Clarify { question, choices } => {
                let question = out.heading(printable(question));
                self.line(out, &question)?;
                for (index, choice) in choices.iter().enumerate() {
                    self.line(out, &format!("  [{}] {}", index + 1, one_line(choice)))?;
                }
            }
            Question::Secret { prompt } => self.line(out, &printable(prompt))?,
            Question::Confirm { question, longest } => {
                self.line(out, &printable(question))?;
                if *longest == Consent::Always {
                    self.line(out, "  [y] yes  [always] yes, and never ask again  [n] no")?;
                }
            }
            Question::Elicit {
                server,
                message,
                fields,
                ..
            } => {
                let head = out.heading(format!("{} asks:", one_line(server)));
                self.line(out, &head)?;
                self.line(out, &format!("  {}", printable(message)))?;
                for field in fields {
                    self.line(out, &format!("  - {}", one_line(field)))?;
                }
                self.line(out, "  [y] accept  [n] decline, or the fields as JSON")?;
            }
        }
        Ok(())
    }

    fn line(&mut self, out: &mut Out, text: &str) -> io::Result<()> {
        if !self.fresh {
            writeln!(out)?;
        }
        self.fresh = true;
        if !text.is_empty() {
            writeln!(out, "{text}")?;
        }
        Ok(())
    }
}

/// What is said about a conversation that is made shorter, before and after.
pub fn compaction(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Compacting { messages, tokens } => Some(format!(
            "compacting the conversation: {messages} messages, about {tokens} tokens ..."
        )),
        AgentEvent::Compacted(compacted) => {
            let ((from, to), (before, after)) = (compacted.messages, compacted.tokens);
            let mut line =
                format!("compacted: {from} → {to} messages, about {before} → {after} tokens");
            if let Some(session) = &compacted.session {
                line.push_str(&format!("; goes on as {session}"));
            }
            if let Some(note) = &compacted.note {
                line.push_str(&format!(" ({note})"));
            }
            Some(line)
        }
        _ => None,
    }
}

/// What a child does, in one line; a child's child stands further in.
fn of_child(child: &Child) -> Option<String> {
    let told = match &*child.event {
        AgentEvent::TurnStarted => one_line(&child.goal),
        AgentEvent::ToolStarted { name, about, .. } => format!("{name} {}", one_line(about)),
        AgentEvent::ToolFinished { name, outcome, .. } if *outcome != Outcome::Done => {
            format!("{name} did not succeed")
        }
        AgentEvent::Retrying(retrying) => one_line(&retrying.reason),
        AgentEvent::Notice(text) => one_line(text),
        AgentEvent::TurnEnded(end) => match (&end.error, end.answered()) {
            (_, true) => "done".to_owned(),
            (Some(error), false) => one_line(error),
            (None, false) => "stopped".to_owned(),
        },
        AgentEvent::Child(inner) => of_child(inner)?,
        _ => return None,
    };
    Some(format!("  {}. {told}", child.index + 1))
}

/// What the owner hears of a task beside the conversation: how it ended.
fn of_task(task: &Background) -> Option<String> {
    let AgentEvent::TurnEnded(end) = &*task.event else {
        return None;
    };
    let said = match (&end.error, end.answered()) {
        (_, true) => printable(&end.text),
        (Some(error), false) => printable(error),
        (None, false) => "stopped".to_owned(),
    };
    let (number, goal) = (task.number, one_line(&task.goal));
    Some(format!("⚕ background #{number}: {goal}\n{said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_stand_further_in() {
        let child = |index: usize, event: AgentEvent| Child {
            call_id: "call".to_owned(),
            index,
            goal: "count\nthings".to_owned(),
            event: Box::new(event),
        };
        let check = |event: AgentEvent, expected: Option<&str>| {
            assert_eq!(of_child(&child(0, event)).as_deref(), expected);
        };
        check(AgentEvent::TurnStarted, Some("  1. count things"));
        check(AgentEvent::Text("said".to_owned()), None);
        let inner = AgentEvent::Child(child(1, AgentEvent::Notice("news".to_owned())));
        check(inner, Some("  1.   2. news"));
        let end = AgentEvent::TurnEnded(Box::default());
        check(end, Some("  1. stopped"));
    }
}
