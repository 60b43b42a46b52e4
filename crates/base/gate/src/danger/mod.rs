//! What runs only with consent. The keys are stored in people's settings: they stay as they are.

mod files;
mod git;
mod services;
mod sql;

use crate::program::{self, name};
use crate::runs::{self, reads_code};
use crate::shell::{How, Script, Simple, Substitution};

/// The first rule a command meets.
pub(super) fn of(simple: &Simple, started: &[&[String]], script: &Script) -> Option<&'static str> {
    let program = started.iter().find_map(|words| of_program(words));
    program
        .or_else(|| of_substitutions(simple, started, script))
        .or_else(|| files::of_redirects(simple))
        .or_else(|| sql::of(simple, script))
}

fn of_program(words: &[String]) -> Option<&'static str> {
    let args = words.get(1..).unwrap_or_default();
    let program = name(words);
    let bare = program.strip_suffix(".exe").unwrap_or(&program);
    match bare {
        "sudo" => sudo(args),
        "git" => git::of(args),
        "rm" => files::delete(args),
        "xargs" => files::xargs(words),
        "find" | "fd" | "fdfind" => files::find(words),
        "chmod" => files::chmod(args),
        "chown" => files::chown(args),
        "mkfs" => Some("format filesystem"),
        "dd" if args.iter().any(|arg| arg.starts_with("if=")) => Some("disk copy"),
        "tee" => files::tee(args),
        "cp" | "mv" | "install" | "ln" => files::copy(args),
        "sed" | "gsed" => files::sed(args),
        "perl" | "ruby" => files::in_place_by_script(args),
        "systemctl" | "kill" | "pkill" | "killall" | "hermes" | "docker" | "docker-compose"
        | "launchctl" => services::of(bare, args),
        "cmd" | "powershell" | "pwsh" => services::windows(bare, args),
        other if other.starts_with("mkfs.") => Some("format filesystem"),
        // Whatever that variable holds, set in a command before this one.
        _ if program::is_unknowable(words) && files::is_recursive(args) => Some("recursive delete"),
        _ => None,
    }
}

/// Where words come from that are run, or that say what is killed.
fn of_substitutions(
    simple: &Simple,
    started: &[&[String]],
    script: &Script,
) -> Option<&'static str> {
    if simple.substitutions.is_empty() {
        return None;
    }
    // Asked once for all of them: there may be many, and the words long.
    let kills = started.iter().any(|words| name(words) == "kill");
    let run_by = |how: How| {
        let mut started = started.iter();
        started.any(|words| runs::runs_what_it_is_made_of(words, how))
    };
    let (dollar, backticks, process) = (
        run_by(How::Dollar),
        run_by(How::Backticks),
        run_by(How::Process),
    );
    let found = |one: &Substitution| {
        let runs = match one.how {
            How::Dollar => dollar,
            How::Backticks => backticks,
            How::Process => process,
        };
        if !kills && !runs {
            return None;
        }
        let mut made = script.pipelines[one.pipelines.clone()].iter().flatten();
        if kills {
            return made.any(looks_up_processes).then_some(match one.how {
                How::Backticks => {
                    "kill process via backtick pgrep/pidof expansion (self-termination)"
                }
                _ => "kill process via pgrep/pidof expansion (self-termination)",
            });
        }
        made.find_map(makes_code).map(|key| match (key, one.how) {
            (REMOTE, How::Process) => "execute remote script via process substitution",
            (REMOTE, _) => "execute remote content via command substitution",
            (key, _) => key,
        })
    };
    simple.substitutions.iter().find_map(found)
}

fn sudo(args: &[String]) -> Option<&'static str> {
    for option in program::sudo_options(args) {
        match option.strip_prefix("--") {
            Some(long)
                if long.starts_with("st") || long.starts_with("sh") || long.starts_with('a') =>
            {
                return Some("sudo with privilege flag (stdin/askpass/shell/list)");
            }
            Some(_) => {}
            None if matches!(option, "-S" | "-s" | "-A" | "-a") => {
                return Some("sudo with privilege flag (stdin/askpass/shell/list)");
            }
            None if option.contains(['s', 'S', 'a', 'A']) => {
                return Some("sudo with combined-flag privilege escalation");
            }
            None => {}
        }
    }
    None
}

/// What only a pipeline as a whole tells.
pub(super) fn of_pipeline(pipeline: &[Simple], script: &Script) -> Option<&'static str> {
    if pipeline.len() < 2 {
        return None;
    }
    let killer = pipeline.iter().position(|simple| {
        let kill = |word: &String| word == "kill" || word.ends_with("/kill");
        program::started(&simple.words)
            .iter()
            .any(|words| name(words) == "xargs" && words.iter().any(kill))
    });
    if killer.is_some_and(|at| pipeline[..at].iter().any(looks_up_processes)) {
        return Some("kill process via pgrep/pidof expansion (self-termination)");
    }
    let shell = pipeline
        .iter()
        .skip(1)
        .position(reads_code)
        .map(|at| at + 1);
    let made = shell.and_then(|shell| pipeline[..shell].iter().find_map(makes_code));
    made.or_else(|| sql::of_pipeline(pipeline, script))
}

const REMOTE: &str = "pipe remote content to shell";

/// Where what a shell reads comes from, if that is nowhere to be trusted.
fn makes_code(simple: &Simple) -> Option<&'static str> {
    let has = |flags: &[&str]| {
        let mut words = simple.words.iter();
        words.any(|word| flags.contains(&word.as_str()))
    };
    let started = program::started(&simple.words);
    match &*started.last().map_or("".into(), |words| name(words)) {
        "curl" | "wget" => Some(REMOTE),
        "base64" | "base32" | "base16" | "basenc"
            if has(&["-d", "-D", "--decode", "-di", "-id", "--d"]) =>
        {
            Some("pipe decoded content to shell (possible command obfuscation)")
        }
        "xxd" if simple.words.iter().any(|word| word.starts_with("-r")) => {
            Some("pipe xxd-decoded content to shell (possible command obfuscation)")
        }
        "openssl" if has(&["-d", "-D"]) => {
            Some("pipe openssl-decoded content to shell (possible command obfuscation)")
        }
        "tr" | "rev" | "sed" | "awk" | "gunzip" | "zcat" | "xzcat" | "bzcat" => {
            Some("pipe tr-transformed output to shell (possible command obfuscation)")
        }
        "gzip" | "bzip2" | "xz" | "zstd" if has(&["-d", "-dc", "-cd", "--decompress"]) => {
            Some("pipe decoded content to shell (possible command obfuscation)")
        }
        _ => None,
    }
}

fn looks_up_processes(simple: &Simple) -> bool {
    let started = program::started(&simple.words);
    let last = started.last().map_or("".into(), |words| name(words));
    matches!(&*last, "pgrep" | "pidof")
}

/// What only the commands together tell. Collected one by one: with what it takes in only one of them, most
/// scripts need no second look.
#[derive(Clone, Copy, Default)]
pub(super) struct Together {
    chmod: bool,
    gateway: bool,
}

impl Together {
    pub(super) fn note(&mut self, simple: &Simple) {
        for word in &simple.words {
            self.chmod |= word.ends_with("chmod");
            self.gateway |= word == "gateway";
        }
    }

    pub(super) fn dangers(self, script: &Script) -> Vec<&'static str> {
        let mut found = Vec::new();
        if self.chmod && files::runs_what_it_made_runnable(script) {
            found.push("chmod +x followed by immediate execution");
        }
        if self.gateway && services::starts_gateway_loose(script) {
            found.push(
                "start gateway outside systemd (use 'systemctl --user restart hermes-gateway')",
            );
        }
        found
    }
}
