//! What was learned can be seen and taken back.

use std::fs;
use std::os::unix::fs::symlink;

use hermes_skills::journal::{Author, By, Subject, Undo};
use hermes_skills::memory::Target;
use pretty_assertions::assert_eq;

use crate::memory::Desk;

fn catch_up(desk: &Desk) -> usize {
    desk.journal.keep_all(&Author::of(By::Outside)).unwrap()
}

#[tokio::test]
async fn every_change_is_noted_with_its_author() {
    let desk = Desk::new();
    desk.add("user", "Name: Ada").await;
    desk.write(Target::User, "Name: Ada\n§\nby hand");
    desk.add("user", "TZ: UTC").await;
    let entries = desk.journal.entries().unwrap();
    let who: Vec<_> = entries
        .iter()
        .map(|entry| (entry.number, entry.by))
        .collect();
    assert_eq!(who, [(1, By::Agent), (2, By::Outside), (3, By::Agent)]);
    assert_eq!(entries[0].before, None);
    assert_eq!(entries[0].session.as_deref(), Some("one"));
    assert_eq!(entries[2].before, entries[1].after);
    let files = desk.journal.files(entries[1].after.as_deref()).unwrap();
    assert_eq!(files, [(String::new(), "Name: Ada\n§\nby hand".into())]);
}

#[tokio::test]
async fn what_was_learned_is_taken_back_unless_it_changed_since() {
    let desk = Desk::new();
    desk.add("user", "one").await;
    desk.add("user", "two").await;
    match desk.journal.undo(1).unwrap() {
        Undo::ChangedSince(later) => assert_eq!(later.number, 2),
        other => panic!("{other:?}"),
    }
    assert!(matches!(desk.journal.undo(2).unwrap(), Undo::Done(_)));
    assert_eq!(desk.text(Target::User), "one");
    assert!(matches!(desk.journal.undo(1).unwrap(), Undo::Done(_)));
    assert!(!desk.path(Target::User).exists(), "as before entry 1");
    assert_eq!(desk.journal.undo(9).unwrap(), Undo::Unknown);
    let undone: Vec<_> = desk
        .journal
        .entries()
        .unwrap()
        .iter()
        .map(|entry| entry.undoes)
        .collect();
    assert_eq!(undone, [None, None, Some(2), Some(1)]);
}

#[test]
fn skills_changed_by_others_are_found_and_come_back_whole() {
    let desk = Desk::new();
    let dir = desk.home.dir().join("skills/tools/one");
    fs::create_dir_all(dir.join("references")).unwrap();
    fs::write(dir.join("SKILL.md"), "first").unwrap();
    fs::write(dir.join("references/a.md"), "a").unwrap();
    assert_eq!(catch_up(&desk), 1);
    assert_eq!(catch_up(&desk), 0);
    fs::remove_dir_all(&dir).unwrap();
    assert_eq!(catch_up(&desk), 1);
    let subject = Subject::Skill("tools/one".to_owned());
    let entries = desk.journal.entries().unwrap();
    assert_eq!((&entries[1].subject, &entries[1].after), (&subject, &None));
    assert!(matches!(desk.journal.undo(2).unwrap(), Undo::Done(_)));
    assert_eq!(
        fs::read_to_string(dir.join("references/a.md")).unwrap(),
        "a"
    );
    // It is again what entry 1 made it.
    assert!(matches!(desk.journal.undo(1).unwrap(), Undo::Done(_)));
    assert!(!dir.exists());
}

#[test]
fn a_line_that_was_cut_off_is_no_line() {
    let desk = Desk::new();
    desk.write(Target::User, "one");
    let path = desk.home.dir().join("learning/journal.jsonl");
    catch_up(&desk);
    let mut text = fs::read(&path).unwrap();
    // Within a character, too.
    text.extend(b"{\"number\": 2, \"name\": \"\xc3");
    assert!(String::from_utf8(text.clone()).is_err());
    fs::write(&path, text).unwrap();
    desk.write(Target::User, "two");
    let noted = desk
        .journal
        .keep(&Subject::Memory(Target::User), &Author::of(By::Owner));
    assert_eq!(noted.unwrap().unwrap().number, 2);
    assert_eq!(desk.journal.entries().unwrap().len(), 2);
}

#[test]
fn what_the_journal_does_not_keep_stays_through_an_undo() {
    let desk = Desk::new();
    let skills = desk.home.dir().join("skills");
    let dir = skills.join("one");
    fs::create_dir_all(dir.join("assets")).unwrap();
    fs::write(dir.join("SKILL.md"), "first").unwrap();
    fs::write(dir.join("assets/large"), vec![7; (1 << 20) + 1]).unwrap();
    symlink("SKILL.md", dir.join("link")).unwrap();
    catch_up(&desk);
    fs::write(dir.join("SKILL.md"), "second").unwrap();
    catch_up(&desk);
    assert!(matches!(desk.journal.undo(2).unwrap(), Undo::Done(_)));
    assert_eq!(fs::read_to_string(dir.join("link")).unwrap(), "first");
    assert_eq!(
        fs::metadata(dir.join("assets/large")).unwrap().len(),
        (1 << 20) + 1
    );
    // Gone with the skill, but not lost.
    assert!(matches!(desk.journal.undo(1).unwrap(), Undo::Done(_)));
    assert!(!dir.exists() && skills.join(".archive/one/assets/large").is_file());
    let left = fs::read_dir(&skills).unwrap().flatten();
    let left = left.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(".staging") || name.starts_with(".aside")
    });
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn an_undo_can_be_undone_as_often_as_somebody_likes() {
    let desk = Desk::new();
    desk.add("user", "one").await;
    let mut number = 1;
    for round in 0..4 {
        let Undo::Done(done) = desk.journal.undo(number).unwrap() else {
            panic!("round {round}");
        };
        let noted = done.noted.unwrap();
        assert_eq!(noted.undoes, Some(number));
        assert_eq!(desk.path(Target::User).exists(), round % 2 == 1);
        number = noted.number;
    }
    assert_eq!(desk.text(Target::User), "one");
    // By hand in between: what somebody wrote is not taken back unseen.
    desk.write(Target::User, "by hand");
    let undone = desk.journal.undo(number).unwrap();
    assert!(matches!(undone, Undo::ChangedSince(_)), "{undone:?}");
    assert_eq!(desk.text(Target::User), "by hand");
}

#[test]
fn a_content_that_is_damaged_is_gone_and_never_restored() {
    let desk = Desk::new();
    desk.write(Target::User, "what it was, in full");
    catch_up(&desk);
    desk.write(Target::User, "now");
    catch_up(&desk);
    let blobs = desk.home.dir().join("learning/blobs");
    let find = |content: &str| {
        let dirs = fs::read_dir(&blobs).unwrap().flatten();
        let files = dirs.flat_map(|dir| fs::read_dir(dir.path()).unwrap().flatten());
        let mut files = files.map(|file| file.path());
        files.find(|file| fs::read(file).unwrap() == content.as_bytes())
    };
    let blob = find("what it was, in full").unwrap();
    for damage in ["", "what it was", "something else, longer"] {
        fs::write(&blob, damage).unwrap();
        let failed = desk.journal.undo(2).unwrap_err().to_string();
        assert!(failed.contains("is missing"), "{failed}");
        assert_eq!(desk.text(Target::User), "now");
    }
    fs::remove_file(&blob).unwrap();
    assert!(desk.journal.undo(2).is_err());
    fs::write(&blob, "what").unwrap();
    // Once it is seen again, it is whole again.
    desk.write(Target::User, "what it was, in full");
    catch_up(&desk);
    assert_eq!(find("what it was, in full"), Some(blob));
}

#[test]
fn of_a_journal_that_is_very_long_the_newest_part_is_read() {
    let desk = Desk::new();
    desk.write(Target::User, "one");
    catch_up(&desk);
    let path = desk.home.dir().join("learning/journal.jsonl");
    let first = fs::read_to_string(&path).unwrap();
    // A hole takes no room on the disk.
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(200 << 20).unwrap();
    drop(file);
    desk.write(Target::User, "two");
    let noted = desk
        .journal
        .keep(&Subject::Memory(Target::User), &Author::of(By::Owner));
    let noted = noted.unwrap().unwrap();
    assert_eq!((noted.number, &noted.before), (1, &None), "{first}");
    let text = fs::read(&path).unwrap();
    assert!(text.starts_with(first.as_bytes()), "nothing is lost");
    desk.write(Target::User, "three");
    catch_up(&desk);
    let numbers: Vec<u64> = desk
        .journal
        .entries()
        .unwrap()
        .iter()
        .map(|e| e.number)
        .collect();
    assert_eq!(numbers, [1, 2]);
    assert!(matches!(desk.journal.undo(2).unwrap(), Undo::Done(_)));
    assert_eq!(desk.text(Target::User), "two");
}

#[test]
fn an_undo_waits_for_whoever_is_changing_the_notes() {
    let desk = Desk::new();
    desk.write(Target::User, "one");
    catch_up(&desk);
    let path = desk.path(Target::User);
    let held = hermes_home::FileLock::for_file(&path).unwrap();
    std::thread::scope(|scope| {
        let undoing = scope.spawn(|| desk.journal.undo(1).unwrap());
        // Whoever holds the lock has read "one" and writes what follows from it.
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(!undoing.is_finished());
        desk.write(Target::User, "one and two");
        drop(held);
        let undone = undoing.join().unwrap();
        assert!(matches!(undone, Undo::ChangedSince(_)), "{undone:?}");
    });
    assert_eq!(desk.text(Target::User), "one and two");
}
