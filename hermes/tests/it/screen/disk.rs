//! A disk that is full, and a home that cannot be written to any more, under a chat that runs.
//!
//! Ignored because a small disk of one's own needs a mount namespace; `cargo xtask real terminal` runs them.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use hermes_testkit::Exit;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Chat, WAIT, bars, bench, said, turns};
use crate::bench::{Bench, assert_valid};
use crate::command;

/// A chat whose home is a disk of 3 MB that only it sees.
fn on_a_small_disk(bench: &Bench) -> Chat {
    let script = format!(
        "cp \"$HERMES_HOME/config.yaml\" .. && mount -t tmpfs -o size=3m none \"$HERMES_HOME\" && \
         cp ../config.yaml \"$HERMES_HOME\" && exec {}",
        env!("CARGO_BIN_EXE_hermes")
    );
    let unshare = bench.home.cmd("unshare");
    let unshare = unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    Chat::ready(unshare.env("HERMES_CONTAINER", "0").pty(40, 110))
}

/// A file of the chat's home as the chat sees it.
fn inside(chat: &Chat, bench: &Bench, file: &str) -> PathBuf {
    let home = bench.home.hermes();
    let root = PathBuf::from(format!("/proc/{}/root", chat.id()));
    root.join(home.strip_prefix("/").unwrap()).join(file)
}

/// Takes all the room there is.
fn fill(chat: &Chat, bench: &Bench) -> PathBuf {
    let path = inside(chat, bench, "filling");
    let mut file = File::create(&path).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
    path
}

#[test]
#[ignore = "needs a mount namespace: cargo xtask real terminal"]
fn a_full_disk_is_told_and_the_chat_goes_on() {
    let answers: Vec<Value> = (0..5)
        .map(|at| json!({"text": format!("Answer {at}.")}))
        .collect();
    let bench = bench(json!(answers));
    let mut chat = on_a_small_disk(&bench);
    chat.say("say 0");
    chat.wait_idle("Answer 0.");
    let filling = fill(&chat, &bench);
    chat.say("say 1");
    chat.wait_idle("Answer 1.");
    chat.say("say 2");
    let screen = chat.wait_idle("Answer 2.");
    assert_eq!(bars(&screen), 1, "{screen}");
    let told = screen.matches("not being saved: no space left").count();
    assert_eq!(told, 1, "{screen}");
    // What cannot be kept as a file is in the input all the same.
    chat.paste(&"a long paste\r".repeat(100));
    let screen = chat.wait_for("[Pasted text", WAIT);
    assert!(screen.contains("there is no copy of the paste"), "{screen}");
    chat.send("\x7f");
    chat.wait_until(|screen| !screen.contains("[Pasted text"), WAIT);
    fs::remove_file(filling).unwrap();
    chat.say("say 3");
    chat.wait_idle("Answer 3.");
    let request = turns(&bench).pop().unwrap();
    assert_valid(&request);
    assert_eq!(said(&request, "user"), ["say 0", "say 1", "say 2", "say 3"]);
    // What is on the disk is whole: a Hermes that is started again goes on with it, and saves.
    let copy = copied(&chat, &bench);
    chat.send("\u{4}");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0), "{}", chat.screen());
    let again = |args: &[&str]| command(&bench.home, args).env("HERMES_HOME", &copy).run();
    assert_eq!(again(&["-c", "-z", "say 4"]).ok(), "Answer 4.\n");
    let session = again(&["sessions", "export", "-"]).ok().to_owned();
    for words in ["say 0", "Answer 0.", "say 4", "Answer 4."] {
        assert!(session.contains(&format!("\"{words}\"")), "{session}");
    }
    let history = fs::read_to_string(copy.join(".hermes_history")).unwrap();
    assert!(
        history.contains("\n+say 0\n") && history.ends_with("\n+say 3\n"),
        "{history}"
    );
}

/// The files of the chat's home where everybody sees them.
fn copied(chat: &Chat, bench: &Bench) -> PathBuf {
    let copy = bench.home.home().join("copy");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(inside(chat, bench, "")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
        }
    }
    copy
}

#[test]
#[ignore = "needs setpriv: cargo xtask real terminal"]
fn a_home_that_becomes_read_only() {
    let bench = bench(json!([
        {"text": "Answer 0."}, {"text": "Answer 1."}, {"text": "Answer 2."},
    ]));
    let home = bench.home.hermes();
    let root = bench.home.home().parent().unwrap().to_owned();
    let open = |mode: u32| {
        let dirs = [
            root.clone(),
            bench.home.home(),
            home.clone(),
            bench.home.work(),
        ];
        for dir in dirs {
            fs::set_permissions(dir, fs::Permissions::from_mode(mode)).unwrap();
        }
        for entry in fs::read_dir(&home).unwrap() {
            let path = entry.unwrap().path();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    open(0o777);
    let hermes = env!("CARGO_BIN_EXE_hermes");
    let somebody = bench.home.cmd("setpriv").args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        hermes,
    ]);
    let mut chat = Chat::ready(somebody.env("HERMES_CONTAINER", "0").pty(40, 110));
    chat.say("say 0");
    chat.wait_idle("Answer 0.");
    open(0o555);
    chat.say("say 1");
    chat.wait_idle("Answer 1.");
    chat.paste(&"a long paste\r".repeat(100));
    let screen = chat.wait_for("[Pasted text", WAIT);
    assert!(screen.contains("there is no copy of the paste"), "{screen}");
    chat.send("\x7f");
    chat.say("/skin mono");
    let screen = chat.wait_idle("skin: mono");
    assert!(screen.contains("only for now: cannot open"), "{screen}");
    open(0o777);
    chat.say("say 2");
    chat.wait_idle("Answer 2.");
    let history = bench.home.read(".hermes_history");
    assert!(history.ends_with("\n+say 2\n"), "{history}");
}
