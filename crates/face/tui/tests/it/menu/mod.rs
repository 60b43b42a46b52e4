//! The list below the input: what is in it, what keys do, how it looks.

use std::time::{Duration, Instant};

use hermes_tui::input::{Editor, Pressed};
use hermes_tui::look::Look;
use hermes_tui::menu::{Candidate, Files, Listed, Menu, Sources, Takes, Wanted, Words};
use insta::assert_snapshot;
use pretty_assertions::assert_eq;

use crate::input::{key, texts};

struct Known;

impl Words for Known {
    fn arguments(&self, command: &str, _typed: &str) -> Vec<Candidate> {
        match command {
            "personality" => vec![
                Candidate::word("technical", "exact, without 比喻 and adjectives"),
                Candidate::word("editor", "says it in\nfewer words"),
                Candidate::word(
                    "creative-writer-of-the-house",
                    "a very long description that goes on until nobody reads it",
                ),
            ],
            "new" => vec![Candidate::word("My Title", "")],
            _ => Vec::new(),
        }
    }
}

struct Tree;

impl Files for Tree {
    fn candidates(&self, typed: &str) -> Vec<Candidate> {
        let wanted = typed.trim_start_matches('@');
        ["src/main.rs", "src/menu/mod.rs", "LICENSE"]
            .iter()
            .filter(|path| path.contains(wanted))
            .map(|path| Candidate {
                insert: format!("@file:{path}"),
                ..Candidate::word(*path, "")
            })
            .collect()
    }
}

/// The part of the chat that belongs to the input and its list.
struct Scene {
    editor: Editor,
    menu: Menu,
    now: Instant,
    asked: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        Self {
            editor: Editor::new(),
            menu: Menu::default(),
            now: Instant::now(),
            asked: Vec::new(),
        }
    }

    fn typed(text: &str) -> Self {
        let mut scene = Self::new();
        for c in text.chars() {
            scene.press(
                if c == ' ' {
                    "Space".to_owned()
                } else {
                    c.to_string()
                }
                .as_str(),
            );
        }
        scene
    }

    fn press(&mut self, name: &str) -> Pressed {
        self.now += Duration::from_secs(1);
        let mut pressed = self.menu.key(key(name), &mut self.editor);
        if let Pressed::Ignored(event) = pressed {
            pressed = self.editor.key(event, self.now);
        }
        let opens = pressed == Pressed::Ignored(key("Tab"));
        if pressed == Pressed::Changed || opens {
            self.update();
        }
        pressed
    }

    fn update(&mut self) {
        let more = [
            Candidate::skill("release-notes", "writes them"),
            Candidate::quick("reboot", "restarts the box"),
            Candidate::skill("retry", "never reached: the command wins"),
            Candidate {
                takes: Takes::Something,
                ..Candidate::quick("tell", "somebody")
            },
        ];
        let models = vec![
            Candidate::word("openrouter:gpt-5", "current"),
            Candidate::word("anthropic:opus", ""),
        ];
        let sources = Sources {
            more: &more,
            words: &Known,
            listed: &Listed::from([("model", models), ("resume", Vec::new())]),
        };
        match self.menu.update(&self.editor, sources) {
            Some(Wanted::Files(typed)) => self.asked.push(typed),
            Some(Wanted::List(command)) => panic!("/{command} is known"),
            None => {}
        }
        self.editor.set_ghost(self.menu.ghost().unwrap_or_default());
    }

    fn answer(&mut self) -> bool {
        let typed = self.asked.pop().unwrap();
        let candidates = Tree.candidates(&typed);
        self.menu.arrived(&typed, candidates)
    }

    fn rows(&mut self, width: usize) -> Vec<String> {
        let rows = self.menu.rows(width, 12, &Look::plain());
        assert!(rows.iter().all(|row| row.width() <= width));
        texts(&rows)
    }

    fn labels(&mut self) -> Vec<String> {
        let rows = self.rows(110);
        let label = |row: &String| row[2..].split("  ").next().unwrap().trim().to_owned();
        rows.iter()
            .map(|row| row.replacen('›', " ", 1))
            .map(|row| label(&row))
            .collect()
    }
}

#[test]
fn the_beginning_of_a_command() {
    let mut scene = Scene::typed("/re");
    let labels = scene.labels();
    let place = |name: &str| labels.iter().position(|label| label == name).unwrap();
    let expected = [
        "/reset",
        "/resume",
        "/retry",
        "/reload-skills",
        "/reboot",
        "/release-notes",
        "/compress",
    ];
    assert!(expected.map(place).is_sorted(), "{labels:?}");
    assert_eq!(labels.iter().filter(|label| *label == "/retry").count(), 1);
    assert_eq!(scene.press("Tab"), Pressed::Changed);
    assert_eq!(scene.editor.text().trim_end(), labels[0]);

    let mut scene = Scene::typed("/ret");
    assert!(scene.menu.is_open());
    assert_eq!(scene.press("Esc"), Pressed::Moved);
    assert!(!scene.menu.is_open());
    assert_eq!(
        scene.press("Enter"),
        Pressed::Submit,
        "no line break, nothing chosen"
    );
    assert_eq!(scene.editor.take().text, "/ret");
}

#[test]
fn enter_sends_what_was_typed_unless_a_row_is_chosen() {
    let mut scene = Scene::typed("/re");
    assert_eq!(scene.press("Enter"), Pressed::Submit);
    assert_eq!(scene.editor.text(), "/re");
    let second = scene.labels()[1].clone();
    scene.press("Down");
    scene.press("Down");
    assert_eq!(scene.press("Enter"), Pressed::Run);
    assert_eq!(scene.editor.text(), second);
    assert!(!scene.menu.is_open());
}

#[test]
fn what_needs_an_argument_is_not_run() {
    let mut scene = Scene::typed("/tel");
    scene.press("Down");
    assert_eq!(scene.press("Enter"), Pressed::Changed);
    assert_eq!(scene.editor.text(), "/tell ");
}

#[test]
fn rows_go_round() {
    let mut scene = Scene::typed("/re");
    let count = scene.labels().len();
    let current = |scene: &mut Scene| scene.rows(80).iter().position(|row| row.starts_with('›'));
    assert_eq!(current(&mut scene), None);
    scene.press("Up");
    assert_eq!(current(&mut scene), Some(count - 1));
    scene.press("Down");
    assert_eq!(current(&mut scene), Some(0));
    scene.press("BackTab");
    assert_eq!(current(&mut scene), Some(count - 1));
    scene.press("C-n");
    scene.press("C-n");
    scene.press("C-p");
    assert_eq!(current(&mut scene), Some(0));
}

#[test]
fn ghost_text_and_tab() {
    let mut scene = Scene::typed("/mod");
    assert_eq!(scene.menu.ghost(), Some("el"));
    assert_eq!(scene.press("Right"), Pressed::Changed);
    assert_eq!(scene.editor.text(), "/model");
    assert!(!scene.menu.is_open(), "there is nothing to choose any more");

    let mut scene = Scene::typed("fix");
    scene.editor.set_ghost(" the bug");
    assert_eq!(scene.press("Tab"), Pressed::Changed);
    assert_eq!(scene.editor.text(), "fix the bug");

    let mut scene = Scene::typed("/mod");
    scene.press("Esc");
    scene.editor.set_ghost("");
    assert_eq!(scene.press("Tab"), Pressed::Ignored(key("Tab")));
    assert!(scene.menu.is_open(), "Tab opens it again");
}

#[test]
fn what_follows_a_command() {
    let mut scene = Scene::typed("/model op");
    assert_eq!(scene.labels(), ["openrouter:gpt-5", "anthropic:opus"]);
    scene.press("Down");
    scene.press("Down");
    assert_eq!(scene.press("Enter"), Pressed::Run);
    assert_eq!(scene.editor.text(), "/model anthropic:opus");

    let mut scene = Scene::typed("/reset my t");
    assert_eq!(scene.labels(), ["My Title"]);
    scene.press("Tab");
    assert_eq!(scene.editor.text(), "/reset My Title");
    assert!(!scene.menu.is_open());
}

#[test]
fn files_arrive_later() {
    let mut scene = Scene::typed("see @m");
    assert_eq!(scene.asked, ["@", "@m"]);
    assert!(!scene.menu.arrived("@", Tree.candidates("@")), "outdated");
    assert!(!scene.menu.is_open());
    assert!(scene.answer());
    assert_eq!(scene.labels(), ["src/main.rs", "src/menu/mod.rs"]);
    scene.press("e");
    assert!(
        scene.menu.is_open(),
        "what is there stays until the new rows come"
    );
    assert!(scene.answer());
    assert_eq!(scene.labels(), ["src/menu/mod.rs"]);
    scene.press("Tab");
    assert_eq!(scene.editor.text(), "see @file:src/menu/mod.rs ");
    assert!(!scene.menu.is_open());
    scene.press("@");
    scene.press("Esc");
    assert!(!scene.answer(), "closed");
}

#[test]
fn inside_of_a_word_nothing_is_completed() {
    let mut scene = Scene::typed("/model");
    scene.press("Left");
    scene.press("BS");
    assert_eq!(scene.editor.text(), "/modl");
    assert!(!scene.menu.is_open());
}

#[test]
fn drawn() {
    let mut scene = Scene::typed("/personality e");
    scene.press("Down");
    assert_snapshot!(scene.rows(40).join("\n"), @r"
    › editor            says it in fewer wo…
      technical         exact, without 比喻…
      creative-writer…  a very long descrip…
    ");
    assert_snapshot!(scene.rows(80).join("\n"), @r"
    › editor                        says it in fewer words
      technical                     exact, without 比喻 and adjectives
      creative-writer-of-the-house  a very long description that goes on until nobo…
    ");
    assert_snapshot!(scene.rows(20).join("\n"), @r"
    › editor
      technical
      creative-wr…
    ");
    let mut scene = Scene::typed("/re");
    let mut rows = scene.rows(40);
    rows.retain(|row| row.contains("/reboot") || row.contains("/release"));
    let marks: Vec<&str> = rows.iter().map(|row| row[18..].trim_start()).collect();
    assert_eq!(marks, ["» restarts the box", "◆ writes them"]);
}

#[test]
fn more_than_there_is_room_for() {
    let mut scene = Scene::typed("/");
    let rows = scene.rows(60);
    assert_eq!(rows.len(), 12);
    assert!(rows[11].starts_with("  … "), "{}", rows[11]);
    for _ in 0..15 {
        scene.press("Down");
    }
    let rows = scene.rows(60);
    assert!(rows[10].starts_with('›'), "{rows:?}");
    assert!(rows[11].starts_with("  15 of "), "{}", rows[11]);
    for most in 0..4 {
        let rows = scene.menu.rows(60, most, &Look::plain());
        assert!(rows.len() <= most);
    }
    scene.menu.rows(0, 12, &Look::plain());
}

#[test]
fn what_was_typed_is_highlighted() {
    let mut scene = Scene::typed("/rs");
    let rows = scene.menu.rows(60, 12, &Look::plain());
    let bold = |row: &hermes_tui::Row| -> String {
        let typed = row
            .spans
            .iter()
            .filter(|span| span.style.add_modifier == BOLD);
        typed.map(|span| span.content.as_ref()).collect()
    };
    const BOLD: ratatui::style::Modifier =
        ratatui::style::Modifier::BOLD.union(ratatui::style::Modifier::UNDERLINED);
    let skills = rows
        .iter()
        .find(|row| row.to_string().contains("/reload-skills"));
    assert_eq!(bold(skills.unwrap()), "rs");
}
