//! `-w`: a checkout of the session's own, made and removed as a user sees it.

use std::path::PathBuf;
use std::time::Duration;

use hermes_testkit::Exit;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::{command, fails};

const WAIT: Duration = Duration::from_secs(15);

/// A repository with one commit, and a model that runs `commands`, one each.
fn repository(commands: &[&str]) -> Bench {
    let call = |command: &&str| json!({"tool_calls": [{"name": "terminal", "arguments": {"command": command}}]});
    let title = json!({"when": {"tools": false}, "text": "A title", "repeat": true});
    let mut steps: Vec<Value> = commands.iter().map(call).collect();
    steps.insert(0, title);
    steps.push(json!({"text": "done", "repeat": true}));
    let bench = Bench::new(steps.into());
    let config = "[user]\nname = T\nemail = t@example.com\n[init]\ndefaultBranch = main\n";
    bench
        .home
        .write(bench.home.home().join(".gitconfig"), config);
    git(&bench, &["init", "-q"]);
    git(&bench, &["commit", "-q", "--allow-empty", "-m", "first"]);
    bench
}

#[track_caller]
fn git(bench: &Bench, args: &[&str]) -> String {
    let git = bench.home.cmd("git").args(args.iter().copied());
    git.run().ok().trim().to_owned()
}

/// The checkouts there are.
fn checkouts(bench: &Bench) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(bench.home.work().join(".worktrees"));
    entries
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect()
}

// spec: cli-tui §20.25
#[test]
fn a_session_in_a_checkout_of_its_own() {
    let bench = repository(&["pwd; git branch --show-current; ls -d ../hermes-*"]);
    let output = bench.run(&["-w", "-z", "go"]);
    assert_eq!((output.ok(), output.stderr.as_str()), ("done\n", ""));
    let requests = bench.requests();
    let result = requests[1]["messages"][3]["content"].as_str().unwrap();
    let place = bench.home.work().join(".worktrees/hermes-");
    assert!(result.contains(place.to_str().unwrap()), "{result}");
    assert!(result.contains("hermes/hermes-"), "{result}");
    let system = requests[0]["messages"][0]["content"].as_str().unwrap();
    for part in [place.to_str().unwrap(), "branch hermes/hermes-", "Commit"] {
        assert!(system.contains(part), "{part}: {system}");
    }
    assert_eq!(checkouts(&bench), Vec::<PathBuf>::new());
    assert_eq!(
        git(&bench, &["branch", "--format=%(refname:short)"]),
        "main"
    );
    let ignored = bench.home.read(bench.home.work().join(".gitignore"));
    assert_eq!(ignored, ".worktrees/\n");
    assert_eq!(
        git(&bench, &["worktree", "list", "--porcelain"])
            .matches("worktree ")
            .count(),
        1
    );

    let outside = Bench::new(json!([{"text": "never"}]));
    let reason = fails(&outside.home, &["-w", "-z", "go"], 1);
    assert!(
        reason.contains("not in a git repository") && reason.contains("-w"),
        "{reason}"
    );
    assert!(outside.model.requests().is_empty());
}

#[test]
fn the_setting_is_as_good_as_the_option() {
    let bench = repository(&["pwd"]);
    bench.run(&["config", "set", "worktree", "true"]).ok();
    bench.run(&["chat", "-Q", "-q", "go"]).ok();
    assert!(
        bench.requests()[1]
            .to_string()
            .contains("/.worktrees/hermes-")
    );

    let outside = Bench::new(json!([{"text": "never"}]));
    outside.run(&["config", "set", "worktree", "true"]).ok();
    let reason = fails(&outside.home, &["-z", "go"], 1);
    assert!(reason.contains("config set worktree false"), "{reason}");
    assert!(outside.model.requests().is_empty());
}

#[test]
fn work_is_kept_and_said_so() {
    for command in ["echo x > new", "git commit -q --allow-empty -m work"] {
        let bench = repository(&[command]);
        let output = bench.run(&["-z", "go", "-w"]);
        assert_eq!(output.ok(), "done\n");
        let kept = checkouts(&bench);
        assert_eq!(kept.len(), 1, "{command}");
        let path = kept[0].to_str().unwrap();
        assert!(output.stderr.contains(path), "{output}");
        // What it says to do, done.
        let remove = output.stderr.lines().last().unwrap().trim().to_owned();
        bench.home.cmd("sh").args(["-c", &remove]).run().ok();
        assert_eq!(checkouts(&bench), Vec::<PathBuf>::new());
        assert_eq!(
            git(&bench, &["branch", "--format=%(refname:short)"]),
            "main"
        );
    }
}

#[test]
fn the_person_decides_about_changes() {
    for (leave, answer, left) in [("/quit\r", "y\r", 0), ("\u{4}", "\r", 1)] {
        let bench = repository(&["echo x > new"]);
        let mut pty = command(&bench.home, &["-w"]).pty(24, 200);
        pty.wait_for("on branch hermes/hermes-", WAIT);
        pty.send("go\r");
        pty.wait_for("done", WAIT);
        pty.send(leave);
        pty.wait_for("[y/N]", WAIT);
        pty.send(answer);
        assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
        assert_eq!(checkouts(&bench).len(), left, "{answer:?}");
    }
}

#[test]
fn a_conversation_goes_on_in_a_new_checkout() {
    let bench = repository(&[]);
    bench.run(&["-z", "first"]).ok();
    bench.run(&["-c", "-w", "-z", "second"]).ok();
    let requests = bench.requests();
    assert_eq!(requests[0]["messages"][0], requests[1]["messages"][0]);
    let prompt = requests[1]["messages"][3]["content"].as_str().unwrap();
    assert!(
        prompt.contains("/.worktrees/hermes-") && prompt.ends_with("second"),
        "{prompt}"
    );
}

#[test]
fn a_session_that_cannot_begin_leaves_no_checkout() {
    let bench = repository(&[]);
    let small = json!({"models": [{"id": "fake-model", "context_length": 32000}], "steps": []});
    let small = Bench::new(small);
    let config = small.home.read("config.yaml");
    let config = config.replace("  context_length: 131072\n", "");
    bench.home.write("config.yaml", config);
    fails(&bench.home, &["-w", "-z", "go"], 1);
    assert_eq!(checkouts(&bench), Vec::<PathBuf>::new());
    assert_eq!(
        git(&bench, &["branch", "--format=%(refname:short)"]),
        "main"
    );
}
