//! What is filled into a skill's text when it is shown: where it lies, which session reads it, and, if the owner
//! allows it, what commands say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;

/// Runs a command in a directory and gives what it said, or why it didn't run. Whoever provides it sees to it that
/// nothing dangerous runs and that it ends.
pub type RunInline =
    Arc<dyn Fn(String, PathBuf) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Characters of one command's answer.
const MAX_ANSWER: usize = 4000;
/// Commands of one text; more stay as they are.
const MAX_COMMANDS: usize = 20;

/// Puts the known values in; an unknown session leaves its mark in place.
pub fn fill(text: &str, dir: &Path, session: &str) -> String {
    let text = text.replace("${HERMES_SKILL_DIR}", &dir.to_string_lossy());
    if session.is_empty() {
        return text;
    }
    text.replace("${HERMES_SESSION_ID}", session)
}

/// Runs what stands in `` !`…` `` and puts the answers there.
pub async fn run_inline(text: &str, dir: &Path, run: &RunInline) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    for _ in 0..MAX_COMMANDS {
        let Some((before, command, after)) = next(rest) else {
            break;
        };
        filled.push_str(before);
        match run(command.to_owned(), dir.to_owned()).await {
            Ok(answer) => filled.push_str(&cut(answer.trim_end())),
            Err(reason) => filled.push_str(&format!("[`{command}`: {reason}]")),
        }
        rest = after;
    }
    filled + rest
}

/// The next command: what is before it, itself, and what is behind it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find("!`") {
        let start = from + at;
        let inside = &text[start + 2..];
        let end = inside.find(['`', '\n'])?;
        if inside[end..].starts_with('`') && !inside[..end].trim().is_empty() {
            return Some((&text[..start], &inside[..end], &inside[end + 1..]));
        }
        from = start + 2;
    }
    None
}

fn cut(answer: &str) -> String {
    if answer.chars().count() <= MAX_ANSWER {
        return answer.to_owned();
    }
    let kept: String = answer.chars().take(MAX_ANSWER).collect();
    format!("{kept}\n[… cut]")
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn places_are_filled_in() {
        let dir = Path::new("/s/x");
        assert_eq!(
            fill("${HERMES_SKILL_DIR}/a ${HERMES_SESSION_ID}", dir, "7"),
            "/s/x/a 7"
        );
        assert_eq!(
            fill("${HERMES_SESSION_ID} $HOME", dir, ""),
            "${HERMES_SESSION_ID} $HOME"
        );
    }

    #[tokio::test]
    async fn commands_are_answered_where_they_stand() {
        let run: RunInline = Arc::new(|command, dir| {
            let answer = match command.as_str() {
                "fail" => Err("exit 1".to_owned()),
                "long" => Ok("x".repeat(5000)),
                command => Ok(format!("<{command} in {}>\n", dir.display())),
            };
            async move { answer }.boxed()
        });
        let check = async |text: &str, expected: &str| {
            assert_eq!(
                run_inline(text, Path::new("/d"), &run).await,
                expected,
                "{text}"
            );
        };
        check("a !`date` b", "a <date in /d> b").await;
        check("!`a`!`b`", "<a in /d><b in /d>").await;
        check("!`fail`", "[`fail`: exit 1]").await;
        check("!`no\nend` !`x`", "!`no\nend` <x in /d>").await;
        check("!`` and !` `", "!`` and !` `").await;
        check("plain `code` here!", "plain `code` here!").await;
        let long = run_inline("!`long`", Path::new("/d"), &run).await;
        assert_eq!(long, format!("{}\n[… cut]", "x".repeat(4000)));
    }
}
