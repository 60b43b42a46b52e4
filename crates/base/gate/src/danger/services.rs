//! Processes, services, containers, and Hermes itself.

use crate::program::{name, operands, started};
use crate::shell::Script;

pub(super) fn of(program: &str, args: &[String]) -> Option<&'static str> {
    match program {
        "systemctl" => systemctl(args),
        "kill" => None,
        "pkill" | "killall" => kill(program, args),
        "hermes" => hermes(args),
        "docker" => docker(args),
        "docker-compose" => compose(args),
        _ => launchctl(args),
    }
}

fn systemctl(args: &[String]) -> Option<&'static str> {
    let values = ["-H", "--host", "-M", "--machine", "-t", "-p", "-n"];
    let verb = operands(args, &values).first()?;
    matches!(verb.as_str(), "stop" | "restart" | "disable" | "mask")
        .then_some("stop/restart system service")
}

fn kill(program: &str, args: &[String]) -> Option<&'static str> {
    let ours = |arg: &String| {
        let arg = arg.to_lowercase();
        !arg.starts_with('-')
            && ["hermes", "gateway", "cli.py"]
                .iter()
                .any(|own| arg.contains(own))
    };
    if args.iter().any(ours) {
        return Some("kill hermes/gateway process (self-termination)");
    }
    let fatal = |signal: &str| matches!(signal.to_lowercase().as_str(), "9" | "kill" | "sigkill");
    let forced = args.iter().enumerate().any(|(at, arg)| {
        let signal = match arg.as_str() {
            "-s" | "--signal" => args.get(at + 1).map_or("", String::as_str),
            other => other
                .strip_prefix("--signal=")
                .or_else(|| other.strip_prefix("-s"))
                .or_else(|| other.strip_prefix('-'))
                .unwrap_or_default(),
        };
        fatal(signal)
    });
    if forced {
        return Some("force kill processes");
    }
    let by_regex = |arg: &String| {
        arg == "--regexp" || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains('r'))
    };
    (program == "killall" && args.iter().any(by_regex))
        .then_some("kill processes by regex (killall -r)")
}

fn hermes(args: &[String]) -> Option<&'static str> {
    let mut words = args.iter().filter(|arg| !arg.starts_with('-'));
    if words.by_ref().any(|word| word == "gateway") {
        return words
            .next()
            .is_some_and(|verb| verb == "stop" || verb == "restart")
            .then_some("stop/restart hermes gateway (kills running agents)");
    }
    // An option may have a value before it.
    let at = args.iter().position(|arg| arg == "update")?;
    let mut before = None;
    let only_options = args[..at].iter().all(|arg| {
        let fine =
            arg.starts_with('-') || before.is_some_and(|before: &String| before.starts_with('-'));
        before = Some(arg);
        fine
    });
    only_options.then_some("hermes update (restarts gateway, kills running agents)")
}

/// Options of docker and compose that take the next word.
const DOCKER_VALUES: [&str; 12] = [
    "-f",
    "--file",
    "-p",
    "--project-name",
    "--profile",
    "--env-file",
    "-H",
    "--host",
    "-c",
    "--context",
    "--config",
    "-l",
];

fn docker(args: &[String]) -> Option<&'static str> {
    let words = operands(args, &DOCKER_VALUES);
    let words = match words.first().map(String::as_str) {
        Some("compose") => return compose(&words[1..]),
        Some("container") => &words[1..],
        _ => words,
    };
    matches!(words.first()?.as_str(), "restart" | "stop" | "kill")
        .then_some("docker restart/stop/kill (container lifecycle)")
}

fn compose(args: &[String]) -> Option<&'static str> {
    let verb = operands(args, &DOCKER_VALUES).first()?;
    matches!(verb.as_str(), "restart" | "stop" | "kill" | "down")
        .then_some("docker compose restart/stop/kill/down (container lifecycle)")
}

fn launchctl(args: &[String]) -> Option<&'static str> {
    let (verb, rest) = args.split_first()?;
    let stops = matches!(
        verb.as_str(),
        "stop" | "kickstart" | "bootout" | "unload" | "kill" | "disable" | "remove"
    );
    let ours = rest.iter().any(|arg| arg.to_lowercase().contains("hermes"));
    (stops && ours).then_some("stop/restart hermes launchd service (kills running agents)")
}

pub(super) fn windows(program: &str, args: &[String]) -> Option<&'static str> {
    if program == "cmd" {
        let (how, rest) = args.split_first()?;
        let runs = matches!(how.to_lowercase().as_str(), "/c" | "/k");
        let deletes =
            words_of(rest).any(|word| matches!(word.as_str(), "del" | "erase" | "rd" | "rmdir"));
        return (runs && deletes).then_some("Windows cmd destructive delete");
    }
    let encoded = |arg: &String| {
        let arg = arg.to_lowercase();
        arg == "-ec" || (arg.len() > 1 && "-encodedcommand".starts_with(&arg))
    };
    if args.iter().any(encoded) {
        return Some("PowerShell encoded command execution");
    }
    let file = args.iter().any(|arg| arg.eq_ignore_ascii_case("-file"));
    let first = words_of(args).find(|word| !word.starts_with('-'));
    let deletes = first.is_some_and(|word| {
        matches!(
            word.as_str(),
            "remove-item" | "rmdir" | "erase" | "del" | "rd" | "ri" | "rm"
        )
    });
    (deletes && !file).then_some("Windows PowerShell destructive delete")
}

/// Also what stands inside one quoted word.
fn words_of(args: &[String]) -> impl Iterator<Item = String> {
    args.iter()
        .flat_map(|arg| arg.split([' ', ';', '&', '"', '\'']))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// The gateway as a process nobody looks after.
pub(super) fn starts_gateway_loose(script: &Script) -> bool {
    let gateway = script.commands().any(|simple| {
        simple
            .words
            .windows(2)
            .any(|pair| pair[0] == "gateway" && pair[1] == "run")
    });
    gateway
        && script.commands().any(|simple| {
            let loose = |words: &&[String]| matches!(&*name(words), "disown" | "setsid" | "nohup");
            simple.joint == "&" || started(&simple.words).iter().any(loose)
        })
}
