//! `sudo` without a terminal: where its password comes from, and how it gets it without anybody else seeing it.
//!
//! The password is the first line a command's shell reads. There it is a variable that is not exported, and a
//! function named `sudo` pipes it to the real one. So the shell itself decides what is a call of `sudo` and what
//! is only text, and neither arguments nor the environment ever hold the password.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_types::{Answer, CallCx, Question, SessionId};

use super::shell::Shell;
use hermes_gate as gate;

/// How long the owner has to type it.
const PATIENCE: Duration = Duration::from_secs(45);
/// Anything shorter is found in every output.
const WORTH_HIDING: usize = 4;
/// What sudo says when it was the wrong one, in the languages of most servers.
const REFUSALS: [&str; 3] = [
    "incorrect password attempt",
    "Sorry, try again",
    "no password was provided",
];

/// Reads the password, then defines `sudo`. Runs before the owner's aliases are known, which could spoil it.
///
/// Passed on untouched if sudo wants no password now: what it doesn't read, the program it starts would. Otherwise
/// the password takes the place of an empty input. An input that has something in it belongs to the program: sudo
/// is told the password in a call of its own, and only if it doesn't remember, in front of that input.
/// In parentheses, so that `set -x` can be turned off inside: it would show the password.
pub(super) const PRELUDE: &str = r#"IFS= \read -r _hermes_word
sudo() (
  { \set +x; } 2>/dev/null
  say() { \printf '%s\n' "$_hermes_word"; }
  free() { \command sudo -n true </dev/null >/dev/null 2>&1; }
  if free; then \command sudo "$@"
  elif [ /dev/stdin -ef /dev/null ]; then say | \command sudo -S -p '' "$@"
  elif ! say | \command sudo -S -p '' -v; then \exit 1
  elif free; then \command sudo "$@"
  else { say; \command cat; } | \command sudo -S -p '' "$@"
  fi
)
"#;

/// Behind [`PRELUDE`] where nobody else will write to the input.
pub(super) const NO_MORE_INPUT: &str = "\\exec </dev/null\n";

/// A password. Never shown, never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Only the first line of it: that is what a program reads.
    pub fn new(text: &str) -> Self {
        Self(text.lines().next().unwrap_or_default().to_owned())
    }

    pub(crate) fn line(&self) -> Vec<u8> {
        format!("{}\n", self.0).into_bytes()
    }

    /// `text` without it.
    pub(crate) fn hidden_in(&self, text: String) -> String {
        match self.0.len() >= WORTH_HIDING && text.contains(&self.0) {
            true => text.replace(&self.0, "***"),
            false => text,
        }
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What one terminal knows of passwords.
#[derive(Debug, Default)]
pub(super) struct Sudo {
    /// `SUDO_PASSWORD`
    configured: Option<Password>,
    /// What the owner typed, and in which session: another has to ask again.
    typed: Mutex<Option<(SessionId, Password)>>,
}

impl Sudo {
    pub fn knowing(password: Password) -> Self {
        Self {
            configured: Some(password),
            ..Self::default()
        }
    }

    /// What to hand to `command`; `None` if it doesn't call sudo, sudo needs nothing, or nobody knows it.
    pub async fn password(&self, command: &str, shell: &Shell, cx: &CallCx) -> Option<Password> {
        if !gate::calls_sudo(command) {
            return None;
        }
        if let Some(known) = self.configured.clone().or_else(|| self.remembered(cx)) {
            return Some(known);
        }
        if shell.sudo_asks().await {
            self.ask(cx).await
        } else {
            None
        }
    }

    /// A password that was refused is asked for again next time.
    pub fn heard(&self, output: &str) {
        if REFUSALS.iter().any(|refusal| output.contains(refusal)) {
            *self.typed() = None;
        }
    }

    fn remembered(&self, cx: &CallCx) -> Option<Password> {
        let mut typed = self.typed();
        typed.take_if(|(session, _)| *session != cx.scope.session);
        typed.as_ref().map(|(_, password)| password.clone())
    }

    async fn ask(&self, cx: &CallCx) -> Option<Password> {
        let question = Question::Secret {
            prompt: "sudo needs your password (Enter: go on without)".to_owned(),
        };
        let answer = tokio::time::timeout(PATIENCE, cx.asker.ask(question, &cx.scope)).await;
        let Ok(Answer::Text(text)) = answer else {
            return None;
        };
        let password = Some(Password::new(&text)).filter(|password| !password.0.is_empty())?;
        *self.typed() = Some((cx.scope.session.clone(), password.clone()));
        Some(password)
    }

    fn typed(&self) -> MutexGuard<'_, Option<(SessionId, Password)>> {
        self.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let password = Password::new("hunter22\nrest");
        assert_eq!(format!("{password:?}"), "***");
        assert_eq!(password.line(), b"hunter22\n");
        assert_eq!(password.hidden_in("a hunter22 b".to_owned()), "a *** b");
        assert_eq!(Password::new("a").hidden_in("banana".to_owned()), "banana");
        assert_eq!(Password::new("").line(), b"\n");
    }
}
