//! The curator at work: real directories, records other programs wrote, and processes that are killed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_home::config::Settings;
use hermes_skills::curator::{Answer, Curator, Due, Extent, Sure, Thought, Trigger, Wish};
use hermes_skills::journal::{By, Entry, Journal, Undo};
use hermes_types::Tool;
use jiff::{SignedDuration, Timestamp};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::{Bench, call, content};

const HOME: &str = "HERMES_CURATOR_CRASH_HOME";

pub fn curator(bench: &Bench) -> Curator {
    let settings = Settings::load(&bench.home, &bench.env);
    Curator::new(&bench.home, &settings, &bench.env)
}

pub fn ago(days: i64) -> String {
    let at = Timestamp::now() - SignedDuration::from_hours(24 * days);
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

/// A record as the Python program leaves it.
pub fn record(days: i64) -> Value {
    json!({
        "archived_at": null, "created_at": ago(days + 5), "created_by": "agent", "last_patched_at": null,
        "last_used_at": ago(days), "last_viewed_at": ago(days), "patch_count": 0, "pinned": false,
        "state": "active", "use_count": 3, "view_count": 2,
    })
}

pub fn usage(bench: &Bench, records: &[(&str, Value)]) {
    let all: serde_json::Map<String, Value> = records
        .iter()
        .map(|(name, record)| ((*name).to_owned(), record.clone()))
        .collect();
    let text = format!("{:#}", Value::Object(all));
    bench.temp.write("skills/.usage.json", text);
}

fn field(bench: &Bench, name: &str, field: &str) -> Value {
    let all: Value = serde_json::from_str(&bench.temp.read("skills/.usage.json")).unwrap();
    all[name][field].clone()
}

pub fn told(answer: Result<Answer, hermes_skills::Refused>) -> String {
    match answer {
        Ok(Answer::Told(text)) => text,
        other => panic!("{other:?}"),
    }
}

pub fn run(bench: &Bench) -> String {
    let wish = Wish::Run {
        extent: Extent::Real,
        merges: false,
    };
    told(curator(bench).answer(&wish))
}

fn by_curator(bench: &Bench) -> Vec<Entry> {
    let entries = Journal::new(&bench.home).entries().unwrap();
    let ours = entries.into_iter();
    ours.filter(|entry| entry.by == By::Curator).collect()
}

#[test]
fn what_it_moves_is_in_the_journal_and_comes_back_from_there() {
    let bench = Bench::new();
    bench.plain("tools/old");
    usage(&bench, &[("old", record(91))]);
    let said = run(&bench);
    assert!(said.contains("archived old"), "{said}");
    assert!(bench.temp.exists("skills/.archive/old/SKILL.md"));
    assert!(!bench.temp.exists("skills/tools"));
    assert_eq!(field(&bench, "old", "state"), "archived");
    let [entry] = by_curator(&bench).try_into().unwrap();
    let undone = Journal::new(&bench.home).undo(entry.number).unwrap();
    assert!(matches!(undone, Undo::Done(_)), "{undone:?}");
    assert!(bench.temp.exists("skills/tools/old/SKILL.md"));
    // Its owner wanted it: the next run does not take it away again.
    assert!(run(&bench).contains("everything is in order"));
    assert!(bench.temp.exists("skills/tools/old/SKILL.md"));
    assert_eq!(field(&bench, "old", "state"), "active");
}

#[test]
fn a_second_archive_of_the_name_does_not_replace_the_first() {
    let bench = Bench::new();
    bench
        .temp
        .write("skills/.archive/old/SKILL.md", content("old") + "first\n");
    bench.plain("old");
    usage(&bench, &[("old", record(91))]);
    run(&bench);
    let archived = curator(&bench).archived();
    assert_eq!(archived.len(), 2, "{archived:?}");
    assert!(
        bench
            .temp
            .read("skills/.archive/old/SKILL.md")
            .contains("first")
    );
    let second = archived.iter().find(|one| one.folder != "old").unwrap();
    told(curator(&bench).answer(&Wish::Restore(second.folder.clone())));
    assert!(!bench.temp.read("skills/old/SKILL.md").contains("first"));
    let refused = curator(&bench).answer(&Wish::Restore("old".to_owned()));
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("there is a skill 'old' again")
    );
}

#[test]
fn names_that_are_not_there_are_told_with_those_that_are() {
    let bench = Bench::new();
    bench.plain("deploy-app");
    bench.plain("plan");
    bench.temp.write("skills/.bundled_manifest", "plan:00\n");
    let refused = |wish: Wish| curator(&bench).answer(&wish).unwrap_err().to_string();
    let near = refused(Wish::Pin("deploy-ap".to_owned()));
    assert!(near.contains("did you mean deploy-app?"), "{near}");
    assert!(
        refused(Wish::Restore("deploy-app".to_owned()))
            .contains("no skill 'deploy-app' in the archive")
    );
    assert!(refused(Wish::Archive("plan".to_owned())).contains("came with Hermes"));
    told(curator(&bench).answer(&Wish::Pin("deploy-app".to_owned())));
    assert!(refused(Wish::Archive("deploy-app".to_owned())).contains("unpin"));
    told(curator(&bench).answer(&Wish::Unpin("deploy-app".to_owned())));
    told(curator(&bench).answer(&Wish::Archive("deploy-app".to_owned())));
    assert!(
        curator(&bench)
            .archived()
            .iter()
            .any(|one| one.name == "deploy-app")
    );
}

#[test]
fn the_first_look_only_starts_the_clock() {
    let bench = Bench::new();
    bench.plain("old");
    usage(&bench, &[("old", record(91))]);
    assert_eq!(curator(&bench).check(None).unwrap(), Due::First);
    assert!(matches!(
        curator(&bench).check(None).unwrap(),
        Due::NotBefore(_)
    ));
    assert!(bench.temp.exists("skills/old/SKILL.md"));
    let state: Value = serde_json::from_str(&bench.temp.read("skills/.curator_state")).unwrap();
    let keys: Vec<&String> = state.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "last_report_path",
            "last_run_at",
            "last_run_duration_seconds",
            "last_run_summary",
            "last_run_summary_shown_at",
            "paused",
            "run_count"
        ]
    );
    // A week later, as another program has it; a field of its own stays.
    let other = json!({"last_run_at": ago(8), "run_count": 4, "colour": "red"});
    bench.temp.write("skills/.curator_state", other.to_string());
    let just_now = Some(Timestamp::now());
    assert_eq!(curator(&bench).check(just_now).unwrap(), Due::InUse);
    assert_eq!(curator(&bench).check(None).unwrap(), Due::Now);
    let begun = curator(&bench).begin(Trigger::Clock).unwrap().unwrap();
    // Another process that found it due at the same time.
    assert!(curator(&bench).begin(Trigger::Clock).unwrap().is_none());
    assert!(curator(&bench).begin(Trigger::Owner).is_err());
    curator(&bench).finish(begun, Thought::default()).unwrap();
    assert!(curator(&bench).begin(Trigger::Clock).unwrap().is_none());
    let state: Value = serde_json::from_str(&bench.temp.read("skills/.curator_state")).unwrap();
    assert_eq!(
        (&state["run_count"], &state["colour"]),
        (&json!(5), &json!("red"))
    );
    let news = Curator::news(&bench.home).unwrap();
    assert!(news.contains("archived old"), "{news}");
    curator(&bench).check(None).unwrap();
    assert_eq!(Curator::news(&bench.home), None);
}

#[test]
fn a_report_has_all_that_others_read() {
    let bench = Bench::new();
    for name in ["old", "idle", "back"] {
        bench.plain(name);
    }
    let mut back = record(2);
    back["state"] = json!("stale");
    usage(
        &bench,
        &[("old", record(91)), ("idle", record(31)), ("back", back)],
    );
    run(&bench);
    let logs = fs::read_dir(bench.home.logs_dir().join("curator")).unwrap();
    let dir = logs.flatten().next().unwrap().path();
    let run: Value = serde_json::from_slice(&fs::read(dir.join("run.json")).unwrap()).unwrap();
    let mut keys: Vec<&str> = run
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.retain(|key| !["backup", "failed"].contains(key));
    assert_eq!(
        keys,
        [
            "started_at",
            "duration_seconds",
            "model",
            "provider",
            "auto_transitions",
            "counts",
            "tool_call_counts",
            "archived",
            "consolidated",
            "pruned",
            "pruned_names",
            "added",
            "state_transitions",
            "cron_rewrites",
            "llm_final",
            "llm_summary",
            "llm_error",
            "tool_calls"
        ]
    );
    assert_eq!(
        run["auto_transitions"],
        json!({"checked": 3, "marked_stale": 1, "archived": 1, "reactivated": 1})
    );
    assert_eq!(
        run["counts"],
        json!({
            "before": 3, "after": 2, "delta": -1, "archived_this_run": 1, "added_this_run": 0,
            "consolidated_this_run": 0, "pruned_this_run": 1, "state_transitions": 3,
            "cron_jobs_rewritten": 0, "tool_calls_total": 0,
        })
    );
    assert_eq!(
        (&run["pruned_names"], &run["cron_rewrites"]),
        (&json!(["old"]), &json!([]))
    );
    let text = fs::read_to_string(dir.join("REPORT.md")).unwrap();
    assert!(text.contains("`old`: not used for 91 days"), "{text}");
    assert!(text.contains("`idle`: active → stale"), "{text}");
}

#[test]
fn without_a_way_back_it_does_not_begin() {
    let bench = Bench::new();
    bench.plain("old");
    usage(&bench, &[("old", record(91))]);
    // Where backups go is no directory.
    bench.temp.write("skills/.curator_backups", "");
    let failed = curator(&bench)
        .begin(Trigger::Owner)
        .unwrap_err()
        .to_string();
    assert!(failed.contains(".curator_backups"), "{failed}");
    assert!(bench.temp.exists("skills/old/SKILL.md"));
}

#[test]
fn so_many_backups_are_kept() {
    let bench = Bench::with_config("curator: {backup: {keep: 2}}\n");
    bench.plain("one");
    bench
        .temp
        .write("cron/jobs.json", r#"{"jobs": [{"id": "a"}]}"#);
    for _ in 0..4 {
        told(curator(&bench).answer(&Wish::Backup));
    }
    let kept = curator(&bench).backups();
    assert_eq!(kept.len(), 2);
    assert!(kept[0].id > kept[1].id, "{kept:?}");
    let manifest = bench.temp.read(format!(
        "skills/.curator_backups/{}/manifest.json",
        kept[0].id
    ));
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(
        manifest["cron_jobs"],
        json!({"backed_up": true, "jobs_count": 1})
    );
    assert_eq!(
        (&manifest["skill_files"], &manifest["reason"]),
        (&json!(1), &json!("manual"))
    );
    assert!(bench.temp.exists(format!(
        "skills/.curator_backups/{}/cron-jobs.json",
        kept[0].id
    )));
}

#[test]
fn back_to_a_backup_and_back_again() {
    let bench = Bench::new();
    bench.plain("cat/one");
    bench.plain("two");
    bench.temp.write("skills/.hub/lock.json", "{}");
    usage(&bench, &[("one", record(91)), ("two", record(1))]);
    run(&bench);
    bench
        .temp
        .write("skills/two/SKILL.md", content("two") + "changed\n");
    bench.plain("three");
    let back = |id: Option<String>| {
        told(curator(&bench).answer(&Wish::RollBack {
            id,
            sure: Sure::Yes,
        }))
    };
    let asked = curator(&bench).answer(&Wish::RollBack {
        id: None,
        sure: Sure::NotAsked,
    });
    assert!(matches!(asked, Ok(Answer::Ask { .. })), "{asked:?}");
    assert!(bench.temp.exists("skills/three/SKILL.md"));
    let said = back(None);
    assert!(
        said.contains("back again: one") && said.contains("gone again: three"),
        "{said}"
    );
    assert!(bench.temp.exists("skills/cat/one/SKILL.md"));
    assert!(!bench.temp.exists("skills/.archive/one"));
    assert!(!bench.temp.read("skills/two/SKILL.md").contains("changed"));
    assert!(bench.temp.exists("skills/.hub/lock.json"));
    assert_eq!(bench.skills().visible().len(), 2);
    // It is not due to go again: neither is a run due, nor would one take it.
    assert!(matches!(
        curator(&bench).check(None).unwrap(),
        Due::NotBefore(_)
    ));
    assert!(run(&bench).contains("everything is in order"));
    let safety = curator(&bench).backups();
    let safety = safety
        .iter()
        .find(|backup| backup.reason == "pre-rollback")
        .unwrap();
    back(Some(safety.id.clone()));
    assert!(bench.temp.exists("skills/three/SKILL.md"));
    assert!(bench.temp.read("skills/two/SKILL.md").contains("changed"));
    assert!(!bench.temp.exists("skills/.curator_backups/.swap"));
    let unknown = Wish::RollBack {
        id: Some("../x".to_owned()),
        sure: Sure::Yes,
    };
    assert!(curator(&bench).answer(&unknown).is_err());
}

#[test]
fn a_broken_backup_changes_nothing() {
    let bench = Bench::new();
    bench.plain("one");
    told(curator(&bench).answer(&Wish::Backup));
    let id = curator(&bench).backups()[0].id.clone();
    let archive = format!("skills/.curator_backups/{id}/skills.tar.gz");
    let whole = fs::read(bench.temp.hermes().join(&archive)).unwrap();
    bench.temp.write(&archive, &whole[..whole.len() / 2]);
    let wish = Wish::RollBack {
        id: Some(id),
        sure: Sure::Yes,
    };
    assert!(curator(&bench).answer(&wish).is_err());
    assert!(bench.temp.exists("skills/one/SKILL.md"));
    assert!(!bench.temp.exists("skills/.curator_backups/.swap"));
}

#[test]
fn a_rollback_that_was_cut_off_is_finished_or_taken_back() {
    let half = |is_out: bool| {
        let bench = Bench::new();
        bench.plain("kept");
        let swap = "skills/.curator_backups/.swap";
        bench
            .temp
            .write(format!("{swap}/old/mine/SKILL.md"), content("mine"));
        bench
            .temp
            .write(format!("{swap}/new/theirs/SKILL.md"), content("theirs"));
        if is_out {
            bench.temp.write(format!("{swap}/out"), "");
        }
        // Any change of a skill puts it in order.
        crate::support::create(&bench.skills(), "any").unwrap();
        assert!(!bench.temp.exists(swap));
        let mut names: Vec<String> = bench
            .skills()
            .visible()
            .into_iter()
            .map(|s| s.found.name)
            .collect();
        names.sort();
        names
    };
    assert_eq!(half(false), ["any", "kept", "mine"]);
    assert_eq!(half(true), ["any", "kept", "theirs"]);
}

#[test]
fn prune_asks_first() {
    let bench = Bench::new();
    for name in ["old", "pinned", "mine", "new"] {
        bench.plain(name);
    }
    let mut pinned = record(91);
    pinned["pinned"] = json!(true);
    let mut mine = record(91);
    mine["created_by"] = Value::Null;
    usage(
        &bench,
        &[
            ("old", record(20)),
            ("pinned", pinned),
            ("mine", mine),
            ("new", record(1)),
        ],
    );
    let prune = |days, extent, sure| curator(&bench).answer(&Wish::Prune { days, extent, sure });
    assert!(told(prune(30, Extent::Real, Sure::Yes)).contains("no skill"));
    assert!(told(prune(7, Extent::Proposal, Sure::Yes)).contains("old (idle 20 days)"));
    assert!(matches!(
        prune(7, Extent::Real, Sure::NotAsked),
        Ok(Answer::Ask { .. })
    ));
    assert!(bench.temp.exists("skills/old/SKILL.md"));
    told(prune(7, Extent::Real, Sure::Yes));
    let archived = curator(&bench).archived();
    assert_eq!(archived.len(), 1);
    assert_eq!(archived[0].name, "old");
    assert!(prune(0, Extent::Real, Sure::Yes).is_err());
}

#[tokio::test]
async fn the_hands_of_a_model_reach_only_its_own_skills() {
    let bench = Bench::new();
    for name in ["one", "two", "pinned", "mine"] {
        bench.plain(name);
    }
    let mut pinned = record(1);
    pinned["pinned"] = json!(true);
    usage(
        &bench,
        &[("one", record(1)), ("two", record(1)), ("pinned", pinned)],
    );
    let curator = Arc::new(curator(&bench));
    let begun = curator.begin(Trigger::Owner).unwrap().unwrap();
    let merging = curator.merging(Extent::Real).unwrap();
    assert!(
        merging
            .prompt
            .contains("- two (active, used 3 times, idle 1 days): About two.")
    );
    assert!(!merging.prompt.contains("mine") && !merging.prompt.contains("- pinned"));
    let tool = |name: &str| -> Arc<dyn Tool> {
        let found = merging.tools.iter().find(|tool| tool.spec().name == name);
        found.unwrap().clone()
    };
    let manage = tool("skill_manage");
    for name in ["mine", "pinned"] {
        let refused = call(manage.as_ref(), json!({"action": "delete", "name": name})).await;
        assert_eq!(refused["success"], false, "{refused}");
    }
    let patch = json!({"action": "patch", "name": "one", "old_string": "Do it.", "new_string": "Do it. Also what two said."});
    let unread = call(manage.as_ref(), patch.clone()).await;
    assert!(
        unread["error"].as_str().unwrap().contains("skill_view"),
        "{unread}"
    );
    call(tool("skill_view").as_ref(), json!({"name": "one"})).await;
    assert_eq!(call(manage.as_ref(), patch).await["success"], true);
    let delete = json!({"action": "delete", "name": "two", "absorbed_into": "one"});
    assert_eq!(call(manage.as_ref(), delete).await["success"], true);
    let thought = Thought {
        model: "m".to_owned(),
        calls: merging.calls(),
        ..Thought::default()
    };
    let done = curator.finish(begun, thought).unwrap();
    assert_eq!(done.summary, "merged two → one");
    assert_eq!(by_curator(&bench).len(), 2);
    // It can come back as what it was: one of the agent's own.
    told(curator.answer(&Wish::Restore("two".to_owned())));
    assert_eq!(
        (
            field(&bench, "two", "created_by"),
            field(&bench, "two", "state")
        ),
        (json!("agent"), json!("active"))
    );
    assert!(
        curator
            .merging(Extent::Proposal)
            .unwrap()
            .tools
            .iter()
            .all(|tool| tool.spec().name != "skill_manage")
    );
}

/// Not a test of its own: what the killed process does. Archives and restores over and over.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn mover() {
    let Some(home) = std::env::var_os(HOME) else {
        return;
    };
    let bench = Bench::at(Path::new(&home));
    let curator = curator(&bench);
    loop {
        told(curator.answer(&Wish::Archive("old".to_owned())));
        told(curator.answer(&Wish::Restore("old".to_owned())));
    }
}

#[test]
fn whoever_is_killed_leaves_a_skill_in_one_place() {
    let bench = Bench::new();
    bench.plain("cat/old");
    usage(&bench, &[("old", record(1))]);
    let archived = bench.dir().join(".archive/old/SKILL.md");
    let places = || {
        let kept = curator(&bench).archived().len();
        let here = bench.skills().library().skills().len();
        (kept, here)
    };
    for round in 0..10 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "curator::mover", "--nocapture"])
            .env(HOME, bench.temp.home())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // It has begun; from here on every moment is as good as another.
        let until = Instant::now() + Duration::from_secs(20);
        while !archived.exists() {
            assert!(Instant::now() < until, "the mover moved nothing");
            std::hint::spin_loop();
        }
        std::thread::sleep(Duration::from_micros(900 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let (kept, here) = places();
        assert_eq!(kept + here, 1, "{kept} archived, {here} in place");
        run(&bench);
        let state = field(&bench, "old", "state");
        assert_eq!(state == "archived", kept == 1, "{state}");
        if kept == 1 {
            told(curator(&bench).answer(&Wish::Restore("old".to_owned())));
        }
        assert_eq!(places(), (0, 1));
        assert!(
            bench.temp.exists("skills/cat/old/SKILL.md"),
            "round {round}"
        );
    }
}
