//! The `hermes` command: reads the command line, hands over to `cmd`, turns results into exit codes.

mod cli;
mod cmd;
mod mcp;
mod watch;
mod wire;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use hermes_home::{Argv, Env};
use hermes_lines::{Out, printable};
use hermes_proc::sandbox;

use cli::{Cli, Command};
use cmd::chat::Job;
use wire::App;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    // Answered before anything is read: scripts ask this of programs they don't know yet.
    if matches!(args.as_slice(), [_, only] if only == "--version" || only == "-V") {
        return finish(cmd::version::print(
            &mut Out::stdout(&Env::from_process()),
            cli::Format::Text,
        ));
    }
    // A command that is to be confined: nothing of ours may run before it is, let alone start a thread.
    if args.get(1).is_some_and(|first| first == sandbox::CONFINE) {
        complain(&format!(
            "hermes: {}",
            sandbox::confine(args.into_iter().skip(2))
        ));
        return ExitCode::from(125);
    }
    let argv = Argv::split(args);
    let commands: Vec<String> = Cli::command()
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    match Cli::try_parse_from(hermes_lines::join_names(argv.rest, &commands)) {
        Ok(cli) => finish(run(&cli, argv.profile.as_deref())),
        Err(error) => usage(&error),
    }
}

fn run(cli: &Cli, profile: Option<&str>) -> anyhow::Result<()> {
    // These say nothing about the owner's home, so they don't need it.
    match &cli.command {
        Some(Command::Version { json }) => {
            return cmd::version::print(&mut Out::stdout(&Env::from_process()), (*json).into());
        }
        Some(Command::Completion { shell }) => {
            return cmd::completion::print(&mut Out::stdout(&Env::from_process()), *shell);
        }
        Some(Command::Demo) => return cmd::demo::run(Env::from_process()),
        _ => {}
    }
    let mut app = App::start_logging(
        Env::from_process(),
        cli.profile.as_deref().or(profile),
        cmd::console(cli.command.as_ref()),
    )?;
    let result = match (&cli.oneshot, &cli.command) {
        (Some(prompt), _) => {
            let job = Job::Oneshot {
                prompt,
                usage_file: cli.usage_file.as_deref(),
            };
            cmd::chat::run(&mut app, &cli.talk, "cli", &job)
        }
        (None, Some(command)) => cmd::run(&mut app, &cli.talk, command),
        (None, None) => cmd::chat::run(&mut app, &cli.talk, "cli", &Job::Lines),
    };
    app.out.flush()?;
    result
}

/// The exit code for a command's result; errors go to stderr in one line.
fn finish(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    if let Some(cmd::Failed(code)) = error.downcast_ref() {
        return ExitCode::from(*code); // the command has said why
    }
    let io_kind = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<io::Error>())
        .map(io::Error::kind);
    if io_kind == Some(io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS; // the reader has seen enough, as in `hermes … | head`
    }
    complain(&format!("hermes: {error:#}"));
    ExitCode::FAILURE
}

/// Help and usage. An unknown command gets one line with the nearest match.
fn usage(error: &clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::InvalidSubcommand {
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            // The nearest comes last.
            Some(ContextValue::Strings(texts)) => texts.last().cloned(),
            _ => None,
        };
        let wrong = text(ContextKind::InvalidSubcommand).unwrap_or_default();
        let hint = match text(ContextKind::SuggestedSubcommand) {
            Some(near) => format!("did you mean '{near}'?"),
            None => "`hermes --help` lists the commands".to_owned(),
        };
        complain(&format!("hermes: there is no command '{wrong}'; {hint}"));
        return ExitCode::from(2);
    }
    let _ = error.print(); // nobody is left to tell if this fails
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

/// Names, files and servers speak in what went wrong: none of it drives the terminal.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text)); // nobody is left to tell if this fails
}
