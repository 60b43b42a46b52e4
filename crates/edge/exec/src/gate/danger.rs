//! What runs only with consent. The keys are stored in people's settings: they stay as they are.

use std::fmt::Write;

use super::program::{self, name};
use super::rules;
use super::runs::reads_code;
use super::shell::{Script, Simple};

/// A command as the rules read it: its words, then where its output goes.
pub(super) fn line(simple: &Simple) -> String {
    let mut line = simple.words.join(" ");
    for (operator, target) in &simple.redirects {
        let operator = if operator.contains('>') { ">" } else { "<" };
        // Writing to a string cannot fail.
        let _ = write!(line, " {operator} {target}");
    }
    line
}

/// The first rule a single command meets.
pub(super) fn of(simple: &Simple) -> Option<&'static str> {
    if let Some(key) = sudo(simple) {
        return Some(key);
    }
    let line = match shown_to_rules(simple) {
        Some(shown) => line(&shown),
        None => line(simple),
    };
    rules::first(&line).or_else(|| deletes_all(&line).then_some("SQL DELETE without WHERE"))
}

/// The command without words that are only text to it: what grep looks for, what a commit says.
fn shown_to_rules(simple: &Simple) -> Option<Simple> {
    let mut shown = simple.clone();
    let runs = |word: &str| word.contains("$(") || word.contains('`');
    let text_at = match name(&simple.words) {
        // Where a shell reads it, it is read again as what that shell will run.
        "echo" | "printf" => {
            shown.words.truncate(1);
            return Some(shown);
        }
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" => {
            simple
                .words
                .iter()
                .skip(1)
                .position(|word| !word.starts_with('-'))?
                + 1
        }
        "git"
            if simple
                .words
                .iter()
                .any(|word| word == "commit" || word == "tag") =>
        {
            simple.words.iter().position(|word| {
                word == "--message"
                    || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('m'))
            })? + 1
        }
        _ => return None,
    };
    let text = shown.words.get_mut(text_at).filter(|text| !runs(text))?;
    *text = "TEXT".to_owned();
    Some(shown)
}

/// `DELETE FROM t` with no `WHERE` behind it on the same line, before the statement ends.
fn deletes_all(line: &str) -> bool {
    let words: Vec<String> = line
        .replace(['\n', ';'], " ; ")
        .to_lowercase()
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'', '(']).to_owned())
        .collect();
    words.windows(2).enumerate().any(|(at, pair)| {
        pair == ["delete", "from"]
            && !words[at..]
                .iter()
                .take_while(|word| *word != ";")
                .any(|word| word == "where")
    })
}

fn sudo(simple: &Simple) -> Option<&'static str> {
    let called = program::started(&simple.words)
        .into_iter()
        .find(|words| name(words) == "sudo")?;
    for option in program::sudo_options(&called[1..]) {
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
pub(super) fn of_pipeline(pipeline: &[Simple]) -> Option<&'static str> {
    let killer = pipeline.iter().position(|simple| {
        let kill = |word: &String| word == "kill" || word.ends_with("/kill");
        name(&simple.words) == "xargs" && simple.words.iter().any(kill)
    });
    let looks_up = |simple: &Simple| matches!(real_name(simple), "pgrep" | "pidof");
    if killer.is_some_and(|at| pipeline[..at].iter().any(looks_up)) {
        return Some("kill process via pgrep/pidof expansion (self-termination)");
    }
    let shell = pipeline.iter().skip(1).position(reads_code)? + 1;
    pipeline[..shell].iter().find_map(makes_code)
}

/// Where what a shell reads comes from, if that is nowhere to be trusted.
fn makes_code(simple: &Simple) -> Option<&'static str> {
    let has = |flags: &[&str]| {
        let mut words = simple.words.iter();
        words.any(|word| flags.contains(&word.as_str()))
    };
    match real_name(simple) {
        "curl" | "wget" => Some("pipe remote content to shell"),
        "base64" | "base32" | "base16" if has(&["-d", "-D", "--decode", "-di"]) => {
            Some("pipe decoded content to shell (possible command obfuscation)")
        }
        "xxd" if simple.words.iter().any(|word| word.starts_with("-r")) => {
            Some("pipe xxd-decoded content to shell (possible command obfuscation)")
        }
        "openssl" if has(&["-d", "-D"]) => {
            Some("pipe openssl-decoded content to shell (possible command obfuscation)")
        }
        "tr" | "rev" | "sed" | "awk" | "gunzip" | "zcat" => {
            Some("pipe tr-transformed output to shell (possible command obfuscation)")
        }
        _ => None,
    }
}

fn real_name(simple: &Simple) -> &str {
    let started = program::started(&simple.words);
    started.last().map_or("", |words| name(words))
}

/// What only the commands together tell.
pub(super) fn of_script(script: &Script) -> Vec<&'static str> {
    let mut found = Vec::new();
    let commands: Vec<&Simple> = script.pipelines.iter().flatten().collect();
    let made_runnable = commands.iter().position(|simple| {
        name(&simple.words) == "chmod" && simple.words.iter().any(|word| word.ends_with("+x"))
    });
    if made_runnable.is_some_and(|at| {
        commands[at + 1..].iter().any(|later| {
            later
                .words
                .first()
                .is_some_and(|program| program.starts_with("./"))
        })
    }) {
        found.push("chmod +x followed by immediate execution");
    }
    let gateway = commands
        .iter()
        .any(|simple| line(simple).contains("gateway run"));
    let loose = commands.iter().any(|simple| {
        simple.joint == "&"
            || program::started(&simple.words)
                .iter()
                .any(|words| matches!(name(words), "disown" | "setsid" | "nohup"))
    });
    if gateway && loose {
        found.push("start gateway outside systemd (use 'systemctl --user restart hermes-gateway')");
    }
    found
}
