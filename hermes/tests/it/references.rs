//! What a message refers to with `@`: attached for the model, told to the person.

use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::command;

const WAIT: Duration = Duration::from_secs(15);

/// What the model got from the person in its last request.
fn asked(bench: &Bench) -> String {
    let requests = bench.requests();
    let last: &Value = requests
        .iter()
        .rfind(|one| one["tools"].is_array())
        .unwrap();
    let messages = last["messages"].as_array().unwrap();
    let user = messages.iter().rfind(|one| one["role"] == "user").unwrap();
    user["content"].as_str().unwrap().to_owned()
}

fn bench() -> Bench {
    let bench = Bench::new(json!([
        {"when": {"tools": false}, "repeat": true, "text": "A title"},
        {"repeat": true, "text": "seen"},
    ]));
    let work = bench.home.work();
    std::fs::create_dir_all(work.join("src")).unwrap();
    std::fs::write(work.join("src/a.rs"), "one\ntwo\nthree\nfour\n").unwrap();
    bench
}

// spec: learning §13.19
#[test]
fn lines_of_a_file_are_sent_fenced_and_stored_as_sent() {
    let bench = bench();
    let output = bench.run(&["-z", "explain @file:src/a.rs:2-3"]);
    assert_eq!(output.ok(), "seen\n");
    assert_eq!(output.stderr, "hermes: [@ context: 1 ref(s), 6 tokens]\n");
    let sent = "explain\n\n## Attached Context\n\n### @file:src/a.rs:2-3 (about 6 tokens)\n\
                ```rust\ntwo\nthree\n```";
    assert_eq!(asked(&bench), sent);
    assert_eq!(bench.session()["messages"][0]["content"], sent);
}

// spec: learning §13.19
#[test]
fn a_key_is_refused_with_a_warning() {
    let bench = bench();
    let ssh = bench.home.home().join(".ssh");
    std::fs::create_dir_all(&ssh).unwrap();
    std::fs::write(ssh.join("id_rsa"), "PRIVATE KEY").unwrap();
    let output = bench.run(&["chat", "-q", "what is in @file:~/.ssh/id_rsa?"]);
    let warning = "@file:~/.ssh/id_rsa: this is a place for secrets, so it was not read";
    assert!(output.ok().contains(&format!("⚠ {warning}")), "{output}");
    let sent = format!("what is in?\n\n## Context Warnings\n\n- {warning}");
    assert_eq!(asked(&bench), sent);
}

// spec: learning §13.19
#[test]
fn what_is_too_much_is_refused_as_a_whole_and_the_text_stays() {
    let bench = bench();
    // 131,072 tokens are the window: each of these is less than an eighth of it.
    for name in ["1", "2", "3", "4", "5"] {
        let text = "sixteen letters\n".repeat(4_000);
        std::fs::write(bench.home.work().join(name), text).unwrap();
    }
    let four = "read @file:1 @file:2 @file:3 @file:4";
    bench.run(&["-z", four]).ok();
    assert!(asked(&bench).contains("sixteen letters"));
    let five = format!("{four} @file:5");
    let output = bench.run(&["-z", &five]);
    assert_eq!(output.ok(), "seen\n");
    assert!(output.stderr.contains("⚠ nothing was attached"), "{output}");
    assert_eq!(asked(&bench), five);
}

#[test]
fn in_a_chat_it_is_told_before_the_answer() {
    let bench = bench();
    let mut chat = command(&bench.home, &[]).pty(40, 100);
    chat.wait_for("/help for commands", WAIT);
    chat.send("explain @file:src/a.rs:1 and @file:none.rs\r");
    let screen = chat.wait_for("seen", WAIT);
    let told = screen.find("[@ context: 1 ref(s), 4 tokens]").unwrap();
    let warned = screen.find("⚠ @file:none.rs: there is nothing of this name");
    let answered = screen.find("seen").unwrap();
    assert!(
        told < warned.unwrap() && warned.unwrap() < answered,
        "{screen}"
    );
    // Asked again, it is what was sent, not read anew.
    let first = asked(&bench);
    std::fs::write(bench.home.work().join("src/a.rs"), "changed\n").unwrap();
    // Not before the turn is over.
    chat.wait_until(|screen| screen.trim_end().ends_with('>'), WAIT);
    chat.send("/retry\r");
    crate::bench::eventually(WAIT, "a second request", || {
        let tools = |one: &Value| one["tools"].is_array();
        bench.requests().into_iter().filter(tools).count() == 2
    });
    assert_eq!(asked(&bench), first);
}
