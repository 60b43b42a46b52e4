//! The skills that come with Hermes, and how they come and stay.

use std::fs;
use std::path::Path;
use std::process::Command;

use hermes_skills::bundled::{Bundle, Reset, Restore, reset, sync};
use hermes_skills::format::{fenced, validate};
use hermes_skills::guard::{self, Tree, Verdict};
use pretty_assertions::assert_eq;

use crate::support::Bench;

#[test]
fn every_bundled_skill_follows_the_standard() {
    let bundle = Bundle::embedded();
    assert!(bundle.skills.len() >= 20);
    for skill in &bundle.skills {
        let (_, bytes) = skill
            .files
            .iter()
            .find(|(path, _)| path == "SKILL.md")
            .unwrap();
        let text = std::str::from_utf8(bytes).unwrap();
        let report = validate(text, &skill.name);
        assert_eq!(report.errors, Vec::<String>::new(), "{}", skill.name);
        assert_eq!(report.notes, Vec::<String>::new(), "{}", skill.name);
        let category = skill.path.split('/').next().unwrap();
        let described = bundle
            .categories
            .iter()
            .any(|(path, _)| *path == format!("{category}/DESCRIPTION.md"));
        assert!(
            described,
            "the category {category} says nothing about itself"
        );
        let findings = guard::scan(&Tree::of("SKILL.md", text));
        assert!(
            Verdict::of(&findings) < Verdict::Dangerous,
            "{}: {findings:?}",
            skill.name
        );
    }
}

/// Blocks marked `bash test` run as they stand: those of one skill one after the other in a directory of its own,
/// with nothing of the user's around.
#[test]
fn what_bundled_skills_say_can_be_run() {
    for skill in Bundle::embedded().skills {
        let (folder, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (path, bytes) in &skill.files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let texts = skill.files.iter().filter(|(path, _)| path.ends_with(".md"));
        let blocks: Vec<&str> = texts
            .flat_map(|(_, bytes)| fenced(std::str::from_utf8(bytes).unwrap(), "bash test"))
            .collect();
        let other = texts_for_hermes(&skill.files);
        assert!(!blocks.is_empty() || other, "{} proves nothing", skill.name);
        for block in blocks {
            let block = block.replace("${HERMES_SKILL_DIR}", folder.path().to_str().unwrap());
            run(&skill.name, &block, work.path());
        }
    }
}

/// Some are about Hermes itself; those run where there is one.
fn texts_for_hermes(files: &[(String, Vec<u8>)]) -> bool {
    let texts = files.iter().filter(|(path, _)| path.ends_with(".md"));
    let mut texts = texts.map(|(_, bytes)| std::str::from_utf8(bytes).unwrap());
    texts.any(|text| text.contains("```bash test hermes"))
}

fn run(skill: &str, block: &str, dir: &Path) {
    let done = Command::new("bash")
        .args(["-euo", "pipefail", "-c", block])
        .current_dir(dir)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", dir)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{skill}:\n{block}\n{said}");
}

impl Bench {
    /// Bundled skills of the test's own.
    fn bundles(&mut self, skills: &[(&str, &str)]) {
        let dir = self.temp.work().join("bundle");
        let _ = fs::remove_dir_all(&dir);
        for (path, body) in skills {
            let name = path.rsplit('/').next().unwrap();
            let text = format!("---\nname: {name}\ndescription: d\n---\n{body}\n");
            self.temp.write(dir.join(path).join("SKILL.md"), text);
        }
        self.temp.write(
            dir.join("c/DESCRIPTION.md"),
            "---\ndescription: About c\n---\n",
        );
        self.env.set("HERMES_BUNDLED_SKILLS", dir.to_str().unwrap());
    }

    fn text(&self, path: &str) -> String {
        self.temp.read(format!("skills/{path}/SKILL.md"))
    }
}

// spec: learning §13.13
#[test]
fn what_the_owner_did_stays() {
    let mut bench = Bench::new();
    bench.bundles(&[
        ("c/kept", "one"),
        ("c/edited", "one"),
        ("c/deleted", "one"),
        ("c/moved", "one"),
    ]);
    let first = sync(&bench.home, &bench.env).unwrap().unwrap();
    assert_eq!(first.copied, ["deleted", "edited", "kept", "moved"]);
    assert_eq!(
        bench.temp.read("skills/c/DESCRIPTION.md"),
        "---\ndescription: About c\n---\n"
    );
    let manifest = bench.temp.read("skills/.bundled_manifest");
    bench.temp.write("skills/c/edited/SKILL.md", "mine");
    fs::remove_dir_all(bench.dir().join("c/deleted")).unwrap();
    fs::create_dir(bench.dir().join("mine")).unwrap();
    fs::rename(bench.dir().join("c/moved"), bench.dir().join("mine/moved")).unwrap();
    bench.bundles(&[
        ("c/kept", "two"),
        ("c/edited", "two"),
        ("c/deleted", "two"),
        ("c/moved", "two"),
        ("c/new", "two"),
    ]);
    let second = sync(&bench.home, &bench.env).unwrap().unwrap();
    assert_eq!(
        (second.copied, second.updated),
        (
            vec!["new".to_owned()],
            vec!["kept".to_owned(), "moved".to_owned()]
        )
    );
    assert_eq!(second.modified, ["edited"]);
    assert_eq!(bench.text("c/edited"), "mine");
    assert!(!bench.dir().join("c/deleted").exists() && !bench.dir().join("c/moved").exists());
    assert!(bench.text("c/kept").contains("two") && bench.text("mine/moved").contains("two"));
    let line = |text: &str| {
        text.lines()
            .find(|line| line.starts_with("kept:"))
            .unwrap()
            .to_owned()
    };
    assert_ne!(
        line(&manifest),
        line(&bench.temp.read("skills/.bundled_manifest"))
    );
    // Not bundled any more: it leaves the manifest, the files stay. Names of other programs are theirs.
    let manifest = bench.temp.read("skills/.bundled_manifest");
    bench.temp.write(
        "skills/.bundled_manifest",
        manifest + "others:0123\nolder\n",
    );
    bench.bundles(&[("c/edited", "two")]);
    sync(&bench.home, &bench.env).unwrap();
    let names: Vec<String> = bench
        .temp
        .read("skills/.bundled_manifest")
        .lines()
        .map(|line| line.split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["edited", "older", "others"]);
    assert!(bench.dir().join("c/kept").exists());
}

#[test]
fn a_skill_of_the_owners_own_is_not_touched() {
    let mut bench = Bench::new();
    bench.plain("x/one");
    bench.bundles(&[("c/one", "ours"), ("c/two", "ours"), ("c/three", "ours")]);
    bench.temp.write("skills/.curator_suppressed", "two\n");
    let done = sync(&bench.home, &bench.env).unwrap().unwrap();
    assert_eq!(
        (done.taken, done.copied),
        (vec!["one".to_owned()], vec!["three".to_owned()])
    );
    assert!(bench.text("x/one").contains("Do it.") && !bench.dir().join("c/two").exists());
    let other = Bench::new();
    other.temp.write(".no-bundled-skills", "");
    assert_eq!(sync(&other.home, &other.env).unwrap(), None);
    assert!(!other.dir().exists());
}

#[test]
fn a_reset_brings_it_back_and_keeps_the_other() {
    let mut bench = Bench::new();
    bench.bundles(&[("c/one", "ours"), ("c/two", "ours")]);
    sync(&bench.home, &bench.env).unwrap();
    let again = |name: &str, restore| reset(&bench.home, &bench.env, name, restore).unwrap();
    assert_eq!(again("nope", Restore::Keep), Reset::NotBundled);
    assert_eq!(again("one", Restore::Keep), Reset::Unchanged);
    bench.temp.write("skills/c/one/SKILL.md", "mine");
    assert_eq!(again("one", Restore::Keep), Reset::Kept);
    assert_eq!(bench.text("c/one"), "mine");
    let Reset::Restored { kept } = again("one", Restore::Replace) else {
        panic!("not restored")
    };
    assert_eq!(fs::read_to_string(kept.join("SKILL.md")).unwrap(), "mine");
    assert!(bench.text("c/one").contains("ours"));
    fs::remove_dir_all(bench.dir().join("c/two")).unwrap();
    assert_eq!(again("two", Restore::Keep), Reset::Copied);
}

#[test]
fn a_second_start_looks_at_one_stamp() {
    let bench = Bench::new();
    assert!(sync(&bench.home, &bench.env).unwrap().is_some());
    assert!(
        bench
            .dir()
            .join("software-development/plan/SKILL.md")
            .is_file()
    );
    // Nothing else is looked at: what is missing now would otherwise be noticed.
    fs::remove_file(bench.dir().join(".bundled_manifest")).unwrap();
    assert_eq!(sync(&bench.home, &bench.env).unwrap(), None);
    assert!(!bench.dir().join(".bundled_manifest").exists());
    // Another version has come: what was removed meanwhile stays removed, although no manifest says so.
    fs::remove_dir_all(bench.dir().join("software-development/plan")).unwrap();
    let stamp = bench.temp.read("skills/.bundled_stamp");
    let names: Vec<&str> = stamp.lines().skip(1).collect();
    bench.temp.write(
        "skills/.bundled_stamp",
        format!("older\n{}\n", names.join("\n")),
    );
    let synced = sync(&bench.home, &bench.env).unwrap().unwrap();
    assert_eq!(synced.copied, Vec::<String>::new());
    assert!(!bench.dir().join("software-development/plan").exists());
}
