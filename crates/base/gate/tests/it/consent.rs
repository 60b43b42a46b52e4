//! Whom the gate asks, and what it remembers: the owner, a side model, a scanner.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_gate::{
    Allowlist, Approvals, Decision, DeniedBy, Gate, Isolation, Mode, Otherwise, Policy, Surface,
    Tirith, Unasked, Yolo, decide_script,
};
use hermes_home::redact::Redactor;
use hermes_testkit::doubles::{Canned, CannedModel, FixedAsker, cx_with};
use hermes_types::{
    Answer, CallCx, Consent, ModelClient, ModelError, ModelErrorKind, Models, Purpose, Question,
};
use serde_json::{Value, json};

use super::policy;

/// Gives out one model, and remembers for what.
pub(super) struct Side {
    model: Arc<CannedModel>,
    purposes: Mutex<Vec<Purpose>>,
}

impl Side {
    pub(super) fn saying(canned: impl IntoIterator<Item = Canned>) -> Arc<Self> {
        Arc::new(Self {
            model: CannedModel::new(canned),
            purposes: Mutex::default(),
        })
    }
}

impl Models for Side {
    fn client(&self, purpose: &Purpose) -> Result<Arc<dyn ModelClient>, ModelError> {
        self.purposes.lock().unwrap().push(purpose.clone());
        Ok(self.model.clone())
    }
}

pub(super) fn gate_with(policy: Policy) -> Gate {
    Gate::new(policy, Allowlist::new([], |_| {}), Redactor::default())
}

pub(super) fn smart() -> Gate {
    gate_with(Policy {
        mode: Mode::Smart,
        ..policy()
    })
}

pub(super) fn cx(asker: &Arc<FixedAsker>, models: Arc<dyn Models>) -> CallCx {
    CallCx {
        models,
        ..cx_with(asker.clone())
    }
}

pub(super) const COMMAND: &str = "rm -rf build";

#[tokio::test]
async fn a_side_model_can_spare_the_owner_the_question() {
    let side = Side::saying([Canned::text(" APPROVE\n")]);
    let asker = FixedAsker::new(Answer::Deny);
    let (gate, cx) = (smart(), cx(&asker, side.clone()));
    let permit = gate.permit(COMMAND, &cx).await.unwrap();
    assert!(permit.note().unwrap().contains("recursive delete"));
    // For the session: neither is asked again.
    gate.permit("rm -rf dist", &cx).await.unwrap();
    assert!(asker.asked().is_empty());
    let requests = side.model.requests();
    let [request] = requests.as_slice() else {
        panic!("{} requests", requests.len());
    };
    assert_eq!(
        (request.temperature, request.max_output),
        (Some(0.0), Some(16))
    );
    assert_eq!(*side.purposes.lock().unwrap(), [Purpose::Aux("approval")]);
    assert!(format!("{:?}", request.messages).contains(COMMAND));
}

#[tokio::test]
async fn what_a_side_model_does_not_approve_is_asked() {
    for said in [
        Canned::text("APPROVE, I think"),
        Canned::text("approve"),
        Canned::text("ASK"),
        Canned::text(""),
        Canned::error(ModelErrorKind::Server),
    ] {
        let asker = FixedAsker::new(Answer::Session);
        let cx = cx(&asker, Side::saying([said.clone()]));
        smart().permit(COMMAND, &cx).await.unwrap();
        assert_eq!(asker.asked().len(), 1, "{said:?}");
    }
    // Without one that could be asked, too.
    let asker = FixedAsker::new(Answer::Once);
    smart()
        .permit(COMMAND, &cx_with(asker.clone()))
        .await
        .unwrap();
    assert_eq!(asker.asked().len(), 1);
}

#[tokio::test]
async fn a_denial_can_be_overruled_once_but_not_for_longer() {
    let asker = FixedAsker::new(Answer::Always);
    let saved: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = saved.clone();
    let allowlist = Allowlist::new([], move |keys| kept.lock().unwrap().extend_from_slice(keys));
    let policy = Policy {
        mode: Mode::Smart,
        ..policy()
    };
    let gate = Gate::new(policy, allowlist, Redactor::default());
    let cx = cx(
        &asker,
        Side::saying([Canned::text("DENY"), Canned::text("DENY")]),
    );
    for asked in 1..=2 {
        gate.permit(COMMAND, &cx).await.unwrap();
        assert_eq!(asker.asked().len(), asked);
    }
    let Question::Approve {
        longest, warnings, ..
    } = &asker.asked()[0]
    else {
        panic!("not a question of approval");
    };
    assert_eq!(*longest, Consent::Once);
    assert!(
        warnings.join("; ").contains("advises against"),
        "{warnings:?}"
    );
    assert!(saved.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_hardline_is_no_question_for_a_side_model() {
    let side = Side::saying([Canned::text("APPROVE")]);
    let asker = FixedAsker::new(Answer::Always);
    let denied = smart()
        .permit("rm -rf /", &cx(&asker, side.clone()))
        .await
        .unwrap_err();
    assert_eq!(denied.by, DeniedBy::Policy);
    assert!(side.model.requests().is_empty());
}

// spec: terminal-and-safety §13.10
#[test]
fn modes_are_read_as_they_are_written() {
    let check = |setting: Value, mode: Mode, warns: bool| {
        let (read, odd) = Mode::read(&setting);
        assert_eq!((read, odd.is_some()), (mode, warns), "{setting}");
    };
    check(json!(false), Mode::Off, false);
    check(json!("off"), Mode::Off, false);
    check(json!(" Smart "), Mode::Smart, false);
    check(json!("manual"), Mode::Manual, false);
    check(json!("auto"), Mode::Manual, true);
    check(json!(true), Mode::Manual, true);
    check(json!(""), Mode::Manual, true);
    check(json!(null), Mode::Manual, true);
    check(json!(3), Mode::Manual, true);
}

#[tokio::test]
async fn yolo_from_the_start_outlives_a_new_conversation() {
    let asker = FixedAsker::new(Answer::Deny);
    let cx = cx_with(asker.clone());
    let gate = gate_with(Policy {
        yolo: Yolo::On,
        ..policy()
    });
    gate.forget();
    gate.permit(COMMAND, &cx).await.unwrap();
    let gate = gate_with(policy());
    gate.set_yolo(Yolo::On);
    gate.permit(COMMAND, &cx).await.unwrap();
    gate.forget();
    gate.permit(COMMAND, &cx).await.unwrap_err();
    assert_eq!(asker.asked().len(), 1);
}

#[test]
fn whole_scripts_are_asked_about_only_where_nobody_watches() {
    let check = |change: &dyn Fn(&mut Policy, &mut Approvals), expected: &str| {
        let (mut policy, mut approvals) = (policy(), Approvals::default());
        change(&mut policy, &mut approvals);
        let decision = match decide_script(&policy, &approvals) {
            Decision::Allow => "allow".to_owned(),
            Decision::Ask { warnings } => warnings.join(","),
            Decision::Block { reason } => reason,
        };
        assert!(decision.contains(expected), "{decision}");
    };
    check(&|p, _| p.surface = Surface::Messages, "execute_code");
    check(&|p, _| p.surface = Surface::Interactive, "allow");
    check(
        &|p, _| p.surface = Surface::Headless(Unasked::Deny),
        "allow",
    );
    check(
        &|p, _| p.surface = Surface::Cron(Unasked::Deny),
        "approvals.cron_mode",
    );
    check(&|p, _| p.surface = Surface::Cron(Unasked::Allow), "allow");
    let messages = |also: fn(&mut Policy, &mut Approvals)| {
        move |p: &mut Policy, a: &mut Approvals| {
            p.surface = Surface::Messages;
            also(p, a);
        }
    };
    check(&messages(|p, _| p.yolo = Yolo::On), "allow");
    check(&messages(|p, _| p.mode = Mode::Off), "allow");
    check(&messages(|p, _| p.isolation = Isolation::Sandbox), "allow");
    check(
        &messages(|_, a| a.session.extend(["execute_code".to_owned()])),
        "allow",
    );
}

#[tokio::test]
async fn a_script_approved_for_the_session_is_not_asked_about_again() {
    let asker = FixedAsker::new(Answer::Session);
    let cx = cx_with(asker.clone());
    let gate = gate_with(Policy {
        surface: Surface::Messages,
        ..policy()
    });
    let permit = gate.permit_script("print(1)", &cx).await.unwrap();
    assert_eq!(permit.command(), "print(1)");
    gate.permit_script("print(2)", &cx).await.unwrap();
    assert_eq!(asker.asked().len(), 1);
}

/// A scanner that does what its script says.
fn scanner(dir: &Path, script: &str, otherwise: Otherwise) -> Tirith {
    let program = dir.join("tirith");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    Tirith {
        program: Some(program),
        timeout: Duration::from_secs(20),
        otherwise,
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
    }
}

const FINDING: &str = r#"echo noise >&2; echo "{\"findings\":[{\"rule_id\":\"homograph\",\"severity\":\"HIGH\",\"title\":\"lookalike host\"},{\"rule_id\":\"homograph\",\"title\":\"again\"}]}"; exit 2"#;

// spec: terminal-and-safety §13.25
#[tokio::test]
async fn what_the_scanner_finds_is_asked_about_but_never_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let saved: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = saved.clone();
    let allowlist = Allowlist::new([], move |keys| kept.lock().unwrap().extend_from_slice(keys));
    let gate = Gate::new(policy(), allowlist, Redactor::default()).with_scanner(scanner(
        dir.path(),
        FINDING,
        Otherwise::Pass,
    ));
    let asker = FixedAsker::new(Answer::Always);
    let cx = cx_with(asker.clone());
    let permit = gate.permit("curl http://exаmple.com", &cx).await.unwrap();
    assert!(
        permit.note().unwrap().contains("for this session"),
        "{permit:?}"
    );
    gate.permit("curl http://exаmple.com", &cx).await.unwrap();
    let asked = asker.asked();
    let [
        Question::Approve {
            warnings, longest, ..
        },
    ] = asked.as_slice()
    else {
        panic!("{asked:?}");
    };
    assert_eq!(warnings, &["tirith homograph: HIGH: lookalike host"]);
    assert_eq!(*longest, Consent::Session);
    assert!(saved.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_scanners_exit_code_is_its_verdict() {
    let check = async |script: &str, otherwise: Otherwise, asked: usize| {
        let dir = tempfile::tempdir().unwrap();
        let gate = gate_with(policy()).with_scanner(scanner(dir.path(), script, otherwise));
        let asker = FixedAsker::new(Answer::Once);
        gate.permit("ls", &cx_with(asker.clone())).await.unwrap();
        assert_eq!(asker.asked().len(), asked, "{script}");
    };
    check("exit 0", Otherwise::Ask, 0).await;
    check("exit 1", Otherwise::Pass, 1).await;
    check("echo not json; exit 2", Otherwise::Pass, 1).await;
    check("exit 9", Otherwise::Pass, 0).await;
    check("exit 9", Otherwise::Ask, 1).await;
    check(
        "[ \"$*\" = 'check --json --non-interactive --shell posix -- ls' ] || exit 9",
        Otherwise::Ask,
        0,
    )
    .await;
}

#[tokio::test]
async fn a_scanner_that_hangs_or_is_missing_stops_nothing_by_default() {
    let check = async |scanner: Tirith, asked: usize| {
        let asker = FixedAsker::new(Answer::Once);
        let gate = gate_with(policy()).with_scanner(scanner);
        gate.permit("ls", &cx_with(asker.clone())).await.unwrap();
        assert_eq!(asker.asked().len(), asked);
    };
    let dir = tempfile::tempdir().unwrap();
    for (otherwise, asked) in [(Otherwise::Pass, 0), (Otherwise::Ask, 1)] {
        let hanging = Tirith {
            timeout: Duration::from_millis(50),
            ..scanner(dir.path(), "sleep 600", otherwise)
        };
        check(hanging, asked).await;
        let missing = Tirith {
            program: None,
            ..scanner(dir.path(), "", otherwise)
        };
        check(missing, asked).await;
        let gone = Tirith {
            program: Some(dir.path().join("gone")),
            ..scanner(dir.path(), "", otherwise)
        };
        check(gone, asked).await;
    }
}

#[test]
fn the_scanner_is_looked_for_where_it_may_be() {
    let dir = tempfile::tempdir().unwrap();
    let (search, own) = (dir.path().join("search"), dir.path().join("own"));
    std::fs::create_dir_all(&search).unwrap();
    std::fs::create_dir_all(&own).unwrap();
    let find = |path: &str| Tirith::find(path, search.to_str().unwrap(), &own);
    assert_eq!(find("tirith"), None);
    assert_eq!(find(""), None);
    std::fs::write(own.join("tirith"), "").unwrap();
    assert_eq!(find("tirith"), Some(own.join("tirith")));
    std::fs::write(search.join("tirith"), "").unwrap();
    assert_eq!(find("tirith"), Some(search.join("tirith")));
    let named = dir.path().join("other");
    std::fs::write(&named, "").unwrap();
    assert_eq!(find(named.to_str().unwrap()), Some(PathBuf::from(&named)));
}

// spec: terminal-and-safety §13.10
#[tokio::test]
async fn unattended_nothing_flagged_runs_where_the_owner_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let cron = || {
        gate_with(Policy {
            surface: Surface::Cron(Unasked::Deny),
            ..policy()
        })
    };
    let asker = FixedAsker::new(Answer::Always);
    let cx = cx_with(asker.clone());
    let denied = cron().permit(COMMAND, &cx).await.unwrap_err();
    assert!(denied.reason.contains("approvals.cron_mode"), "{denied}");
    let scanned = cron().with_scanner(scanner(dir.path(), FINDING, Otherwise::Pass));
    let denied = scanned.permit("ls", &cx).await.unwrap_err();
    assert!(denied.reason.contains("tirith:homograph"), "{denied}");
    cron().permit("ls", &cx).await.unwrap();
    assert!(asker.asked().is_empty());
}

#[test]
fn where_nobody_can_be_asked_only_what_needs_no_question_runs() {
    let gate = gate_with(policy());
    assert_eq!(gate.permit_unasked("ls").unwrap().command(), "ls");
    let denied = gate.permit_unasked(COMMAND).unwrap_err();
    assert_eq!(denied.by, DeniedBy::Silence);
    assert!(denied.reason.contains("recursive delete"), "{denied}");
    assert_eq!(
        gate.permit_unasked("rm -rf /").unwrap_err().by,
        DeniedBy::Policy
    );
}
