//! What the gate says about commands: `commands.txt`, and commands from real projects: `everyday.txt`.

use std::collections::BTreeMap;

use hermes_gate::{Approvals, Decision, Policy, decide};

use super::{check_asks, check_hardline, policy, verdict};

/// The rows of `commands.txt` with this verdict: key and command.
pub fn rows(wanted: &str) -> Vec<(&'static str, String)> {
    let table = include_str!("commands.txt").lines();
    let rows = table.filter(|line| !line.starts_with('#'));
    rows.map(|line| match *line.split('\t').collect::<Vec<_>>() {
        [verdict, key, command] => (verdict, key, written(command)),
        _ => panic!("not a row: {line}"),
    })
    .filter(|(verdict, ..)| *verdict == wanted)
    .map(|(_, key, command)| (key, command))
    .collect()
}

/// Signs that stand for what has no place in a line.
fn written(command: &str) -> String {
    let signs = [('⏎', "\n"), ('⇥', "\t"), ('␛', "\u{1b}"), ('␍', "\r")];
    signs
        .iter()
        .fold(command.to_owned(), |command, (sign, meant)| {
            command.replace(*sign, meant)
        })
}

/// Expected key or `-`, where it comes from, and the command.
pub fn everyday() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let lines = include_str!("everyday.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.map(|line| match *line.splitn(3, '\t').collect::<Vec<_>>() {
        [key, source, command] => (key, source, command),
        _ => panic!("not a row: {line}"),
    })
}

// spec: terminal-and-safety §13.7
#[test]
fn some_things_never_run() {
    let rows = rows("never");
    for needed in [
        "rm -rf /",
        "rm -rf \"/\"",
        "rm -rf ${HOME}",
        "r\\m -rf /",
        "rm${IFS}-rf${IFS}/",
        "ｒｍ -rf /",
        "(reboot)",
        "sudo reboot",
        "bash -c 'rm -rf /'",
    ] {
        assert!(
            rows.iter().any(|(_, command)| command == needed),
            "{needed}"
        );
    }
    for (key, command) in rows {
        check_hardline(&command, key);
    }
}

#[test]
fn talking_about_it_is_not_doing_it() {
    for (_, command) in rows("unblocked") {
        let verdict = verdict(&command);
        assert!(
            !matches!(verdict, Decision::Block { .. }),
            "{command}: {verdict:?}"
        );
    }
}

// spec: terminal-and-safety §13.9
#[test]
fn danger_is_asked_about() {
    for (key, command) in rows("asks") {
        check_asks(&command, key);
    }
    let with_password = Policy {
        sudo_password: true,
        ..policy()
    };
    assert_eq!(
        decide("sudo -S ls", &with_password, &Approvals::default()),
        Decision::Ask {
            warnings: vec!["sudo with privilege flag (stdin/askpass/shell/list)".to_owned()]
        }
    );
}

#[test]
fn what_nobody_needs_to_be_asked_about_passes() {
    for (_, command) in rows("fine") {
        assert_eq!(verdict(&command), Decision::Allow, "{command}");
    }
    assert_eq!(verdict(""), Decision::Allow);
}

#[test]
fn the_tables_are_large_enough() {
    let count: usize = ["never", "unblocked", "asks", "fine"]
        .iter()
        .map(|verdict| rows(verdict).len())
        .sum();
    assert!(count >= 400, "{count} commands");
    assert!(everyday().count() >= 200);
}

/// What real projects run. The key in a row is what the specification's table says of it; an alarm without one is
/// false, and so is a key that is not raised.
#[test]
fn everyday_commands_rarely_raise_a_false_alarm() {
    let (mut all, mut rightly) = (0_usize, 0_usize);
    let (mut false_alarms, mut missed) = (Vec::new(), Vec::new());
    for (key, source, command) in everyday() {
        all += 1;
        let raised = match verdict(command) {
            Decision::Allow => Vec::new(),
            Decision::Ask { warnings } => warnings,
            Decision::Block { reason } => vec![reason],
        };
        match key {
            "-" if raised.is_empty() => {}
            "-" => false_alarms.push(format!("{raised:?} {source}: {command}")),
            key if raised.iter().any(|one| one == key) => rightly += 1,
            key => missed.push(format!("{key} not in {raised:?} {source}: {command}")),
        }
    }
    let rate = 100.0 * false_alarms.len() as f64 / all as f64;
    println!(
        "{all} everyday commands: {rightly} rightly flagged, {} false alarms ({rate:.1} %)",
        false_alarms.len()
    );
    println!("{}", false_alarms.join("\n"));
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!(rate <= 2.0, "{rate:.1} %:\n{}", false_alarms.join("\n"));
}

/// Every key that can be asked about is a key somebody may have stored.
#[test]
fn keys_are_those_people_have_stored() {
    let mut by_key: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, _) in rows("asks") {
        *by_key.entry(key).or_default() += 1;
    }
    assert!(by_key.len() >= 60, "only {} keys are covered", by_key.len());
}
