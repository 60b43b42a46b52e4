//! `hermes profile`

use std::fs;

use hermes_testkit::TempHome;
use insta::assert_snapshot;
use pretty_assertions::assert_eq;

use crate::{command, fails, hermes};

// spec: state §13.14
#[test]
fn a_clone_is_independent() {
    let home = TempHome::new();
    home.write("config.yaml", "model: a/b # mine\n");
    home.write(".env", "OPENAI_API_KEY=k\n");
    home.write("memories/MEMORY.md", "remember\n");
    home.write("sessions/session_x.json", "{}");
    hermes(&home, &["profile", "create", "work", "--clone"]).ok();
    let path = home.hermes().join("profiles/work/config.yaml");
    assert_eq!(
        hermes(&home, &["-p", "work", "config", "path"]).ok().trim(),
        path.to_str().unwrap()
    );
    assert_eq!(home.read("profiles/work/memories/MEMORY.md"), "remember\n");
    assert_eq!(home.read("profiles/work/.env"), "OPENAI_API_KEY=k\n");
    assert!(!home.exists("profiles/work/sessions/session_x.json"));
    hermes(&home, &["-p", "work", "config", "set", "model", "c/d"]).ok();
    assert_eq!(home.read("config.yaml"), "model: a/b # mine\n");
    assert_eq!(
        home.read("profiles/work/config.yaml"),
        "model: c/d # mine\n"
    );
    for (name, part) in [
        ("Default", "reserved"),
        ("work", "already exists"),
        ("no/slash", "cannot be a profile name"),
        ("ROOT", "reserved"),
    ] {
        assert!(
            fails(&home, &["profile", "create", name], 1).contains(part),
            "{name}"
        );
    }
}

#[test]
fn the_life_of_a_profile() {
    let home = TempHome::new();
    home.write("config.yaml", "model: a/b\n");
    assert_snapshot!(hermes(&home, &["profile", "create", "work"]), @r"
    exit: 0
    --- stdout
    ✓ profile 'work' created at [HOME]/.hermes/profiles/work
    ✓ command [HOME]/.local/bin/work
      use it with `hermes -p work`, or for good with `hermes profile use work`
    --- stderr
    ");
    assert!(
        home.read(home.home().join(".local/bin/work"))
            .contains("hermes -p work \"$@\"")
    );
    home.write("profiles/work/skills/x/SKILL.md", "s");
    home.write(
        "profiles/work/honcho.json",
        r#"{"hosts": {"hermes.work": {"peer": "p"}, "other": 1}}"#,
    );
    hermes(&home, &["profile", "use", "work"]).ok();
    assert_eq!(home.read("active_profile"), "work\n");
    assert_snapshot!(hermes(&home, &["profile", "list"]), @r"
    exit: 0
    --- stdout
       profile  model  gateway  skills  command
       default  a/b    -        0       -
    ◆  work            -        1       work
    --- stderr
    ");
    hermes(&home, &["profile", "rename", "work", "job"]).ok();
    assert_eq!(home.read("active_profile"), "job\n");
    assert!(home.read("profiles/job/honcho.json").contains("hermes.job"));
    assert!(
        home.exists(home.home().join(".local/bin/job"))
            && !home.exists(home.home().join(".local/bin/work"))
    );
    fails(&home, &["profile", "delete", "job"], 1);
    hermes(&home, &["profile", "delete", "job", "-y"]).ok();
    assert!(!home.exists("profiles/job") && !home.exists("active_profile"));
    for args in [
        &["profile", "delete", "default", "-y"][..],
        &["profile", "rename", "default", "x"],
        &["profile", "use", "gone"],
        &["profile", "show", "gone"],
    ] {
        fails(&home, args, 1);
    }
}

#[test]
fn a_name_that_is_a_command_gets_no_alias() {
    let home = TempHome::new();
    for (name, part) in [
        ("status", "confused with `hermes status`"),
        ("ls", "already"),
    ] {
        let output = hermes(&home, &["profile", "create", name]);
        output.ok();
        assert!(output.stderr.contains(part), "{output}");
        assert!(!home.exists(home.home().join(".local/bin").join(name)));
    }
}

#[test]
fn deleting_on_a_terminal_wants_the_name_typed() {
    let home = TempHome::new();
    hermes(&home, &["profile", "create", "work", "--no-alias"]).ok();
    let wait = std::time::Duration::from_secs(10);
    for (typed, gone) in [("wrong", false), ("work", true)] {
        let mut pty = command(&home, &["profile", "delete", "work"]).pty(12, 100);
        pty.wait_for("[y/N]", wait);
        pty.send("y\r");
        pty.wait_for("Type 'work'", wait);
        pty.send(&format!("{typed}\r"));
        pty.wait_exit(wait);
        assert_eq!(!home.exists("profiles/work"), gone, "{typed}");
    }
}

#[test]
fn exports_leave_credentials_behind_and_imports_are_checked() {
    let home = TempHome::new();
    hermes(&home, &["profile", "create", "work", "--no-alias"]).ok();
    home.write("profiles/work/config.yaml", "model: w\n");
    home.write("profiles/work/.env", "OPENAI_API_KEY=secret\n");
    home.write("profiles/work/auth.json", "{}");
    home.write("profiles/work/skills/s/SKILL.md", "skill");
    hermes(&home, &["profile", "export", "work"]).ok();
    let archive = home.work().join("work.tar.gz");
    let archive = archive.to_str().unwrap();
    assert!(fails(&home, &["profile", "import", archive], 1).contains("already exists"));
    hermes(&home, &["profile", "import", archive, "--name", "copy"]).ok();
    assert_eq!(home.read("profiles/copy/config.yaml"), "model: w\n");
    assert_eq!(home.read("profiles/copy/skills/s/SKILL.md"), "skill");
    assert!(!home.exists("profiles/copy/.env") && !home.exists("profiles/copy/auth.json"));
    let evil = home.work().join("evil.tar.gz");
    let made = home
        .cmd("bash")
        .args([
            "-c",
            "mkdir e && echo x > e/f && ln -s /etc/passwd e/link && tar czf evil.tar.gz e",
        ])
        .run();
    made.ok();
    assert!(
        fails(
            &home,
            &[
                "profile",
                "import",
                evil.to_str().unwrap(),
                "--name",
                "evil"
            ],
            1
        )
        .contains("nothing was imported")
    );
    assert!(!home.exists("profiles/evil"));
    fs::write(&evil, "not a tar").unwrap();
    fails(&home, &["profile", "import", evil.to_str().unwrap()], 1);
}

#[test]
fn cloning_everything_leaves_the_other_profiles_out() {
    let home = TempHome::new();
    home.write("sessions/session_x.json", "{}");
    home.write("gateway.pid", "1");
    home.write("hermes-agent/big", "x");
    hermes(
        &home,
        &["profile", "create", "one", "--no-alias", "--no-skills"],
    )
    .ok();
    assert!(home.exists("profiles/one/.no-bundled-skills"));
    hermes(
        &home,
        &["profile", "create", "two", "--clone-all", "--no-alias"],
    )
    .ok();
    assert!(home.exists("profiles/two/sessions/session_x.json"));
    for name in ["gateway.pid", "hermes-agent", "profiles"] {
        assert!(!home.exists(format!("profiles/two/{name}")), "{name}");
    }
    fails(
        &home,
        &["profile", "create", "x", "--clone", "--no-skills"],
        2,
    );
}
