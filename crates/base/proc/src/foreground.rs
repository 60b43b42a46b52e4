//! Programs that take over our own terminal.

use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::Error;

/// Runs a program on our own terminal and waits for it: an editor, a pager.
///
/// `environment` replaces ours, so that the child sees what the home's `.env` says.
pub fn foreground<'e>(
    program: &str,
    args: impl IntoIterator<Item = String>,
    environment: impl IntoIterator<Item = (&'e str, &'e str)>,
) -> Result<ExitStatus, Error> {
    #[expect(clippy::disallowed_methods, reason = "this is the crate that may")]
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(environment);
    command.status().map_err(Error::of(Path::new(program)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(
        program: &str,
        args: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<ExitStatus, Error> {
        foreground(
            program,
            args.iter().map(|arg| (*arg).to_owned()),
            environment.iter().copied(),
        )
    }

    #[test]
    fn a_child_sees_only_the_given_environment() {
        let check = |script: &str, expected: i32| {
            let status = run("/bin/sh", &["-c", script], &[("MARK", "7")]).unwrap();
            assert_eq!(status.code(), Some(expected), "{script}");
        };
        check("exit $MARK", 7);
        check("test -z \"$CARGO\"", 0);
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run("/nonexistent/editor", &[], &[]).unwrap_err();
        assert!(error.is_missing());
        assert!(
            error
                .to_string()
                .starts_with("cannot run /nonexistent/editor: ")
        );
    }
}
