//! What the model reads of a skill.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use hermes_skills::{Passing, SkillView, Skills, SkillsList};
use hermes_testkit::doubles::{FixedAsker, cx_with};
use hermes_types::{Answer, Tool};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::{Bench, args, call, view};

async fn file(skills: &Arc<Skills>, path: &str) -> Value {
    let tool = SkillView::new(skills.clone());
    call(&tool, json!({"name": "one", "file_path": path})).await
}

#[tokio::test]
async fn a_list_by_category() {
    let bench = Bench::new();
    bench.plain("b/two");
    bench.plain("a/one");
    bench.plain("top");
    let tool = SkillsList::new(Arc::new(bench.skills()));
    let all = call(&tool, json!({})).await;
    assert_eq!((&all["success"], &all["count"]), (&json!(true), &json!(3)));
    assert_eq!(
        all["skills"][1],
        json!({"name": "one", "description": "About one.", "category": "a"})
    );
    assert_eq!(all["categories"], json!(["a", "b"]));
    let some = call(&tool, json!({"category": "b"})).await;
    assert_eq!(some["count"], 1);
}

#[tokio::test]
async fn a_skill_with_everything() {
    let bench = Bench::new();
    bench.skill(
        "dev/one",
        "name: one\ndescription: About one.\ntags: [x]\ncompatibility: anywhere\nmetadata: {hermes: {related_skills: [two]}}",
        "In ${HERMES_SKILL_DIR} of ${HERMES_SESSION_ID}. !`touch ran`",
    );
    bench.temp.write("skills/dev/one/references/a.md", "A");
    bench
        .temp
        .write("skills/dev/one/scripts/deep/run.sh", "true");
    bench.temp.write("skills/dev/one/.hidden", "no");
    let skills = Arc::new(bench.skills());
    let shown = view(&skills, "one").await;
    let dir = bench.dir().join("dev/one");
    assert_eq!(shown["success"], true);
    assert_eq!(
        (&shown["tags"], &shown["related_skills"]),
        (&json!(["x"]), &json!(["two"]))
    );
    let content = shown["content"].as_str().unwrap();
    assert!(
        content.contains(&format!("In {} of ", dir.display())) && !content.contains("${"),
        "{content}"
    );
    // Commands in texts stay texts unless the owner wants it otherwise.
    assert!(content.contains("!`touch ran`") && !dir.join("ran").exists());
    assert_eq!(shown["skill_dir"], json!(dir));
    assert_eq!(
        shown["linked_files"],
        json!({"references": ["references/a.md"], "scripts": ["scripts/deep/run.sh"]})
    );
    assert_eq!(
        (&shown["readiness_status"], &shown["setup_needed"]),
        (&json!("available"), &json!(false))
    );
    assert_eq!(shown["compatibility"], "anywhere");
    let record = skills.usage().record("one").unwrap();
    assert_eq!(
        (record.count("view_count"), record.count("use_count")),
        (1, 1)
    );
}

#[tokio::test]
async fn every_way_to_name_one() {
    let bench = Bench::new();
    bench.skill("dev/folder", "name: given\ndescription: d", "x");
    bench.plain("a/twin");
    bench.plain("b/twin");
    bench.temp.write(
        "skills/flat.md",
        "---\ndescription: Old.\n---\nStill works.\n",
    );
    let skills = Arc::new(bench.skills());
    for name in [
        "folder",
        "given",
        "dev/folder",
        "dev/given",
        "dev:folder",
        "a/twin",
        "b:twin",
    ] {
        assert_eq!(view(&skills, name).await["success"], true, "{name}");
    }
    let flat = view(&skills, "flat").await;
    assert!(
        flat["content"].as_str().unwrap().contains("Still works."),
        "{flat}"
    );
    let twins = view(&skills, "twin").await;
    assert_eq!(twins["matches"].as_array().unwrap().len(), 2, "{twins}");
    assert!(twins["error"].as_str().unwrap().contains("category/name"));
    let unknown = view(&skills, "nope").await;
    assert_eq!(
        unknown["available_skills"],
        json!(["given", "twin", "twin"])
    );
    for name in ["../x", ".hub/x", "/etc/passwd", ""] {
        assert_eq!(view(&skills, name).await["success"], false, "{name}");
    }
}

#[tokio::test]
async fn files_of_a_skill_and_nothing_else() {
    let bench = Bench::new();
    bench.plain("one");
    bench.temp.write("skills/one/references/a.md", "Read me.");
    bench
        .temp
        .write("skills/one/assets/pic.png", [0x89, b'P', 0, 1]);
    bench.temp.write("secret.txt", "secret");
    symlink(
        bench.temp.hermes().join("secret.txt"),
        bench.dir().join("one/references/out.md"),
    )
    .unwrap();
    let skills = Arc::new(bench.skills());
    assert_eq!(
        file(&skills, "references/a.md").await["content"],
        "Read me."
    );
    let picture = file(&skills, "assets/pic.png").await;
    assert_eq!(
        (&picture["is_binary"], &picture["content"]),
        (&json!(true), &json!("[binary file, 4 bytes]"))
    );
    for path in [
        "../../secret.txt",
        "/etc/hostname",
        "references/../../../secret.txt",
        "references/out.md",
        "references",
    ] {
        let shown = file(&skills, path).await;
        assert_eq!(shown["success"], false, "{path}: {shown}");
        assert!(!shown.to_string().contains("\"secret\""), "{path}");
    }
    let missing = file(&skills, "references/b.md").await;
    assert_eq!(
        missing["available_files"]["references"][0],
        "references/a.md"
    );
}

const NEEDY: &str = "name: needy\ndescription: d\nrequired_environment_variables:\n  - {name: NOTION_API_KEY, prompt: your Notion key, help: 'https://notion.so'}\n  - SET_ALREADY\n  - OPENAI_API_KEY\n  - {name: MAYBE, optional: true}\nrequired_credential_files: [token.json, ../../.ssh/id_rsa]";

#[tokio::test]
async fn what_is_missing_is_said_and_what_is_there_is_let_through() {
    let mut bench = Bench::new();
    bench.env.set("SET_ALREADY", "v");
    bench.skill("needy", NEEDY, "x");
    let granted: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let grants = granted.clone();
    let grant = move |passing: Passing<'_>| match passing {
        Passing::Variable { name, value } => {
            grants
                .lock()
                .unwrap()
                .push((name.to_owned(), value.to_owned()));
        }
        Passing::Nothing => grants.lock().unwrap().clear(),
    };
    let skills = Arc::new(bench.skills().granting(Arc::new(grant)));
    let shown = view(&skills, "needy").await;
    assert_eq!(shown["readiness_status"], "setup_needed");
    assert_eq!(
        shown["missing_required_environment_variables"],
        json!(["NOTION_API_KEY", "OPENAI_API_KEY"])
    );
    assert_eq!(shown["missing_credential_files"], json!(["token.json"]));
    assert_eq!(shown["setup_help"], "https://notion.so");
    assert_eq!(
        *granted.lock().unwrap(),
        [("SET_ALREADY".to_owned(), "v".to_owned())]
    );
    skills.forget_session();
    assert!(granted.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_person_is_asked_once_and_the_model_never_sees_the_answer() {
    let bench = Bench::new();
    bench.skill("needy", NEEDY, "x");
    let asker = FixedAsker::new(Answer::Text("ntn_secret_value".to_owned()));
    let skills = Arc::new(bench.skills());
    let tool = SkillView::new(skills.clone());
    let cx = cx_with(asker.clone());
    let output = tool.call(args(json!({"name": "needy"})), &cx).await;
    assert!(!output.text.contains("ntn_secret_value"), "{}", output.text);
    // Only for what may be asked: a provider's key is none of a skill's business.
    let mut asked: Vec<String> = asker
        .asked()
        .iter()
        .map(|question| format!("{question:?}"))
        .collect();
    asked.sort();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(
        asked
            .iter()
            .any(|question| question.contains("your Notion key (NOTION_API_KEY)"))
    );
    assert!(
        bench
            .temp
            .read(".env")
            .contains("NOTION_API_KEY=ntn_secret_value")
    );
    tool.call(args(json!({"name": "needy"})), &cx).await;
    assert_eq!(asker.asked().len(), 2);
    let unwilling = cx_with(FixedAsker::new(Answer::Text(String::new())));
    bench.skill(
        "shy",
        "name: shy\ndescription: d\nrequired_environment_variables: [OTHER_KEY]",
        "x",
    );
    let output = tool.call(args(json!({"name": "shy"})), &unwilling).await;
    assert!(
        output.text.contains("\"setup_skipped\":true"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn commands_run_only_in_texts_of_ones_own() {
    let bench = Bench::with_config("skills:\n  external_dirs: [~/team]\n");
    bench.skill("mine", "name: mine\ndescription: d", "Now: !`date`");
    bench.skill("hubs", "name: hubs\ndescription: d", "Now: !`date`");
    bench.temp.write(
        "skills/.hub/lock.json",
        r#"{"version": 1, "installed": {"hubs": {}}}"#,
    );
    let team = bench.temp.home().join("team/theirs/SKILL.md");
    bench.temp.write(
        team,
        "---\nname: theirs\ndescription: d\n---\nNow: !`date`\n",
    );
    let skills = bench.skills().running(Arc::new(|command, _| {
        Box::pin(async move { Ok(format!("<{command}>")) })
    }));
    let skills = Arc::new(skills);
    assert!(
        view(&skills, "mine").await["content"]
            .as_str()
            .unwrap()
            .contains("Now: <date>")
    );
    for name in ["hubs", "theirs"] {
        assert!(
            view(&skills, name).await["content"]
                .as_str()
                .unwrap()
                .contains("!`date`"),
            "{name}"
        );
    }
    // What comes from the hub is not counted.
    assert!(skills.usage().record("hubs").is_none() && skills.usage().record("mine").is_some());
    fs::write(bench.dir().join(".usage.json"), "{").unwrap();
    assert_eq!(view(&skills, "mine").await["success"], true);
}
