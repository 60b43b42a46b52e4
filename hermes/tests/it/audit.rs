//! `hermes audit`, and what goes into it while Hermes works.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use hermes_testkit::{Exit, TempHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::{command, fails, hermes};

/// A reply with these calls.
fn calls(calls: &[(&str, Value)]) -> Value {
    let calls = calls.iter();
    let calls: Vec<Value> = calls
        .map(|(name, args)| json!({"name": name, "arguments": args}))
        .collect();
    json!({ "tool_calls": calls })
}

fn shown(home: &TempHome, more: &[&str]) -> Vec<Value> {
    let args = [&["audit", "show", "--json"], more].concat();
    serde_json::from_str(hermes(home, &args).ok()).unwrap()
}

/// Tool, decision and outcome.
fn seen(home: &TempHome) -> Vec<[String; 3]> {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let entries = shown(home, &[]);
    let entries = entries.iter();
    entries
        .map(|entry| ["tool", "decision", "outcome"].map(|key| text(entry, key)))
        .collect()
}

/// A home in which three things were done.
fn worked() -> Bench {
    let bench = Bench::new(json!([
        calls(&[
            ("write_file", json!({"path": "f.txt", "content": "x"})),
            ("terminal", json!({"command": "rm -rf nothing; echo \u{1b}[31m ghp_abcdefghijklmnop1234"})),
        ]),
        calls(&[("terminal", json!({"command": "rm -rf /"}))]),
        {"text": "ok"},
    ]));
    bench.run(&["-z", "go"]).ok();
    bench
}

// spec: state §16.1, state §16.3
#[test]
fn what_tools_do_is_written_down() {
    let bench = worked();
    assert_eq!(
        seen(&bench.home),
        [
            ["write_file", "", "done"],
            ["terminal", "headless", "done"],
            ["terminal", "hardline", "denied"],
        ]
    );
    let entries = shown(&bench.home, &[]);
    let work = bench.home.work();
    assert_eq!(entries[0]["place"], json!(work));
    assert_eq!(entries[0]["changed"], json!([work.join("f.txt")]));
    assert_eq!(entries[0]["session"], bench.session()["id"]);
    assert!(
        !bench
            .home
            .read(month(&bench))
            .contains("ghp_abcdefghijklmnop1234")
    );
    let output = bench.run(&["audit", "verify"]);
    assert_eq!(output.ok(), "✓ 3 entries, nothing was changed\n");
    assert_eq!(bench.home.mode("audit"), 0o700);
}

// spec: state §16.1
#[test]
fn children_are_seen_too() {
    let task = json!({"goal": "count", "context": "all"});
    let bench = Bench::new(json!([
        calls(&[("delegate_task", task)]),
        calls(&[("terminal", json!({"command": "echo child"}))]),
        {"text": "counted"},
        {"text": "ok"},
    ]));
    bench.run(&["-z", "go"]).ok();
    let entries = shown(&bench.home, &[]);
    let tools: Vec<&Value> = entries.iter().map(|entry| &entry["tool"]).collect();
    assert_eq!(tools, ["terminal", "delegate_task"]);
    assert_ne!(entries[0]["session"], entries[1]["session"]);
}

// spec: state §16.11
#[test]
fn who_does_not_want_it_has_none() {
    let bench = Bench::new(json!([calls(&[("todo", json!({}))]), {"text": "ok"}]));
    let config = bench.home.read("config.yaml");
    bench
        .home
        .write("config.yaml", config + "audit: {enabled: false}\n");
    bench.run(&["-z", "go"]).ok();
    assert!(!bench.home.exists("audit"));
    let output = bench.run(&["audit", "verify"]);
    assert!(output.ok().contains("audit.enabled is off"), "{output}");
    let output = bench.run(&["doctor"]);
    assert!(output.ok().contains("off (audit.enabled)"), "{output}");
}

/// The file of this month, in the home.
fn month(bench: &Bench) -> String {
    let names = fs::read_dir(bench.home.hermes().join("audit")).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    format!(
        "audit/{}",
        names.find(|name| name.ends_with(".log")).unwrap()
    )
}

// spec: state §16.4
#[test]
fn a_broken_chain_is_found_where_it_broke() {
    let bench = worked();
    let file = month(&bench);
    let whole = bench.home.read(&file);
    let lines: Vec<&str> = whole.lines().collect();
    let check = |text: &[&str], expected: &str| {
        bench.home.write(&file, text.join("\n") + "\n");
        let output = bench.run(&["audit", "verify"]);
        assert_eq!(output.exit, Exit::Code(1), "{output}");
        let expected = expected.replace('@', &format!("{}/{file}", bench.home.hermes().display()));
        assert!(output.stdout.contains(&expected), "{expected} in {output}");
    };
    let changed = lines[1].replace("nothing", "something");
    check(&[lines[0], &changed, lines[2]], "✗ @:2: it was changed");
    check(&[lines[0], lines[2]], "✗ @:2: entries 2 to 2 are gone");
    check(
        &[lines[1], lines[0], lines[2]],
        "✗ @:2: entry 1 does not follow entry 2",
    );
    check(
        &lines[..2],
        "✗ the log ends with entry 2, but entry 3 had been written",
    );
    check(
        &lines[1..],
        "✗ @:1: the log begins with entry 2; what was before is gone",
    );
    let doctor = bench.run(&["doctor"]);
    assert_eq!(doctor.exit, Exit::Code(1), "{doctor}");
    assert!(doctor.stdout.contains("problems on 2"), "{doctor}");
    bench.home.write(&file, whole);
    bench.run(&["audit", "verify"]).ok();
    let doctor = bench.run(&["doctor"]);
    assert!(doctor.ok().contains("3 entries"), "{doctor}");
    assert!(doctor.stdout.contains("KB, verified 2"), "{doctor}");
}

// spec: state §16.7
#[test]
fn a_full_disk_stops_no_work() {
    let bench = Bench::new(json!([
        calls(&[("terminal", json!({"command": "echo one"}))]),
        calls(&[("terminal", json!({"command": "echo two"}))]),
        {"text": "ok"},
    ]));
    bench.home.write("audit/.lock", "");
    symlink("/dev/full", bench.home.hermes().join("audit/9999-12.log")).unwrap();
    let output = bench.run(&["chat", "-q", "go"]);
    assert!(output.ok().contains("ok"), "{output}");
    let all = format!("{}{}", output.stdout, output.stderr);
    let told = all.matches("not written to the audit log").count();
    assert_eq!(told, 1, "{output}");
    let log = bench.home.read("logs/errors.log");
    assert_eq!(log.matches("the audit log is not being written").count(), 1);
}

// spec: state §16.9
#[test]
fn what_is_shown_can_be_chosen() {
    let bench = worked();
    let count = |more: &[&str]| shown(&bench.home, more).len();
    assert_eq!(count(&["-n", "2"]), 2);
    assert_eq!(shown(&bench.home, &["-n", "1"])[0]["seq"], 3);
    assert_eq!(count(&["--tool", "terminal"]), 2);
    assert_eq!(count(&["--outcome", "denied"]), 1);
    assert_eq!(count(&["--since", "1h"]), 3);
    assert_eq!(count(&["--session", "nobody"]), 0);
    let id = bench.session()["id"].as_str().unwrap().to_owned();
    assert_eq!(count(&["--session", &id[4..]]), 3);
    let nothing = bench.run(&["audit", "show", "--tool", "x"]);
    assert_eq!(nothing.ok(), "Nothing of that was recorded.\n");
    fails(&bench.home, &["audit", "show", "--since", "yesterday"], 1);
    fails(&bench.home, &["audit", "show", "--outcome", "odd"], 2);
}

// spec: state §16.9
#[test]
fn it_reads_well_on_any_screen() {
    let bench = worked();
    let plain = bench.run(&["audit", "show"]);
    let lines: Vec<&str> = plain.ok().lines().collect();
    assert_eq!(lines.len(), 4, "{plain}");
    assert!(lines[0].starts_with("when"), "{plain}");
    assert!(lines[2].contains("rm -rf nothing"), "{plain}");
    assert!(!plain.stdout.contains('\u{1b}'), "{plain}");
    let narrow = command(&bench.home, &["audit", "show"]).env("NO_COLOR", "1");
    let mut narrow = narrow.pty(40, 40);
    assert_eq!(narrow.wait_exit(Duration::from_secs(10)), Exit::Code(0));
    let screen = narrow.screen();
    let lines: Vec<&str> = screen.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 6, "{screen}");
    assert!(lines[2].ends_with("terminal done (headless)"), "{screen}");
    assert!(lines[3].starts_with("  rm -rf nothing"), "{screen}");
}

// spec: state §16.10
#[test]
fn other_programs_get_all_of_it() {
    let bench = worked();
    let lines = bench.run(&["audit", "export"]);
    let lines: Vec<Value> = lines
        .ok()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1]["prev"], lines[0]["hash"]);
    let file = bench.home.work().join("out.csv");
    let args = [
        "audit",
        "export",
        "--format",
        "csv",
        "-o",
        file.to_str().unwrap(),
    ];
    assert_eq!(bench.run(&args).ok(), "");
    let csv = bench.home.read(&file);
    let rows: Vec<&str> = csv.lines().collect();
    assert!(
        rows[0].starts_with("seq,at,session,tool,outcome,decision"),
        "{csv}"
    );
    assert_eq!(rows.len(), 4, "{csv}");
    assert!(rows[3].contains(",terminal,denied,hardline,"), "{csv}");
    assert_eq!(bench.home.mode(&file), 0o600);
}
