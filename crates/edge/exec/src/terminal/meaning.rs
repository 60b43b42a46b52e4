//! Exit codes that are no failures, although they are not zero.

use hermes_gate as gate;

/// What a code means for the program that gave it, where it is not an error.
pub(super) fn of(command: &str, code: i32) -> Option<&'static str> {
    let commands = gate::commands(command);
    let last = commands.last()?.first()?;
    let program = last.rsplit('/').next()?;
    Some(match (program, code) {
        ("grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack", 1) => "No matches found (not an error)",
        ("diff" | "colordiff", 1) => "The files differ (not an error)",
        ("find", 1) => "Some directories could not be read (what was found may still be right)",
        ("test" | "[", 1) => "The condition is false (not an error)",
        ("curl", 6) => "The host could not be resolved",
        ("curl", 7) => "The connection was refused",
        ("curl", 22) => "The server answered with an HTTP error",
        ("curl", 28) => "The transfer timed out",
        ("git", 1) => "Often not an error, e.g. 'git diff' found differences",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn the_last_program_counts() {
        let check = |command: &str, code: i32, start: Option<&str>| {
            let meaning = of(command, code);
            assert_eq!(
                meaning.map(|text| text.split(' ').next().unwrap()),
                start,
                "{command} {code}"
            );
        };
        check("grep x file", 1, Some("No"));
        check("cat f | /usr/bin/rg x", 1, Some("No"));
        check("cd a && diff b c", 1, Some("The"));
        check("FOO=1 sudo grep x y", 1, Some("No"));
        check("[ -f x ]", 1, Some("The"));
        check("curl http://x", 7, Some("The"));
        check("grep x file", 2, None);
        check("grep x file; false", 1, None);
        check("ls", 1, None);
        check("", 1, None);
    }
}
