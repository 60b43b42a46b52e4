//! A turn on a plain terminal: the answer as it comes, tools as one line each.

use std::io::Write;

use anyhow::Result;
use hermes_types::{AgentEvent, Outcome, Question};

use crate::out::{Out, one_line, printable};

/// Prints events of a session in line mode.
pub struct Show {
    /// Whether the cursor stands at the beginning of a line.
    fresh: bool,
}

impl Show {
    pub fn new() -> Self {
        Self { fresh: true }
    }

    pub fn event(&mut self, out: &mut Out, event: &AgentEvent) -> Result<()> {
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
            AgentEvent::Notice(text) => {
                let text = out.faint(printable(text));
                self.line(out, &text)?;
            }
            AgentEvent::Asked { question, .. } => self.question(out, question)?,
            AgentEvent::TurnEnded(_) if !self.fresh => self.line(out, "")?,
            _ => {}
        }
        Ok(out.flush()?)
    }

    fn question(&mut self, out: &mut Out, question: &Question) -> Result<()> {
        match question {
            Question::Approve {
                command, warnings, ..
            } => {
                let head = out.warn(format!("⚠ {}", one_line(&warnings.join("; "))));
                self.line(out, &head)?;
                self.line(out, &format!("  {}", printable(command)))?;
                self.line(out, "  [1] once  [2] this session  [3] always  [4] deny")?;
            }
            Question::Clarify { question, choices } => {
                let question = out.heading(printable(question));
                self.line(out, &question)?;
                for (index, choice) in choices.iter().enumerate() {
                    self.line(out, &format!("  [{}] {}", index + 1, one_line(choice)))?;
                }
            }
            Question::Secret { prompt } | Question::Confirm { question: prompt } => {
                self.line(out, &printable(prompt))?;
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

    fn line(&mut self, out: &mut Out, text: &str) -> Result<()> {
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
