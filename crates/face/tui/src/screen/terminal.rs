//! The terminal as long as it is ours: keys as they are pressed, pastes as a whole, focus; and back again.

use std::io::{self, Write};

use crossterm::terminal::{supports_keyboard_enhancement, window_size};
use hermes_home::Env;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Size;
use super::gone::{Gone, Watch};
use super::osc::{self, COPY_MAX, Program};
use super::restore::{self, Entered, restore_now};
use super::tty::Tty;

/// Terminals that tell no size, such as serial lines, are taken for this.
const USUAL: Size = Size {
    width: 80,
    height: 24,
};

/// As long as it lives, the terminal is ours. Dropping it, also on the way out of a panic, brings back what was.
/// What is drawn has to be removed before: see [`Screen::leave`](super::Screen::leave).
#[derive(Debug)]
pub struct Terminal {
    tty: Tty,
    program: Program,
    keyboard: bool,
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

    /// Stops all of the job, as Ctrl+Z does where nobody reads keys, and goes on with it. Must be called in the
    /// main thread, which takes the signal; what is drawn has to be removed before, and drawn again after, in a
    /// size that may be another one.
    pub fn suspend(&mut self) -> io::Result<()> {
        restore_now();
        let stopped = kill(Pid::from_raw(0), Signal::SIGTSTP);
        self.take()?;
        Ok(stopped?)
    }

    /// The title of the window; what it was comes back in the end.
    pub fn title(&mut self, words: &str) -> io::Result<()> {
        let mut first = false;
        restore::note(|entered| first = !std::mem::replace(&mut entered.title, true));
        let save = if first { "\x1b[22;0t" } else { "" };
        self.write(&format!("{save}{}", osc::title(words)))
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
            title: false,
            overlay: false,
            panic: None,
        })
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

/// Asking takes a round trip at the start, and some that would confirm break input methods: only these are asked.
fn knows_keyboard(env: &Env) -> bool {
    let term = env.get("TERM").unwrap_or_default();
    let known = ["xterm-kitty", "xterm-ghostty", "foot", "alacritty"];
    env.filled("TMUX").is_none() && known.iter().any(|name| term.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_terminals_known_for_it_are_asked_about_keys() {
        let check = |term: &str, tmux: &str, expected: bool| {
            let mut env = Env::default();
            env.set("TERM", term);
            env.set("TMUX", tmux);
            assert_eq!(knows_keyboard(&env), expected, "{term} {tmux}");
        };
        check("xterm-kitty", "", true);
        check("foot-extra", "", true);
        check("xterm-256color", "", false);
        check("xterm-kitty", "/tmp/tmux", false);
        assert!(!knows_keyboard(&Env::default()));
    }
}
