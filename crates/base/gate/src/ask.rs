//! Judging the commands of one session: what the policy leaves open is asked, and the answer remembered.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use hermes_home::redact::Redactor;
use hermes_types::{Answer, CallCx, Consent, LONGEST_PAUSE, Question};

use crate::Surface;
use crate::decide::{Screened, conclude, decide, decide_script, screen};
use crate::smart::{self, Advice};
use crate::{Allowlist, Approvals, Decision, Denied, DeniedBy, Mode, Permit, Policy, Tirith, lock};

/// Judges the commands of one session.
#[derive(Debug)]
pub struct Gate {
    policy: Policy,
    allowlist: Arc<Allowlist>,
    /// What was allowed in this session only.
    session: Mutex<Session>,
    /// Commands are shown without secrets.
    redactor: Redactor,
    scanner: Option<Tirith>,
}

#[derive(Debug, Default)]
struct Session {
    keys: BTreeSet<String>,
    yolo: bool,
}

/// Whether dangerous commands pass unasked. The hardline holds in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Yolo {
    On,
    #[default]
    Off,
}

/// Something to be said against a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Warning {
    /// What consent is stored under.
    pub key: String,
    /// What the owner reads.
    pub text: String,
}

impl From<String> for Warning {
    fn from(key: String) -> Self {
        let text = key.clone();
        Self { key, text }
    }
}

/// A question on its way to the owner.
struct Doubt<'a> {
    /// The command or script, as it would run.
    what: &'a str,
    warnings: Vec<Warning>,
    longest: Consent,
    /// The side model said no.
    advised_against: bool,
}

impl Gate {
    pub fn new(policy: Policy, allowlist: Arc<Allowlist>, redactor: Redactor) -> Self {
        Self {
            policy,
            allowlist,
            session: Mutex::default(),
            redactor,
            scanner: None,
        }
    }

    /// With a scanner that is asked about every command the policy leaves open.
    #[must_use]
    pub fn with_scanner(self, scanner: Tirith) -> Self {
        let scanner = Some(scanner);
        Self { scanner, ..self }
    }

    /// `/yolo`. `--yolo` is part of the policy and stays.
    pub fn set_yolo(&self, yolo: Yolo) {
        lock(&self.session).yolo = yolo == Yolo::On;
    }

    /// Turns what [`Gate::set_yolo`] set; gives how it is now.
    pub fn turn_yolo(&self) -> Yolo {
        let mut session = lock(&self.session);
        session.yolo = !session.yolo;
        match session.yolo {
            true => Yolo::On,
            false => Yolo::Off,
        }
    }

    /// `/new`: nothing that was allowed for this session is allowed any more.
    pub fn forget(&self) {
        *lock(&self.session) = Session::default();
    }

    /// Leave to run `command`, asking the owner if need be.
    pub async fn permit(&self, command: &str, cx: &CallCx) -> Result<Permit, Denied> {
        let approvals = self.approvals();
        let (dangers, covered) = match screen(command, &self.policy, &approvals) {
            Screened::Allowed(by) => return Ok(Permit::unasked(command, by)),
            Screened::Forbidden(refused) => return Err(refused),
            Screened::Open { dangers, covered } => (dangers, covered),
        };
        let mut warnings: Vec<Warning> = dangers.into_iter().map(Warning::from).collect();
        let found = self.scan(command, cx).await?;
        let fresh = |warning: &Warning| !approvals.session.contains(&warning.key);
        warnings.extend(found.into_iter().filter(fresh));
        let keys = warnings.iter().map(|warning| warning.key.clone());
        match conclude(keys.collect(), &self.policy) {
            Decision::Allow => Ok(Permit::unasked(command, covered)),
            Decision::Block { reason } => Err(self.unattended(reason)),
            Decision::Ask { .. } => self.resolve(command, warnings, cx).await,
        }
    }

    /// Leave to run `command` where nobody can be asked meanwhile: only what needs no question.
    pub fn permit_unasked(&self, command: &str) -> Result<Permit, Denied> {
        match decide(command, &self.policy, &self.approvals()) {
            Decision::Allow => Ok(Permit::unasked(command, "")),
            Decision::Block { reason } => Err(self.unattended(reason)),
            Decision::Ask { warnings } => {
                let reason = format!("it would need approval ({})", warnings.join(", "));
                let by = DeniedBy::Silence;
                let decision = "nobody was asked";
                Err(Denied {
                    reason,
                    by,
                    decision,
                })
            }
        }
    }

    /// Leave to run a whole script of `execute_code`. What it does in a terminal is judged there, command by
    /// command.
    pub async fn permit_script(&self, script: &str, cx: &CallCx) -> Result<Permit, Denied> {
        match decide_script(&self.policy, &self.approvals()) {
            Decision::Allow => Ok(Permit::unasked(script, "")),
            Decision::Block { reason } => Err(self.unattended(reason)),
            Decision::Ask { warnings } => {
                let warnings = warnings.into_iter().map(Warning::from).collect();
                self.resolve(script, warnings, cx).await
            }
        }
    }

    fn unattended(&self, reason: String) -> Denied {
        Denied::by_policy(reason, self.policy.surface.refusal())
    }

    async fn scan(&self, command: &str, cx: &CallCx) -> Result<Vec<Warning>, Denied> {
        let Some(scanner) = &self.scanner else {
            return Ok(Vec::new());
        };
        tokio::select! {
            biased;
            () = cx.scope.cancel.cancelled() => Err(denied(&Answer::Cancelled, "not yet checked")),
            found = scanner.scan(command) => Ok(found),
        }
    }

    /// By the side model where the owner wants that, else by the owner.
    async fn resolve(
        &self,
        what: &str,
        warnings: Vec<Warning>,
        cx: &CallCx,
    ) -> Result<Permit, Denied> {
        let mut doubt = Doubt {
            what,
            longest: longest(&warnings),
            warnings,
            advised_against: false,
        };
        if self.policy.mode == Mode::Smart {
            match self.advised(&doubt, cx).await {
                Advice::Approve => {
                    lock(&self.session).keys.extend(doubt.keys());
                    let note = format!(
                        "Flagged ({}); the approval model let it pass for this session.",
                        doubt.texts().join("; ")
                    );
                    return Ok(Permit::noted(what, note, "smart: approved"));
                }
                Advice::Deny => {
                    // Whoever overrules it does so for this one time, and with open eyes.
                    doubt.longest = Consent::Once;
                    doubt.advised_against = true;
                    let text = "the approval model advises against it".to_owned();
                    doubt.warnings.push(Warning::from(text));
                }
                Advice::None => {}
            }
        }
        self.ask(doubt, cx).await
    }

    async fn advised(&self, doubt: &Doubt<'_>, cx: &CallCx) -> Advice {
        let shown = self.redactor.force(doubt.what);
        let texts = doubt.texts();
        tokio::select! {
            biased;
            () = cx.scope.cancel.cancelled() => Advice::None,
            advice = smart::advice(&shown, &texts, cx) => advice,
        }
    }

    async fn ask(&self, doubt: Doubt<'_>, cx: &CallCx) -> Result<Permit, Denied> {
        let question = Question::Approve {
            command: self.redactor.force(doubt.what).into_owned(),
            warnings: doubt.texts(),
            longest: doubt.longest,
            timeout: self.policy.timeout,
        };
        let most = match self.policy.surface {
            Surface::Messages => self.policy.timeout,
            _ => self.policy.timeout + LONGEST_PAUSE,
        };
        let answer = tokio::select! {
            biased;
            () = cx.scope.cancel.cancelled() => Answer::Cancelled,
            // The asker knows the timeout too, and stops it while the owner is at the question; this is for one
            // that doesn't keep it.
            answer = tokio::time::timeout(most, cx.asker.ask(question, &cx.scope)) => {
                answer.unwrap_or(Answer::TimedOut)
            }
        };
        let flagged = doubt.texts().join("; ");
        let given = match answer {
            Answer::Once => Consent::Once,
            Answer::Session => Consent::Session,
            Answer::Always => Consent::Always,
            refused => return Err(denied(&refused, &flagged)),
        };
        let given = given.min(doubt.longest);
        let how_long = self.remember(given, &doubt);
        let note = format!("Flagged ({flagged}); the user approved it {how_long}.");
        let decision = match given {
            Consent::Once if doubt.advised_against => "owner: once (smart: denied)",
            Consent::Once => "owner: once",
            Consent::Session => "owner: session",
            Consent::Always => "owner: always",
        };
        Ok(Permit::noted(doubt.what, note, decision))
    }

    fn remember(&self, consent: Consent, doubt: &Doubt<'_>) -> &'static str {
        match consent {
            Consent::Once => "this once",
            Consent::Session => {
                lock(&self.session).keys.extend(doubt.keys());
                "for this session"
            }
            Consent::Always => {
                let keys: Vec<String> = doubt.keys().collect();
                self.allowlist.add(&keys);
                lock(&self.session).keys.extend(keys);
                "for good"
            }
        }
    }

    fn approvals(&self) -> Approvals {
        let session = lock(&self.session);
        Approvals {
            always: self.allowlist.entries(),
            session: session.keys.clone(),
            yolo: session.yolo,
        }
    }
}

impl Doubt<'_> {
    fn keys(&self) -> impl Iterator<Item = String> {
        self.warnings.iter().map(|warning| warning.key.clone())
    }

    fn texts(&self) -> Vec<String> {
        self.warnings
            .iter()
            .map(|warning| warning.text.clone())
            .collect()
    }
}

/// What the scanner finds is in the command, not in its kind: consent to it ends with the session.
fn longest(warnings: &[Warning]) -> Consent {
    let scanned = |warning: &Warning| warning.key.starts_with("tirith:");
    match warnings.iter().any(scanned) {
        true => Consent::Session,
        false => Consent::Always,
    }
}

fn denied(answer: &Answer, flagged: &str) -> Denied {
    let (by, what, decision) = match answer {
        Answer::TimedOut => (
            DeniedBy::Silence,
            "the request for approval timed out; silence is not consent",
            "timed out",
        ),
        Answer::Nobody => (
            DeniedBy::Silence,
            "nobody is there to approve it; silence is not consent",
            "nobody to ask",
        ),
        Answer::Cancelled => (
            DeniedBy::Cancelled,
            "it was cancelled before the user answered",
            "cancelled",
        ),
        _ => (DeniedBy::Owner, "the user denied it", "denied by owner"),
    };
    Denied {
        reason: format!(
            "BLOCKED: {what} ({flagged}). It was not run. Do not retry it, rephrase it, or reach the same by \
             another tool; ask the user how to go on."
        ),
        by,
        decision,
    }
}
