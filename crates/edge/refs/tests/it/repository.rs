//! What git tells about a real repository.

use hermes_proc::{Errors, Exit, Piped, Spawn, Stdin, Tty};
use pretty_assertions::assert_eq;

use crate::bench::Bench;

async fn git(bench: &Bench, args: &[&str]) {
    let who = ["-c", "user.name=Me", "-c", "user.email=me@x.test"];
    let path = bench.env.get("PATH").unwrap();
    let program = std::env::split_paths(path).map(|dir| dir.join("git"));
    let spawn = Spawn {
        program: program.into_iter().find(|file| file.is_file()).unwrap(),
        args: who
            .iter()
            .chain(args)
            .map(|arg| (*arg).to_owned())
            .collect(),
        env: vec![
            ("PATH".to_owned(), path.to_owned()),
            ("HOME".to_owned(), bench.user_home().display().to_string()),
        ],
        dir: bench.project(),
        stdin: Stdin::Null,
        tty: Tty::None,
    };
    let Piped { mut process, .. } = spawn.start_piped(Errors::Discard).unwrap();
    assert_eq!(process.exited().await, Exit::Code(0), "{args:?}");
}

#[tokio::test]
async fn changes_and_commits_are_attached() {
    let bench = Bench::new();
    let none = bench.expand("@diff").await;
    assert!(
        none.warnings[0].contains("in no git repository"),
        "{none:?}"
    );
    git(&bench, &["init", "-q"]).await;
    bench.write("project/文.txt", "one\n");
    git(&bench, &["add", "."]).await;
    git(&bench, &["commit", "-qm", "first commit"]).await;
    let clean = bench.expand("@diff").await;
    assert!(clean.warnings[0].contains("nothing to show"), "{clean:?}");
    bench.write("project/文.txt", "two\n");
    git(&bench, &["add", "."]).await;
    bench.write("project/文.txt", "three\n");
    let sent = bench.expand("why @diff and @staged after @git:1?").await;
    assert!(sent.text.starts_with("why and after?\n"), "{}", sent.text);
    assert_eq!(sent.refs, 3, "{:?}", sent.warnings);
    for part in [
        "-two\n+three\n",
        "-one\n+two\n",
        "first commit",
        "+one\n",
        "b/文.txt",
        "```diff\n",
    ] {
        assert!(sent.text.contains(part), "no {part:?} in {}", sent.text);
    }
    let odd = bench.expand("@git:zero").await;
    assert!(odd.warnings[0].contains("a number of commits"), "{odd:?}");
}

#[tokio::test]
async fn nothing_a_repository_configures_is_run() {
    let bench = Bench::new();
    git(&bench, &["init", "-q"]).await;
    bench.write("project/a.txt", "one\n");
    git(&bench, &["add", "."]).await;
    git(&bench, &["commit", "-qm", "first"]).await;
    let trap = bench.write("trap.sh", "#!/bin/sh\ntouch \"$0.sprung\"\ncat\n");
    let sprung = bench.user_home().join("trap.sh.sprung");
    let trap = format!("sh {}", trap.display());
    bench.write("project/.gitattributes", "* filter=a=b.c diff=d\n");
    bench.write(
        "project/.git/more",
        format!("[filter \"a=b.c\"]\n clean = {trap}\n required = true\n"),
    );
    let settings = [
        ("include.path", "more"),
        ("filter.x.process", &trap),
        ("diff.external", &trap),
        ("diff.d.textconv", &trap),
        ("diff.d.command", &trap),
        ("core.fsmonitor", &trap),
        ("format.pretty", "%G? %H"),
        ("gpg.program", &trap),
    ];
    for (key, value) in settings {
        git(&bench, &["config", key, value]).await;
    }
    // Of the same length, so that git has to look into it.
    bench.write("project/a.txt", "two\n");
    let sent = bench.expand("@diff @git:1").await;
    assert_eq!(sent.refs, 2, "{:?}", sent.warnings);
    assert!(
        sent.text.contains("-one\n+two\n") && sent.text.contains("    first"),
        "{}",
        sent.text
    );
    assert!(!sprung.exists(), "something was run");
    // The trap works.
    git(&bench, &["add", "a.txt"]).await;
    assert!(sprung.exists());
}

#[tokio::test]
async fn of_a_home_in_git_only_the_project_is_shown() {
    let bench = Bench::new();
    let home = bench.user_home();
    git(&bench, &["init", "-q", home.to_str().unwrap()]).await;
    bench.write(".ssh/config", "Host old\n");
    bench.write("project/a.txt", "one\n");
    git(&bench, &["add", "a.txt", "../.ssh/config"]).await;
    git(&bench, &["commit", "-qm", "first"]).await;
    bench.write(".ssh/config", "Host new\n");
    bench.write("project/a.txt", "two\n");
    let sent = bench.expand("@diff @git:1").await;
    assert_eq!(sent.refs, 2, "{:?}", sent.warnings);
    assert!(sent.text.contains("-one\n+two\n"), "{}", sent.text);
    assert!(!sent.text.contains("Host"), "{}", sent.text);
}
