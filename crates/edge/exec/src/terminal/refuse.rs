//! Commands that would hang or get lost in the foreground, and directories that are no directories.

use hermes_gate as gate;

/// Why a command cannot run in the foreground.
pub(super) fn foreground(command: &str) -> Option<String> {
    let text = command.trim_end();
    let only_asks = [" --help", " --version"]
        .iter()
        .any(|flag| text.contains(flag))
        || [" -h", " -v"].iter().any(|flag| text.ends_with(flag));
    if only_asks {
        return None;
    }
    if ends_in_background(text) {
        return Some("it puts something into the background with '&'".to_owned());
    }
    gate::commands(text).iter().find_map(|words| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            [detach @ ("nohup" | "disown" | "setsid"), ..] => {
                Some(format!("'{detach}' detaches it from this call"))
            }
            words if serves(words) => Some(format!("'{}' does not end by itself", words.join(" "))),
            _ => None,
        }
    })
}

fn serves(words: &[&str]) -> bool {
    let runs = |verb: &str| matches!(verb, "dev" | "start" | "serve" | "watch");
    match words {
        ["npm" | "pnpm" | "yarn" | "bun", "run", verb, ..] => runs(verb),
        ["npm" | "pnpm" | "yarn" | "bun", verb, ..] => runs(verb),
        ["docker", "compose", "up", rest @ ..] | ["docker-compose", "up", rest @ ..] => {
            !rest.iter().any(|arg| matches!(*arg, "-d" | "--detach"))
        }
        ["next", "dev", ..] | ["nodemon" | "uvicorn" | "gunicorn", ..] => true,
        ["vite"] => true,
        ["vite", verb, ..] => !matches!(*verb, "build" | "optimize"),
        [python, "-m", "http.server", ..] => python.starts_with("python"),
        _ => false,
    }
}

/// ` & ` or a `&` at the end, outside quotes.
fn ends_in_background(text: &str) -> bool {
    let bare = without_quotes(text);
    let bytes = bare.trim_end().as_bytes();
    let space =
        |at: Option<usize>| at.is_none_or(|at| bytes.get(at).is_none_or(u8::is_ascii_whitespace));
    let lone = |at: usize| {
        at.checked_sub(1)
            .is_none_or(|before| !b"&><|\\".contains(&bytes[before]))
            && bytes.get(at + 1).is_none_or(|after| !b"&>".contains(after))
    };
    let mut ampersands = (0..bytes.len()).filter(|at| bytes[*at] == b'&' && lone(*at));
    ampersands.any(|at| at + 1 == bytes.len() || (space(at.checked_sub(1)) && space(Some(at + 1))))
}

/// The text with everything in quotes blanked, and without comments.
fn without_quotes(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut quote = None;
    let mut escaped = false;
    let mut comment = false;
    for c in text.chars() {
        let hidden = quote.is_some() || escaped || comment;
        match (quote, c) {
            _ if escaped => escaped = false,
            (_, '\n') if comment => comment = false,
            _ if comment => {}
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '#') if bare.ends_with(char::is_whitespace) => comment = true,
            _ => {}
        }
        bare.push(match c {
            '\n' => '\n',
            _ if hidden || comment || "'\"\\".contains(c) => '_',
            c => c,
        });
    }
    bare
}

/// Whether a directory name has only characters that directory names have.
pub(super) fn is_plausible_dir(dir: &str) -> bool {
    !dir.is_empty()
        && dir
            .chars()
            .all(|c| c.is_alphanumeric() || "/\\:_-.~ +@=,".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: terminal-and-safety §13.6
    #[test]
    fn what_does_not_end_is_refused() {
        for command in [
            "sleep 5 &",
            "sleep 5&",
            "sleep 5 & echo x",
            "nohup ./server",
            "cd x && setsid ./server",
            "./server & disown",
            "npm run dev",
            "npm start",
            "yarn dev",
            "pnpm run watch",
            "cd app && bun run serve",
            "docker compose up",
            "next dev",
            "vite",
            "vite --host",
            "nodemon x.js",
            "uvicorn app:app",
            "gunicorn app",
            "python -m http.server 8000",
            "PORT=1 python3 -m http.server",
        ] {
            assert!(foreground(command).is_some(), "{command}");
        }
        for command in [
            "npm run dev --help",
            "nohup --version",
            "uvicorn -h",
            "npm run build",
            "npm test",
            "docker compose up -d",
            "vite build",
            "echo 'a & b'",
            "echo \"x &\"",
            "a && b",
            "cmd 2>&1",
            "cmd &> log",
            "cmd >& log",
            "(sleep 20 &); echo ok",
            "echo nohup",
            "grep -r 'npm start' .",
            "curl 'http://x/?a=1&b=2'",
            "echo hi # now & then",
            "git commit -m 'nohup & setsid'",
        ] {
            assert_eq!(foreground(command), None, "{command}");
        }
    }

    #[test]
    fn directories_look_like_directories() {
        for dir in ["/tmp", "~/a b", "src/ünï", "C:\\x", "a+b@c=d,e"] {
            assert!(is_plausible_dir(dir), "{dir}");
        }
        for dir in ["", "a;b", "$(x)", "a`b`", "a\nb", "a'b", "a|b", "*"] {
            assert!(!is_plausible_dir(dir), "{dir}");
        }
    }
}
