//! However a script ends, nothing of it stays.

use std::time::{Duration, Instant};

use hermes_types::{Outcome, Tool};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{World, args, eventually, parsed, processes};

/// On an idle machine it is a tenth of a second; the two seconds a kill can take are what this excludes.
const AT_ONCE: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(10);

/// Ignores every signal it can, like its child.
const DEAF: &str = "import os, signal, subprocess, time\n\
    for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]: signal.signal(number, signal.SIG_IGN)\n";

// spec: tools §8.18
#[tokio::test]
async fn a_script_without_end_is_stopped() {
    let world = World::new().within(Duration::from_secs(2));
    let start = Instant::now();
    let result = world
        .run("print('begun')\nmark = '45.1'\nwhile True: pass")
        .await;
    assert!(start.elapsed() < Duration::from_secs(8));
    let message = "Script timed out after 2s and was stopped";
    assert_eq!(
        (&result["status"], &result["error"], &result["output"]),
        (
            &json!("timeout"),
            &json!(message),
            &json!(format!("begun\n[{message}]"))
        )
    );
    assert_eq!(
        processes(world.temp().to_str().unwrap()),
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_deaf_tree_is_killed() {
    let world = World::new().within(Duration::from_secs(1));
    let code = format!("{DEAF}subprocess.Popen(['sleep', '45.2'])\nwhile True: time.sleep(1)");
    let start = Instant::now();
    let result = world.run(&code).await;
    assert_eq!(result["status"], "timeout", "{result}");
    assert!(start.elapsed() < SOON);
    assert_eq!(processes("sleep 45.2"), Vec::<String>::new());
}

#[tokio::test]
async fn what_it_leaves_running_ends_with_it() {
    let world = World::new();
    let code = "import subprocess\n\
        subprocess.Popen(['sleep', '45.3'])\n\
        subprocess.Popen(['sleep', '45.3'], start_new_session=True)\n\
        subprocess.Popen('setsid sh -c \"trap : TERM; sleep 45.3; sleep 45.3\" & exit', shell=True).wait()\n\
        print('done')";
    let start = Instant::now();
    let result = world.run(code).await;
    assert_eq!(
        (&result["status"], &result["output"]),
        (&json!("success"), &json!("done"))
    );
    assert!(start.elapsed() < SOON);
    eventually("all are gone", Duration::from_secs(1), || {
        processes("sleep 45.3").is_empty()
    })
    .await;
}

#[tokio::test]
async fn closing_its_output_is_not_the_end() {
    let closed = "import os, time\nprint('said')\nos.close(1); os.close(2)\n";
    let result = World::new()
        .run(&format!("{closed}time.sleep(0.5); os._exit(4)"))
        .await;
    assert_eq!(
        (&result["exit_code"], &result["output"]),
        (&json!(4), &json!("said"))
    );
    let world = World::new().within(Duration::from_secs(1));
    let result = world.run(&format!("{closed}time.sleep(60)")).await;
    assert_eq!(result["status"], "timeout");
}

/// Runs `code` until it has made the file `up`, then interrupts it; how long the answer took.
async fn interrupted(world: &World, code: &str) -> (Value, Outcome, Duration) {
    let (tool, cx) = (world.tool(), world.cx());
    let mark = world.work().join("up");
    let call = tool.call(args(code), &cx);
    let interrupt = async {
        eventually("the script runs", SOON, || mark.exists()).await;
        let start = Instant::now();
        cx.scope.cancel.cancel();
        start
    };
    let (output, start) = tokio::join!(call, interrupt);
    (parsed(&output), output.outcome, start.elapsed())
}

#[tokio::test]
async fn an_interrupt_is_answered_at_once() {
    let world = World::new();
    let code =
        "import subprocess\nprint('begun')\nopen('up', 'w')\nsubprocess.run(['sleep', '45.4'])";
    let (result, outcome, took) = interrupted(&world, code).await;
    assert_eq!(
        (&result["status"], outcome),
        (&json!("interrupted"), Outcome::Cancelled)
    );
    assert!(
        result["output"].as_str().unwrap().starts_with("begun\n"),
        "{result}"
    );
    assert!(took < AT_ONCE, "{took:?}");
    eventually("all is gone", Duration::from_secs(3), || {
        processes("sleep 45.4").is_empty() && world.left().is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_deaf_tree_is_gone_soon_after_an_interrupt() {
    let world = World::new();
    let code = format!(
        "{DEAF}subprocess.Popen(['sleep', '45.5'])\nopen('up', 'w')\nwhile True: time.sleep(1)"
    );
    let (result, _, took) = interrupted(&world, &code).await;
    assert_eq!(result["status"], "interrupted");
    assert!(took < AT_ONCE, "{took:?}");
    assert!(!processes("sleep 45.5").is_empty());
    eventually("all is gone", Duration::from_secs(3), || {
        processes("sleep 45.5").is_empty() && world.left().is_empty()
    })
    .await;
    world.services.dying.close();
    world.services.dying.wait().await;
}

#[tokio::test]
async fn a_call_that_never_ends_ends_with_the_script() {
    let world = World::new().answering(|_, _| None);
    let code = "from hermes_tools import terminal\nopen('up', 'w')\nterminal('hang')";
    let (result, _, took) = interrupted(&world, code).await;
    assert_eq!(result["status"], "interrupted");
    assert!(took < AT_ONCE, "{took:?}");
    let world = World::new()
        .answering(|_, _| None)
        .within(Duration::from_secs(3));
    let result = world.run(code).await;
    assert_eq!(
        (&result["status"], &result["tool_calls_made"]),
        (&json!("timeout"), &json!(1))
    );
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing() {
    let world = World::new();
    let (tool, cx) = (world.tool(), world.cx());
    let mark = world.work().join("up");
    let code =
        format!("{DEAF}subprocess.Popen(['sleep', '45.6'])\nopen('up', 'w')\ntime.sleep(60)");
    tokio::select! {
        _ = tool.call(args(&code), &cx) => panic!("it ended"),
        () = eventually("it runs", SOON, || mark.exists()) => {}
    }
    world.assert_clean();
    eventually("it is gone", Duration::from_secs(2), || {
        processes("sleep 45.6").is_empty()
    })
    .await;
}

#[tokio::test]
async fn an_interrupt_before_the_start_counts() {
    let world = World::new();
    let cx = world.cx();
    cx.scope.cancel.cancel();
    let output = world.tool().call(args("open('up', 'w')"), &cx).await;
    assert_eq!(
        (&parsed(&output)["status"], output.outcome),
        (&json!("interrupted"), Outcome::Cancelled)
    );
    assert!(!world.work().join("up").exists());
}
