//! Going round in circles.

use hermes_testkit::doubles::Canned;

use crate::Bench;

// spec: agent-loop §26.16
#[tokio::test]
async fn a_failing_call_is_warned_about_and_then_stopped() {
    let failing = || Canned::calls(&[("fail", "{\"n\": 1}")]);
    let mut bench = Bench::new([failing(), failing(), Canned::text("ok")]);
    bench.turn("go").await;
    let results = bench.results();
    assert!(!results[0].contains("warning"));
    assert!(
        results[1].contains("[Tool loop warning: repeated_exact_failure_warning; count=2"),
        "{}",
        results[1]
    );

    let mut strict = Bench::new(std::iter::repeat_with(failing).take(20));
    strict.limits.guard.stop = true;
    let end = strict.turn("go").await;
    assert_eq!(end.reason, "guardrail_halt");
    assert_eq!(
        strict.model.requests().len(),
        6,
        "the sixth call is not run"
    );
    let stored = strict.journal.messages();
    assert!(
        stored
            .iter()
            .any(|message| crate::text(message).contains("repeated_exact_failure_block"))
    );
}

#[tokio::test]
async fn the_same_result_again_and_again_is_noticed() {
    let same = || Canned::calls(&[("read_same", "{}")]);
    let mut bench = Bench::new([same(), same(), Canned::text("ok")]);
    bench.turn("go").await;
    assert!(bench.results()[1].contains("idempotent_no_progress_warning; count=2"));
}
