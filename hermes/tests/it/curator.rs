//! The curator as an owner meets it: on the command line, in a chat, and by itself.

use std::fs;
use std::time::Duration;

use hermes_testkit::{Exit, TempHome};
use jiff::{SignedDuration, Timestamp};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::{Bench, eventually};
use crate::{command, fails, hermes};

const WAIT: Duration = Duration::from_secs(20);

fn ago(days: i64) -> String {
    let at = Timestamp::now() - SignedDuration::from_hours(24 * days);
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

fn skill(home: &TempHome, path: &str) {
    let name = path.rsplit('/').next().unwrap();
    let text = format!("---\nname: {name}\ndescription: About {name}.\n---\nDo {name} well.\n");
    home.write(format!("skills/{path}/SKILL.md"), text);
}

/// Skills with records as the Python program leaves them: name, days idle, author, pinned.
fn library(home: &TempHome, skills: &[(&str, i64, Option<&str>, bool)]) {
    let mut usage = json!({});
    for (path, days, author, pinned) in skills {
        skill(home, path);
        let name = path.rsplit('/').next().unwrap();
        usage[name] = json!({
            "archived_at": null, "created_at": ago(days + 1), "created_by": author,
            "last_patched_at": null, "last_used_at": ago(*days), "last_viewed_at": null,
            "patch_count": 0, "pinned": pinned, "state": "active", "use_count": 1, "view_count": 0,
        });
    }
    home.write("skills/.usage.json", format!("{usage:#}"));
}

fn state_of(home: &TempHome, name: &str) -> Value {
    let usage: Value = serde_json::from_str(&home.read("skills/.usage.json")).unwrap();
    usage[name]["state"].clone()
}

fn backups(home: &TempHome) -> Vec<String> {
    let dir = home.hermes().join("skills/.curator_backups");
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

fn report(home: &TempHome) -> Value {
    let state: Value = serde_json::from_str(&home.read("skills/.curator_state")).unwrap();
    let dir = state["last_report_path"].as_str().unwrap().to_owned();
    serde_json::from_slice(&fs::read(format!("{dir}/run.json")).unwrap()).unwrap()
}

// spec: learning §13.16
#[test]
fn what_is_not_used_becomes_stale_and_goes_to_the_archive() {
    let home = TempHome::new();
    library(
        &home,
        &[
            ("idle", 31, Some("agent"), false),
            ("tools/old", 91, Some("agent"), false),
            ("pinned", 91, Some("agent"), true),
            ("mine", 91, None, false),
        ],
    );
    let rehearsed = hermes(&home, &["curator", "run", "--dry-run"])
        .ok()
        .to_owned();
    assert!(
        rehearsed.contains("old would go to the archive (idle 91 days)"),
        "{rehearsed}"
    );
    assert!(home.exists("skills/tools/old/SKILL.md") && backups(&home).is_empty());
    hermes(&home, &["curator", "run"]).ok();
    assert_eq!(state_of(&home, "idle"), "stale");
    assert!(home.exists("skills/idle/SKILL.md"));
    assert!(home.exists("skills/.archive/old/SKILL.md") && !home.exists("skills/tools/old"));
    assert_eq!(state_of(&home, "old"), "archived");
    assert!(home.exists("skills/pinned/SKILL.md") && home.exists("skills/mine/SKILL.md"));
    assert_eq!(
        (state_of(&home, "pinned"), state_of(&home, "mine")),
        (json!("active"), json!("active"))
    );
    let [backup] = backups(&home).try_into().unwrap();
    for file in ["skills.tar.gz", "manifest.json"] {
        assert!(home.exists(format!("skills/.curator_backups/{backup}/{file}")));
    }
    assert_eq!(report(&home)["archived"], json!(["old"]));
    let journey = hermes(&home, &["journey"]).ok().to_owned();
    assert!(
        journey.contains("skill old") && journey.contains("the curator"),
        "{journey}"
    );
    let listed = hermes(&home, &["curator", "list-archived"]).ok().to_owned();
    assert!(listed.starts_with("old "), "{listed}");
    let status = hermes(&home, &["curator"]).ok().to_owned();
    assert!(
        status.contains("2 the agent's own (1 stale, 1 pinned), 1 archived")
            && status.contains("run 1"),
        "{status}"
    );
    hermes(&home, &["curator", "restore", "old"]).ok();
    assert!(home.exists("skills/tools/old/SKILL.md") && !home.exists("skills/.archive/old"));
    assert_eq!(state_of(&home, "old"), "active");
    hermes(&home, &["curator", "run"]).ok();
    assert!(
        home.exists("skills/tools/old/SKILL.md"),
        "its owner wanted it back"
    );
}

#[test]
fn the_way_back_and_questions_nobody_answers() {
    let home = TempHome::new();
    library(
        &home,
        &[
            ("one", 91, Some("agent"), false),
            ("two", 1, Some("agent"), false),
        ],
    );
    let none = fails(&home, &["curator", "rollback"], 1);
    assert!(none.contains("there is no backup yet"), "{none}");
    hermes(&home, &["curator", "run"]).ok();
    assert!(!home.exists("skills/one"));
    let listed = hermes(&home, &["curator", "rollback", "--list"])
        .ok()
        .to_owned();
    let id = backups(&home).remove(0);
    assert!(
        listed.contains(&id) && listed.contains("pre-curator-run"),
        "{listed}"
    );
    let refused = fails(&home, &["curator", "rollback"], 1);
    assert!(refused.contains("pass -y"), "{refused}");
    assert!(!home.exists("skills/one"));
    hermes(&home, &["curator", "rollback", "--id", &id, "-y"]).ok();
    assert!(home.exists("skills/one/SKILL.md") && !home.exists("skills/.archive/one"));
    let unknown = fails(
        &home,
        &["curator", "rollback", "--id", "2020-01-01T00-00-00Z", "-y"],
        1,
    );
    assert!(
        unknown.contains("no backup '2020-01-01T00-00-00Z'"),
        "{unknown}"
    );
    let refused = fails(&home, &["curator", "prune", "--days", "1"], 1);
    assert!(refused.contains("pass -y"), "{refused}");
    assert!(home.exists("skills/two/SKILL.md"));
    let near = fails(&home, &["curator", "pin", "tow"], 1);
    assert!(near.contains("did you mean two?"), "{near}");
    hermes(&home, &["curator", "pin", "two"]).ok();
    let pinned = fails(&home, &["curator", "archive", "two"], 1);
    assert!(pinned.contains("hermes curator unpin two"), "{pinned}");
    let paused = |home: &TempHome| {
        let state: Value = serde_json::from_str(&home.read("skills/.curator_state")).unwrap();
        state["paused"].clone()
    };
    hermes(&home, &["curator", "pause"]).ok();
    assert_eq!(paused(&home), true);
    hermes(&home, &["curator", "resume"]).ok();
    assert_eq!(paused(&home), false);
    hermes(&home, &["config", "set", "curator.enabled", "false"]).ok();
    assert!(fails(&home, &["curator", "run"], 1).contains("switched off"));
}

#[test]
fn a_run_in_the_background_outlives_the_command() {
    let home = TempHome::new();
    library(&home, &[("old", 91, Some("agent"), false)]);
    let output = hermes(&home, &["curator", "run", "--background"]);
    assert!(output.ok().contains("at work"), "{output}");
    eventually(WAIT, "it goes to the archive and is reported", || {
        let state: Value = match home.exists("skills/.curator_state") {
            true => serde_json::from_str(&home.read("skills/.curator_state")).unwrap(),
            false => Value::Null,
        };
        home.exists("skills/.archive/old/SKILL.md") && state["last_report_path"].is_string()
    });
}

fn manage(arguments: Value) -> Value {
    json!({"tool_calls": [{"name": "skill_manage", "arguments": arguments}]})
}

#[test]
fn a_model_merges_what_belongs_together() {
    let umbrella =
        "---\nname: kubernetes\ndescription: Work with clusters.\n---\n# Pods\nkubectl logs\n";
    let closing = "Merged.\n```yaml\nconsolidations:\n  - from: pod-restart\n    into: kubernetes\n    reason: the same cluster\nprunings:\n  - name: odd-one\n    reason: wrong by now\n```";
    let bench = Bench::new(json!([
        {"tool_calls": [
            {"name": "skill_view", "arguments": {"name": "pod-logs"}},
            {"name": "skill_view", "arguments": {"name": "pod-restart"}},
        ]},
        {"tool_calls": [{"name": "terminal", "arguments": {"command": "touch outside"}}]},
        manage(json!({"action": "create", "name": "kubernetes", "content": umbrella})),
        manage(json!({"action": "delete", "name": "pod-logs", "absorbed_into": "kubernetes"})),
        manage(json!({"action": "delete", "name": "pod-restart", "absorbed_into": ""})),
        manage(json!({"action": "delete", "name": "odd-one", "absorbed_into": ""})),
        manage(json!({"action": "delete", "name": "mine", "absorbed_into": "kubernetes"})),
        {"text": closing},
    ]));
    let agents = |name| (name, 1, Some("agent"), false);
    library(
        &bench.home,
        &[
            agents("pod-logs"),
            agents("pod-restart"),
            agents("odd-one"),
            ("mine", 1, None, false),
        ],
    );
    let said = bench
        .run(&["curator", "run", "--consolidate"])
        .ok()
        .to_owned();
    assert!(
        said.contains("merged pod-logs → kubernetes, pod-restart → kubernetes"),
        "{said}"
    );
    assert!(said.contains("archived odd-one; "), "{said}");
    assert!(
        bench.home.exists("skills/kubernetes/SKILL.md")
            && bench.home.exists("skills/mine/SKILL.md")
    );
    for name in ["pod-logs", "pod-restart", "odd-one"] {
        assert!(
            bench
                .home
                .exists(format!("skills/.archive/{name}/SKILL.md")),
            "{name}"
        );
    }
    let requests = bench.requests();
    let tools: Vec<&str> = requests[0]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["skill_manage", "skill_view", "skills_list"]);
    assert!(!bench.home.work().join("outside").exists());
    let prompt = requests[0]["messages"][1]["content"].as_str().unwrap();
    assert!(
        prompt.contains("- pod-logs (") && !prompt.contains("- mine ("),
        "{prompt}"
    );
    let run = report(&bench.home);
    let merged: Vec<(&str, &str, &str)> = run["consolidated"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["name"].as_str().unwrap(),
                row["into"].as_str().unwrap(),
                row["source"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        merged,
        [
            ("pod-logs", "kubernetes", "absorbed_into"),
            ("pod-restart", "kubernetes", "model")
        ]
    );
    assert_eq!(
        (&run["pruned_names"], &run["added"]),
        (&json!(["odd-one"]), &json!(["kubernetes"]))
    );
    assert_eq!(
        (&run["model"], &run["counts"]["delta"]),
        (&json!("fake-model"), &json!(-2))
    );
    assert_eq!(run["tool_call_counts"]["skill_view"], 2);
    // It is no conversation of the owner's.
    let sessions = bench.run(&["sessions", "list", "--json"]).ok().to_owned();
    assert_eq!(sessions.trim(), "[]");
    bench.run(&["curator", "restore", "pod-logs"]).ok();
    assert_eq!(state_of(&bench.home, "pod-logs"), "active");
}

#[test]
fn a_rehearsal_has_no_hands() {
    let bench = Bench::new(json!([
        {"tool_calls": [{"name": "skill_view", "arguments": {"name": "one"}}]},
        {"text": "I would merge one and two."},
    ]));
    let agents = |name| (name, 1, Some("agent"), false);
    library(&bench.home, &[agents("one"), agents("two")]);
    let args = ["curator", "run", "--dry-run", "--consolidate"];
    let said = bench.run(&args).ok().to_owned();
    assert!(
        said.contains("nothing would change") && said.contains("I would merge one and two."),
        "{said}"
    );
    let request = bench.requests().remove(0);
    let tools = request["tools"].as_array().unwrap().iter();
    let tools: Vec<&Value> = tools.map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(tools, [&json!("skill_view"), &json!("skills_list")]);
    assert!(backups(&bench.home).is_empty() && !bench.home.exists("skills/.curator_state"));
}

#[test]
fn a_chat_has_a_model_merge_beside_it_if_that_is_set() {
    let bench = Bench::new(json!([
        manage(json!({"action": "delete", "name": "two", "absorbed_into": "one"})),
        {"text": "Merged."},
        {"repeat": true, "text": "hello there"},
    ]));
    let agents = |name| (name, 1, Some("agent"), false);
    library(&bench.home, &[agents("one"), agents("two")]);
    let config = bench.home.read("config.yaml");
    bench
        .home
        .write("config.yaml", config + "curator: {consolidate: true}\n");
    bench.home.write(
        "skills/.curator_state",
        json!({"last_run_at": ago(8)}).to_string(),
    );
    let mut pty = command(&bench.home, &[]).pty(30, 120);
    pty.wait_for("/help for commands", WAIT);
    eventually(WAIT, "it is reported", || {
        bench
            .home
            .read("skills/.curator_state")
            .contains("logs/curator")
    });
    pty.send("hi\r");
    pty.wait_for("hello there", WAIT);
    pty.send("/quit\r");
    pty.wait_exit(WAIT);
    assert_eq!(report(&bench.home)["consolidated"][0]["into"], "one");
    let session = bench.session();
    let said = session["messages"].as_array().unwrap();
    assert_eq!(
        said.len(),
        2,
        "it is not part of the conversation: {session}"
    );
}

#[test]
fn what_a_model_costs_is_on_an_account_though_nobody_talks() {
    let usage = json!({"input": 100_000, "output": 0});
    let bench = Bench::with(
        json!([{"text": "Nothing belongs together.", "usage": usage, "repeat": true}]),
        "openai",
        "/v1",
        "gpt-4o",
    );
    let agents = |name| (name, 1, Some("agent"), false);
    library(&bench.home, &[agents("one"), agents("two")]);
    let config = bench.home.read("config.yaml");
    let config = format!("{config}limits: {{max_cost_usd: {{day: 0.1}}}}\n");
    bench.home.write("config.yaml", config);
    bench.run(&["curator", "run", "--consolidate"]).ok();
    let cost = bench.run(&["insights", "--cost", "--json"]);
    let cost: Value = serde_json::from_str(cost.ok()).unwrap();
    let tasks = cost["money"]["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 1, "{cost:#}");
    assert_eq!(
        (&tasks[0]["name"], &tasks[0]["requests"]),
        (&json!("curator"), &json!(1))
    );
    assert!(tasks[0]["usd"].as_f64().unwrap() > 0.1, "{cost:#}");
    // It is nobody's conversation, and it counts for the day.
    let listed = bench.run(&["sessions", "list", "--json"]).ok().to_owned();
    assert_eq!(listed.trim(), "[]");
    bench.run(&["curator", "run", "--consolidate"]).ok();
    assert_eq!(bench.requests().len(), 1, "the day's limit is reached");
    let told = report(&bench.home)["llm_error"].to_string();
    assert!(told.contains("limits.max_cost_usd.day"), "{told}");
}

#[test]
fn a_model_that_cannot_answer_takes_nothing_with_it() {
    let bench = Bench::new(
        json!([{"repeat": true, "status": 401, "body": {"error": {"message": "bad key"}}}]),
    );
    let agents = |name, days| (name, days, Some("agent"), false);
    library(
        &bench.home,
        &[agents("one", 1), agents("two", 1), agents("old", 91)],
    );
    let said = bench
        .run(&["curator", "run", "--consolidate"])
        .ok()
        .to_owned();
    assert!(
        said.contains("archived old") && said.contains("failed:"),
        "{said}"
    );
    assert!(report(&bench.home)["llm_error"].is_string());
    assert!(bench.home.exists("skills/one/SKILL.md") && bench.home.exists("skills/two/SKILL.md"));
}

#[test]
fn a_chat_has_it_run_when_it_is_time_and_tells_once() {
    let bench = Bench::new(json!([{"repeat": true, "text": "hello there"}]));
    library(
        &bench.home,
        &[
            ("old", 91, Some("agent"), false),
            ("new", 1, Some("agent"), false),
        ],
    );
    bench.home.write(
        "skills/.curator_state",
        json!({"last_run_at": ago(8)}).to_string(),
    );
    let mut pty = command(&bench.home, &[]).pty(30, 120);
    pty.wait_for("/help for commands", WAIT);
    eventually(WAIT, "it runs beside the chat", || {
        bench.home.exists("skills/.archive/old/SKILL.md")
            && bench
                .home
                .read("skills/.curator_state")
                .contains("logs/curator")
    });
    pty.send("hi\r");
    pty.wait_for("hello there", WAIT);
    pty.send("/curator pin new\r");
    pty.wait_for("pinned new", WAIT);
    pty.send("/curator prune --days 1\r");
    pty.wait_for("no skill of its own has been idle", WAIT);
    pty.send("/curator rollback\r");
    pty.wait_for("with -y does it", WAIT);
    pty.send("/curator run\r");
    pty.wait_for("curator: everything is in order", WAIT);
    pty.send("/quit\r");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    // The second run has nothing to tell but that; the summary is shown with the next start, and only then.
    let mut pty = command(&bench.home, &[]).pty(30, 120);
    pty.wait_for("The curator tidied up: everything is in order", WAIT);
    eventually(WAIT, "it is noted as shown", || {
        let state: Value = serde_json::from_str(&bench.home.read("skills/.curator_state")).unwrap();
        state["last_run_summary_shown_at"].is_string()
    });
    pty.send("/quit\r");
    pty.wait_exit(WAIT);
    let mut pty = command(&bench.home, &[]).pty(30, 120);
    let screen = pty.wait_for("/help for commands", WAIT);
    assert!(!screen.contains("tidied up"), "{screen}");
    pty.send("/quit\r");
    pty.wait_exit(WAIT);
}

#[test]
fn a_chat_leaves_it_alone_when_hermes_was_used_a_moment_ago() {
    let bench = Bench::new(json!([{"repeat": true, "text": "hello there"}]));
    library(&bench.home, &[("old", 91, Some("agent"), false)]);
    bench.run(&["-z", "hi"]).ok();
    let summary = json!({"last_run_at": ago(8), "last_run_summary": "archived something"});
    bench
        .home
        .write("skills/.curator_state", summary.to_string());
    let mut pty = command(&bench.home, &[]).pty(30, 120);
    pty.wait_for("The curator tidied up: archived something", WAIT);
    eventually(WAIT, "it has looked", || {
        bench
            .home
            .read("skills/.curator_state")
            .contains("run_count")
    });
    pty.send("hi\r");
    pty.wait_for("hello there", WAIT);
    pty.send("/quit\r");
    pty.wait_exit(WAIT);
    assert!(bench.home.exists("skills/old/SKILL.md") && backups(&bench.home).is_empty());
}

#[test]
fn the_doctor_counts_skills() {
    let home = TempHome::new();
    library(&home, &[("old", 91, Some("agent"), false)]);
    let output = hermes(&home, &["doctor", "--json"]);
    let said: Value = serde_json::from_str(&output.stdout).unwrap();
    let findings = said["findings"].as_array().unwrap().clone();
    let skills = findings
        .iter()
        .find(|finding| finding["section"] == "Skills")
        .unwrap();
    let text = skills["text"].as_str().unwrap();
    assert!(text.contains("1 skills; 1 the agent's own"), "{text}");
}
