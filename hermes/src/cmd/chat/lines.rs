//! A conversation line by line: works on any terminal, with any screen reader.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hermes_exec::process::Processes;
use hermes_lines::{Hidden, Out, Show, printable};
use hermes_session::slash::{self, Known, Typed};
use hermes_session::{Feed, Input, QuickCommands, Session, asked};
use hermes_skills::Skills;
use hermes_skills::curator::Curator;
use hermes_tui::chat;
use hermes_tui::input::{Dropped, Ground, attached, leading};
use hermes_types::{AgentEvent, Answer, Consent, Message, Question, SessionId};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::farewell::farewell;
use super::open::{Presence, open};
use super::place::{Changes, Place};
use super::signals::{Caught, Signals};
use super::tip::Tip;
use crate::cli::Talk;
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
    app.block_on(talk_to(app, talk, source, until, &mut out))
}

async fn talk_to(
    app: &App,
    talk: &Talk,
    source: &str,
    until: Until<'_>,
    out: &mut Out,
) -> Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut signals = Signals::watch(&Caught::ALL, &app.env)?;
    // Once the session is open, Ctrl+C is for what runs.
    let mut ends = Signals::watch(&Caught::ENDS, &app.env)?;
    let presence = match until {
        Until::Left => Presence::Person,
        Until::Answered(_) => Presence::Once,
    };
    let open = open(app, talk, source, presence, &mut signals).await?;
    let news = Curator::news(&app.home).filter(|_| presence == Presence::Person);
    greet(out, until, &open.place, talk)?;
    if let Some(news) = news {
        let news = out.faint(printable(&news));
        writeln!(out, "{news}")?;
    }
    let processes = open.hands.processes().clone();
    let mut face = Face::new(&open.session, out, processes, until)?;
    face.skills = open.hands.skills.clone();
    face.quick = QuickCommands::read(&app.settings);
    face.user_home = app.env.user_home();
    face.tip = Tip::of(app).filter(|_| presence == Presence::Person);
    // Begins when the prompt is there, and ends with the session.
    let _looking = open.hands.catch_up();
    let face = async {
        let id = face.run(&open.feed, &mut lines, until).await;
        open.session.send(Input::Close).await;
        id
    };
    let work = async { tokio::join!(face, open.live.run()).0 };
    let (id, caught) = ends.during(&open.session, work).await;
    open.hands.put_down().await;
    if let Some(caught) = caught {
        open.place.leave(async |_| Changes::Keep).await;
        return Err(caught.failed().into());
    }
    if let (Some(Ok(id)), Until::Left) = (&id, until) {
        farewell(out, &open.store, id).await?;
    }
    let mut signals = Signals::watch(&Caught::ALL, &app.env)?;
    let decide = async |path: &Path| discard(out, &mut lines, &mut signals, path).await;
    open.place.leave(decide).await;
    out.flush()?;
    id.unwrap_or_else(|| Ok(open.session.id())).map(drop)
}

fn greet(out: &mut Out, until: Until<'_>, place: &Place, talk: &Talk) -> Result<()> {
    if let Some(checkout) = place.checkout() {
        let (path, branch) = (checkout.path.display(), &checkout.branch);
        let line = out.faint(format!("working in {path} on branch {branch}"));
        writeln!(out, "{line}")?;
    }
    if !talk.skills.is_empty() {
        let line = out.faint(format!("Activated skills: {}", talk.skills.join(", ")));
        writeln!(out, "{line}")?;
    }
    if let Until::Left = until {
        let hint = out.faint("type a message, /help for commands, Ctrl+D to leave");
        writeln!(out, "{hint}")?;
    }
    Ok(())
}

/// Asks what becomes of changes that were not committed. No answer is no.
async fn discard(out: &mut Out, lines: &mut Lines, signals: &mut Signals, path: &Path) -> Changes {
    let asked = write!(
        out,
        "{} has changes that are not committed. Remove it with them? [y/N] ",
        path.display()
    );
    if asked.and_then(|()| out.flush()).is_err() {
        return Changes::Keep;
    }
    let line = tokio::select! {
        line = lines.next_line() => line.ok().flatten().unwrap_or_default(),
        _ = signals.next() => String::new(),
    };
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Changes::Discard,
        _ => Changes::Keep,
    }
}

/// What the person types. One reader for all: what it has taken in ahead would be lost to another.
type Lines = tokio::io::Lines<BufReader<tokio::io::Stdin>>;

struct Face<'o> {
    session: &'o Session,
    out: &'o mut Out,
    /// Background jobs; what happens to them reaches the model.
    processes: Processes,
    show: Show,
    interrupt: Signal,
    running: bool,
    /// The conversation is being made shorter, in a turn or outside.
    compacting: bool,
    /// Whether the first answer is also the last.
    leaves: bool,
    /// What `/name` may call.
    skills: Option<Arc<Skills>>,
    /// The owner's own commands.
    quick: QuickCommands,
    /// What `~` means.
    user_home: PathBuf,
    /// The question on the screen.
    asked: Option<(u64, Question)>,
    /// While it is one for a secret.
    hidden: Option<Hidden>,
    last_interrupt: Option<Instant>,
    /// What to say when somebody first types while a turn runs.
    tip: Option<Tip>,
}

impl<'o> Face<'o> {
    fn new(
        session: &'o Session,
        out: &'o mut Out,
        processes: Processes,
        until: Until<'_>,
    ) -> Result<Self> {
        Ok(Self {
            session,
            out,
            processes,
            show: Show::default(),
            interrupt: signal(SignalKind::interrupt()).context("watching for signals")?,
            running: false,
            compacting: false,
            leaves: matches!(until, Until::Answered(_)),
            skills: None,
            quick: QuickCommands::default(),
            user_home: PathBuf::new(),
            asked: None,
            hidden: None,
            last_interrupt: None,
            tip: None,
        })
    }

    /// Runs until the session is over; gives the one it ended in.
    async fn run(mut self, feed: &Feed, lines: &mut Lines, until: Until<'_>) -> Result<SessionId> {
        let mut open = true;
        if let Until::Answered(prompt) = until {
            self.running = true;
            let asked = asked(self.skills.as_deref(), prompt);
            self.session.send(asked).await;
        }
        self.prompt()?;
        loop {
            let (id, task) = (self.session.id(), self.session.task());
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
                () = news(&self.processes, &task, until) => self.background(&task).await,
                _ = self.interrupt.recv() => self.interrupted().await?,
            }
        }
    }

    /// Something for the model.
    async fn say(&mut self, text: &str) -> Result<()> {
        if let Some(tip) = self.tip.take_if(|_| self.running) {
            let told = AgentEvent::Notice(tip.told());
            self.show.event(self.out, &told)?;
        }
        // Reading what it refers to is part of the work, and can be interrupted.
        self.running = true;
        self.session.send(Input::Prompt(Message::user(text))).await;
        Ok(())
    }

    /// What begins with the path of a file comes with that file.
    fn with_file(&self, line: &str) -> Option<Message> {
        let ground = Ground {
            user_home: &self.user_home,
            is_file: &|path| path.is_file(),
        };
        let (file, rest) = leading(line, ground)?;
        if let Dropped::Image(path) = &file
            && let Ok(message) = chat::message(rest.to_owned(), [path.as_path()].into_iter())
        {
            return Some(message);
        }
        let (Dropped::Image(path) | Dropped::File(path)) = file;
        Some(Message::user(attached(&path, rest)))
    }

    async fn line(&mut self, line: &str) -> Result<()> {
        if let Some((id, question)) = self.asked.take() {
            match answer(&question, line) {
                Some(answer) => {
                    self.hidden = None;
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
        if let Some(message) = self.with_file(line) {
            self.running = true;
            self.session.send(Input::Prompt(message)).await;
            return Ok(());
        }
        let line = &self.quick.unfold(line);
        let is_quick = |word: &str| self.quick.has(word);
        let is_skill = |word: &str| {
            let skills = self.skills.as_ref();
            skills.is_some_and(|skills| skills.has_command(word))
        };
        let known = Known {
            is_quick: &is_quick,
            is_skill: &is_skill,
        };
        match slash::read_with(line, known) {
            Typed::Quick { name, rest } => {
                let rest = rest.to_owned();
                self.session.send(Input::Quick { name, rest }).await;
            }
            Typed::Skill { name, rest } => {
                let (name, words) = (name.to_owned(), rest.to_owned());
                self.session.send(Input::Skill { name, words }).await;
            }
            Typed::Text => {
                let line = line.clone();
                self.say(&line).await?;
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
            AgentEvent::Asked { id, question } => {
                let is_secret = matches!(question, Question::Secret { .. });
                self.hidden = is_secret.then(Hidden::begin).flatten();
                self.asked = Some((*id, question.clone()));
            }
            AgentEvent::Compacting { .. } => self.compacting = true,
            AgentEvent::Compacted(_) => self.compacting = false,
            AgentEvent::Answered { .. } => (self.asked, self.hidden) = (None, None),
            _ => {}
        }
        self.show.event(self.out, &event)?;
        if matches!(event, AgentEvent::Notice(_)) && !self.running {
            self.prompt()?;
        }
        Ok(())
    }

    /// News from background jobs: beside the running turn, or as one of its own. Nobody typed it.
    async fn background(&mut self, id: &SessionId) {
        for notice in self.processes.drain_notices(id) {
            self.session.send(Input::Steer(notice.text())).await;
        }
    }

    /// The first Ctrl+C stops what runs; at rest, the second one leaves.
    async fn interrupted(&mut self) -> Result<()> {
        if self.running || self.compacting {
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

/// Ready when there is something to tell the model. Who leaves with the answer takes up no jobs of earlier times.
async fn news(processes: &Processes, id: &SessionId, until: Until<'_>) {
    match until {
        Until::Left => processes.noticed(id).await,
        Until::Answered(_) => processes.noticed_here(id).await,
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
        Question::Elicit { .. } if line.starts_with('{') => Some(Answer::Text(line.to_owned())),
        Question::Confirm {
            longest: Consent::Always,
            ..
        } if matches!(line, "a" | "always") => Some(Answer::Always),
        Question::Confirm { .. } | Question::Elicit { .. } => {
            Some(if matches!(line, "y" | "yes") {
                Answer::Once
            } else {
                Answer::Deny
            })
        }
    }
}
