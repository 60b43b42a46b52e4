//! What the gate says about commands: tables.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod consent;
mod messages;
mod oracle;
mod record;
mod tables;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_gate::{
    Allowlist, Approvals, Decision, DeniedBy, Gate, Isolation, Mode, Places, Policy, Surface,
    Unasked, Yolo, decide,
};
use hermes_home::redact::Redactor;
use hermes_testkit::doubles::{FixedAsker, cx_with};
use hermes_types::{Answer, Question};
use proptest::prelude::*;
use serde_json::json;

fn policy() -> Policy {
    Policy {
        timeout: Duration::from_secs(60),
        places: Places {
            user_home: "/home/me".into(),
            hermes_home: "/srv/hermes".into(),
            temp_dir: "/tmp".into(),
        },
        ..Policy::default()
    }
}

fn verdict(command: &str) -> Decision {
    decide(command, &policy(), &Approvals::default())
}

#[track_caller]
fn check_hardline(command: &str, key: &str) {
    let yolo = Approvals {
        yolo: true,
        ..Approvals::default()
    };
    for approvals in [Approvals::default(), yolo] {
        match decide(command, &policy(), &approvals) {
            Decision::Block { reason } => assert!(
                reason.starts_with(&format!("BLOCKED (hardline): {key}.")),
                "{command}: {reason}"
            ),
            other => panic!("{command}: {other:?}"),
        }
    }
}

#[track_caller]
fn check_asks(command: &str, key: &str) {
    match verdict(command) {
        Decision::Ask { warnings } => {
            assert!(
                warnings.iter().any(|warning| warning == key),
                "{command}: {warnings:?}"
            );
        }
        other => panic!("{command}: {other:?}"),
    }
}

#[track_caller]
fn check_harmless(command: &str) {
    assert_eq!(verdict(command), Decision::Allow, "{command}");
}

// spec: terminal-and-safety §13.23
#[test]
fn passwords_are_not_guessed() {
    for command in ["echo x | sudo -S id", "sudo -nS id", "sudo --stdin id"] {
        match verdict(command) {
            Decision::Block { reason } => assert!(reason.contains("sudo -S"), "{reason}"),
            other => panic!("{command}: {other:?}"),
        }
    }
    check_harmless("echo \"sudo -S is text\"");
}

#[test]
fn too_long_and_broken_commands_are_suspicious() {
    check_hardline(&"a".repeat(130_000), "command parser limit exceeded");
    check_asks(
        &format!("echo {}", "a".repeat(5000)),
        "command parser limit exceeded",
    );
    check_asks(
        "bash 'unterminated",
        "command parser limit or malformed executable payload",
    );
    // Variables made of variables made of variables: two to the power of a hundred.
    let mut growing = "A=xxxxxxxx;".to_owned();
    for _ in 0..100 {
        growing += "A=$A$A;";
    }
    verdict(&growing);
    check_hardline(
        &format!("{growing}rm -rf /"),
        "recursive delete of root filesystem",
    );
    let deep = "sh -c ".to_owned() + &"\"sh -c ".repeat(20);
    assert_ne!(verdict(&deep), Decision::Allow);
}

// spec: terminal-and-safety §13.10
#[test]
fn the_owners_policy_decides() {
    let check = |change: &dyn Fn(&mut Policy, &mut Approvals), command: &str, expected: &str| {
        let (mut policy, mut approvals) = (policy(), Approvals::default());
        change(&mut policy, &mut approvals);
        let decision = match decide(command, &policy, &approvals) {
            Decision::Allow => "allow".to_owned(),
            Decision::Ask { .. } => "ask".to_owned(),
            Decision::Block { reason } => reason,
        };
        assert!(decision.contains(expected), "{command}: {decision}");
    };
    check(&|_, _| {}, "rm -rf build", "ask");
    check(
        &|p, _| p.mode = Mode::from(&json!("off")),
        "rm -rf build",
        "allow",
    );
    check(
        &|p, _| p.mode = Mode::from(&json!("auto")),
        "rm -rf build",
        "ask",
    );
    check(&|p, _| p.mode = Mode::Off, "rm -rf /", "BLOCKED (hardline)");
    check(&|_, a| a.yolo = true, "rm -rf build", "allow");
    check(
        &|p, _| p.surface = Surface::Cron("deny".into()),
        "rm -rf build",
        "approvals.cron_mode",
    );
    check(
        &|p, _| p.surface = Surface::Cron("approve".into()),
        "rm -rf build",
        "allow",
    );
    check(
        &|p, _| p.surface = Surface::Cron("deny".into()),
        "ls",
        "allow",
    );
    check(
        &|p, _| p.surface = Surface::Headless(Unasked::Allow),
        "rm -rf build",
        "allow",
    );
    check(
        &|p, _| p.surface = Surface::Headless(Unasked::Allow),
        "rm -rf /",
        "hardline",
    );
    check(
        &|p, _| p.surface = Surface::Headless(Unasked::Deny),
        "rm -rf build",
        "headless_mode",
    );
    let child = |unasked: Unasked| {
        move |p: &mut Policy, _: &mut Approvals| p.surface = Surface::Child(unasked)
    };
    let told = "delegation.subagent_auto_approve";
    check(&child(Unasked::Deny), "rm -rf build", told);
    check(&child(Unasked::Deny), "ls", "allow");
    check(&child(Unasked::Allow), "rm -rf build", "allow");
    check(&child(Unasked::Allow), "rm -rf /", "hardline");
    check(
        &|p, _| p.isolation = Isolation::Sandbox,
        "rm -rf /",
        "allow",
    );
    let deny = |p: &mut Policy, a: &mut Approvals| {
        p.deny = vec!["git push *".to_owned()];
        a.yolo = true;
    };
    check(&deny, "git push origin main", "approvals.deny");
    check(&deny, "GIT Push x", "approvals.deny");
    check(&deny, "cd x && git p\"us\"h y", "approvals.deny");
    check(&deny, "git pull", "allow");
    let listed = |entry: &str| {
        let entry = entry.to_owned();
        move |_: &mut Policy, a: &mut Approvals| a.always = BTreeSet::from([entry.clone()])
    };
    check(&listed("recursive delete"), "rm -rf build", "allow");
    check(&listed("rm\\s+-[^\\s]*r"), "rm -rf build", "allow");
    check(&listed("recursive delete"), "git push -f", "ask");
    check(&listed("git push -f"), "git push -f", "allow");
    check(&listed("git push *"), "git push -f", "allow");
    check(&listed("git push *"), "git push -f; rm -rf x", "ask");
    check(
        &listed("git force push short flag (rewrites remote history)"),
        "git push -f",
        "allow",
    );
    check(&listed("rm *"), "rm -rf /", "hardline");
}

proptest! {
    /// Whatever a model writes: the gate answers, and always the same.
    #[test]
    fn any_text_gets_an_answer(command in "[ -~\n`$(){}'\"\\\\|&;<>é]{0,80}") {
        prop_assert_eq!(verdict(&command), verdict(&command));
    }

    /// Nothing in front of or behind a forbidden command makes it allowed.
    #[test]
    fn company_does_not_help(
        before in "[a-z ]{0,10}",
        joint in prop::sample::select(vec![";", "&&", "||", "|", "&", "\n"]),
        after in "[a-z0-9 ]{0,10}",
    ) {
        let command = format!("echo {before}{joint}rm -rf / {joint} echo {after}");
        let blocked = matches!(verdict(&command), Decision::Block { .. });
        prop_assert!(blocked, "{}", command);
    }
}

fn gate(saved: &Arc<Mutex<Vec<String>>>) -> Gate {
    let saved = saved.clone();
    let allowlist = Allowlist::new([], move |keys| {
        saved.lock().unwrap().extend_from_slice(keys)
    });
    Gate::new(policy(), allowlist, Redactor::default())
}

// spec: terminal-and-safety §13.8
#[tokio::test]
async fn consent_is_remembered_as_long_as_it_was_given() {
    let key = "git force push (rewrites remote history)";
    for (answer, asked, saved_keys) in [
        (Answer::Once, 2, 0),
        (Answer::Session, 1, 0),
        (Answer::Always, 1, 1),
    ] {
        let saved = Arc::default();
        let gate = gate(&saved);
        let asker = FixedAsker::new(answer.clone());
        let cx = cx_with(asker.clone());
        let first = gate.permit("git push --force", &cx).await.unwrap();
        assert!(first.note().unwrap().contains(key));
        gate.permit("git push --force", &cx).await.unwrap();
        assert_eq!(asker.asked().len(), asked, "{answer:?}");
        assert_eq!(saved.lock().unwrap().len(), saved_keys, "{answer:?}");
        let Question::Approve {
            warnings, timeout, ..
        } = &asker.asked()[0]
        else {
            panic!("not a question of approval");
        };
        assert_eq!(
            (warnings.as_slice(), timeout.as_secs()),
            (&[key.to_owned()][..], 60)
        );
        gate.forget();
        gate.permit("git push --force", &cx).await.unwrap();
        let asked_again = answer != Answer::Always;
        assert_eq!(
            asker.asked().len(),
            asked + usize::from(asked_again),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn without_consent_nothing_runs() {
    for (answer, by, says) in [
        (Answer::Deny, DeniedBy::Owner, "the user denied it"),
        (Answer::TimedOut, DeniedBy::Silence, "timed out"),
        (Answer::Nobody, DeniedBy::Silence, "silence is not consent"),
        (Answer::Cancelled, DeniedBy::Cancelled, "cancelled"),
        (Answer::Text("sure".to_owned()), DeniedBy::Owner, "denied"),
    ] {
        let gate = gate(&Arc::default());
        let cx = cx_with(FixedAsker::new(answer));
        let denied = gate.permit("git push --force", &cx).await.unwrap_err();
        assert_eq!(denied.by, by);
        assert!(denied.reason.contains(says), "{}", denied.reason);
        assert!(denied.reason.contains("Do not retry"), "{}", denied.reason);
    }
}

#[tokio::test]
async fn the_owner_sees_no_secrets_and_harmless_commands_are_not_asked_about() {
    let gate = gate(&Arc::default());
    let asker = FixedAsker::new(Answer::Once);
    let cx = cx_with(asker.clone());
    gate.permit("ls", &cx).await.unwrap();
    assert!(asker.asked().is_empty());
    let command = "rm -rf x; echo ghp_abcdefghijklmnop1234";
    let permit = gate.permit(command, &cx).await.unwrap();
    assert_eq!(permit.command(), command);
    let Question::Approve { command, .. } = &asker.asked()[0] else {
        panic!("not a question of approval");
    };
    assert!(!command.contains("ghp_abcdefghijklmnop1234"), "{command}");
    gate.set_yolo(Yolo::On);
    gate.permit("git push -f", &cx).await.unwrap();
    assert_eq!(asker.asked().len(), 1);
    gate.permit("rm -rf /", &cx).await.unwrap_err();
}
