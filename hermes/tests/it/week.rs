//! A week of one recurring task: explored at first, written down by a review, read from then on, mended when the
//! surroundings change, and put away when nobody needs it any more. The model is scripted and knows no more than what
//! stands in each request; the program, the project and its scripts are real.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::command;

const WAIT: Duration = Duration::from_secs(30);
const SKILL: &str = "deploy-notes-site";
const CONVERSATIONS: usize = 50;
/// The one with two turns of the task: enough requests for a review.
const REVIEWED: usize = 6;
/// What is seen when it was worth something.
const LEARNED: &str = "Self-improvement review: Skill create deploy-notes-site";
/// How a review begins.
const REVIEW: &str = "[Review of the conversation";
/// What a deployment takes for whoever knows nothing.
const EXPLORED: [&str; 6] = ["terminal"; 6];
/// From here on the script that publishes has another name.
const RENAMED: usize = 26;

#[test]
fn what_was_learned_makes_the_work_shorter() {
    let week = Week::new("");
    for n in 1..=CONVERSATIONS {
        if n == RENAMED {
            week.rename();
        }
        match n {
            REVIEWED => week.deploys_twice(n, LEARNED),
            _ => week.deploys(n),
        }
    }
    let calls = week.calls();
    for n in 1..REVIEWED {
        assert_eq!(calls[&n], EXPLORED, "conversation {n}");
    }
    for n in (REVIEWED + 1..=CONVERSATIONS).filter(|n| *n != RENAMED) {
        assert_eq!(calls[&n], ["skill_view", "terminal"], "conversation {n}");
    }
    let mended = [
        "skill_view",
        "terminal",
        "terminal",
        "skill_manage",
        "terminal",
    ];
    assert_eq!(calls[&RENAMED], mended);
    let (first, last) = (mean(&calls, 1..=5), mean(&calls, 41..=50));
    assert!(2.0 * last <= first, "{first} calls, then {last}");
    week.was_counted();
    week.was_noted();
    week.is_put_away_when_nobody_needs_it();
}

#[test]
fn without_skills_the_work_stays_as_long_as_it_was() {
    // The same conversations with the same model; only what is learned is not there.
    let week = Week::new("agent:\n  disabled_toolsets: [skills]\n");
    for n in 1..=CONVERSATIONS {
        if n == RENAMED {
            week.rename();
        }
        match n {
            REVIEWED => week.deploys_twice(n, "The site is live."),
            _ => week.deploys(n),
        }
    }
    let calls = week.calls();
    assert_eq!(calls.len(), CONVERSATIONS);
    for n in (1..=CONVERSATIONS).filter(|n| *n != REVIEWED) {
        assert_eq!(calls[&n], EXPLORED, "conversation {n}");
    }
    assert_eq!(calls[&REVIEWED], [EXPLORED, EXPLORED].concat());
    let reviews = week.bench.requests().into_iter();
    let reviews = reviews.filter(|request| request.to_string().contains(REVIEW));
    assert_eq!(reviews.count(), 0);
    assert!(!week.bench.home.exists(format!("skills/{SKILL}")));
}

/// Mean calls of some conversations.
fn mean(calls: &BTreeMap<usize, Vec<String>>, of: std::ops::RangeInclusive<usize>) -> f64 {
    let counts: Vec<usize> = of.map(|n| calls[&n].len()).collect();
    counts.iter().sum::<usize>() as f64 / counts.len() as f64
}

/// A project to deploy, and somebody who deploys it again and again.
struct Week {
    bench: Bench,
}

impl Week {
    fn new(config: &str) -> Self {
        let bench = Bench::new(script());
        let before = bench.home.read("config.yaml");
        bench.home.write("config.yaml", before + config);
        let week = Self { bench };
        week.file(
            "README.md",
            "Notes, and scripts in tools/ that make a site of them.\n",
        );
        week.file("tools/targets", "live\n");
        week.tool("render.sh", "# makes build/index.html of notes\nmkdir -p build\ncat notes/*.md > build/index.html\n");
        week.tool(
            "publish.sh",
            "# usage: publish.sh TARGET\nmkdir -p \"$1\"\ncp build/index.html \"$1/\"\necho \"published $(ls notes | wc -l) notes\"\n",
        );
        week
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        self.bench
            .home
            .write(self.bench.home.work().join(path), text)
    }

    fn tool(&self, name: &str, text: &str) {
        let file = self.file(&format!("tools/{name}"), &format!("#!/bin/sh\n{text}"));
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The surroundings change: what the skill says is wrong from now on.
    fn rename(&self) {
        let tools = self.bench.home.work().join("tools");
        let text = fs::read_to_string(tools.join("publish.sh")).unwrap();
        self.tool(
            "ship.sh",
            text.strip_prefix("#!/bin/sh\n")
                .unwrap()
                .replace("publish.sh", "ship.sh")
                .as_str(),
        );
        fs::remove_file(tools.join("publish.sh")).unwrap();
    }

    /// One conversation about a note that was not there before.
    fn deploys(&self, n: usize) {
        self.write_note(n);
        let said = self.bench.run(&["-z", &wish(n)]);
        assert!(said.ok().contains("The site is live."), "{n}: {said}");
        self.is_live(n);
    }

    /// Somebody who stays for a second turn, and until they see what comes of both.
    fn deploys_twice(&self, n: usize, until: &str) {
        self.write_note(n);
        let mut chat = command(&self.bench.home, &[]).pty(60, 120);
        chat.wait_for("/help for commands", WAIT);
        for live in 1..=2 {
            chat.send(&format!("{}\r", wish(n)));
            let answers = |screen: &str| screen.matches("The site is live.").count() >= live;
            chat.wait_until(answers, WAIT);
        }
        chat.wait_for(until, WAIT);
        chat.send("/quit\r");
        chat.wait_exit(WAIT);
        self.is_live(n);
    }

    fn write_note(&self, n: usize) {
        self.file(&format!("notes/{n:02}.md"), &format!("Note {n:02}.\n"));
    }

    fn is_live(&self, n: usize) {
        let live = self.bench.home.work().join("live/index.html");
        let live = fs::read_to_string(live).unwrap();
        assert!(live.contains(&format!("Note {n:02}.")), "{n}: {live}");
        // Whoever deploys next starts from nothing.
        fs::remove_dir_all(self.bench.home.work().join("live")).unwrap();
    }

    /// The tools that were called in each conversation, from what the store has of it.
    fn calls(&self) -> BTreeMap<usize, Vec<String>> {
        let exported = self.bench.run(&["sessions", "export", "-"]);
        let sessions = exported.ok().lines();
        sessions
            .map(|line| calls_of(&serde_json::from_str(line).unwrap()))
            .collect()
    }

    /// Every use left a mark, and only those.
    fn was_counted(&self) {
        let usage: Value =
            serde_json::from_str(&self.bench.home.read("skills/.usage.json")).unwrap();
        let record = &usage[SKILL];
        let counts = ["view_count", "use_count", "patch_count"].map(|field| &record[field]);
        let views = CONVERSATIONS - REVIEWED;
        assert_eq!(counts, [&json!(views), &json!(views), &json!(1)]);
        assert_eq!(record["created_by"], "agent");
        let listed = self
            .bench
            .run(&["skills", "list", "--source", "local", "--json"]);
        let listed: Vec<Value> = serde_json::from_str(listed.ok()).unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!(
            (&listed[0]["name"], &listed[0]["enabled"]),
            (&json!(SKILL), &json!(true))
        );
    }

    /// The journal knows who made it and who mended it.
    fn was_noted(&self) {
        let noted = self.bench.run(&["journey", "--json"]);
        let noted: Vec<Value> = serde_json::from_str(noted.ok()).unwrap();
        let of_skill = noted.iter().filter(|entry| entry["name"] == SKILL);
        let authors: Vec<&Value> = of_skill.map(|entry| &entry["by"]).collect();
        assert_eq!(authors, ["review", "agent"]);
        let text = self.bench.home.read(format!("skills/{SKILL}/SKILL.md"));
        assert!(text.contains("./tools/ship.sh live"), "{text}");
    }

    /// Three months later: what the agent made itself is archived, what its owner wrote stays, and nobody is
    /// offered the skill any more.
    fn is_put_away_when_nobody_needs_it(&self) {
        let home = &self.bench.home;
        let text = home.read(format!("skills/{SKILL}/SKILL.md"));
        home.write(
            "skills/mine/SKILL.md",
            "---\nname: mine\ndescription: d\n---\nx\n",
        );
        let mut usage: Value = serde_json::from_str(&home.read("skills/.usage.json")).unwrap();
        let long_ago = Timestamp::now() - SignedDuration::from_hours(91 * 24);
        let long_ago = json!(long_ago.to_string());
        usage["mine"] = json!({"created_by": null, "state": "active", "pinned": false});
        for name in [SKILL, "mine"] {
            for field in [
                "created_at",
                "last_used_at",
                "last_viewed_at",
                "last_patched_at",
            ] {
                usage[name][field] = long_ago.clone();
            }
        }
        home.write("skills/.usage.json", usage.to_string());
        self.bench.run(&["curator", "run"]).ok();
        assert!(!home.exists(format!("skills/{SKILL}")));
        assert_eq!(home.read(format!("skills/.archive/{SKILL}/SKILL.md")), text);
        assert!(home.exists("skills/mine/SKILL.md"));
        self.deploys(CONVERSATIONS + 1);
        assert_eq!(self.calls()[&(CONVERSATIONS + 1)], EXPLORED);
    }
}

fn wish(n: usize) -> String {
    format!("Deploy the notes site, please, now with note {n:02}.")
}

/// Which conversation this is, and what it called.
fn calls_of(session: &Value) -> (usize, Vec<String>) {
    let messages = session["messages"].as_array().unwrap();
    let asked = messages.iter().find(|message| message["role"] == "user");
    let asked = asked.unwrap()["content"].as_str().unwrap();
    let number = asked.trim_end_matches('.').rsplit(' ').next().unwrap();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let names = results.map(|message| message["tool_name"].as_str().unwrap().to_owned());
    (number.parse().unwrap(), names.collect())
}

/// What a model does that has only what it reads: each step is chosen by words in the request.
fn script() -> Value {
    let steps = [beside(), with_skill(), without_skill()].concat();
    let forever = steps.into_iter().map(|mut step| {
        step["repeat"] = json!(true);
        step
    });
    forever.collect()
}

/// Titles, reviews, and the end of every deployment.
fn beside() -> Vec<Value> {
    let content = "---\nname: deploy-notes-site\ndescription: Deploy the notes site and see that it is live.\n---\n\
                   # Deploying the notes site\n\nRun `./tools/render.sh && ./tools/publish.sh live` in the project.\n\
                   It has worked when it says how many notes were published.\n";
    let create = json!({"action": "create", "name": SKILL, "content": content});
    vec![
        json!({"when": {"tools": false}, "text": "Deploying notes"}),
        json!({"when": {"user": REVIEW, "tool_result": "created"}, "text": "Saved."}),
        // It can write down only what it has seen at work.
        step(
            json!({"user": REVIEW, "message": "published 6 notes"}),
            "skill_manage",
            create,
        ),
        json!({"when": {"tool_result": "published "}, "text": "The site is live."}),
    ]
}

/// The index names the skill: it is read and followed, and mended where it is wrong.
fn with_skill() -> Vec<Value> {
    let known =
        |tool_result: &str| json!({"message": "- deploy-notes-site: ", "tool_result": tool_result});
    let patch = json!({"action": "patch", "name": SKILL, "old_string": "publish.sh", "new_string": "ship.sh"});
    vec![
        shell(known("publish.sh: No such file"), "ls tools"),
        shell(
            known("Patched"),
            "./tools/render.sh && ./tools/ship.sh live",
        ),
        shell(
            known("./tools/ship.sh live"),
            "./tools/render.sh && ./tools/ship.sh live",
        ),
        shell(
            known("./tools/publish.sh live"),
            "./tools/render.sh && ./tools/publish.sh live",
        ),
        step(known("ship.sh"), "skill_manage", patch),
        step(
            json!({"message": "- deploy-notes-site: ", "after_tool": false}),
            "skill_view",
            json!({"name": SKILL}),
        ),
    ]
}

/// Nobody has told it anything: it looks around.
fn without_skill() -> Vec<Value> {
    let seen = |tool_result: &str| json!({"tool_result": tool_result});
    vec![
        shell(json!({"after_tool": false}), "ls"),
        shell(seen("README.md"), "cat README.md"),
        shell(seen("scripts in tools/"), "ls tools"),
        shell(seen("TARGET"), "cat tools/targets"),
        shell(seen("targets"), "head -n 2 tools/*.sh"),
        shell(
            json!({"tool_result": "live", "message": "usage: ship.sh"}),
            "./tools/render.sh && ./tools/ship.sh live",
        ),
        shell(
            json!({"tool_result": "live", "message": "usage: publish.sh"}),
            "./tools/render.sh && ./tools/publish.sh live",
        ),
    ]
}

fn shell(when: Value, command: &str) -> Value {
    step(when, "terminal", json!({"command": command}))
}

fn step(when: Value, tool: &str, arguments: Value) -> Value {
    json!({"when": when, "tool_calls": [{"name": tool, "arguments": arguments}]})
}
