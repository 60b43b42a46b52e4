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
    bench.write("project/a.txt", "two\n");
    let trap = bench.project().join("trap");
    let touch = format!("touch {}; false", trap.display());
    for key in ["diff.external", "core.fsmonitor", "diff.x.textconv"] {
        git(&bench, &["config", key, &touch]).await;
    }
    bench.write("project/.gitattributes", "*.txt diff=x\n");
    let sent = bench.expand("@diff").await;
    assert!(sent.text.contains("+two\n"), "{}", sent.text);
    assert!(!trap.exists());
}
