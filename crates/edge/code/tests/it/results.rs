//! What a script prints, how it ends, where and as whom it runs.

use std::fs;

use hermes_code::Mode;
use hermes_gate::{Surface, Unasked};
use hermes_home::Env;
use hermes_testkit::doubles::FixedAsker;
use hermes_types::{Answer, Availability, Outcome, Tool};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{World, args, parsed};

#[tokio::test]
async fn what_is_printed_is_the_result() {
    let result = World::new()
        .run("print('ä €')\nprint('\\x1b[1mbold\\x1b[0m')")
        .await;
    assert_eq!(
        (&result["status"], &result["output"], &result["exit_code"]),
        (&json!("success"), &json!("ä €\nbold"), &json!(0))
    );
    assert_eq!(
        (&result["tool_calls_made"], &result["error"]),
        (&json!(0), &json!(null))
    );
    assert_eq!(result["stdout_bytes"], 20);
    assert!(result["duration_seconds"].as_f64().unwrap() < 30.0);
}

#[tokio::test]
async fn failures_say_why() {
    let check = async |code: &str, number: i64, output: &str, error: &str| {
        let world = World::new();
        let answer = world.output(code).await;
        let result = parsed(&answer);
        assert_eq!(
            (&result["status"], answer.outcome),
            (&json!("error"), Outcome::Failed)
        );
        assert_eq!(result["exit_code"], number, "{result}");
        let shown = result["output"].as_str().unwrap();
        assert!(shown.contains(output), "{shown}");
        assert!(
            result["error"].as_str().unwrap().contains(error),
            "{result}"
        );
        world.assert_clean();
    };
    let traceback = "begun\n--- stderr ---\nTraceback";
    check("print('begun')\n1/0", 1, traceback, "ZeroDivisionError").await;
    check("import sys; sys.exit(3)", 3, "", "exited with code 3").await;
    check("print('x'", 1, "--- stderr ---", "SyntaxError").await;
    check(
        "import os; os.kill(os.getpid(), 9)",
        -9,
        "",
        "killed by signal 9",
    )
    .await;
    check("input()", 1, "", "EOFError").await;
}

#[tokio::test]
async fn a_script_that_is_missing_is_asked_for() {
    for code in ["", "  \n"] {
        let result = World::new().run(code).await;
        assert_eq!(result["status"], "error");
        assert!(
            result["error"]
                .as_str()
                .unwrap()
                .contains("'code' is missing")
        );
    }
}

#[tokio::test]
async fn where_it_runs() {
    let mut world = World::new();
    let code = "import os, sys; print(os.getcwd()); print(sys.path[0])";
    let result = world.run(code).await;
    let mut lines = result["output"].as_str().unwrap().lines();
    assert_eq!(lines.next(), world.work().to_str());
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with(world.temp().to_str().unwrap())
    );
    fs::remove_dir(world.work()).unwrap();
    let gone = world.run(code).await;
    assert_eq!(gone["status"], "success", "{gone}");
    world.services.mode = Mode::Strict;
    let result = world.run(code).await;
    let lines: Vec<&str> = result["output"].as_str().unwrap().lines().collect();
    assert_eq!(lines[0], lines[1]);
}

// spec: tools §8.17
#[tokio::test]
async fn secrets_stay_here() {
    let mut world = World::new();
    world.services.env.set("FOO_API_KEY", "1");
    world.services.env.set("MY_TOKEN", "2");
    world.services.passthrough = vec!["MY_TOKEN".to_owned()];
    let code = "import os; print(os.environ.get('FOO_API_KEY'), os.environ.get('MY_TOKEN'))";
    assert_eq!(world.run(code).await["output"], "None 2");
    let code = "print('ghp_abcdefghijklmnop1234')";
    assert_eq!(world.run(code).await["output"], "ghp_ab...1234");
}

#[tokio::test]
async fn without_python_it_is_not_offered() {
    let mut world = World::new();
    world.services.env = Env::from([("PATH", "/nonexistent")]);
    let Availability::No(reason) = world.tool().available() else {
        panic!("it is offered");
    };
    assert!(reason.contains("python3"), "{reason}");
    assert_eq!(World::new().tool().available(), Availability::Yes);
}

#[test]
fn only_what_is_there_is_told() {
    let mut world = World::new();
    world.tools = vec!["todo", "read_file", "process"];
    let spec = world.tool().spec().clone();
    assert_eq!((spec.toolset, spec.emoji), ("code_execution", "🐍"));
    assert!(spec.refundable);
    let told = spec.description;
    assert!(told.contains("read_file(path"), "{told}");
    for absent in ["terminal", "todo", "web_", "patch", "write_file"] {
        assert!(!told.contains(absent), "{absent} in {told}");
    }
    world.tools = vec!["todo"];
    assert!(!world.tool().spec().description.contains("hermes_tools"));
}

#[tokio::test]
async fn the_owner_is_asked_where_they_are_far_away() {
    let run = async |surface: Surface, answer: Answer| {
        let mut world = World::new();
        world.policy.surface = surface;
        world.asker = FixedAsker::new(answer);
        let output = world.output("print('ran')").await;
        world.assert_clean();
        (parsed(&output), output.outcome, world.asker.asked().len())
    };
    let (result, outcome, asked) = run(Surface::Messages, Answer::Deny).await;
    assert_eq!((outcome, asked), (Outcome::Denied, 1));
    assert!(result["error"].as_str().unwrap().starts_with("BLOCKED"));
    assert_eq!(result["output"], "");
    let (result, outcome, asked) = run(Surface::Messages, Answer::Once).await;
    assert_eq!((outcome, asked), (Outcome::Done, 1));
    assert!(result["approval"].as_str().unwrap().contains("this once"));
    let (result, outcome, asked) = run(Surface::Cron(Unasked::Deny), Answer::Once).await;
    assert_eq!((outcome, asked), (Outcome::Denied, 0));
    assert!(
        result["error"]
            .as_str()
            .unwrap()
            .contains("approvals.cron_mode")
    );
    for surface in [Surface::Interactive, Surface::Headless(Unasked::Deny)] {
        let (result, _, asked) = run(surface, Answer::Deny).await;
        assert_eq!((&result["output"], asked), (&json!("ran"), 0));
    }
}

#[tokio::test]
async fn consent_for_the_session_holds() {
    let mut world = World::new();
    world.policy.surface = Surface::Messages;
    world.asker = FixedAsker::new(Answer::Session);
    let (tool, cx) = (world.tool(), world.cx());
    for _ in 0..2 {
        let output = tool.call(args("print('ran')"), &cx).await;
        assert_eq!(parsed(&output)["output"], "ran");
    }
    assert_eq!(world.asker.asked().len(), 1);
}
