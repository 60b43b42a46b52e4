//! A program in a terminal: what it drew is a screen of text, what a person types is sent.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::Pid;
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::{Cmd, Exit};

type Writer = Arc<Mutex<Box<dyn Write + Send>>>;

/// Lines above the screen that can be scrolled to.
const SCROLLBACK: usize = 20_000;
/// A frame that was begun is whole by then, or it never will be.
const FRAME: Duration = Duration::from_secs(1);

/// A running program and the terminal it runs in. Dropping it kills the program.
pub struct Pty {
    master: Box<dyn MasterPty + Send>,
    child: Box<Child>,
    /// Shared with the reader, which answers the program's questions to its terminal.
    keyboard: Writer,
    terminal: Arc<Terminal>,
    reader: Option<JoinHandle<()>>,
}

/// What the reader thread and the test share.
struct Terminal {
    state: Mutex<State>,
    /// Something was drawn, or the output ended.
    changed: Condvar,
}

struct State {
    parser: vt100::Parser<Replies>,
    /// What the program has written so far.
    output: Vec<u8>,
    ended: bool,
}

impl Cmd {
    /// Runs in a terminal of `rows` × `cols`; input and timeout of the command don't count there.
    #[track_caller]
    pub fn pty(self, rows: u16, cols: u16) -> Pty {
        let pair = native_pty_system()
            .openpty(size(rows, cols))
            .expect("open a pseudo terminal");
        let mut command = CommandBuilder::new(&self.program);
        command.args(&self.args);
        command.cwd(&self.dir);
        command.env_clear();
        command.env("TERM", "xterm-256color");
        for (name, value) in &self.env {
            command.env(name, value);
        }
        let child: Box<dyn portable_pty::Child> = pair
            .slave
            .spawn_command(command)
            .unwrap_or_else(|error| panic!("start {}: {error}", self.program.display()));
        // The terminal crate's own view of an exit has no signal numbers.
        let child = child
            .downcast()
            .expect("a child of a Unix terminal is an ordinary one");
        // While we hold the program's side open, its output would never end.
        drop(pair.slave);
        Pty::new(pair.master, child, rows, cols)
    }
}

impl Pty {
    fn new(master: Box<dyn MasterPty + Send>, child: Box<Child>, rows: u16, cols: u16) -> Self {
        let output = master.try_clone_reader().expect("read from the terminal");
        let writer = master.take_writer().expect("write to the terminal");
        let keyboard = Arc::new(Mutex::new(writer));
        let terminal = Arc::new(Terminal {
            state: Mutex::new(State {
                parser: vt100::Parser::new_with_callbacks(
                    nonzero(rows),
                    nonzero(cols),
                    SCROLLBACK,
                    Replies::default(),
                ),
                output: Vec::new(),
                ended: false,
            }),
            changed: Condvar::new(),
        });
        let reader = {
            let (terminal, keyboard) = (terminal.clone(), keyboard.clone());
            thread::spawn(move || terminal.draw(output, &keyboard))
        };
        Self {
            master,
            child,
            keyboard,
            terminal,
            reader: Some(reader),
        }
    }

    /// Types `text`. Enter is `\r`, Ctrl-C `\x03`, escape `\x1b`.
    pub fn send(&mut self, text: &str) {
        type_into(&self.keyboard, text.as_bytes());
    }

    /// Types what is perhaps no text.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        type_into(&self.keyboard, bytes);
    }

    /// Waits until `text` is on the screen and returns the screen; panics with the screen if it takes
    /// longer than `timeout` or the program ends first.
    #[track_caller]
    pub fn wait_for(&self, text: &str, timeout: Duration) -> String {
        self.wait(timeout, |screen| screen.contains(text))
            .unwrap_or_else(|problem| panic!("waiting for {text:?}: {problem}"))
    }

    /// Like [`Pty::wait_for`], for anything that can be said of the screen.
    #[track_caller]
    pub fn wait_until(&self, holds: impl Fn(&str) -> bool, timeout: Duration) -> String {
        self.wait(timeout, holds)
            .unwrap_or_else(|problem| panic!("waiting for the screen to change: {problem}"))
    }

    /// What is on the screen now, without trailing blanks.
    pub fn screen(&self) -> String {
        self.terminal.whole().screen()
    }

    /// Everything one can scroll to and what is on the screen, line by line.
    pub fn scrollback(&self) -> Vec<String> {
        self.terminal.whole().scrollback()
    }

    /// The same with its colours.
    pub fn drawn(&self) -> vt100::Screen {
        self.terminal.lock().parser.screen().clone()
    }

    /// The cursor's row and column, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        self.terminal.lock().parser.screen().cursor_position()
    }

    /// Whether one can see the cursor.
    pub fn shows_cursor(&self) -> bool {
        !self.terminal.whole().parser.screen().hide_cursor()
    }

    /// Whether the program wants pastes to be marked.
    pub fn marks_pastes(&self) -> bool {
        self.terminal.lock().parser.screen().bracketed_paste()
    }

    /// Whether keys are a line that one can edit and see, as a shell wants them.
    pub fn is_ordinary(&self) -> bool {
        let name = self.master.tty_name().expect("a terminal has a name");
        let mut options = OpenOptions::new();
        let options = options.read(true).custom_flags(OFlag::O_NOCTTY.bits());
        let side = options.open(name).expect("open the program's side");
        let settings = tcgetattr(side).expect("the settings of a terminal");
        let wanted = LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG;
        settings.local_flags.contains(wanted)
    }

    /// How many bytes the program has written so far.
    pub fn bytes_written(&self) -> u64 {
        self.terminal.lock().output.len() as u64
    }

    /// Everything the program has written so far, as it came.
    pub fn output(&self) -> Vec<u8> {
        self.terminal.lock().output.clone()
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        // It may have ended; the test sees that by its exit.
        let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
    }

    pub fn resize(&mut self, rows: u16, cols: u16) {
        // The screen first: the program redraws as soon as it is told.
        self.terminal
            .lock()
            .parser
            .set_size(nonzero(rows), nonzero(cols));
        self.master
            .resize(size(rows, cols))
            .expect("resize the terminal");
    }

    /// Waits for the program to end and for its last output to be drawn; kills it after `timeout`.
    pub fn wait_exit(&mut self, timeout: Duration) -> Exit {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(status) = self.child.try_wait().expect("wait for the program") {
                self.join_reader();
                return status.into();
            }
            if Instant::now() >= deadline {
                self.kill();
                return Exit::TimedOut;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn wait(&self, timeout: Duration, holds: impl Fn(&str) -> bool) -> Result<String, String> {
        let deadline = Instant::now() + timeout;
        let mut state = self.terminal.lock();
        loop {
            let screen = state.screen();
            if !state.is_updating() && holds(&screen) {
                return Ok(screen);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.ended || left.is_zero() {
                let why = if state.ended {
                    "the program has ended".to_owned()
                } else {
                    format!("nothing after {timeout:?}")
                };
                return Err(format!("{why}; screen:\n{screen}\n(end of screen)"));
            }
            state = (self.terminal.changed.wait_timeout(state, left))
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0;
        }
    }

    /// Returns because the kernel hangs up a terminal whose session leader is gone.
    fn join_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            // A panic there has been printed; a second one while dropping would abort the test.
            let _ = reader.join();
        }
    }

    fn kill(&mut self) {
        // The program leads a group and a session of its own. No such group: it has ended.
        let _ = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
        // Nothing to learn from how a killed program ended.
        let _ = self.child.wait();
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.kill();
        }
        self.join_reader();
    }
}

impl fmt::Debug for Pty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pty")
            .field("screen", &self.screen())
            .finish_non_exhaustive()
    }
}

impl Terminal {
    /// A test that panicked while looking at the screen doesn't make the screen wrong.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The same between two frames.
    fn whole(&self) -> MutexGuard<'_, State> {
        let (state, _) = (self.changed)
            .wait_timeout_while(self.lock(), FRAME, |state| {
                state.is_updating() && !state.ended
            })
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        state
    }

    /// Draws what the program writes until it ends.
    fn draw(&self, mut output: Box<dyn Read + Send>, keyboard: &Writer) {
        let mut buffer = [0; 4096];
        // Linux reports the end of a terminal as an error, not as an empty read.
        while let Ok(size @ 1..) = output.read(&mut buffer) {
            let mut state = self.lock();
            state.parser.process(&buffer[..size]);
            state.output.extend_from_slice(&buffer[..size]);
            let replies = std::mem::take(&mut state.parser.callbacks_mut().replies);
            drop(state);
            self.changed.notify_all();
            type_into(keyboard, &replies);
        }
        self.lock().ended = true;
        self.changed.notify_all();
    }
}

impl State {
    fn screen(&self) -> String {
        let contents = self.parser.screen().contents();
        let lines: Vec<_> = contents.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }

    fn scrollback(&mut self) -> Vec<String> {
        let screen = self.parser.screen_mut();
        let mut lines = Vec::new();
        for offset in (1..=screen.scrollback_len()).rev() {
            screen.set_scrollback(offset);
            lines.extend(screen.rows(0, u16::MAX).next());
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, u16::MAX));
        lines
            .iter()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    /// In the midst of a frame, which a terminal shows only as a whole.
    fn is_updating(&self) -> bool {
        self.parser.callbacks().updating
    }
}

/// Answers to what programs ask of their terminal; one that gets none waits, or believes it has no
/// terminal.
#[derive(Default)]
struct Replies {
    replies: Vec<u8>,
    updating: bool,
}

impl vt100::Callbacks for Replies {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        i1: Option<u8>,
        _i2: Option<u8>,
        params: &[&[u16]],
        c: char,
    ) {
        let reply = match (i1, params, c) {
            // Where is the cursor?
            (None, [[6]], 'n') => {
                let (row, col) = screen.cursor_position();
                format!("\x1b[{};{}R", row + 1, col + 1)
            }
            // What are you? A VT220.
            (None, [] | [[0]], 'c') => "\x1b[?62c".to_owned(),
            (Some(b'?'), [[2026]], 'h' | 'l') => {
                self.updating = c == 'h';
                return;
            }
            _ => return,
        };
        self.replies.extend(reply.bytes());
    }
}

fn type_into(keyboard: &Writer, bytes: &[u8]) {
    let mut keyboard = keyboard
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    // A program that has ended reads nothing; the test sees that on the screen and by its exit.
    let _ = keyboard.write_all(bytes).and_then(|()| keyboard.flush());
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

fn nonzero(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).expect("a terminal has rows and columns")
}
