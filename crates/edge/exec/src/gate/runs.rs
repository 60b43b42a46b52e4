//! Programs that run what they are given as text: shells, interpreters, and tools with such an option.

use super::program::{name, started};
use super::shell::Simple;

const SHELLS: [&str; 7] = ["bash", "sh", "zsh", "ksh", "dash", "fish", "ash"];

/// Tools that only read, but for these options, which start a program.
const PROGRAM_OPTIONS: [(&str, &str); 8] = [
    ("sort", "--compress-program"),
    ("rg", "--pre"),
    ("rg", "--hostname-bin"),
    ("ag", "--pager"),
    ("man", "--pager"),
    ("man", "--html"),
    ("man", "-P"),
    ("man", "-H"),
];

/// Options of interpreters that take the next word as their value, in lower case.
const VALUE_OPTIONS: [&str; 11] = [
    "-w",
    "-x",
    "-i",
    "-f",
    "-d",
    "--require",
    "--import",
    "--loader",
    "--conditions",
    "-executionpolicy",
    "-windowstyle",
];

/// The key of code that is run from the command line itself.
pub(super) fn code(words: &[String], simple: &Simple) -> Option<String> {
    if is_shell(words) {
        if shell_payload(words).is_some() {
            return Some("shell command via -c/-lc flag".to_owned());
        }
        if !simple.documents.is_empty() {
            return Some("shell execution via heredoc".to_owned());
        }
    }
    if let Some(flags) = script_flags(words) {
        if script_flag(words, flags) {
            return Some("script execution via -e/-c flag".to_owned());
        }
        if !simple.documents.is_empty() {
            return Some("script execution via heredoc".to_owned());
        }
    }
    let (tool, option, _) = program_option(words)?;
    Some(format!("arbitrary program execution via {tool} {option}"))
}

/// Texts that will be read as commands.
pub(super) fn payloads(words: &[String], simple: &Simple) -> Vec<String> {
    let mut payloads = Vec::new();
    if is_shell(words) {
        payloads.extend(shell_payload(words));
        payloads.extend(simple.documents.iter().cloned());
    }
    let args = words.get(1..).unwrap_or_default();
    match name(words) {
        "eval" => payloads.push(args.join(" ")),
        "su" | "runuser" | "script" | "ssh-agent" => payloads.extend(value_of(args, "-c")),
        "env" => payloads.extend(value_of(args, "-S")),
        "watch" => payloads.push(args.join(" ")),
        "trap" => payloads.extend(args.first().cloned()),
        _ => {}
    }
    payloads.extend(program_option(words).map(|(_, _, program)| program));
    payloads
}

/// `echo '…' | sh`
pub(super) fn fed_to_shell(pipeline: &[Simple]) -> Vec<String> {
    let shell = pipeline.iter().position(reads_code).unwrap_or(0);
    let says = |simple: &Simple| match name(&simple.words) {
        "echo" | "printf" => vec![simple.words[1..].join(" ")],
        _ => simple.documents.clone(),
    };
    pipeline[..shell].iter().flat_map(says).collect()
}

/// Whether this starts something that runs what it reads: a shell or an interpreter without a script.
pub(super) fn reads_code(simple: &Simple) -> bool {
    started(&simple.words).into_iter().any(|words| {
        let args = words.get(1..).unwrap_or_default();
        let packed = |letter: char| {
            let short = |arg: &String| arg.starts_with('-') && !arg.starts_with("--");
            args.iter().any(|arg| short(arg) && arg.contains(letter))
        };
        let bare = args.iter().all(|arg| arg.starts_with(['-', '+']));
        match (is_shell(words), script_flags(words)) {
            (true, _) => bare && !packed('c') || packed('s'),
            (false, Some(flags)) => bare && !packed('m') && !script_flag(words, flags),
            (false, None) => false,
        }
    })
}

pub(super) fn is_interpreter(words: &[String]) -> bool {
    is_shell(words) || script_flags(words).is_some()
}

fn is_shell(words: &[String]) -> bool {
    SHELLS.contains(&name(words))
}

/// What stands behind `-c`, in any cluster of short options. `--norc` is none.
fn shell_payload(words: &[String]) -> Option<String> {
    let mut args = words.get(1..)?.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--rcfile" | "--init-file" | "-O" | "+O" | "-o" | "+o" => drop(args.next()),
            long if long.starts_with("--") => {}
            short if short.starts_with('-') && short.contains('c') => {
                // Options may follow; the first word that is none is the command.
                let command = args.find(|arg| !arg.starts_with(['-', '+']));
                return Some(command.cloned().unwrap_or_default());
            }
            short if short.starts_with(['-', '+']) => {}
            _ => return None,
        }
    }
    None
}

/// How an interpreter is told to run its argument as a program.
fn script_flags(words: &[String]) -> Option<&'static [&'static str]> {
    let program = name(words).to_lowercase();
    let program = program.trim_end_matches(".exe");
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match bare {
        "python" | "pypy" => Some(&["-c"]),
        "node" | "nodejs" | "bun" | "deno" => Some(&["-e", "--eval", "-p", "--print"]),
        "perl" => Some(&["-e", "-E", "--eval"]),
        "ruby" | "lua" => Some(&["-e"]),
        "php" => Some(&["-r"]),
        "powershell" | "pwsh" => Some(&["-command", "-c"]),
        _ => None,
    }
}

fn script_flag(words: &[String], flags: &[&str]) -> bool {
    // PowerShell reads its options in any case and doesn't pack them.
    let powershell = flags.contains(&"-command");
    let mut args = words.get(1..).unwrap_or_default().iter();
    while let Some(arg) = args.next() {
        // Behind the script's name, options are the script's own.
        if !arg.starts_with('-') {
            return false;
        }
        let lower = arg.to_lowercase();
        let found = flags.iter().any(|flag| {
            let packed = flag.len() == 2 && !arg.starts_with("--") && arg.contains(&flag[1..]);
            match powershell {
                true => lower == *flag,
                false => packed || arg.split('=').next() == Some(flag),
            }
        });
        if found {
            return true;
        }
        if VALUE_OPTIONS.contains(&lower.as_str()) {
            args.next();
        }
    }
    false
}

fn program_option(words: &[String]) -> Option<(&'static str, &'static str, String)> {
    let args = words.get(1..)?;
    let own = PROGRAM_OPTIONS
        .iter()
        .filter(|(tool, _)| *tool == name(words));
    own.filter_map(|(tool, option)| {
        let value = value_of(args, option)?;
        Some((*tool, *option, value))
    })
    .next()
}

/// `option value`, `option=value`, and `-Ovalue`.
fn value_of(args: &[String], option: &str) -> Option<String> {
    let args = args.split(|arg| arg == "--").next()?;
    args.iter().enumerate().find_map(|(at, arg)| {
        let rest = arg.strip_prefix(option)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(value.to_owned()),
            None if rest.is_empty() => Some(args.get(at + 1).cloned().unwrap_or_default()),
            None if !option.starts_with("--") => Some(rest.to_owned()),
            None => None,
        }
    })
}
