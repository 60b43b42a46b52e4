//! Questions on a terminal: setup, models, tools and conversations chosen from lists.

use std::time::Duration;

use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::{Exit, Pty, TempHome};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::Bench;
use crate::{command, fails, hermes};

const WAIT: Duration = Duration::from_secs(20);
const ENTER: &str = "\r";
const DOWN: &str = "\x1b[B";

/// Waits for a question and answers it.
#[track_caller]
fn answer(pty: &mut Pty, question: &str, keys: &str) {
    pty.wait_for(question, WAIT);
    pty.send(keys);
}

fn model() -> ScriptedModel {
    let steps = json!({"models": [{"id": "fake-model", "context_length": 131072}], "steps": [{"text": "I am here", "repeat": true}]});
    ScriptedModel::start(Script::from_value(steps).unwrap()).unwrap()
}

#[test]
fn a_first_start_ends_in_a_conversation() {
    let (home, model) = (TempHome::new(), model());
    let mut pty = command(&home, &[]).pty(30, 100);
    answer(&mut pty, "Run setup now? [Y/n]", ENTER);
    answer(&mut pty, "How do you want to set it up?", ENTER);
    answer(&mut pty, "Who should answer?", "custom endp");
    answer(&mut pty, "1/1 (filtered", ENTER);
    answer(
        &mut pty,
        "Address of the server",
        &format!("\x1b[200~{}/v1\x1b[201~", model.url()),
    );
    answer(&mut pty, "/v1", ENTER);
    answer(&mut pty, "API key for 127.0.0.1", "sk-test-1234567");
    answer(&mut pty, "•••", ENTER);
    answer(&mut pty, "Which API does it speak?", ENTER);
    answer(&mut pty, "fake-model", ENTER);
    answer(&mut pty, "How many tokens does the model take?", ENTER);
    answer(&mut pty, "A name for it", ENTER);
    answer(&mut pty, "How hard should it think?", ENTER);
    answer(&mut pty, "Should commands be confined?", ENTER);
    answer(&mut pty, "Where do commands begin?", ENTER);
    answer(&mut pty, "Password for sudo", ENTER);
    answer(&mut pty, "Start talking now?", ENTER);
    answer(&mut pty, "/help for commands", "hello\r");
    pty.wait_for("I am here", WAIT);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    let screen = pty.screen();
    assert!(
        screen.contains("✓ model: fake-model (custom:local)"),
        "{screen}"
    );

    let config = home.read("config.yaml");
    assert!(!config.contains("sk-test"), "{config}");
    assert!(
        home.read(".env")
            .contains("CUSTOM_LOCAL_API_KEY=sk-test-1234567")
    );
    assert_eq!(hermes(&home, &["-z", "hi"]).ok(), "I am here\n");
    let call = model.calls().pop().unwrap();
    assert_eq!(call.body["model"], "fake-model");
}

#[test]
fn ctrl_c_keeps_what_was_answered_and_the_terminal() {
    let (home, model) = (TempHome::new(), model());
    let text = format!(
        "# mine\nmodel: {{default: fake-model, provider: custom, base_url: '{}/v1', context_length: 131072}}\n",
        model.url()
    );
    home.write("config.yaml", &text);
    let mut pty = command(&home, &["setup"]).pty(24, 80);
    answer(&mut pty, "Who should answer?", "\x1b");
    answer(&mut pty, "Should commands be confined?", "j");
    answer(&mut pty, "→ (○) auto", ENTER);
    answer(&mut pty, "Where do commands begin?", "\x03");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(1));
    let screen = pty.screen();
    assert!(
        screen.contains("what was answered before is saved"),
        "{screen}"
    );
    assert!(screen.contains("To get them back: cp "), "{screen}");
    let config = home.read("config.yaml");
    assert!(
        config.starts_with("# mine\n") && config.contains("sandbox: auto"),
        "{config}"
    );

    // A shell sees a terminal that echoes and breaks lines: nothing is left in raw mode or on another screen.
    let sane = format!(
        "{} setup agent; stty -a | grep -c -e '[^-]icanon' ; stty -a | tr ' ' '\\n' | grep -x -e echo -e -echo",
        env!("CARGO_BIN_EXE_hermes")
    );
    let mut pty = home
        .cmd("sh")
        .args(["-c", &sane])
        .env("HERMES_CONTAINER", "0")
        .pty(24, 80);
    answer(&mut pty, "How many replies", "\x03");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    let screen = pty.screen();
    assert!(screen.contains("\n1\necho"), "{screen}");
}

#[test]
fn enter_overwrites_nothing() {
    let (home, model) = (TempHome::new(), model());
    let text = format!(
        "# mine\nmodel:\n  default: fake-model\n  provider: custom:box\nproviders: {{box: {{api: '{}/v1', key_env: K}}}}\n\
         agent: {{max_turns: 7, reasoning_effort: low}}  # slow\ndisplay: {{tool_progress: off}}\n\
         terminal: {{cwd: '${{HOME}}', sandbox: off}}\ncompression: {{threshold: 0.3}}\n",
        model.url()
    );
    home.write("config.yaml", &text);
    home.write(".env", "K=sk-test-1234567\n");
    let mut pty = command(&home, &["setup", "--reconfigure"]).pty(24, 40);
    for question in [
        "Who should answer?",
        "box has a key (K)",
        "Which model of",
        "How hard should it think?",
        "Should commands be confined?",
        "Where do commands begin?",
        "Password for sudo",
        "How many replies",
        "How much do you want to see",
        "How full may the window get",
        "Tools for cli",
    ] {
        answer(&mut pty, question, ENTER);
    }
    answer(&mut pty, "Start talking now?", "n");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    assert_eq!(home.read("config.yaml"), text);
    assert_eq!(home.read(".env"), "K=sk-test-1234567\n");
}

#[test]
fn setup_without_a_person() {
    let home = TempHome::new();
    let guidance = hermes(&home, &["setup", "--non-interactive"]);
    assert!(
        guidance.ok().contains("hermes config set model.base_url"),
        "{guidance}"
    );
    assert!(fails(&home, &["setup"], 1).contains("hermes config set model.provider"));
    let wrong = fails(&home, &["setup", "gateway"], 2);
    assert!(wrong.contains("model, terminal, agent, tools"), "{wrong}");
    let tools = fails(&home, &["tools"], 1);
    assert!(tools.contains("hermes config set NAME_API_KEY"), "{tools}");
    for args in [&["model"][..], &["tools"], &["sessions", "browse"]] {
        assert!(
            fails(&home, args, 1).contains("needs a terminal"),
            "{args:?}"
        );
    }
    assert!(!home.exists("config.yaml"));
    assert!(
        hermes(&home, &["tools", "--summary"])
            .ok()
            .starts_with("cli: ")
    );
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone() {
    let home = TempHome::new();
    home.write("config.yaml", "model: {x\n");
    for args in [&["setup"][..], &["model"], &["tools"]] {
        let mut pty = command(&home, args).pty(24, 100);
        pty.wait_for("config.yaml:", WAIT);
        assert_eq!(pty.wait_exit(WAIT), Exit::Code(1), "{args:?}");
    }
    assert_eq!(home.read("config.yaml"), "model: {x\n");
}

#[test]
fn settings_are_forgotten_on_request_and_kept_beside() {
    let home = TempHome::new();
    home.write("config.yaml", "timezone: UTC\n");
    let mut pty = command(&home, &["setup", "agent", "--reset"]).pty(24, 80);
    answer(&mut pty, "[y/N]", "y\r");
    answer(&mut pty, "How many replies", "\x1b");
    answer(&mut pty, "How much do you want to see", "\x1b");
    answer(&mut pty, "How full may", "\x1b");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    assert!(
        pty.screen().contains("config.yaml.bak."),
        "{}",
        pty.screen()
    );
    assert!(home.read("config.yaml").starts_with("_config_version: "));
}

#[test]
fn no_is_an_answer_to_the_first_question() {
    let home = TempHome::new();
    let mut pty = command(&home, &["chat"]).pty(24, 100);
    answer(&mut pty, "Run setup now? [Y/n]", "n\r");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(1));
    assert!(pty.screen().contains("hermes config set model.provider"));
    let mut pty = command(&home, &[]).pty(24, 100);
    answer(&mut pty, "Run setup now? [Y/n]", "\x04");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(1));
}

#[test]
fn a_model_from_the_list() {
    let (home, model) = (TempHome::new(), model());
    let text = format!(
        "# mine\nmodel: {{default: x, provider: openrouter}}\nproviders:\n  box: {{api: '{}/v1', api_key: '${{K}}'}}\n",
        model.url()
    );
    home.write("config.yaml", &text);
    home.write(
        ".env",
        "K=sk-test-1234567\nOPENAI_BASE_URL=http://left.over\n",
    );
    let mut pty = command(&home, &["model"]).pty(12, 40);
    answer(&mut pty, "Who should answer?", "box");
    answer(&mut pty, "→   box (127.0.0.1", ENTER);
    answer(&mut pty, "fake-model", ENTER);
    answer(&mut pty, "How hard should it think?", "\x1b");
    pty.wait_for("✓ fake-model (custom:box)", WAIT);
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    let expected = text.replace(
        "default: x, provider: openrouter",
        "default: fake-model, provider: \"custom:box\"",
    );
    assert_eq!(home.read("config.yaml"), expected);
    assert_eq!(home.read(".env"), "K=sk-test-1234567\n");
}

#[test]
fn tools_from_the_list() {
    let home = TempHome::new();
    let mut pty = command(&home, &["tools"]).pty(24, 100);
    answer(&mut pty, "Configure cli (", ENTER);
    pty.wait_for("tokens per request", WAIT);
    pty.send(" ");
    answer(&mut pty, "[ ] terminal", ENTER);
    answer(&mut pty, "Configure cli (", "\x1b");
    pty.wait_for("✓ cli: ", WAIT);
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    let list = hermes(&home, &["tools", "list"]);
    assert!(list.ok().contains("✗ disabled  terminal"), "{list}");
    // Toolsets that have no tools here yet are not decided about.
    assert!(list.ok().contains("✓ enabled   web "), "{list}");
    // By lines where nothing can be drawn.
    let mut pty = command(&home, &["tools"]).env("TERM", "dumb").pty(30, 100);
    answer(&mut pty, "q: leave", "1\r");
    answer(&mut pty, "Which should be on?", "a\r");
    // One of all wants a key: nothing is no answer, but it can be left.
    answer(&mut pty, "OPENROUTER_API_KEY for moa", "\r");
    answer(&mut pty, "nothing was typed; Ctrl+D leaves", "\x04");
    pty.wait_until(|screen| screen.matches("Configure cli").count() > 1, WAIT);
    pty.send("q\r");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    assert!(
        hermes(&home, &["tools", "list"])
            .ok()
            .contains("✓ enabled   terminal")
    );
}

#[test]
fn the_key_of_a_tool_is_kept_where_keys_are() {
    let home = TempHome::new();
    home.write("config.yaml", "# mine\ntimezone: UTC\n");
    let mut pty = command(&home, &["tools"]).pty(24, 100);
    answer(&mut pty, "→ Configure cli (", DOWN);
    answer(&mut pty, "→ Reconfigure a tool's provider or key", ENTER);
    answer(&mut pty, "→ terminal", DOWN);
    answer(&mut pty, "→ moa", ENTER);
    answer(&mut pty, "OPENROUTER_API_KEY for moa", "sk-or-hidden-1");
    answer(&mut pty, "••••••••••••••", ENTER);
    answer(&mut pty, "OPENROUTER_API_KEY is set", "\x1b");
    answer(&mut pty, "Configure cli (", "\x1b");
    pty.wait_for("✓ OPENROUTER_API_KEY is kept in .env", WAIT);
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    assert!(!pty.screen().contains("sk-or-hidden"));
    assert_eq!(home.read(".env"), "OPENROUTER_API_KEY=sk-or-hidden-1\n");
    assert_eq!(home.read("config.yaml"), "# mine\ntimezone: UTC\n");
    // By lines where nothing can be drawn: the second row, the second tool, and away with it.
    let mut pty = command(&home, &["tools"]).env("TERM", "dumb").pty(40, 100);
    answer(&mut pty, "Configure cli (", "2\r");
    answer(&mut pty, "Which tool's provider or key?", "2\r");
    answer(&mut pty, "moa has OPENROUTER_API_KEY", "3\r");
    answer(&mut pty, "OPENROUTER_API_KEY is not set", "q\r");
    pty.wait_until(|screen| screen.matches("Configure cli").count() > 1, WAIT);
    pty.send("q\r");
    pty.wait_for("OPENROUTER_API_KEY is removed from .env", WAIT);
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    assert_eq!(home.read(".env"), "");
}

#[test]
fn the_list_names_what_servers_may_not_show() {
    let home = TempHome::new();
    home.write(
        "config.yaml",
        "mcp_servers:\n  all: {url: 'http://127.0.0.1:9/'}\n  some: {url: 'http://127.0.0.1:9/', tools: {include: [look]}}\n  \
         less: {command: x, tools: {exclude: [drop, burn]}}\n",
    );
    let list = hermes(&home, &["tools", "list"]);
    let servers: Vec<&str> = list
        .ok()
        .lines()
        .filter(|line| line.starts_with("MCP"))
        .collect();
    assert_eq!(
        servers,
        [
            "MCP server some: only look",
            "MCP server less: without drop, burn"
        ]
    );
}

#[test]
fn who_may_not_write_is_not_asked() {
    let home = TempHome::new();
    for args in [&["setup"][..], &["model"], &["tools"]] {
        let command = command(&home, args).env("HERMES_MANAGED", "nixos");
        let mut pty = command.pty(24, 100);
        assert_eq!(pty.wait_exit(WAIT), Exit::Code(1), "{args:?}");
        assert!(pty.screen().contains("nixos"), "{}", pty.screen());
    }
    // A home where nothing can be written: who tests as root is stopped by no mode, but by this.
    std::fs::create_dir(home.hermes().join(".env.lock")).unwrap();
    for args in [&["setup"][..], &["model"], &["tools"]] {
        let mut pty = command(&home, args).pty(24, 100);
        assert_eq!(pty.wait_exit(WAIT), Exit::Code(1), "{args:?}");
        assert!(pty.screen().contains(".env.lock"), "{}", pty.screen());
    }
    assert!(!home.exists("config.yaml"));
}

#[test]
fn leaving_at_the_first_question_is_said() {
    let home = TempHome::new();
    let mut pty = command(&home, &["setup"]).pty(24, 100);
    answer(&mut pty, "How do you want to set it up?", "\x1b");
    pty.wait_for("Nothing was changed.", WAIT);
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    assert!(!home.exists("config.yaml"));
}

#[test]
fn a_conversation_from_the_list() {
    let bench =
        Bench::new(json!([{"text": "answer one"}, {"text": "answer two"}, {"text": "and more"}]));
    bench.run(&["-z", "about apples"]).ok();
    bench.run(&["-z", "about pears"]).ok();
    let mut pty = command(&bench.home, &["--yolo", "sessions", "browse"]).pty(24, 100);
    // The newest first, with a look into it.
    pty.wait_for("hermes: answer two", WAIT);
    pty.send("apples");
    pty.wait_for("1/1 sessions (filtered from 2)", WAIT);
    pty.wait_for("hermes: answer one", WAIT);
    pty.send("\x12");
    answer(&mut pty, "A title for it", "苹果 fruit\r");
    pty.wait_until(
        |screen| screen.contains("苹果 fruit") && screen.contains("Active"),
        WAIT,
    );
    // A second list: what is deleted is gone after a yes.
    pty.send("pears");
    answer(&mut pty, "1/1 sessions (filtered", "\x04");
    answer(&mut pty, "Delete 'about pears'?", DOWN);
    answer(&mut pty, "→ Yes", ENTER);
    pty.wait_until(
        |screen| screen.contains("苹果") && !screen.contains("pears"),
        WAIT,
    );
    pty.send(ENTER);
    answer(&mut pty, "/help for commands", "go on\r");
    pty.wait_for("and more", WAIT);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
    let last = bench.requests().pop().unwrap();
    let texts = last["messages"].to_string();
    assert!(
        texts.contains("about apples") && texts.contains("go on"),
        "{texts}"
    );
    assert!(!texts.contains("about pears"));
    let list = hermes(&bench.home, &["sessions", "list"]);
    assert!(!list.ok().contains("pears"), "{list}");
}
