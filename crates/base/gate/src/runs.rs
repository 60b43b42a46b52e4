//! Programs that run what they are given as text: shells, interpreters, and tools with such an option.

use crate::program::{name, operands, started};
use crate::shell::{How, Script, Simple, assignment, printed};

const SHELLS: [&str; 9] = [
    "bash", "sh", "zsh", "ksh", "mksh", "dash", "fish", "ash", "rbash",
];

/// Tools with an option that starts a program, and whether that alone is worth asking about.
const PROGRAM_OPTIONS: [(&str, &str, Ask); 24] = [
    ("sort", "--compress-program", Ask::Yes),
    ("rg", "--pre", Ask::Yes),
    ("rg", "--hostname-bin", Ask::Yes),
    ("ag", "--pager", Ask::Yes),
    ("man", "--pager", Ask::Yes),
    ("man", "--html", Ask::Yes),
    ("man", "-P", Ask::Yes),
    ("man", "-H", Ask::Yes),
    ("tar", "--to-command", Ask::Yes),
    ("tar", "--checkpoint-action", Ask::Yes),
    ("tar", "--use-compress-program", Ask::No),
    ("tar", "-I", Ask::No),
    ("split", "--filter", Ask::Yes),
    ("rsync", "-e", Ask::No),
    ("rsync", "--rsh", Ask::No),
    ("su", "-c", Ask::No),
    ("su", "--command", Ask::No),
    ("runuser", "-c", Ask::No),
    ("script", "-c", Ask::No),
    ("script", "--command", Ask::No),
    ("sg", "-c", Ask::No),
    ("flock", "-c", Ask::No),
    ("env", "-S", Ask::No),
    ("env", "--split-string", Ask::No),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Yes,
    No,
}

/// Variables whose value somebody will run.
const RUN_LATER: [&str; 9] = [
    "PROMPT_COMMAND",
    "GIT_SSH_COMMAND",
    "GIT_PAGER",
    "GIT_EDITOR",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "LESSOPEN",
    "BASH_ENV",
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

/// Text that will be read as commands.
pub(super) struct Payload {
    pub text: String,
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Here,
    /// On another machine, or in a container: dangerous, but what is lost is not this machine.
    Elsewhere,
}

/// The key of code that is run from the command line itself.
pub(super) fn code(words: &[String], simple: &Simple) -> Option<String> {
    let given = !simple.documents.is_empty();
    if is_shell(words) {
        if shell_payload(words).is_some() {
            return Some("shell command via -c/-lc flag".to_owned());
        }
        if given && reads_input(words) {
            return Some("shell execution via heredoc".to_owned());
        }
    }
    if let Some(flags) = script_flags(words) {
        if script_flag(words, flags) {
            return Some("script execution via -e/-c flag".to_owned());
        }
        if given && reads_input(words) {
            return Some("script execution via heredoc".to_owned());
        }
    }
    let (tool, option, ..) = program_options(words).find(|(.., ask)| *ask == Ask::Yes)?;
    Some(format!("arbitrary program execution via {tool} {option}"))
}

/// Texts that will be read as commands.
pub(super) fn payloads(words: &[String]) -> Vec<Payload> {
    let args = words.get(1..).unwrap_or_default();
    let mut texts: Vec<String> = Vec::new();
    let mut place = Place::Here;
    match &*name(words) {
        "eval" => texts.push(args.join(" ")),
        "watch" => texts.push(operands(args, &["-n", "--interval"]).join(" ")),
        "parallel" => texts.push(parallel(args)),
        "hyperfine" => texts.extend(args.iter().filter(|arg| arg.contains(' ')).cloned()),
        "trap" => texts.extend(args.first().cloned()),
        "alias" => {
            let values = args.iter().filter_map(|arg| arg.split_once('='));
            texts.extend(values.map(|(_, value)| value.to_owned()));
        }
        "awk" | "gawk" | "mawk" => texts.extend(args.iter().flat_map(|arg| calls(arg))),
        "ssh" | "docker" | "podman" | "kubectl" | "vagrant" | "lxc" => {
            place = Place::Elsewhere;
            texts.extend(elsewhere(words));
        }
        _ if is_shell(words) => texts.extend(shell_payload(words)),
        _ => {}
    }
    let options = program_options(words);
    texts.extend(options.map(|(.., program, _)| program.trim_start_matches("exec=").to_owned()));
    let payload = |text| Payload { text, place };
    texts.into_iter().map(payload).collect()
}

/// Whether what it is given to read is read as commands.
pub(super) fn runs_documents(words: &[String]) -> bool {
    let shells = matches!(&*name(words), "at" | "batch" | "su" | "sudo");
    shells || (is_shell(words) && reads_input(words))
}

/// What is set to be run later.
pub(super) fn run_later(simple: &Simple) -> impl Iterator<Item = &str> {
    let set = simple.words.iter().filter_map(|word| assignment(word));
    set.filter(|(name, value)| RUN_LATER.contains(name) && value.contains(' '))
        .map(|(_, value)| value)
}

/// What stands behind the host or the container.
fn elsewhere(words: &[String]) -> Option<String> {
    let args = words.get(1..)?;
    let name = name(words);
    if name == "ssh" {
        let values = [
            "-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-W", "-b", "-c", "-E", "-m",
            "-Q", "-S", "-w", "-I", "-B", "-e", "-O",
        ];
        let command = operands(operands(args, &values).get(1..)?, &values);
        return Some(command.join(" "));
    }
    let verb = args
        .iter()
        .position(|arg| matches!(arg.as_str(), "exec" | "run" | "ssh"))?;
    // Which word is the image cannot be told without knowing all options; a known program can.
    let rest = &args[verb + 1..];
    let known = |word: &String| {
        matches!(word.as_str(), "rm" | "dd" | "psql" | "mysql" | "kill")
            || is_shell(std::slice::from_ref(word))
            || script_flags(std::slice::from_ref(word)).is_some()
    };
    let command = &rest[rest.iter().position(known)?..];
    let quoted = command
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    Some(quoted.collect::<Vec<_>>().join(" "))
}

/// `parallel rm -rf {} ::: a b`: all of it together.
fn parallel(args: &[String]) -> String {
    let values = [
        "-j",
        "--jobs",
        "-I",
        "-n",
        "-a",
        "--colsep",
        "-S",
        "--timeout",
    ];
    let words = operands(args, &values).iter().map(String::as_str);
    words
        .filter(|word| !word.starts_with(":::"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// `system("…")` in a program for awk.
fn calls(program: &str) -> Vec<String> {
    let pieces = program.split("system(").skip(1);
    pieces
        .filter_map(|piece| piece.trim_start().strip_prefix('"'))
        .filter_map(|text| text.split('"').next().map(str::to_owned))
        .collect()
}

/// `echo '…' | sh`, and `echo / | xargs rm -rf`
pub(super) fn fed(pipeline: &[Simple], script: &Script) -> Vec<String> {
    if pipeline.len() < 2 {
        return Vec::new();
    }
    let says = |simple: &Simple| -> Vec<String> {
        match &*name(&simple.words) {
            "echo" | "printf" => {
                vec![printed(&simple.words).unwrap_or_else(|| simple.words[1..].join(" "))]
            }
            _ => script.documents_of(simple).cloned().collect(),
        }
    };
    let mut texts = Vec::new();
    if let Some(shell) = pipeline.iter().position(reads_code) {
        texts.extend(pipeline[..shell].iter().flat_map(says));
    }
    for (at, simple) in pipeline.iter().enumerate().skip(1) {
        let started = started(&simple.words);
        if let Some(xargs) = started.iter().find(|words| name(words) == "xargs") {
            for text in says(&pipeline[at - 1]) {
                texts.push(format!("{} {text}", xargs.join(" ")));
            }
        }
    }
    texts
}

/// Whether this starts something that runs what it reads: a shell or an interpreter without a script.
pub(super) fn reads_code(simple: &Simple) -> bool {
    started(&simple.words).into_iter().any(|words| {
        let now = matches!(&*name(words), "at" | "batch");
        now || (is_interpreter(words) && reads_input(words))
    })
}

/// No script, no code: then it comes from the input.
fn reads_input(words: &[String]) -> bool {
    let args = words.get(1..).unwrap_or_default();
    let packed = |letter: char| {
        let short = |arg: &String| arg.starts_with('-') && !arg.starts_with("--");
        args.iter().any(|arg| short(arg) && arg.contains(letter))
    };
    let input = |arg: &String| arg.starts_with(['-', '+']) || arg == "/dev/stdin";
    let bare = args.iter().all(input);
    match script_flags(words) {
        None => bare && !packed('c') || packed('s'),
        Some(flags) => {
            let told = args.first().is_some_and(|arg| arg == "-");
            (bare && !packed('m') && !script_flag(words, flags)) || told
        }
    }
}

/// Whether what a substitution prints is run: by `eval`, as a shell's script or payload, or as the command itself.
pub(super) fn runs_what_it_is_made_of(words: &[String], how: How) -> bool {
    let first = words.first().map_or("", String::as_str);
    match (&*name(words), how) {
        ("eval", How::Dollar | How::Backticks) => true,
        ("source" | ".", _) => true,
        _ if is_shell(words) => match how {
            How::Process => shell_payload(words).is_none(),
            _ => shell_payload(words).is_some_and(|text| text.contains("$(") || text.contains('`')),
        },
        _ => match how {
            How::Dollar => first.starts_with("$("),
            How::Backticks => first.starts_with('`'),
            How::Process => false,
        },
    }
}

pub(super) fn is_interpreter(words: &[String]) -> bool {
    is_shell(words) || script_flags(words).is_some() || name(words) == "eval"
}

fn is_shell(words: &[String]) -> bool {
    SHELLS.contains(&&*name(words))
}

/// What stands behind `-c`, in any cluster of short options. `--norc` is none.
fn shell_payload(words: &[String]) -> Option<String> {
    let mut args = words.get(1..)?.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--rcfile" | "--init-file" | "-O" | "+O" | "-o" | "+o" => drop(args.next()),
            "--command" => return Some(args.next().cloned().unwrap_or_default()),
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
    let program = name(words);
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

fn program_options(
    words: &[String],
) -> impl Iterator<Item = (&'static str, &'static str, String, Ask)> {
    let args = words.get(1..).unwrap_or_default();
    let name = name(words);
    PROGRAM_OPTIONS
        .iter()
        .filter(move |(tool, ..)| *tool == name)
        .filter_map(|(tool, option, ask)| {
            let value = value_of(args, option)?;
            Some((*tool, *option, value, *ask))
        })
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
