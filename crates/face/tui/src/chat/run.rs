//! The loop: waits for keys, for the session and for time to pass, and draws what came of it.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event, EventStream, KeyEvent, KeyEventKind};
use futures::StreamExt;
use hermes_session::{Feed, Input, Session};
use hermes_types::AgentEvent;
use tokio::signal::unix::Signal;
use tokio::sync::mpsc;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::effect::Effect;
use super::found::Found;
use super::over::{Closed, Over};
use super::room::Room;
use super::turn::Turn;
use super::world::{Jobs, Joined, Left, Lists, World};
use crate::input::Replies;
use crate::markdown::Highlighter;
use crate::screen::{Keyboard, Screen, Scrollback, Size, Terminal, Tty};

/// Between two frames, when nobody pressed a key.
const FRAME: Duration = Duration::from_millis(16);
/// Between two steps of what moves by itself.
const TICK: Duration = Duration::from_millis(125);
/// A frame that took this long is worth a line in the log, for whoever looks at everything.
const SLOW: Duration = Duration::from_millis(4);
/// Text that came all at once is taken in parts, with keys and frames in between.
const PART: usize = 4 * 1024;
/// So many finished rows are not left for the next frame: a terminal takes its time for each.
const MANY: usize = 48;

/// Why there was no chat.
#[derive(Debug, thiserror::Error)]
pub enum Error<E> {
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
    #[error(transparent)]
    Opening(E),
}

/// Shows a chat until its owner leaves. What is typed before the session is open waits for it.
pub async fn run<E>(
    world: World,
    opening: impl Future<Output = Result<Joined, E>>,
) -> Result<Left, Error<E>> {
    let mut chat = Chat::begin(world)?;
    let left = chat.go(opening).await;
    chat.end();
    left
}

pub(super) struct Chat {
    pub(super) room: Room,
    pub(super) world: World,
    pub(super) terminal: Terminal,
    pub(super) screen: Screen<Tty>,
    /// Keys; nobody reads them while another program has the terminal.
    pub(super) events: Option<EventStream>,
    pub(super) over: Option<Over>,
    pub(super) on: Option<On>,
    /// What is for the session and came before it.
    held: Vec<Input>,
    /// What was looked for elsewhere.
    pub(super) found: (mpsc::UnboundedSender<Found>, mpsc::UnboundedReceiver<Found>),
    pub(super) searching: Option<AbortOnDropHandle<()>>,
    /// To or from the clipboard.
    pub(super) clipboard: Option<AbortOnDropHandle<()>>,
    /// Makes ready what colours code.
    colours: Option<AbortOnDropHandle<()>>,
    drawn: Instant,
    dirty: bool,
    ticked: Instant,
    pub(super) leaving: Option<Leaving>,
    /// The title the window has.
    title: String,
    /// Whoever stopped us let us go on.
    pub(super) continued: Signal,
    /// What the terminal answers among the keys.
    pub(super) replies: Replies,
}

/// The session is asked to end; whoever waits for it does not wait for ever.
pub(super) struct Leaving {
    pub until: Instant,
    pub left: Left,
}

/// The session, once it is open.
pub(super) struct On {
    pub session: Session,
    feed: Feed,
    /// Text that came and was not looked at yet.
    rest: String,
    /// Ends with the chat.
    _live: AbortOnDropHandle<()>,
    jobs: Arc<dyn Jobs>,
    pub lists: Arc<dyn Lists>,
    servers: Arc<dyn Fn() -> Option<String> + Send + Sync>,
}

impl On {
    /// The next part of what came.
    fn part(&mut self) -> String {
        let rest = self.rest.split_off(self.rest.floor_char_boundary(PART));
        std::mem::replace(&mut self.rest, rest)
    }
}

/// What the loop woke up for.
enum Woken<E> {
    Terminal(Option<io::Result<Event>>),
    Session(Option<AgentEvent>),
    Opened(Result<Joined, E>),
    Told(String),
    Found(Found),
    News(Vec<String>),
    Time,
    Continued,
    Gone,
    Ended,
}

impl Chat {
    fn begin(world: World) -> io::Result<Self> {
        let keyboard = match world.settings.text("display.keyboard_enhancement") {
            "on" => Keyboard::On,
            "off" => Keyboard::Off,
            _ => Keyboard::Auto,
        };
        let terminal = Terminal::enter(&world.env, keyboard)?;
        let size = terminal.size()?;
        let screen = Screen::new(terminal.out(), size, Scrollback::of(&world.env));
        let now = Instant::now();
        let mut room = Room::new(&world, size, now);
        let screen = screen.linked(room.look.links());
        room.greet(&world);
        if terminal.tells_background() {
            room.hold_first(now);
        }
        Ok(Self {
            room,
            world,
            terminal,
            screen,
            events: None,
            over: None,
            on: None,
            held: Vec::new(),
            found: mpsc::unbounded_channel(),
            searching: None,
            clipboard: None,
            colours: None,
            drawn: now,
            dirty: true,
            ticked: now,
            leaving: None,
            title: String::new(),
            continued: Terminal::continued()?,
            replies: Replies::default(),
        })
    }

    async fn go<E>(
        &mut self,
        opening: impl Future<Output = Result<Joined, E>>,
    ) -> Result<Left, Error<E>> {
        tokio::pin!(opening);
        let gone = self.terminal.gone();
        tokio::pin!(gone);
        self.draw()?;
        self.events = Some(EventStream::new());
        self.ask_background()?;
        // After the first frame: nobody waits for colours.
        self.colours = Some(AbortOnDropHandle::new(
            TaskTracker::new().spawn_blocking(Highlighter::load),
        ));
        loop {
            let deadline = self.deadline();
            let woken = {
                let (opened, leaving) = (self.on.is_some(), self.leaving.is_some());
                let (found, told) = (&mut self.found.1, &mut self.world.told);
                let continued = &mut self.continued;
                let (events, on, ended) = (&mut self.events, &mut self.on, &mut self.world.ended);
                tokio::select! {
                    // Who waits for a key sees it at once, whatever else comes in.
                    biased;
                    event = next_key(events) => Woken::Terminal(event),
                    () = &mut gone, if !leaving => Woken::Gone,
                    () = ended, if !leaving => Woken::Ended,
                    () = until(deadline) => Woken::Time,
                    joined = &mut opening, if !opened => Woken::Opened(joined),
                    woken = next_of_session(on) => woken,
                    Some(text) = told.recv() => Woken::Told(text),
                    Some(found) = found.recv() => Woken::Found(found),
                    Some(()) = continued.recv() => Woken::Continued,
                }
            };
            let begun = Instant::now();
            let left = self.woken(woken).await?;
            tell_if_slow(begun.elapsed());
            if let Some(left) = left {
                return Ok(left);
            }
        }
    }

    async fn woken<E>(&mut self, woken: Woken<E>) -> Result<Option<Left>, Error<E>> {
        let now = Instant::now();
        // A key that was held is let go now.
        let held = self.room.burst.next_deadline();
        let pressed = matches!(woken, Woken::Terminal(_)) || held.is_some_and(|at| at <= now);
        let effects = match woken {
            Woken::Terminal(event) => match self.terminal_event(event, now) {
                Some(effects) => effects,
                None => return Ok(self.part(Left::Gone, now).await),
            },
            Woken::Session(Some(event)) => self.room.event(event, now),
            Woken::Session(None) => return Ok(Some(self.left())),
            Woken::Time if self.leaving.as_ref().is_some_and(|it| it.until <= now) => {
                return Ok(Some(self.left()));
            }
            Woken::Opened(Ok(joined)) => self.join(joined, now).await,
            Woken::Opened(Err(error)) => return Err(Error::Opening(error)),
            Woken::Told(text) => {
                self.room.close_answer();
                self.room.notice(text);
                Vec::new()
            }
            Woken::Found(found) => self.arrived(found),
            Woken::News(texts) => self.news(&texts, now),
            Woken::Time => self.time(now),
            Woken::Continued => {
                self.over = None;
                self.go_on()?;
                Vec::new()
            }
            Woken::Gone => return Ok(self.part(Left::Gone, now).await),
            Woken::Ended => return Ok(self.part(Left::Ended, now).await),
        };
        for effect in effects {
            if let Some(left) = self.act(effect, now).await? {
                return Ok(Some(left));
            }
        }
        self.dirty = true;
        if self.is_gone() {
            return Ok(None);
        }
        let many = self.room.transcript.fresh() >= MANY;
        if pressed || many || now - self.drawn >= FRAME {
            self.draw()?;
        }
        Ok(None)
    }

    fn terminal_event(
        &mut self,
        event: Option<io::Result<Event>>,
        now: Instant,
    ) -> Option<Vec<Effect>> {
        let event = event?.ok()?;
        Some(match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            Event::Key(key) => self.heard(key, now),
            Event::Paste(text) => match &mut self.over {
                Some(over) => {
                    over.paste(&text);
                    Vec::new()
                }
                None => self.room.paste(&text, now),
            },
            Event::Resize(width, height) => {
                self.screen.resizing(Size { width, height }, now);
                Vec::new()
            }
            Event::FocusGained => {
                self.room.focused = true;
                Vec::new()
            }
            Event::FocusLost => {
                self.room.focused = false;
                Vec::new()
            }
            Event::Mouse(_) => Vec::new(),
        })
    }

    pub(super) fn pressed(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        match &mut self.over {
            Some(over) => {
                let closed = over.key(key);
                self.close(closed)
            }
            None => self.room.key(key, now),
        }
    }

    /// What is over the chat is closed, or not.
    fn close(&mut self, closed: Closed) -> Vec<Effect> {
        match closed {
            Closed::No => Vec::new(),
            Closed::Yes => {
                self.over = None;
                self.screen.invalidate();
                Vec::new()
            }
            Closed::With(command, argument) => {
                self.over = None;
                self.screen.invalidate();
                self.room.chosen(command, &argument)
            }
        }
    }

    async fn join(&mut self, joined: Joined, now: Instant) -> Vec<Effect> {
        self.on = Some(On {
            session: joined.session,
            feed: joined.feed,
            rest: String::new(),
            _live: AbortOnDropHandle::new(TaskTracker::new().spawn(joined.live)),
            jobs: joined.jobs,
            lists: joined.lists,
            servers: joined.servers,
        });
        self.room.more = joined.more;
        self.room.joined = true;
        self.room.standing.servers = self.on.as_ref().and_then(|on| (on.servers)());
        for input in std::mem::take(&mut self.held) {
            self.send(input).await;
        }
        self.room.next_in_queue(now)
    }

    /// News from background jobs: beside the running turn, or as one of its own.
    fn news(&mut self, texts: &[String], now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        for text in texts {
            let first = text.lines().next().unwrap_or_default();
            self.room.notice(first);
            if !self.room.is_running() {
                self.room.turn = Some(Turn::new(now));
            }
            // Beside a running turn, or else as a prompt of its own.
            effects.push(Effect::Send(Input::Steer(text.clone())));
        }
        effects
    }

    fn time(&mut self, now: Instant) -> Vec<Effect> {
        if self.screen.settles_at().is_some_and(|at| at <= now) {
            self.resized();
        }
        if now - self.ticked >= TICK {
            self.ticked = now;
            self.room.ticks += 1;
            self.room.standing.servers = self.on.as_ref().and_then(|on| (on.servers)());
        }
        let mut effects = self.heard_late(now);
        effects.extend(self.room.tick(now));
        effects
    }

    pub(super) fn resized(&mut self) {
        let Ok(size) = self.terminal.size() else {
            return;
        };
        self.room.size = size;
        let room = &mut self.room;
        self.screen
            .resized(size, &mut |width| room.history_rows(width));
        if let Some(over) = &mut self.over {
            over.resized(size, &self.room);
        }
    }

    /// When something has to happen though nothing happens.
    fn deadline(&self) -> Option<Instant> {
        let moving = self.room.is_moving().then(|| self.ticked + TICK);
        let frame = (self.dirty && !self.is_gone()).then(|| self.drawn + FRAME);
        let leaving = self.leaving.as_ref().map(|leaving| leaving.until);
        let hint = self.room.hint.as_ref().map(|hint| hint.until);
        let burst = self.room.burst.next_deadline();
        [
            moving,
            frame,
            leaving,
            hint,
            burst,
            self.replies.deadline(),
            self.room.first_until,
            self.screen.settles_at(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn draw(&mut self) -> io::Result<()> {
        let now = Instant::now();
        (self.drawn, self.dirty) = (now, false);
        if let Some(over) = &mut self.over {
            return over.draw(&self.room.look);
        }
        let title = self.room.window_title();
        if title != self.title {
            self.terminal.title(&title)?;
            self.title = title;
        }
        let drawn = self.room.draw(now);
        let fresh = self.room.take_fresh(now);
        self.screen.push(fresh);
        self.dirty = self.room.is_draining();
        self.screen.draw(&drawn.rows, drawn.cursor)
    }

    pub(super) async fn send(&mut self, input: Input) {
        match &self.on {
            Some(on) => {
                on.session.send(input).await;
            }
            None => self.held.push(input),
        }
    }

    /// Gives the terminal back to whoever comes next.
    fn end(&mut self) {
        self.over = None;
        self.events = None;
        let fresh = self.room.transcript.take_fresh();
        self.screen.push(fresh);
        // The terminal may be gone; then there is nothing to tidy up.
        let _ = self.screen.leave();
    }
}

/// Why keys were answered late is found in the log.
fn tell_if_slow(took: Duration) {
    if took >= SLOW {
        tracing::debug!("a frame took {} ms", took.as_millis());
    }
}

async fn next_key(events: &mut Option<EventStream>) -> Option<io::Result<Event>> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

async fn next_of_session<E>(on: &mut Option<On>) -> Woken<E> {
    let Some(on) = on else {
        return std::future::pending().await;
    };
    if !on.rest.is_empty() {
        return Woken::Session(Some(AgentEvent::Text(on.part())));
    }
    let task = on.session.task();
    tokio::select! {
        event = on.feed.next() => match event {
            Some(AgentEvent::Text(text)) => {
                on.rest = text;
                Woken::Session(Some(AgentEvent::Text(on.part())))
            }
            event => Woken::Session(event),
        },
        news = on.jobs.news(task) => Woken::News(news),
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
