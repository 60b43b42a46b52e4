//! What the slash commands do. Answers are notices: they are for the owner, not for the model.

use hermes_home::clock;
use hermes_store::{ErrorKind, ListQuery, Order};
use hermes_types::{AgentEvent, Content, Message, Role};
use jiff::Timestamp;
use serde_json::json;

use crate::about::Work;
use crate::actor::{Live, Which};
use crate::begin::Beginning;
use crate::personality::Personalities;
use crate::references::Said;
use crate::slash::{Face, Slash, help};

/// What follows a command.
pub(crate) enum Then {
    /// Nothing; wait for the next input.
    Wait,
    /// A turn with this prompt.
    Ask(Said),
    /// The session is over.
    Leave,
}

impl Live {
    /// Carries out a command while nothing runs.
    pub(crate) async fn command(&mut self, slash: &Slash, rest: &str) -> Then {
        match slash.name {
            "quit" => return Then::Leave,
            "retry" => return self.retry().await,
            "queue" | "steer" => return self.say_now(slash.name, rest),
            "compress" => return self.compress(rest).await,
            "journey" => return self.journey(rest).await,
            name @ ("new" | "clear" | "undo") => return self.drop_said(name, rest).await,
            _ => {}
        }
        let said = match slash.name {
            "resume" => self.resume(rest).await,
            "rollback" => self.roll_back(rest).await,
            "save" => self.save(),
            "personality" => self.change_personality(rest).await,
            "branch" => self.branch(rest).await,
            "reasoning" => self.change_effort(rest).await,
            "fast" => self.change_speed(rest).await,
            "reload" => self.reload().await,
            "reload-mcp" => self.reload_servers(rest).await,
            "stop" => {
                let tasks = self.stop_background();
                let jobs = self.stop_jobs(self.task.clone()).await;
                let told: Vec<String> = [tasks, jobs].into_iter().flatten().collect();
                let told = (!told.is_empty()).then(|| told.join("\n"));
                told.unwrap_or_else(|| "nothing is running".to_owned())
            }
            _ => self.tell(slash, rest).await,
        };
        self.notice(said);
        Then::Wait
    }

    /// Commands that only look, or only touch the session's name: possible at any time.
    pub(crate) async fn tell(&mut self, slash: &Slash, rest: &str) -> String {
        match slash.name {
            "help" => help(Face::Any) + &self.quick.commands.help(),
            "model" => self.change_model(rest).await,
            "version" => format!("Hermes Agent v{}", env!("CARGO_PKG_VERSION")),
            "config" => self.config(),
            "profile" => self.profile(),
            "toolsets" => self.toolsets(),
            "tools" => self.tools(rest).await,
            "title" => self.title(rest).await,
            "history" => self.history(),
            "status" => self.status(Work::Rests).await,
            "usage" => self.usage().await,
            "insights" => self.insights(rest).await,
            "context" => self.context(),
            "background" => self.start_background(rest),
            "agents" => self.agents(None),
            "busy" => self.change_busy(rest).await,
            "yolo" => self.turn_yolo(),
            "skills" => self.list_skills(rest),
            "curator" => self.ask_curator(rest).await,
            "memory" => self.show_memory(rest),
            "journey" => self.show_journey(rest).await,
            "reload-skills" => self.reload_skills(),
            other if slash.face == Face::Screen => format!("/{other} needs a screen"),
            other => format!("/{other} has to wait until the running turn is over (or /stop)"),
        }
    }

    pub(crate) fn notice(&self, text: impl Into<String>) {
        self.events.send(AgentEvent::Notice(text.into()));
    }

    pub(crate) async fn start_anew(&mut self, title: &str) -> String {
        let (reason, before) = ("new_session", self.task.clone());
        self.end_with(reason).await;
        if let Err(error) = self.open(Which::New).await {
            return error.to_string();
        }
        self.forget_permissions();
        let stopped = self.stop_jobs(before).await;
        let stopped = stopped.map(|told| format!("{told}\n")).unwrap_or_default();
        if title.is_empty() {
            return format!("{stopped}new session {}", self.id);
        }
        // The row comes with the first message; the title waits for it.
        self.wanted_title = Some(title.to_owned());
        format!("{stopped}new session {}: {title}", self.id)
    }

    async fn resume(&mut self, what: &str) -> String {
        if what.is_empty() {
            return self.recent().await;
        }
        let target = match self.opening.store.find(what).await {
            Ok(found) => self.opening.store.resume_target(&found).await,
            Err(error) => Err(error),
        };
        match target {
            Err(error) => error.to_string(),
            Ok(id) => {
                self.end_with("resumed_other").await;
                match self.open(Which::Existing(id)).await {
                    Ok(()) => {
                        self.forget_permissions();
                        let count = self.conversation.messages().len();
                        format!("↻ Resumed session {} ({count} messages)", self.id)
                    }
                    Err(error) => error.to_string(),
                }
            }
        }
    }

    async fn recent(&self) -> String {
        let query = ListQuery {
            order: Order::Activity,
            limit: 10,
            ..ListQuery::default()
        };
        match self.opening.store.list(query).await {
            Err(error) => error.to_string(),
            Ok(rows) => {
                let line = |row: &hermes_store::Listed| {
                    format!(
                        "  {}  {}",
                        row.id,
                        row.title.as_deref().unwrap_or(&row.preview)
                    )
                };
                let rows: Vec<String> = rows.iter().map(line).collect();
                format!(
                    "recent conversations (/resume ID or title):\n{}",
                    rows.join("\n")
                )
            }
        }
    }

    pub(crate) async fn open(&mut self, which: Which) -> hermes_store::Result<()> {
        self.opening.which = which;
        let beginning = Beginning::of(&self.opening).await?;
        self.events.send(beginning.opened(&self.opening));
        self.current.send_replace(beginning.current.clone());
        self.follow();
        self.conversation = beginning.conversation(&self.opening, self.current.clone());
        self.wanted_title = None;
        self.conversation.overlay = self.overlay();
        if let Some(skills) = &self.skills {
            skills.forget_session();
        }
        Ok(())
    }

    /// Where the questions stand, the last one first.
    pub(crate) fn questions(&self) -> impl Iterator<Item = (usize, &Message)> {
        let messages = self.conversation.messages().iter().enumerate().rev();
        messages.filter(|(_, message)| message.role == Role::User)
    }

    async fn retry(&mut self) -> Then {
        let last = self.questions().next();
        let Some((place, question)) = last.map(|(place, last)| (place, last.clone())) else {
            self.notice("there is nothing to ask again");
            return Then::Wait;
        };
        self.conversation.truncate(place).await;
        // What it refers to is in it already.
        Then::Ask(question.into())
    }

    async fn title(&mut self, title: &str) -> String {
        if title.is_empty() {
            return self.current_title().await.map_or(
                "this session has no title yet: /title NAME gives it one".to_owned(),
                |t| format!("title: {t}"),
            );
        }
        match self.opening.store.set_title(&self.id, title).await {
            Ok(Some(title)) => format!("title: {title}"),
            Ok(None) => "the title is empty".to_owned(),
            // Nothing has been said yet: the title waits for the row to be made.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.wanted_title = Some(title.to_owned());
                format!("title: {title}")
            }
            Err(error) => error.to_string(),
        }
    }

    /// The stored title, or the one that waits.
    pub(crate) async fn current_title(&self) -> Option<String> {
        let stored = self.opening.store.session(&self.id).await;
        let stored = stored.ok().flatten().and_then(|session| session.title);
        stored.or_else(|| self.wanted_title.clone())
    }

    fn history(&self) -> String {
        let spoken = self
            .conversation
            .messages()
            .iter()
            .filter(|m| matches!(m.role, Role::User | Role::Assistant));
        let lines: Vec<String> = spoken
            .map(|message| {
                (
                    message.role.as_str(),
                    message
                        .content
                        .as_ref()
                        .map(Content::plain)
                        .unwrap_or_default(),
                )
            })
            .filter(|(_, text)| !text.trim().is_empty())
            .map(|(role, text)| format!("{role}: {text}"))
            .collect();
        if lines.is_empty() {
            "nothing has been said yet".to_owned()
        } else {
            lines.join("\n")
        }
    }

    fn save(&self) -> String {
        let dir = self.opening.saved_dir.clone();
        let path = dir.join(format!(
            "hermes_conversation_{}.json",
            clock::now().strftime("%Y%m%d_%H%M%S")
        ));
        let content = json!({
            "model": self.opening.model.info().model,
            "session_id": self.id,
            "session_start": self.started.to_string(),
            "messages": self.conversation.messages(),
        });
        let written = std::fs::create_dir_all(&dir)
            .and_then(|()| std::fs::write(&path, format!("{content:#}")));
        match written {
            Ok(()) => format!("saved to {}", path.display()),
            Err(error) => format!("could not write {}: {error}", path.display()),
        }
    }

    async fn change_personality(&mut self, name: &str) -> String {
        let Some(personalities) = &mut self.personalities else {
            return "there are no personalities here".to_owned();
        };
        let told = personalities.choose(name).await;
        self.conversation.overlay = self.overlay();
        told
    }

    fn overlay(&self) -> String {
        let personalities = self.personalities.as_ref();
        personalities
            .map(Personalities::overlay)
            .unwrap_or_default()
    }

    pub(crate) async fn end_with(&self, reason: &str) {
        if self.conversation.messages().is_empty() {
            return;
        }
        self.ended();
        if let Err(error) = self
            .opening
            .store
            .end_session(&self.id, reason, Timestamp::now())
            .await
        {
            tracing::warn!("{}: {error}", self.id);
        }
    }
}
