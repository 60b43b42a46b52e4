//! `hermes config`

use std::fs;
use std::os::unix::fs::symlink;

use hermes_testkit::{Exit, TempHome};
use insta::assert_snapshot;
use pretty_assertions::assert_eq;

use crate::{command, fails, hermes};

// spec: state §13.2
#[test]
fn setting_a_key_touches_nothing_else() {
    let home = TempHome::new();
    let before = "# keep me\nmodel: a/b\nx_unknown: {k: 1}\nkey: ${FOO}";
    home.write("config.yaml", before);
    command(&home, &["config", "set", "agent.max_turns", "5"])
        .env("FOO", "bar")
        .run()
        .ok();
    assert_eq!(
        home.read("config.yaml"),
        format!("{before}\nagent:\n  max_turns: 5\n")
    );
    assert_eq!(home.mode("config.yaml"), 0o600);
}

// spec: state §13.3
#[test]
fn known_secrets_go_to_the_env_file() {
    let home = TempHome::new();
    home.write("config.yaml", "# c\n");
    home.write(".env", "# mine\nOTHER=1\n");
    for value in ["sk-or-1", "sk-or-2"] {
        hermes(&home, &["config", "set", "OPENROUTER_API_KEY", value]).ok();
        assert_eq!(
            home.read(".env"),
            format!("# mine\nOTHER=1\nOPENROUTER_API_KEY={value}\n")
        );
    }
    assert_eq!(home.mode(".env"), 0o600);
    assert_eq!(home.read("config.yaml"), "# c\n");
}

// spec: state §13.4
#[test]
fn a_glued_line_is_split_by_any_start() {
    let home = TempHome::new();
    home.write(".env", "OPENAI_API_KEY=aTELEGRAM_BOT_TOKEN=b\n");
    let output = hermes(&home, &["config", "get", "TELEGRAM_BOT_TOKEN", "--reveal"]);
    assert_eq!(output.ok(), "b\n");
    assert_eq!(
        home.read(".env"),
        "OPENAI_API_KEY=a\nTELEGRAM_BOT_TOKEN=b\n"
    );
}

// spec: state §13.5
#[test]
fn broken_yaml_is_loud_and_never_overwritten() {
    let home = TempHome::new();
    home.write("config.yaml", "a: 1\n: : bad\n");
    for args in [
        &["config", "show"][..],
        &["status"],
        &["sessions", "list"],
        &["logs"],
        &["config", "get", "toolsets"],
    ] {
        let output = hermes(&home, args);
        output.ok();
        let warnings: Vec<_> = output.stderr.lines().collect();
        assert_eq!(warnings.len(), 1, "{args:?}\n{output}");
        assert!(warnings[0].contains("config.yaml:2:"), "{output}");
    }
    for args in [
        &["config", "set", "a", "b"][..],
        &["config", "set", "model.api_key", "secret"],
        &["config", "unset", "a"],
        &["config", "migrate"],
        &["config", "check"],
    ] {
        fails(&home, args, 1);
    }
    assert_eq!(home.read("config.yaml"), "a: 1\n: : bad\n");
    assert!(
        !home.exists(".env"),
        "a secret was stored although its reference was not"
    );
}

// spec: cli-tui §20.9
#[test]
fn names_that_look_like_keys_are_secrets_and_comments_survive() {
    let home = TempHome::new();
    let before = "# first\ndisplay: # looks\n  compact: off   # small\n  skin: default\n\n# last\n";
    home.write("config.yaml", before);
    hermes(&home, &["config", "set", "FOO_API_KEY", "abc"]).ok();
    assert_eq!(home.read(".env"), "FOO_API_KEY=abc\n");
    assert_eq!(home.mode(".env"), 0o600);
    assert_eq!(home.read("config.yaml"), before);
    hermes(&home, &["config", "set", "display.compact", "true"]).ok();
    assert_eq!(
        home.read("config.yaml"),
        before.replace("compact: off", "compact: true")
    );
    assert_eq!(
        hermes(&home, &["config", "get", "display.compact", "--json"]).ok(),
        "true\n"
    );
}

// spec: cli-tui §20.10
#[test]
fn secrets_are_masked_however_deep() {
    let home = TempHome::new();
    let secret = "sk-secret-0123456789abcdef";
    home.write(
        "config.yaml",
        format!("model: {{default: m, api_key: {secret}}}\nproviders: {{x: {{deep: [{{token: {secret}}}]}}}}\nauxiliary: {{vision: {{api_key: {secret}}}}}\n"),
    );
    home.write(
        ".env",
        format!("OPENROUTER_API_KEY={secret}\nTELEGRAM_BOT_TOKEN={secret}\n"),
    );
    for args in [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["config", "get", "model"],
        &["config", "get", "model.api_key"],
        &["config", "get", "providers"],
        &["config", "get", "openrouter_api_key"],
        &["config", "check"],
        &["status"],
        &["status", "--json"],
        &["doctor"],
    ] {
        let output = hermes(&home, args);
        assert!(!output.ok().contains(secret), "{args:?}\n{output}");
    }
    assert_eq!(
        hermes(&home, &["config", "get", "model.api_key"]).ok(),
        "sk-s...cdef\n"
    );
    assert_eq!(
        hermes(&home, &["config", "get", "model.api_key", "--reveal"])
            .ok()
            .trim(),
        secret
    );
}

// spec: state §13.17
#[test]
fn a_managed_home_is_not_written() {
    let home = TempHome::new();
    home.write("config.yaml", "a: 1\n");
    for args in [
        &["config", "set", "a", "b"][..],
        &["config", "set", "FOO_TOKEN", "b"],
        &["config", "migrate"],
    ] {
        let output = command(&home, args).env("HERMES_MANAGED", "nixos").run();
        assert_eq!(output.exit, Exit::Code(1));
        assert!(output.stderr.contains("nixos-rebuild"), "{output}");
    }
    assert_eq!(home.read("config.yaml"), "a: 1\n");
    assert!(!home.exists(".env"));
    assert_eq!(
        hermes(&home, &["config", "get", "display.streaming", "--json"]).ok(),
        "null\n"
    );
}

#[test]
fn a_summary_of_the_settings() {
    let home = TempHome::new();
    home.write(
        "config.yaml",
        "model: anthropic/claude\nskills: {config: {wiki: {path: ~/w}}}\n",
    );
    home.write(
        ".env",
        "OPENROUTER_API_KEY=sk-or-v1-0123456789\nDISCORD_ALLOWED_USERS=1,2\n",
    );
    assert_snapshot!(hermes(&home, &["config"]), @r"
    exit: 0
    --- stdout
    Paths
      config                       [HOME]/.hermes/config.yaml
      secrets                      [HOME]/.hermes/.env
      home                         [HOME]/.hermes
    API keys
      OPENROUTER_API_KEY           sk-o...6789
      68 others (not set)
    Model
      model.default                anthropic/claude
      model.provider               auto
      model.base_url               (not set)
      model.api_key                (not set)
      agent.max_turns              90
      agent.reasoning_effort       (not set)
      toolsets                     hermes-cli
    Display
      display.skin                 default
      display.personality          kawaii
      display.compact              false
      display.show_reasoning       false
      display.tool_progress        all
    Terminal
      terminal.backend             local
      terminal.cwd                 .
      terminal.timeout             180
      terminal.docker_image        nikolaik/python-nodejs:python3.11-nodejs20
    Timezone
      timezone                     (not set)
    Context compression
      compression.enabled          true
      compression.threshold        0.5
      compression.target_ratio     0.2
      compression.protect_last_n   20
    Auxiliary models
      nothing set
    Messaging
      DISCORD_ALLOWED_USERS        1,2
    Skill settings
      skills.config.wiki.path      ~/w
    --- stderr
    ");
}

#[test]
fn what_set_says_and_refuses() {
    let home = TempHome::new();
    assert_snapshot!(hermes(&home, &["config", "set", "agnet.max_turns", "5"]), @r"
    exit: 0
    --- stdout
    ✓ agnet.max_turns set in [HOME]/.hermes/config.yaml
    --- stderr
    hermes: 'agnet.max_turns' is not a key Hermes knows; it is saved all the same
    ");
    assert_snapshot!(hermes(&home, &["config", "set", "agent.max_turns", "many"]), @r"
    exit: 1
    --- stdout
    --- stderr
    hermes: 'agent.max_turns' expects a whole number, not 'many'
    ");
    assert_snapshot!(hermes(&home, &["config", "set", "agent.max_turns"]), @r"
    exit: 1
    --- stdout
    --- stderr
    hermes: usage: hermes config set KEY VALUE, for example: hermes config set agent.max_turns 50
    ");
    assert_snapshot!(hermes(&home, &["config", "get", "no.such.key"]), @r"
    exit: 1
    --- stdout
    --- stderr
    hermes: 'no.such.key' is not set and has no default
    ");
    assert_snapshot!(hermes(&home, &["config", "set", "--quiet", "zzz", "-5"]), @r"
    exit: 0
    --- stdout
    --- stderr
    ");
}

#[test]
fn odd_values_warn_once_and_the_default_holds() {
    let home = TempHome::new();
    home.write(
        "config.yaml",
        "agent: {max_turns: [1, 2]}\napprovals: {mode: off}\ntimezone: 2026-11-15\n",
    );
    let output = hermes(&home, &["config", "get", "agent.max_turns"]);
    assert_eq!(output.ok(), "90\n");
    assert_eq!(output.stderr.lines().count(), 1, "{output}");
    assert_eq!(
        hermes(&home, &["config", "get", "approvals.mode"]).ok(),
        "off\n"
    );
    assert_eq!(
        hermes(&home, &["config", "get", "timezone"]).ok(),
        "2026-11-15\n"
    );
    let ignored = command(&home, &["config", "get", "approvals.mode"])
        .env("HERMES_IGNORE_USER_CONFIG", "1")
        .run();
    assert_eq!(ignored.ok(), "manual\n");
}

#[test]
fn a_symlinked_file_stays_one() {
    let home = TempHome::new();
    let real = home.write(home.home().join("dotfiles/hermes.yaml"), "# dots\na: 1\n");
    fs::create_dir_all(home.hermes()).unwrap();
    symlink(&real, home.hermes().join("config.yaml")).unwrap();
    hermes(&home, &["config", "set", "a", "2"]).ok();
    assert!(
        fs::symlink_metadata(home.hermes().join("config.yaml"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(home.read(&real), "# dots\na: 2\n");
}

#[test]
fn editing_checks_the_result() {
    let home = TempHome::new();
    let edit = |script: &str| {
        command(&home, &["config", "edit"])
            .env("EDITOR", script)
            .run()
    };
    let editor = home.write(home.home().join("ed"), "#!/bin/sh\necho \"$1\" > \"$2\"\n");
    fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let editor = editor.display();
    edit(&format!("{editor} a:")).ok();
    let broken = edit(&format!("{editor} [x"));
    assert_eq!(broken.exit, Exit::Code(1));
    assert!(broken.stderr.contains("config.yaml:"), "{broken}");
    assert_eq!(edit("false").exit, Exit::Code(1));
    let none = command(&home, &["config", "edit"])
        .env("EDITOR", "/no/such/editor")
        .env("PATH", "/nowhere")
        .run();
    assert!(none.stderr.contains("set EDITOR"), "{none}");
}

#[test]
fn two_writers_at_once_lose_nothing() {
    let home = TempHome::new();
    home.write("config.yaml", "# shared\n");
    std::thread::scope(|scope| {
        for index in 0..8 {
            let home = &home;
            scope.spawn(move || {
                hermes(home, &["config", "set", &format!("hooks.h{index}"), "x"])
                    .ok()
                    .to_owned()
            });
        }
    });
    let text = home.read("config.yaml");
    for index in 0..8 {
        assert!(text.contains(&format!("h{index}: x")), "{text}");
    }
    assert!(text.starts_with("# shared\n"));
}

#[test]
fn checking_and_migrating() {
    let home = TempHome::new();
    home.write("config.yaml", "# mine\n_config_version: 11\ncustom_providers:\n  - {name: L, base_url: 'http://h:1/v1', model: m}\nmodel: m\n");
    let check = hermes(&home, &["config", "check"]);
    assert!(
        check
            .ok()
            .starts_with("Configuration version 11, current is 23\n"),
        "{check}"
    );
    let migrated = hermes(&home, &["config", "migrate"]);
    assert!(
        migrated
            .ok()
            .contains("providers.l: moved from custom_providers"),
        "{migrated}"
    );
    assert!(migrated.ok().contains("Configuration version 11 → 23"));
    assert!(
        home.read("config.yaml")
            .starts_with("# mine\n_config_version: 23\n")
    );
    assert_eq!(
        hermes(&home, &["config", "migrate"]).ok(),
        "Nothing to do: configuration version 23\n"
    );
}
