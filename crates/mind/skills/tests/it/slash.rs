//! Skills called by a person.

use hermes_skills::Missing;
use pretty_assertions::assert_eq;

use crate::support::Bench;

#[tokio::test]
async fn the_message_has_all_the_model_needs() {
    let bench = Bench::with_config("skills:\n  config: {wiki: {path: ~/notes}, flat.key: 3}\n");
    bench.skill(
        "dev/my_skill",
        "name: My_Skill\ndescription: d\nrequired_environment_variables: [NOT_SET_KEY]\nmetadata:\n  hermes:\n    config:\n      - {key: wiki.path, default: x}\n      - {key: flat.key}\n      - {key: other, default: blue}\n      - {key: none}",
        "Steps for ${HERMES_SESSION_ID}.",
    );
    bench
        .temp
        .write("skills/dev/my_skill/scripts/run.sh", "true");
    let skills = bench.skills();
    assert!(skills.has_command("my-skill") && skills.has_command("MY_SKILL"));
    let text = skills.called("my_skill", " do that ", "s1").await.unwrap();
    let dir = bench.dir().join("dev/my_skill");
    for part in [
        "The user called the skill \"My_Skill\"".to_owned(),
        "Steps for s1.".to_owned(),
        format!("[Skill directory: {}]", dir.display()),
        "- wiki.path: ~/notes\n- flat.key: 3\n- other: blue\n- none: (not set)".to_owned(),
        "NOT_SET_KEY".to_owned(),
        format!("- scripts/run.sh: {}", dir.join("scripts/run.sh").display()),
    ] {
        assert!(text.contains(&part), "{part} in {text}");
    }
    assert!(text.ends_with("The user says with it: do that"));
    assert_eq!(
        skills
            .usage()
            .record("My_Skill")
            .unwrap()
            .count("use_count"),
        1
    );
    let bare = skills.called("my-skill", "", "s1").await.unwrap();
    assert!(!bare.contains("says with it"));
}

#[tokio::test]
async fn skills_from_the_start() {
    let bench = Bench::new();
    bench.plain("one");
    bench.plain("two");
    let skills = bench.skills();
    let names = ["one".to_owned(), "two".to_owned()];
    let text = skills.preloaded(&names, "s").await.unwrap();
    assert_eq!(text.matches("was preloaded").count(), 2, "{text}");
    let wrong = skills
        .preloaded(&["one".to_owned(), "nope".to_owned()], "s")
        .await
        .unwrap_err();
    assert!(matches!(wrong, Missing::Unknown { .. }), "{wrong}");
}
