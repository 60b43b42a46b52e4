//! The terminal as long as it is ours: keys as they are pressed, pastes as a whole, focus; and back again.

use std::io::{self, Write};
use std::time::Duration;

use crossterm::terminal::{supports_keyboard_enhancement, window_size};
use hermes_home::Env;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::signal::unix::{self, SignalKind, signal};
use tokio::time::timeout;

use super::Size;
use super::gone::{Gone, Watch};
use super::osc::{self, COPY_MAX, Program};
use super::restore::{self, Entered, restore_now};
use super::tty::Tty;
use crate::look::tells_background;

/// Terminals that tell no size, such as serial lines, are taken for this.
const USUAL: Size = Size {
    width: 80,
    height: 24,
};

/// A job that nobody could continue is not stopped at all: after this long, it goes on as if it had been.
const STOPPING: Duration = Duration::from_millis(500);

/// As long as it lives, the terminal is ours. Dropping it, also on the way out of a panic, brings back what was.
/// What is drawn has to be removed before: see [`Screen::leave`](super::Screen::leave).
#[derive(Debug)]
pub struct Terminal {
    tty: Tty,
    program: Program,
    keyboard: bool,
    /// It may be asked what its background is.
    tells_background: bool,
    watch: Watch,
}

/// `display.keyboard_enhancement`: whether keys such as Shift+Enter are told apart, where the terminal can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keyboard {
    /// Where the terminal is known to do it well and confirms it.
    #[default]
    Auto,
    On,
    Off,
}

impl Terminal {
    /// Nothing may read events of the terminal yet: in doubt it is asked what it can, and answers among them.
    pub fn enter(env: &Env, keyboard: Keyboard) -> io::Result<Self> {
        if restore::entered().is_some() {
            return Err(io::Error::other("the terminal is in use already"));
        }
        let tty = Tty::open()?;
        let keyboard = match keyboard {
            Keyboard::On => true,
            Keyboard::Off => false,
            Keyboard::Auto => {
                knows_keyboard(env) && supports_keyboard_enhancement().unwrap_or(false)
            }
        };
        let terminal = Self {
            watch: Watch::begin(&tty)?,
            tty,
            program: Program::of(env),
            keyboard,
            tells_background: tells_background(env),
        };
        terminal.take()?;
        Ok(terminal)
    }

    /// Where rows are written to.
    pub fn out(&self) -> Tty {
        self.tty.clone()
    }

    pub fn size(&self) -> io::Result<Size> {
        let size = window_size()?;
        match (size.columns, size.rows) {
            (0, _) | (_, 0) => Ok(USUAL),
            (width, height) => Ok(Size { width, height }),
        }
    }

    /// Resolves when there is no terminal any more. Reading events is no way to find out: it would go on for ever.
    pub fn gone(&self) -> Gone {
        self.watch.gone()
    }

    /// Stops all of the job, as Ctrl+Z does where nobody reads keys, and goes on with it. What is drawn has to be
    /// removed before, overlays too, and drawn again after, in a size that may be another one.
    pub async fn suspend(&mut self) -> io::Result<()> {
        let mut resumed = Self::continued()?;
        let title = release();
        let stopped = kill(Pid::from_raw(0), Signal::SIGTSTP);
        // The signal may take another thread first, and this one a little later.
        let _ = timeout(STOPPING, resumed.recv()).await;
        self.retake(title)?;
        Ok(stopped?)
    }

    /// Tells each time that we go on after somebody stopped us.
    pub fn continued() -> io::Result<unix::Signal> {
        signal(SignalKind::from_raw(Signal::SIGCONT as i32))
    }

    /// Sets everything again: while somebody else had stopped us, a shell may have changed it.
    pub fn renew(&mut self) -> io::Result<()> {
        let title = release();
        self.retake(title)
    }

    /// The title of the window; what it was comes back in the end.
    pub fn title(&mut self, words: &str) -> io::Result<()> {
        let mut first = false;
        restore::note(|entered| first = entered.title.replace(words.to_owned()).is_none());
        let save = if first { "\x1b[22;0t" } else { "" };
        self.write(&format!("{save}{}", osc::title(words)))
    }

    pub fn tells_background(&self) -> bool {
        self.tells_background
    }

    /// Asks what the background is, where that is understood. The answer comes among the keys, or never.
    pub fn ask_background(&mut self) -> io::Result<bool> {
        if self.tells_background {
            self.write(osc::ASK_BACKGROUND)?;
        }
        Ok(self.tells_background)
    }

    pub fn bell(&mut self) -> io::Result<()> {
        self.write("\x07")
    }

    /// News that the desktop may show, for somebody who looks elsewhere.
    pub fn notify(&mut self, words: &str) -> io::Result<()> {
        self.write(&self.program.notice(words))
    }

    /// Asks the terminal to put `text` into the clipboard; whether it does, it does not tell.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        if text.len() > COPY_MAX {
            let words = format!(
                "more than {} KB don't fit through the terminal",
                COPY_MAX / 1000
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        self.write(&self.program.copy(text))
    }

    fn take(&self) -> io::Result<()> {
        restore::enter(Entered {
            tty: self.tty.clone(),
            keyboard: self.keyboard,
            title: None,
            overlay: false,
            panic: None,
        })
    }

    fn retake(&mut self, title: Option<String>) -> io::Result<()> {
        self.take()?;
        title.map_or(Ok(()), |title| self.title(&title))
    }

    fn write(&self, bytes: &str) -> io::Result<()> {
        self.tty.clone().write_all(bytes.as_bytes())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore_now();
    }
}

/// Gives the terminal back; returns the title it was given, for the next time.
fn release() -> Option<String> {
    let title = restore::entered()
        .as_mut()
        .and_then(|entered| entered.title.clone());
    restore_now();
    title
}

/// Asking takes a round trip at the start, and some that would confirm break input methods: only these are asked.
fn knows_keyboard(env: &Env) -> bool {
    let term = env.get("TERM").unwrap_or_default();
    let known = ["xterm-kitty", "xterm-ghostty", "foot", "alacritty"];
    env.filled("TMUX").is_none() && known.iter().any(|name| term.starts_with(name))
}

#[cfg(test)]
mod tests;
