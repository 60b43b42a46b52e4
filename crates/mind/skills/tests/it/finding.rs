//! Which skills are found, and how fast.

use std::fs;
use std::os::unix::fs::symlink;

use hermes_skills::{Offer, Place, Scope, Skills, Switch, disabled, switch};
use pretty_assertions::assert_eq;

use crate::support::Bench;

fn names(skills: &Skills) -> Vec<String> {
    skills
        .visible()
        .into_iter()
        .map(|skill| skill.found.name)
        .collect()
}

fn offer(tools: &[&str], toolsets: &[&str]) -> Offer {
    Offer {
        tools: tools.iter().map(|name| (*name).to_owned()).collect(),
        toolsets: toolsets.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[test]
fn categories_depths_and_what_is_skipped() {
    let bench = Bench::new();
    bench.plain("top");
    bench.plain("code/one");
    bench.plain("ml/training/deep");
    bench.plain(".archive/old");
    bench.plain(".git/hooks");
    bench.temp.write(
        "skills/code/one/templates/SKILL.md",
        "---\nname: inner\n---\n",
    );
    bench.temp.write(
        "skills/code/DESCRIPTION.md",
        "---\ndescription: Programs\n---\n",
    );
    bench
        .temp
        .write("skills/ml/DESCRIPTION.md", "# ML\n\nMachines that learn.\n");
    let skills = bench.skills();
    let found: Vec<(String, Option<String>)> = skills
        .visible()
        .iter()
        .map(|skill| (skill.name().to_owned(), skill.category().map(str::to_owned)))
        .collect();
    let row = |name: &str, category: Option<&str>| (name.to_owned(), category.map(str::to_owned));
    assert_eq!(
        found,
        [
            row("one", Some("code")),
            row("deep", Some("ml/training")),
            row("top", None)
        ]
    );
    let prompt = skills.prompt(&offer(&[], &[])).unwrap();
    let list = prompt.split_once("<available_skills>").unwrap().1;
    assert_eq!(
        list,
        "\n  code: Programs\n    - one: About one.\n  general:\n    - top: About top.\n  ml/training:\n    - deep: About deep.\n</available_skills>"
    );
    assert!(!prompt.contains("skill_manage") && !prompt.contains("hermes-agent"));
    bench.plain("agents/hermes-agent");
    let prompt = skills.prompt(&offer(&["skill_manage"], &[])).unwrap();
    assert!(prompt.contains("skill_manage") && prompt.contains("load `hermes-agent`"));
}

// spec: learning §13.8, learning §13.9
#[tokio::test]
async fn only_skills_for_this_system_and_this_session() {
    let bench = Bench::with_config("skills:\n  disabled: [hidden]\n");
    let elsewhere = if cfg!(target_os = "macos") {
        "linux"
    } else {
        "macos"
    };
    bench.skill(
        "there",
        &format!("name: there\ndescription: d\nplatforms: [{elsewhere}]"),
        "x",
    );
    bench.skill(
        "here",
        &format!(
            "name: here\ndescription: d\nplatforms: [{}, {elsewhere}]",
            std::env::consts::OS
        ),
        "x",
    );
    bench.skill(
        "web",
        "name: web\ndescription: d\nmetadata: {hermes: {requires_toolsets: [web]}}",
        "x",
    );
    bench.plain("hidden");
    let skills = std::sync::Arc::new(bench.skills());
    assert_eq!(names(&skills), ["here", "web"]);
    assert!(
        !skills.has_command("there") && !skills.has_command("hidden") && skills.has_command("here")
    );
    let shown = crate::support::view(&skills, "there").await;
    assert_eq!(shown["readiness_status"], "unsupported");
    let shown = crate::support::view(&skills, "hidden").await;
    assert!(
        shown["error"]
            .as_str()
            .unwrap()
            .contains("hermes skills enable hidden"),
        "{shown}"
    );
    assert!(!skills.prompt(&offer(&[], &[])).unwrap().contains("- web"));
    assert!(
        skills
            .prompt(&offer(&[], &["web"]))
            .unwrap()
            .contains("- web")
    );
}

#[test]
fn a_platform_of_its_own_replaces_the_list() {
    let bench = Bench::with_config("skills:\n  disabled: [a]\n  platform_disabled: {cli: [b]}\n");
    bench.plain("a");
    bench.plain("b");
    assert_eq!(names(&bench.skills()), ["a"]);
}

#[test]
fn links_are_followed_once_and_broken_ones_are_named() {
    let bench = Bench::new();
    bench.plain("real/one");
    let outside = bench.temp.work();
    fs::create_dir_all(outside.join("shared/two")).unwrap();
    fs::write(
        outside.join("shared/two/SKILL.md"),
        "---\nname: two\ndescription: d\n---\nx\n",
    )
    .unwrap();
    let dir = bench.dir();
    // A skill and a category through links, a circle, a second way to the same place, and one to nowhere.
    symlink(outside.join("shared"), dir.join("linked")).unwrap();
    symlink(outside.join("shared/two"), dir.join("again")).unwrap();
    symlink(&dir, dir.join("real/circle")).unwrap();
    symlink(dir.join("real"), dir.join("0first")).unwrap();
    symlink("nowhere", dir.join("gone")).unwrap();
    let skills = bench.skills();
    assert_eq!(names(&skills).len(), 2, "{:?}", names(&skills));
    let one = skills.resolve("one").unwrap();
    assert_eq!(one.found.path, "real/one");
    let troubles = skills.library().troubles();
    assert!(
        troubles.len() == 1 && troubles[0].contains("gone"),
        "{troubles:?}"
    );
    // The link is mended: the snapshot notices.
    fs::create_dir(dir.join("nowhere")).unwrap();
    fs::write(
        dir.join("nowhere/SKILL.md"),
        "---\nname: three\ndescription: d\n---\nx\n",
    )
    .unwrap();
    assert_eq!(names(&skills).len(), 3, "{:?}", names(&skills));
}

#[test]
fn other_directories_come_after_the_own() {
    let bench = Bench::with_config("skills:\n  external_dirs: [~/team, missing, $NOPE/x]\n");
    let team = bench.temp.home().join("team");
    for name in ["both", "theirs"] {
        bench.temp.write(
            team.join(name).join("SKILL.md"),
            format!("---\nname: {name}\ndescription: theirs\n---\nx\n"),
        );
    }
    bench.plain("both");
    let skills = bench.skills();
    let found = skills.visible();
    assert_eq!(names(&skills), ["both", "theirs"]);
    assert_eq!(found[0].found.description, "About both.");
    assert_eq!(
        (found[0].place, found[1].place),
        (Place::Own, Place::External)
    );
    assert_eq!(skills.resolve("both").unwrap().place, Place::Own);
}

#[test]
fn files_nobody_can_parse_are_skills_all_the_same() {
    let bench = Bench::new();
    bench.temp.write(
        "skills/bad/SKILL.md",
        "---\nname: bad\ndescription: [unclosed\n---\nbody\n",
    );
    bench.temp.write("skills/none/SKILL.md", "Just words.\n");
    bench
        .temp
        .write("skills/binary/SKILL.md", [0xff, 0xfe, 0, 1]);
    bench.temp.write("skills/empty/SKILL.md", "");
    fs::create_dir_all(bench.dir().join("dir/SKILL.md")).unwrap();
    let long = format!(
        "---\ndescription: d\nnote: {}\nname: long-front\n---\nx",
        "y".repeat(20_000)
    );
    bench.temp.write("skills/long/SKILL.md", long);
    let skills = bench.skills();
    assert_eq!(names(&skills), ["bad", "empty", "long-front", "none"]);
    let troubles = skills.library().troubles();
    let named = |name: &str| troubles.iter().any(|told| told.contains(name));
    assert!(
        troubles.len() == 4
            && ["bad/", "binary/", "empty/", "none/"]
                .into_iter()
                .all(named),
        "{troubles:?}"
    );
}

#[test]
fn the_snapshot_is_used_until_something_changes() {
    let bench = Bench::new();
    bench.plain("a/one");
    assert_eq!(names(&bench.skills()), ["one"]);
    let path = bench.temp.hermes().join(".skills_prompt_snapshot.json");
    let text = fs::read_to_string(&path).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["version"], 1);
    assert_eq!(value["skills"][0]["skill_name"], "one");
    assert!(value["manifest"]["a/one/SKILL.md"][0].as_i64().unwrap() > 1_600_000_000_000_000_000);
    // Read from it: what it says counts, as long as the files look the same.
    fs::write(
        &path,
        text.replace(
            "\"frontmatter_name\":\"one\"",
            "\"frontmatter_name\":\"cached\"",
        ),
    )
    .unwrap();
    assert_eq!(names(&bench.skills()), ["cached"]);
    bench.plain("a/two");
    assert_eq!(names(&bench.skills()), ["one", "two"]);
    bench.skill("a/one", "name: changed\ndescription: d", "x");
    assert_eq!(names(&bench.skills()), ["changed", "two"]);
    fs::remove_dir_all(bench.dir().join("a/two")).unwrap();
    assert_eq!(names(&bench.skills()), ["changed"]);
    for broken in ["{", "{\"version\": 9}", "[]"] {
        fs::write(&path, broken).unwrap();
        assert_eq!(names(&bench.skills()), ["changed"], "{broken}");
    }
}

#[test]
fn what_has_come_and_gone_is_told() {
    let bench = Bench::new();
    bench.plain("one");
    let skills = bench.skills();
    skills.prompt(&Offer::default());
    assert_eq!(skills.reload(), "1 skills, nothing has changed");
    bench.plain("two");
    fs::remove_dir_all(bench.dir().join("one")).unwrap();
    assert_eq!(skills.reload(), "1 skills, added: two; removed: one");
}

#[test]
fn switching_writes_one_list() {
    let bench = Bench::with_config("# mine\nskills:\n  disabled: [a] # keep\n");
    let names =
        |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    switch(&bench.home, Scope::Everywhere, &names(&["b"]), Switch::Off).unwrap();
    switch(
        &bench.home,
        Scope::Platform("cli"),
        &names(&["a"]),
        Switch::On,
    )
    .unwrap();
    let text = bench.temp.read("config.yaml");
    assert!(text.starts_with("# mine\n"), "{text}");
    let settings = hermes_home::config::Settings::load(&bench.home, &bench.env);
    let off = |platform: &str| {
        disabled(&settings, platform)
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(off("cli"), ["b"]);
    assert_eq!(off("telegram"), ["a", "b"]);
}
