//! A conversation line by line: works on any terminal, with any screen reader.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hermes_exec::process::Processes;
use hermes_session::slash::{self, Typed};
use hermes_session::{Feed, Input, Session};
use hermes_types::{AgentEvent, Answer, Message, Question, SessionId};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::open::{Open, Presence, open};
use super::show::Show;
use crate::cli::Talk;
use crate::out::Out;
use crate::wire::App;

/// A second Ctrl+C within this time leaves.
const TWICE: Duration = Duration::from_secs(2);

/// When it is over.
#[derive(Clone, Copy)]
pub enum Until<'p> {
    /// When the person leaves.
    Left,
    /// When this has been answered.
    Answered(&'p str),
}

pub fn run(app: &mut App, talk: &Talk, source: &str, until: Until<'_>) -> Result<()> {
    let mut out = Out::stdout(&app.env);
    app.block_on(async {
        let Open {
            session,
            live,
            feed,
            hands,
        } = open(app, talk, source, Presence::Person).await?;
        match until {
            Until::Left => {
                let hint = out.faint("type a message, /help for commands, Ctrl+D to leave");
                writeln!(out, "{hint}")?;
            }
            Until::Answered(prompt) => {
                session.send(Input::Prompt(Message::user(prompt))).await;
            }
        }
        let face = Face::new(session, &mut out, hands.processes().clone(), until)?;
        let (id, ()) = tokio::join!(face.run(&feed), live.run());
        hands.put_down().await;
        let id = id?;
        if let Until::Left = until {
            writeln!(out, "Resume this session with:\n  hermes --resume {id}")?;
        }
        Ok(out.flush()?)
    })
}

struct Face<'o> {
    session: Session,
    out: &'o mut Out,
    /// Background jobs; what happens to them reaches the model.
    processes: Processes,
    show: Show,
    interrupt: Signal,
    running: bool,
    /// Whether the first answer is also the last.
    leaves: bool,
    /// The question on the screen.
    asked: Option<(u64, Question)>,
    last_interrupt: Option<Instant>,
}

impl<'o> Face<'o> {
    fn new(
        session: Session,
        out: &'o mut Out,
        processes: Processes,
        until: Until<'_>,
    ) -> Result<Self> {
        Ok(Self {
            session,
            out,
            processes,
            show: Show::new(),
            interrupt: signal(SignalKind::interrupt()).context("watching for signals")?,
            running: false,
            leaves: matches!(until, Until::Answered(_)),
            asked: None,
            last_interrupt: None,
        })
    }

    /// Runs until the session is over; gives the one it ended in.
    async fn run(mut self, feed: &Feed) -> Result<SessionId> {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let mut open = true;
        self.prompt()?;
        loop {
            let id = self.session.id();
            tokio::select! {
                line = lines.next_line(), if open => match line.context("reading input")? {
                    Some(line) => self.line(&line).await?,
                    None => {
                        open = false;
                        self.session.send(Input::Close).await;
                    }
                },
                event = feed.next() => match event {
                    Some(event) => {
                        let over = self.leaves && matches!(event, AgentEvent::TurnEnded(_));
                        self.event(event)?;
                        if over {
                            self.session.send(Input::Close).await;
                        }
                    }
                    None => return Ok(id),
                },
                () = self.processes.noticed(&id) => self.background(&id).await,
                _ = self.interrupt.recv() => self.interrupted().await?,
            }
        }
    }

    async fn line(&mut self, line: &str) -> Result<()> {
        if let Some((id, question)) = self.asked.take() {
            match answer(&question, line) {
                Some(answer) => {
                    self.session.send(Input::Answer { id, answer }).await;
                }
                None => {
                    writeln!(self.out, "please type one of the numbers")?;
                    self.asked = Some((id, question));
                }
            }
            return Ok(self.out.flush()?);
        }
        if line.trim().is_empty() {
            return self.prompt();
        }
        match slash::read(line) {
            Typed::Text => {
                self.session.send(Input::Prompt(Message::user(line))).await;
            }
            Typed::Command { slash, rest } => {
                self.session
                    .send(Input::Command(slash, rest.to_owned()))
                    .await;
            }
            Typed::Ambiguous(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("/{name}")).collect();
                writeln!(self.out, "did you mean {}?", names.join(", "))?;
                self.prompt()?;
            }
            Typed::Unknown(word) => {
                writeln!(self.out, "there is no command /{word}; /help lists them")?;
                self.prompt()?;
            }
        }
        Ok(())
    }

    fn event(&mut self, event: AgentEvent) -> Result<()> {
        match &event {
            AgentEvent::TurnStarted => self.running = true,
            AgentEvent::TurnEnded(end) => {
                self.running = false;
                self.show.event(self.out, &event)?;
                if let Some(error) = &end.error {
                    let error = self.out.bad(error);
                    writeln!(self.out, "{error}")?;
                }
                if end.interrupted {
                    writeln!(self.out, "(interrupted)")?;
                }
                return self.prompt();
            }
            AgentEvent::Asked { id, question } => self.asked = Some((*id, question.clone())),
            AgentEvent::Answered { .. } => self.asked = None,
            _ => {}
        }
        self.show.event(self.out, &event)?;
        if matches!(event, AgentEvent::Notice(_)) && !self.running {
            self.prompt()?;
        }
        Ok(())
    }

    /// News from background jobs: beside the running turn, or as one of its own.
    async fn background(&mut self, id: &SessionId) {
        for notice in self.processes.drain_notices(id) {
            let text = notice.text();
            let input = if self.running {
                Input::Steer(text)
            } else {
                Input::Prompt(Message::user(text))
            };
            self.session.send(input).await;
        }
    }

    /// The first Ctrl+C stops what runs; at rest, the second one leaves.
    async fn interrupted(&mut self) -> Result<()> {
        if self.running {
            self.session.send(Input::Interrupt).await;
            return Ok(());
        }
        if self
            .last_interrupt
            .is_some_and(|last| last.elapsed() < TWICE)
        {
            self.session.send(Input::Close).await;
            return Ok(());
        }
        self.last_interrupt = Some(Instant::now());
        writeln!(self.out, "\nCtrl+C again to leave")?;
        self.prompt()
    }

    fn prompt(&mut self) -> Result<()> {
        if self.leaves {
            return Ok(());
        }
        let mark = self.out.heading("> ");
        write!(self.out, "{mark}")?;
        Ok(self.out.flush()?)
    }
}

fn answer(question: &Question, line: &str) -> Option<Answer> {
    let line = line.trim();
    match question {
        Question::Approve { .. } => match line {
            "1" | "y" | "yes" | "once" => Some(Answer::Once),
            "2" | "session" => Some(Answer::Session),
            "3" | "always" => Some(Answer::Always),
            "4" | "n" | "no" | "deny" | "" => Some(Answer::Deny),
            _ => None,
        },
        Question::Clarify { choices, .. } => {
            let chosen = line
                .parse::<usize>()
                .ok()
                .and_then(|n| choices.get(n.checked_sub(1)?));
            Some(Answer::Text(
                chosen.map_or_else(|| line.to_owned(), Clone::clone),
            ))
        }
        Question::Secret { .. } => Some(Answer::Text(line.to_owned())),
        Question::Confirm { .. } => Some(if matches!(line, "y" | "yes") {
            Answer::Once
        } else {
            Answer::Deny
        }),
    }
}
