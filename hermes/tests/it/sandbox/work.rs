//! What must go on as without bounds.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hermes_proc::sandbox::Network;
use hermes_proc::{Event, Exit, Running, Spawn, Stdin, Tty};
use hermes_testkit::TempHome;

use super::{By, LIMIT, Yard, said, with_both};

with_both!(
    everyday_commands_work,
    a_worktree_can_be_committed_to,
    exit_codes_are_those_of_the_command,
    a_terminal_is_one,
    input_reaches_the_command,
    a_stopped_command_leaves_nobody,
    a_dropped_command_leaves_nobody,
    what_was_left_running_goes_on,
);

const GIT: &str =
    "export GIT_AUTHOR_NAME=T GIT_AUTHOR_EMAIL=t@x GIT_COMMITTER_NAME=T GIT_COMMITTER_EMAIL=t@x; ";

// spec: terminal-and-safety §15.6
async fn everyday_commands_work(by: By) {
    let yard = Yard::new(by);
    let commit = format!(
        "{GIT} git init -q . && echo a > a && git add a && git commit -qm one && git log --oneline | wc -l"
    );
    assert_eq!(yard.ok(&commit).await.trim(), "1");
    for script in [
        "python3 -c 'import tempfile; open(\"made\", \"w\").write(\"x\"); tempfile.NamedTemporaryFile().write(b\"x\")'",
        "python3 -c 'import multiprocessing as m; m.Lock(); m.Value(\"i\")'",
        "f=$(mktemp) && echo x > $f && rm $f && d=$(mktemp -d) && mkdir $d/deps && mv $d/deps $d/out && rm -r $d",
        "cat <<'EOF' | grep -q text\ntext\nEOF",
        "diff <(echo same) <(echo same)",
        "echo gone > /dev/null; head -c 4 /dev/urandom | wc -c | grep -q 4",
        "mkfifo pipe && (echo x > pipe &) && cat pipe",
        "echo x > /dev/stderr; echo y | tee /dev/stdout",
        "(sleep 0.01; exit 3) & wait $!; [ $? = 3 ]",
        "set -o pipefail; seq 100000 | head -1; true",
        "mkdir -p target/debug && cp -a target/debug target/copy && chmod 700 target && ln -s copy target/link && rm -r target",
        "ps > /dev/null; id > /dev/null; ls / /usr/bin > /dev/null",
    ] {
        yard.ok(script).await;
    }
}

// spec: terminal-and-safety §15.6
async fn a_worktree_can_be_committed_to(by: By) {
    let home = TempHome::new();
    let repo = home.work().with_file_name("repo");
    fs::create_dir(&repo).unwrap();
    let git = |script: &str| {
        let shell = home.cmd("bash").args(["-c", &format!("{GIT}{script}")]);
        shell.current_dir(&repo).run().ok().to_owned()
    };
    git("git init -q . && git commit -q --allow-empty -m one && git worktree add -q ../tree");
    let tree = repo.with_file_name("tree");
    let yard = Yard::begun(home, by, tree.clone(), Network::On);
    let commit = format!(
        "cd {} && {GIT} echo x > x && git add x && git commit -qm two && git log --oneline | wc -l",
        tree.display()
    );
    assert_eq!(yard.ok(&commit).await.trim(), "2");
    yard.fails(&format!("echo x > {}/x", repo.display())).await;
}

async fn exit_codes_are_those_of_the_command(by: By) {
    let yard = Yard::new(by);
    for code in [0, 1, 7, 125, 126, 127, 255] {
        let said = yard.run(&format!("exit {code}")).await;
        assert_eq!((said.text.as_str(), said.exit), ("", Exit::Code(code)));
    }
    let killed = yard.run("kill -9 $$").await.exit;
    let expected = match by {
        By::Bubblewrap => Exit::Code(128 + 9),
        By::Landlock => Exit::Signal(9),
    };
    assert_eq!(killed, expected);
}

// spec: terminal-and-safety §15.6
async fn a_terminal_is_one(by: By) {
    let yard = Yard::new(by);
    let spawn = Spawn {
        tty: Tty::Sized {
            rows: 30,
            cols: 120,
        },
        ..yard.spawn("test -t 0 && stty size && echo told > /dev/tty; read word; echo got $word")
    };
    let mut running = yard.start(spawn).await;
    until(&mut running, "told").await;
    let mut input = running.input().unwrap();
    input.write(b"this\n").await.unwrap();
    until(&mut running, "got this").await;
    assert_eq!(said(&mut running).await.exit, Exit::Code(0));
}

async fn input_reaches_the_command(by: By) {
    let yard = Yard::new(by);
    let spawn = Spawn {
        stdin: Stdin::Bytes(vec![b'x'; 1 << 20]),
        ..yard.spawn("wc -c")
    };
    let mut running = yard.start(spawn).await;
    assert_eq!(said(&mut running).await.text.trim(), "1048576");
}

// spec: terminal-and-safety §15.7
async fn a_stopped_command_leaves_nobody(by: By) {
    let yard = Yard::new(by);
    let mark = mark(by, 1);
    let script = format!(
        "trap '' TERM; sleep {mark} & (trap '' TERM; sleep {mark}; sleep {mark}) & echo up; sleep {mark}; sleep {mark}"
    );
    let mut running = yard.start(yard.spawn(&script)).await;
    until(&mut running, "up").await;
    running.stop();
    said(&mut running).await;
    assert_eq!(processes(&mark), 0);
    if by == By::Bubblewrap {
        // Who left the group is still in the namespace, which ends with its first process.
        let script = format!("setsid sleep {mark} & sleep 0.1; echo up; wait");
        let mut running = yard.start(yard.spawn(&script)).await;
        until(&mut running, "up").await;
        running.stop();
        said(&mut running).await;
        gone(&mark).await;
    }
}

// spec: terminal-and-safety §15.7
async fn a_dropped_command_leaves_nobody(by: By) {
    let yard = Yard::new(by);
    let mark = mark(by, 2);
    let script = format!("trap '' TERM; sleep {mark} & echo up; sleep {mark}; sleep {mark}");
    let mut running = yard.start(yard.spawn(&script)).await;
    until(&mut running, "up").await;
    drop(running);
    gone(&mark).await;
}

async fn what_was_left_running_goes_on(by: By) {
    let yard = Yard::new(by);
    let begun = Instant::now();
    let script = "(for n in $(seq 1000); do [ -e stop ] && break; sleep 0.02; done; echo > ended) > /dev/null & echo ok";
    let said = yard.run(script).await;
    assert_eq!((said.text.as_str(), said.exit), ("ok\n", Exit::Code(0)));
    assert!(begun.elapsed() < LIMIT, "it was waited for");
    fs::write(yard.home.work().join("stop"), "").unwrap();
    until_there(&yard.home.work().join("ended")).await;
}

/// A number of seconds that no other test sleeps.
pub fn mark(by: By, test: u32) -> String {
    let by = match by {
        By::Bubblewrap => 1,
        By::Landlock => 2,
    };
    format!("61.{by}{test}{:05}", std::process::id() % 100_000)
}

async fn until(running: &mut Running, text: &str) {
    let heard = async {
        let mut heard = String::new();
        while !heard.contains(text) {
            match running.next().await {
                Event::Output(more) => heard += &more,
                Event::Ended(exit) => panic!("ended with {exit:?} after {heard:?}"),
            }
        }
    };
    tokio::time::timeout(LIMIT, heard).await.expect(text);
}

async fn until_there(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < LIMIT, "never there: {}", path.display());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn gone(mark: &str) {
    let begun = Instant::now();
    while processes(mark) > 0 {
        assert!(begun.elapsed() < LIMIT, "still there: {mark}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// How many `sleep`s of this mark there are.
pub fn processes(mark: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let wanted = format!("sleep\0{mark}\0").into_bytes();
    lines.filter(|line| *line == wanted).count()
}
