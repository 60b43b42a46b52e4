//! What a terminal is told besides rows: its title, news for the owner, text for the clipboard.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_home::Env;

use crate::text;

/// Titles and news are read at a glance.
const LABEL_COLUMNS: usize = 200;
/// More than this many bytes are dropped without a word by common terminals.
pub(super) const COPY_MAX: usize = 56_000;

pub(super) const ASK_BACKGROUND: &str = "\x1b]11;?\x1b\\";

/// The program that shows us, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Program {
    notice: Notice,
    /// tmux stands between us and the terminal, and passes on only what is wrapped.
    tmux: bool,
}

/// How a terminal wants to hear of news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notice {
    /// OSC 9, the one most terminals know.
    Plain,
    /// OSC 777, with a title.
    Titled,
    /// OSC 99, as kitty has it.
    Kitty,
}

impl Program {
    pub(super) fn of(env: &Env) -> Self {
        let term = env.get("TERM").unwrap_or_default();
        let notice = if env.filled("KITTY_WINDOW_ID").is_some() || term == "xterm-kitty" {
            Notice::Kitty
        } else if term.starts_with("foot")
            || term.starts_with("rxvt")
            || env.filled("VTE_VERSION").is_some()
        {
            Notice::Titled
        } else {
            Notice::Plain
        };
        Self {
            notice,
            tmux: env.filled("TMUX").is_some(),
        }
    }

    pub(super) fn notice(self, words: &str) -> String {
        let words = label(words);
        let bytes = match self.notice {
            // A number at the beginning would be an order to some terminals, such as one to show progress.
            Notice::Plain => format!("\x1b]9;Hermes: {words}\x07"),
            Notice::Titled => format!("\x1b]777;notify;Hermes;{}\x07", words.replace(';', ",")),
            Notice::Kitty => format!("\x1b]99;;Hermes: {words}\x1b\\"),
        };
        match self.tmux {
            true => wrapped(&bytes),
            false => bytes,
        }
    }

    /// tmux takes it itself or passes it on, or does neither, as it is configured.
    pub(super) fn copy(self, text: &str) -> String {
        let bytes = format!("\x1b]52;c;{}\x07", STANDARD.encode(text));
        match self.tmux {
            true => format!("{bytes}{}", wrapped(&bytes)),
            false => bytes,
        }
    }
}

pub(super) fn title(words: &str) -> String {
    format!("\x1b]0;{}\x07", label(words))
}

fn label(words: &str) -> String {
    text::cut(&text::one_line(words), LABEL_COLUMNS)
}

/// For the terminal around tmux.
fn wrapped(bytes: &str) -> String {
    format!("\x1bPtmux;{}\x1b\\", bytes.replace('\x1b', "\x1b\x1b"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn program(vars: &[(&str, &str)]) -> Program {
        let mut env = Env::default();
        for (name, value) in vars {
            env.set(*name, *value);
        }
        Program::of(&env)
    }

    #[test]
    fn every_terminal_hears_of_news_its_way() {
        let check = |vars: &[(&str, &str)], expected: &str| {
            assert_eq!(program(vars).notice("4;1 don\x1be"), expected);
        };
        check(&[], "\x1b]9;Hermes: 4;1 don\u{fffd}e\x07");
        check(
            &[("TERM", "foot")],
            "\x1b]777;notify;Hermes;4,1 don\u{fffd}e\x07",
        );
        check(
            &[("KITTY_WINDOW_ID", "1")],
            "\x1b]99;;Hermes: 4;1 don\u{fffd}e\x1b\\",
        );
        check(
            &[("TMUX", "/tmp/x")],
            "\x1bPtmux;\x1b\x1b]9;Hermes: 4;1 don\u{fffd}e\x07\x1b\\",
        );
    }

    #[test]
    fn the_clipboard_is_reached_through_tmux() {
        assert_eq!(program(&[]).copy("hi\n"), "\x1b]52;c;aGkK\x07");
        assert_eq!(
            program(&[("TMUX", "x")]).copy("hi\n"),
            "\x1b]52;c;aGkK\x07\x1bPtmux;\x1b\x1b]52;c;aGkK\x07\x1b\\"
        );
    }

    #[test]
    fn a_title_is_one_harmless_line() {
        assert_eq!(title("a\nb\x07c"), "\x1b]0;a b\u{fffd}c\x07");
        assert_eq!(title(&"x".repeat(300)).chars().count(), 4 + 200 + 1);
    }
}
