//! Session names may be typed without quotes: `hermes -c my long title`.

use std::ffi::OsString;

/// Joins the words behind `-c`, `-r` and their long forms, up to the next option or command.
pub fn join_names(args: Vec<OsString>, commands: &[String]) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(args.len());
    let mut args = args.into_iter().peekable();
    while let Some(arg) = args.next() {
        if arg == "--args" {
            // What follows is for another program.
            joined.push(arg);
            joined.extend(args);
            break;
        }
        let takes_name = ["-c", "--continue", "-r", "--resume"]
            .iter()
            .any(|option| arg == *option);
        joined.push(arg);
        if !takes_name {
            continue;
        }
        let mut words: Vec<String> = Vec::new();
        while let Some(word) = args.peek().and_then(|next| next.to_str()) {
            if word.starts_with('-') || commands.iter().any(|command| command == word) {
                break;
            }
            words.push(word.to_owned());
            args.next();
        }
        if !words.is_empty() {
            joined.push(words.join(" ").into());
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_options_and_commands() {
        let check = |line: &str, expected: &[&str]| {
            let args = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(join_names(args, &["chat".to_owned()]), expected, "{line}");
        };
        check(
            "hermes -c my long title",
            &["hermes", "-c", "my long title"],
        );
        check(
            "hermes -r my talk -z hi",
            &["hermes", "-r", "my talk", "-z", "hi"],
        );
        check("hermes -c chat -q x", &["hermes", "-c", "chat", "-q", "x"]);
        check("hermes -c", &["hermes", "-c"]);
        check("hermes -z -c x", &["hermes", "-z", "-c", "x"]);
        check(
            "hermes mcp --args -c a b",
            &["hermes", "mcp", "--args", "-c", "a", "b"],
        );
    }
}
