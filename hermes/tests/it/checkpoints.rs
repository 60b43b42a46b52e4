//! Checkpoints as a user meets them: taken while the model works, brought back by `/rollback`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use hermes_testkit::{Exit, Output, Pty};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::{Bench, eventually};
use crate::{command, fails};

const WAIT: Duration = Duration::from_secs(30);

/// A repository with `f.txt` in it, and a model whose replies make these calls and then say that they are done.
fn project(replies: &[Value]) -> Bench {
    let title = json!({"when": {"tools": false}, "text": "A title", "repeat": true});
    let mut steps = vec![title];
    steps.extend(replies.iter().map(|calls| json!({"tool_calls": calls})));
    steps.push(json!({"text": "all done", "repeat": true}));
    let bench = Bench::new(steps.into());
    let config = bench.home.read("config.yaml") + "checkpoints: {enabled: true}\n";
    bench.home.write("config.yaml", config);
    let identity = "[user]\nname = T\nemail = t@example.com\n";
    bench
        .home
        .write(bench.home.home().join(".gitconfig"), identity);
    bench.home.write(file(&bench, "f.txt"), "old\n");
    git(&bench, &["init", "-q"]);
    git(&bench, &["add", "."]);
    git(&bench, &["commit", "-qm", "first"]);
    bench
}

fn write(path: &str, content: &str) -> Value {
    json!({"name": "write_file", "arguments": {"path": path, "content": content}})
}

fn file(bench: &Bench, name: &str) -> PathBuf {
    bench.home.work().join(name)
}

#[track_caller]
fn git(bench: &Bench, args: &[&str]) -> String {
    let git = bench.home.cmd("git").args(args.iter().copied());
    git.run().ok().trim().to_owned()
}

/// Git on the store.
#[track_caller]
fn shadow(bench: &Bench, args: &[&str]) -> String {
    let store = bench.home.hermes().join("checkpoints/store");
    let git = bench.home.cmd("git").current_dir(store);
    git.args(args.iter().copied()).run().ok().trim().to_owned()
}

/// The reasons of all snapshots, newest first.
fn reasons(bench: &Bench) -> Vec<String> {
    let log = shadow(bench, &["log", "--all", "--format=%s"]);
    log.lines().map(str::to_owned).collect()
}

/// Everything in the user's own repository.
fn own(bench: &Bench) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut waiting = vec![file(bench, ".git")];
    let mut found = BTreeMap::new();
    while let Some(dir) = waiting.pop() {
        for path in fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            match path.is_dir() {
                true => waiting.push(path),
                false => drop(found.insert(path.clone(), fs::read(path).unwrap())),
            }
        }
    }
    found
}

fn talk(bench: &Bench, args: &[&str]) -> Pty {
    let pty = command(&bench.home, args).pty(40, 120);
    pty.wait_for("Ctrl+D to leave", WAIT);
    pty
}

// spec: terminal-and-safety §13.22, state §13.18
#[test]
fn two_writes_in_one_reply_are_one_checkpoint_and_go_back_together() {
    let bench = project(&[json!([
        write("f.txt", "new\n"),
        write("sub/later.txt", "later\n")
    ])]);
    let before = own(&bench);
    let mut pty = talk(&bench, &[]);
    pty.send("go\r");
    pty.wait_for("all done\n>", WAIT);
    assert_eq!(bench.home.read(file(&bench, "f.txt")), "new\n");
    assert_eq!(reasons(&bench), ["before write_file"]);
    let refs = shadow(&bench, &["for-each-ref", "--format=%(refname)"]);
    let hash = refs.strip_prefix("refs/hermes/").unwrap();
    assert!(
        hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()),
        "{refs}"
    );

    pty.send("/rollback --help\r");
    pty.wait_for("is no checkpoint", WAIT);
    pty.send("/rollback diff 1\r");
    pty.wait_for("+new", WAIT);
    pty.send("/rollback 1\r");
    let screen = pty.wait_for("took back", WAIT);
    assert!(
        screen.contains("f.txt") && screen.contains("still there"),
        "{screen}"
    );
    assert!(screen.contains("later.txt"), "{screen}");
    assert_eq!(bench.home.read(file(&bench, "f.txt")), "old\n");
    assert_eq!(bench.home.read(file(&bench, "sub/later.txt")), "later\n");
    let list = reasons(&bench);
    assert_eq!(list.len(), 2);
    assert!(list[0].starts_with("pre-rollback snapshot"), "{list:?}");
    assert_eq!(own(&bench), before);

    // What was undone is not part of the next request.
    let asked = bench.requests().len();
    pty.send("and now?\r");
    eventually(WAIT, "another request", || bench.requests().len() > asked);
    let requests = bench.requests();
    let last = requests.iter().rfind(|request| request["tools"].is_array());
    let text = last.unwrap()["messages"].to_string();
    assert!(
        text.contains("and now?") && !text.contains("later.txt"),
        "{text}"
    );
}

#[test]
fn after_a_restart_one_file() {
    let bench = project(&[
        json!([write("f.txt", "new\n"), write("g.txt", "g\n")]),
        json!([write("f.txt", "newer\n"), write("g.txt", "g2\n")]),
    ]);
    bench.run(&["-z", "go"]).ok();
    assert_eq!(reasons(&bench), ["before write_file", "before write_file"]);
    let mut pty = talk(&bench, &["-c"]);
    pty.send("/rollback\r");
    let screen = pty.wait_for(" 2. ", WAIT);
    assert!(screen.contains("(2 files, +2 -1)"), "{screen}");
    pty.send("/rollback 1 f.txt\r");
    pty.wait_for("took back", WAIT);
    assert_eq!(bench.home.read(file(&bench, "f.txt")), "new\n");
    assert_eq!(bench.home.read(file(&bench, "g.txt")), "g2\n");
    pty.send("/rollback 3 ../../etc/passwd\r");
    pty.wait_for("not a path inside", WAIT);
}

#[test]
fn commands_that_destroy_and_those_that_only_look() {
    let run = |command: &str| json!([{"name": "terminal", "arguments": {"command": command}}]);
    let bench = project(&[run("cat f.txt"), run("mkdir -p sub; cd sub; rm ../f.txt")]);
    bench.run(&["-z", "go"]).ok();
    assert_eq!(
        reasons(&bench),
        ["before terminal: mkdir -p sub; cd sub; rm ../f.txt"]
    );
    assert!(!bench.home.exists(file(&bench, "f.txt")));
    // The session has moved, but it is the same project.
    let mut pty = talk(&bench, &[]);
    pty.send("/rollback 1\r");
    pty.wait_for("as they were at", WAIT);
    assert_eq!(bench.home.read(file(&bench, "f.txt")), "old\n");
}

#[test]
fn only_when_wanted() {
    let bench = project(&[
        json!([write("f.txt", "new\n")]),
        json!([write("f.txt", "newer\n")]),
    ]);
    bench
        .run(&["config", "set", "checkpoints.enabled", "false"])
        .ok();
    let store = bench.home.hermes().join("checkpoints");
    bench.run(&["-z", "go"]).ok();
    assert_eq!(bench.home.read(file(&bench, "f.txt")), "newer\n");
    assert!(!store.exists());
    let other = project(&[json!([write("f.txt", "new\n")])]);
    other
        .run(&["config", "set", "checkpoints.enabled", "false"])
        .ok();
    other.run(&["chat", "--checkpoints", "-Q", "-q", "go"]).ok();
    assert_eq!(reasons(&other), ["before write_file"]);
}

#[test]
fn without_git_everything_else_works() {
    let bench = project(&[json!([write("f.txt", "new\n")])]);
    let bin = bench.home.home().join("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["sh", "bash"] {
        std::os::unix::fs::symlink(format!("/bin/{program}"), bin.join(program)).unwrap();
    }
    let run = |args: &[&str]| -> Output { command(&bench.home, args).env("PATH", &bin).run() };
    assert_eq!(run(&["-z", "go"]).ok(), "all done\n");
    assert_eq!(bench.home.read(file(&bench, "f.txt")), "new\n");
    let log = bench.home.read("logs/agent.log");
    assert_eq!(log.matches("there is no git").count(), 1, "{log}");
    let doctor = run(&["doctor"]);
    assert!(
        doctor
            .stdout
            .contains("checkpoints are on, but there is no git"),
        "{doctor}"
    );
    let doctor = bench.run(&["doctor"]);
    assert!(
        doctor
            .stdout
            .contains("checkpoints are on; none were needed yet"),
        "{doctor}"
    );
}

#[test]
fn killed_in_the_middle() {
    let bench = project(&[
        json!([write("f.txt", "new\n")]),
        json!([write("f.txt", "newer\n")]),
    ]);
    let (bin, waits) = (
        bench.home.home().join("bin"),
        bench.home.home().join("waits"),
    );
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' commit-tree '*) touch {0}; while [ -e {0} ]; do sleep 0.05; done; exit 1;; esac\nexec /usr/bin/git \"$@\"\n",
        waits.display()
    );
    let fake = bench.home.write(bin.join("git"), script);
    fs::set_permissions(fake, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut pty = command(&bench.home, &[]).env("PATH", path).pty(24, 100);
    pty.wait_for("Ctrl+D to leave", WAIT);
    pty.send("go\r");
    eventually(WAIT, "git waits", || waits.exists());
    // A kill of the whole program: nothing of it can clean up.
    drop(pty);
    assert_eq!(bench.home.read(file(&bench, "f.txt")), "old\n");
    let store = bench.home.hermes().join("checkpoints/store");
    for entry in fs::read_dir(store.join("indexes")).unwrap() {
        fs::write(entry.unwrap().path().with_extension("lock"), "left").unwrap();
    }
    bench.run(&["-z", "go"]).ok();
    assert_eq!(reasons(&bench).len(), 1);
    shadow(&bench, &["fsck", "--strict"]);
}

#[test]
fn looking_and_making_room() {
    let bench = project(&[
        json!([write("f.txt", "new\n")]),
        json!([write("f.txt", "newer\n")]),
    ]);
    let empty = bench.run(&["checkpoints"]);
    assert!(empty.ok().contains("No checkpoints yet."), "{empty}");
    assert_eq!(
        bench.run(&["checkpoints", "clear"]).ok(),
        "There are no checkpoints.\n"
    );
    bench.run(&["-z", "go"]).ok();
    let status: Value =
        serde_json::from_str(bench.run(&["checkpoints", "status", "--json"]).ok()).unwrap();
    assert_eq!(status["projects"][0]["dir"], json!(bench.home.work()));
    assert_eq!(status["projects"][0]["snapshots"], 2);
    for args in [
        &["checkpoints", "list"][..],
        &["checkpoints", "ls", "--all"],
    ] {
        let list = bench.run(args);
        assert!(
            list.ok().contains("write_file") && list.stdout.contains("+1 -1"),
            "{list}"
        );
        assert!(!list.stdout.contains('\u{1b}'), "{list}");
    }
    let mut narrow = command(&bench.home, &["checkpoints", "list"]).pty(12, 40);
    assert_eq!(narrow.wait_exit(WAIT), Exit::Code(0));
    let screen = narrow.screen();
    let rows: Vec<&str> = screen
        .lines()
        .filter(|line| line.contains("write_"))
        .collect();
    assert_eq!(rows.len(), 2, "{screen}");

    bench
        .home
        .write("checkpoints/legacy-20240101-000000/x/HEAD", "old");
    let refused = fails(&bench.home, &["checkpoints", "clear-legacy"], 1);
    assert!(refused.contains("-y"), "{refused}");
    assert!(
        bench
            .run(&["checkpoints", "clear-legacy", "--force"])
            .ok()
            .contains("freed")
    );
    fs::rename(bench.home.work(), bench.home.work().with_extension("moved")).unwrap();
    let gone = command(&bench.home, &["checkpoints", "list", "--all"]);
    assert_eq!(gone.current_dir(bench.home.home()).run().ok(), "");
    let gone = command(&bench.home, &["checkpoints", "prune", "--keep-orphans"]);
    assert!(
        !gone
            .current_dir(bench.home.home())
            .run()
            .ok()
            .contains("forgotten")
    );
    let gone = command(&bench.home, &["checkpoints", "prune"]);
    assert!(
        gone.current_dir(bench.home.home())
            .run()
            .ok()
            .contains("forgotten (gone)")
    );
}

#[test]
fn all_of_it_goes_only_when_asked() {
    let bench = project(&[json!([write("f.txt", "new\n")])]);
    bench.run(&["-z", "go"]).ok();
    let refused = fails(&bench.home, &["checkpoints", "clear"], 1);
    assert!(
        refused.contains("1 projects") && refused.contains("-y"),
        "{refused}"
    );
    let mut pty = command(&bench.home, &["checkpoints", "clear"]).pty(10, 80);
    pty.wait_for("[y/N]", WAIT);
    pty.send("\r");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    assert_eq!(reasons(&bench).len(), 1);
    assert!(
        bench
            .run(&["checkpoints", "clear", "-y"])
            .ok()
            .contains("freed")
    );
    assert!(!bench.home.exists("checkpoints/store"));
}

#[test]
fn tidied_up_beside_the_conversation() {
    let bench = project(&[json!([write("f.txt", "new\n")])]);
    bench.run(&["-z", "go"]).ok();
    let projects = bench.home.hermes().join("checkpoints/store/projects");
    let record = fs::read_dir(&projects)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let record = record
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "json"));
    let record = record.unwrap();
    let mut content: Value = serde_json::from_str(&bench.home.read(&record)).unwrap();
    content["last_touch"] = 5.0.into();
    bench.home.write(&record, content.to_string());
    bench.home.write("checkpoints/.last_prune", "5.0");
    let mut pty = talk(&bench, &[]);
    eventually(WAIT, "the project is forgotten", || !record.exists());
    pty.send("/quit\r");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
}
