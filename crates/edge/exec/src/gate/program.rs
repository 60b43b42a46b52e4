//! Which program a list of words really starts.

use super::shell::assignment;

/// Programs that start the one behind them, and which of their options take a value.
const WRAPPERS: [(&str, &[&str]); 19] = [
    ("sudo", SUDO_VALUES),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C", "--unset", "--chdir"]),
    ("exec", &["-a"]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("time", &["-f", "-o"]),
    ("command", &[]),
    ("builtin", &[]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("timeout", &["-k", "-s", "--signal", "--kill-after"]),
    ("xargs", &["-I", "-n", "-P", "-L", "-d", "-a", "-E", "-s"]),
    ("busybox", &[]),
    ("coproc", &[]),
    ("caffeinate", &["-t", "-w"]),
    ("chroot", &[]),
    ("unshare", &[]),
];

const SUDO_VALUES: &[&str] = &[
    "-u",
    "-g",
    "-p",
    "-h",
    "-C",
    "-D",
    "-R",
    "-T",
    "-U",
    "-r",
    "-t",
    "--user",
    "--group",
    "--prompt",
    "--host",
    "--close-from",
    "--chdir",
    "--chroot",
    "--role",
    "--type",
];

/// A `find` that starts programs further back than this is not read to its end.
const MAX_WORDS: usize = 200;

/// All commands in `words`: as written, behind each wrapper, and behind `find -exec`.
pub(super) fn started(words: &[String]) -> Vec<&[String]> {
    let mut found = Vec::new();
    let mut words = skip_assignments(words);
    while !words.is_empty() {
        found.push(words);
        if name(words) == "find" {
            found.extend(find_exec(words));
        }
        let Some((wrapper, values)) = WRAPPERS.iter().find(|(w, _)| *w == name(words)) else {
            break;
        };
        words = behind(wrapper, values, &words[1..]);
    }
    found
}

/// A program's bare name: without its directory.
pub(super) fn name(words: &[String]) -> &str {
    let word = words.first().map_or("", String::as_str);
    word.rsplit('/').next().unwrap_or(word)
}

/// The options sudo itself gets: those before the command.
pub(super) fn sudo_options(words: &[String]) -> impl Iterator<Item = &str> {
    let own = &words[..words.len() - behind("sudo", SUDO_VALUES, words).len()];
    own.iter()
        .map(String::as_str)
        .filter(|word| word.starts_with('-'))
}

fn behind<'w>(wrapper: &str, values: &[&str], mut words: &'w [String]) -> &'w [String] {
    while let [first, rest @ ..] = words {
        match first.as_str() {
            "--" => {
                words = rest;
                break;
            }
            option if values.contains(&option) => words = rest.get(1..).unwrap_or_default(),
            option if option.starts_with('-') && option.len() > 1 => words = rest,
            _ => break,
        }
    }
    // What stands between options and command: a duration, a new root.
    if matches!(wrapper, "timeout" | "chroot") {
        words = words.get(1..).unwrap_or_default();
    }
    skip_assignments(words)
}

fn skip_assignments(words: &[String]) -> &[String] {
    let count = words
        .iter()
        .take_while(|word| assignment(word).is_some())
        .count();
    &words[count..]
}

fn find_exec(words: &[String]) -> impl Iterator<Item = &[String]> {
    let starts = words
        .iter()
        .enumerate()
        .take(MAX_WORDS)
        .filter(|(_, word)| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"));
    starts.map(|(at, _)| {
        let rest = &words[at + 1..];
        let end = rest.iter().position(|word| word == ";" || word == "+");
        &rest[..end.unwrap_or(rest.len())]
    })
}
