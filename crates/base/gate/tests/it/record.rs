//! Who decided, as the audit log has it.

use hermes_gate::{Gate, Mode, Policy, Surface, Unasked, Yolo};
use hermes_testkit::doubles::{Canned, FixedAsker, cx_with};
use hermes_types::Answer;

use super::consent::{COMMAND, Side, cx, gate_with, smart};
use super::policy;

/// Who allowed or refused a command, as the record has it.
async fn decided(gate: &Gate, command: &str, answer: Answer) -> String {
    let cx = cx_with(FixedAsker::new(answer));
    match gate.permit(command, &cx).await {
        Ok(permit) => permit.decision().to_owned(),
        Err(denied) => denied.decision.to_owned(),
    }
}

// spec: state §16.3
#[tokio::test]
async fn the_record_says_who_decided() {
    for (answer, expected) in [
        (Answer::Once, "owner: once"),
        (Answer::Session, "owner: session"),
        (Answer::Always, "owner: always"),
        (Answer::Deny, "denied by owner"),
        (Answer::TimedOut, "timed out"),
        (Answer::Nobody, "nobody to ask"),
        (Answer::Cancelled, "cancelled"),
    ] {
        let gate = gate_with(policy());
        assert_eq!(decided(&gate, COMMAND, answer.clone()).await, expected);
        assert_eq!(decided(&gate, "ls", answer.clone()).await, "");
        // What was said before still holds.
        let later = match answer {
            Answer::Session => "owner: session",
            Answer::Always => "allowlist",
            _ => "denied by owner",
        };
        assert_eq!(decided(&gate, COMMAND, Answer::Deny).await, later);
    }
}

// spec: state §16.3
#[tokio::test]
async fn the_record_says_what_decided_where_nobody_was_asked() {
    let check = async |change: &dyn Fn(&mut Policy), command: &str, expected: &str| {
        let mut policy = policy();
        change(&mut policy);
        let gate = gate_with(policy);
        assert_eq!(decided(&gate, command, Answer::Once).await, expected);
        // There is nothing to decide about a harmless one.
        assert_eq!(decided(&gate, "ls", Answer::Once).await, "");
    };
    let surface = |surface: Surface| move |policy: &mut Policy| policy.surface = surface;
    check(&|policy| policy.yolo = Yolo::On, COMMAND, "yolo").await;
    check(&|policy| policy.mode = Mode::Off, COMMAND, "approvals off").await;
    check(
        &surface(Surface::Headless(Unasked::Allow)),
        COMMAND,
        "headless",
    )
    .await;
    check(
        &surface(Surface::Child(Unasked::Allow)),
        COMMAND,
        "delegation",
    )
    .await;
    check(&surface(Surface::Cron(Unasked::Allow)), COMMAND, "cron").await;
    check(
        &surface(Surface::Headless(Unasked::Deny)),
        COMMAND,
        "headless: denied",
    )
    .await;
    check(
        &surface(Surface::Child(Unasked::Deny)),
        COMMAND,
        "delegation: denied",
    )
    .await;
    check(
        &surface(Surface::Cron(Unasked::Deny)),
        COMMAND,
        "cron: denied",
    )
    .await;
    check(&|policy| policy.yolo = Yolo::On, "rm -rf /", "hardline").await;
    check(&|_| {}, "echo x | sudo -S id", "sudo -S").await;
    let deny = |policy: &mut Policy| policy.deny = vec!["git push*".to_owned()];
    check(&deny, "git push", "approvals.deny").await;
}

#[tokio::test]
async fn the_record_says_what_the_side_model_thought() {
    let asker = FixedAsker::new(Answer::Once);
    for (said, expected) in [
        ("APPROVE", "smart: approved"),
        ("DENY", "owner: once (smart: denied)"),
        ("ASK", "owner: once"),
    ] {
        let cx = cx(&asker, Side::saying([Canned::text(said)]));
        let permit = smart().permit(COMMAND, &cx).await.unwrap();
        assert_eq!(permit.decision(), expected);
    }
}
