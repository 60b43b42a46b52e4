use std::path::Path;
use std::time::Duration;

use hermes_types::{Outcome, Step, StepStatus};
use pretty_assertions::assert_eq;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::status::{Bar, Context, Turn};
use super::*;
use crate::look::{Depth, Role, Skin};
use crate::markdown;
use crate::text::width;

fn text(rows: &[Row]) -> String {
    let lines: Vec<_> = rows.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Cells as they look at three widths.
fn sheet(cells: &[Cell]) -> String {
    let at = |columns: u16| {
        let look = Look::plain();
        let rows = cells
            .iter()
            .flat_map(|cell| cell.rows(columns, &look, Detail::Short));
        let rows: Vec<_> = rows.collect();
        let head = format!("{columns:=>width$}", width = usize::from(columns));
        format!("{head}\n{}", text(&rows))
    };
    [120, 80, 40].map(at).join("\n")
}

fn tool(name: &str, about: &str, state: tool::State) -> Cell {
    Cell::Tool(Tool {
        name: name.to_owned(),
        about: about.to_owned(),
        state,
        preview: 0,
    })
}

fn ended(outcome: Outcome, millis: u64) -> tool::Ended {
    tool::Ended::new(outcome, Duration::from_millis(millis))
}

fn done(name: &str, about: &str) -> Cell {
    tool(name, about, tool::State::Ended(ended(Outcome::Done, 149)))
}

const PATH: &str = "crates/face/tui/src/cells/some/very/deep/directory/with/files/in/it.rs";

#[test]
fn a_turn() {
    let lines: Vec<_> = (1..=9)
        .map(|n| format!("line {n} of what was pasted"))
        .collect();
    let answer = "Done: **12** tests pass.\n\n```sh\ncargo test\n```";
    let failed = tool::Ended {
        exit: Some(101),
        ..ended(Outcome::Failed, 65_000)
    };
    let cells = [
        Cell::from(Said::new(lines.join("\n"))),
        Cell::from(Reasoning {
            text: (1..=12).map(|n| format!("thought {n}\n")).collect(),
        }),
        done(
            "terminal",
            "cargo test --workspace --all-features -- --nocapture --test-threads 1",
        ),
        done("write_file", PATH),
        tool("terminal", "false", tool::State::Ended(failed)),
        tool(
            "web_search",
            "rust\ntui",
            tool::State::Ended(ended(Outcome::Failed, 900)),
        ),
        tool(
            "patch",
            "a.rs",
            tool::State::Ended(ended(Outcome::Denied, 0)),
        ),
        tool(
            "mcp_github_list_issues",
            "",
            tool::State::Ended(ended(Outcome::Cancelled, 1200)),
        ),
        tool("write_file", "", tool::State::Preparing),
        tool(
            "terminal",
            "cargo test",
            tool::State::Running(Duration::from_millis(2800)),
        ),
        tool(
            "terminal",
            "cargo test",
            tool::State::Running(Duration::from_secs(65)),
        ),
        Cell::from(Answer {
            text: answer.to_owned(),
            style: markdown::Style::Render,
            frame: answer::Frame {
                label: None,
                clock: Some("14:05".to_owned()),
            },
        }),
    ];
    insta::assert_snapshot!(sheet(&cells));
}

#[test]
fn what_stands_beside_it() {
    let task = |text: &str, status| Step {
        text: text.to_owned(),
        status,
    };
    let child = |index, state, last: Option<(&str, &str)>, children| children::Task {
        index,
        goal: "count the lines of every file in the tree".to_owned(),
        last: last.map(|(tool, about)| children::Last {
            tool: tool.to_owned(),
            about: about.to_owned(),
        }),
        elapsed: Duration::from_millis(12_300),
        state,
        children,
    };
    let inner = child(0, children::State::Failed, None, Vec::new());
    let cells = [
        Cell::from(Todo {
            steps: vec![
                task(
                    "read the specification of the terminal",
                    StepStatus::Completed,
                ),
                task(
                    "write the cells, every one of them with a snapshot",
                    StepStatus::InProgress,
                ),
                task("report", StepStatus::Pending),
                task("rest", StepStatus::Cancelled),
            ],
        }),
        Cell::from(Children {
            tasks: vec![
                child(
                    0,
                    children::State::Running,
                    Some(("terminal", "wc -l")),
                    vec![inner],
                ),
                child(1, children::State::Done, None, Vec::new()),
            ],
        }),
        Cell::from(Notice::info("compacted: 40 → 12 messages")),
        Cell::from(Notice::warn(
            "the primary route is down; openrouter answers from here on",
        )),
        Cell::from(Notice::bad("no key\nset OPENAI_API_KEY")),
        Cell::from(Approval {
            command: "rm -rf /tmp/some/directory/with/a/long/name".to_owned(),
            decided: Decided::Session,
        }),
        Cell::from(Output {
            text: (1..=14).map(|n| format!("line {n}\n")).collect(),
        }),
        Cell::Plain("Commands\n  /help     what there is\n".to_owned()),
    ];
    insta::assert_snapshot!(sheet(&cells));
}

#[test]
fn a_conversation_taken_up_again() {
    let exchange = |n: usize| recap::Exchange {
        said: format!("question {n}"),
        answers: vec![format!("answer {n}\nsecond\nthird\nfourth")],
        tools: n % 3,
    };
    let mut exchanges: Vec<_> = (1..=12).map(exchange).collect();
    exchanges.push(recap::Exchange {
        said: "do it".to_owned(),
        answers: Vec::new(),
        tools: 4,
    });
    let recap = Recap {
        session: "20261101_101500_abcdef".to_owned(),
        title: Some("Cells".to_owned()),
        user_messages: 13,
        all_messages: 40,
        exchanges,
        limits: recap::Limits {
            exchanges: 3,
            ..recap::Limits::default()
        },
    };
    insta::assert_snapshot!(sheet(&[Cell::from(recap.clone())]));
    let minimal = Recap {
        limits: recap::Limits {
            show: recap::Show::Minimal,
            ..recap::Limits::default()
        },
        ..recap
    };
    assert_eq!(minimal.rows(120, &Look::plain()).len(), 1);
}

#[test]
fn banners() {
    let banner = |size| {
        Cell::from(Banner {
            size,
            version: "0.1.0".to_owned(),
            date: Some("2026-11-16".to_owned()),
            model: "some-model".to_owned(),
            provider: "openrouter".to_owned(),
            cwd: "~/src/hermes".to_owned(),
            session: Some("20261101_101500_abcdef".to_owned()),
            tools: Some(34),
            skills: Some(12),
            toolsets: vec![(
                "file".to_owned(),
                (1..=10).map(|n| format!("t{n}")).collect(),
            )],
            servers: vec![banner::Server {
                name: "github".to_owned(),
                transport: "http".to_owned(),
                state: banner::ServerState::Tools(9),
            }],
            update: None,
        })
    };
    use banner::Size;
    let cells = [Size::Full, Size::Header, Size::Compact, Size::None].map(banner);
    insta::assert_snapshot!(sheet(&cells));
    let rows = banner(Size::Header).rows(80, &Look::plain(), Detail::Short);
    assert_eq!(rows.len(), 5);
}

// spec: cli-tui §20.21 (what is drawn; the call itself is made in the black-box suite)
#[test]
fn a_written_file_shows_its_line_and_its_diff() {
    let unified = "--- /dev/null\n+++ b/work/project/src/a.rs\n@@ -0,0 +1,2 @@\n+fn a() {}\n+\n";
    let cells = [
        done("write_file", "src/a.rs"),
        Cell::from(Diff::parse(unified, Path::new("/work/project"))),
    ];
    let rows = cells
        .iter()
        .flat_map(|cell| cell.rows(80, &Look::plain(), Detail::Short));
    insta::assert_snapshot!(text(&rows.collect::<Vec<_>>()), @r"
      ┊ ✍️  write     src/a.rs  0.1s
        ┊ review diff
        new b/src/a.rs
        1 + fn a() {}
        2 +
    ");
}

#[test]
fn diffs() {
    let old: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    let new = old
        .replace("line 4\n", "line four\n")
        .replace("line 20\n", "line 20\nmore\n");
    let edited = diff::Change::between("src/a.rs", &old, &new);
    let long: String = (1..=50).map(|n| format!("new line {n}\n")).collect();
    let fresh = diff::Change::between("src/new.rs", "", &long);
    let gone = diff::Change::between("old.txt", "was here\n", "");
    let cell = Cell::from(Diff {
        files: vec![edited, fresh, gone],
    });
    insta::assert_snapshot!(sheet(&[cell]));
}

#[test]
fn long_diffs_are_cut() {
    let old: String = (1..=60).map(|n| format!("{n}\n")).collect();
    let new: String = (1..=60).map(|n| format!("x{n}\n")).collect();
    let files: Vec<_> = (0..8)
        .map(|n| diff::Change::between(&n.to_string(), &old, &new))
        .collect();
    let diff = Diff { files };
    let short = diff.rows(80, &Look::plain(), Detail::Short);
    assert_eq!(short.len(), 1 + 1 + 80 + 1);
    let last = short.last().unwrap().to_string();
    assert_eq!(last.trim(), "… omitted 880 lines across 8 files");
    let full = diff.rows(80, &Look::plain(), Detail::Full);
    assert_eq!(full.len(), 1 + 8 * 121);
}

#[test]
fn only_the_words_that_changed_stand_out() {
    let look = Look::new(Skin::default(), Depth::True);
    let change = diff::Change::between("a", "let x = old;\n", "let x = new;\n");
    let rows = Diff {
        files: vec![change],
    };
    let rows = rows.rows(80, &look, Detail::Short);
    let part = |row: &Row, role| {
        let style = look.style(role);
        let spans = row.spans.iter().filter(|span| span.style == style);
        spans
            .map(|span| span.content.to_string())
            .collect::<String>()
    };
    assert_eq!(part(&rows[2], Role::RemovedPart), "old");
    assert_eq!(part(&rows[3], Role::AddedPart), "new");
}

#[test]
fn a_failing_call_is_coloured() {
    let look = Look::new(Skin::default(), Depth::Sixteen);
    let coloured = |outcome| {
        let cell = tool("terminal", "x", tool::State::Ended(ended(outcome, 0)));
        let rows = cell.rows(80, &look, Detail::Short);
        let bad = look.style(Role::Bad);
        rows[0]
            .spans
            .iter()
            .any(|span| span.style == bad && !span.content.is_empty())
    };
    assert!(coloured(Outcome::Failed));
    assert!(!coloured(Outcome::Done));
}

#[test]
fn status_bars() {
    let bar = Bar {
        model: "vendor/some-large-model-2026-11".to_owned(),
        context: Some(Context {
            used: 62_300,
            limit: 200_000,
        }),
        compressions: 2,
        session: Duration::from_secs(260),
        turn: Turn::Running(Duration::from_secs(12)),
        cost: Some(0.1234),
        yolo: true,
        background: 1,
        queued: 2,
        mcp: Some("mcp 2/3".to_owned()),
        cwd: Some("~/src/hermes".to_owned()),
        branch: Some("main".to_owned()),
    };
    let shown = |bar: &Bar, columns: u16| {
        let row = bar.row(columns, &Look::plain()).to_string();
        assert_eq!(width(&row), usize::from(columns), "{row:?}");
        row.trim_end().to_owned()
    };
    let widths = [150, 120, 76, 75, 52, 51, 30, 12];
    let rows = widths.map(|columns| format!("{columns:>3}{}", shown(&bar, columns)));
    insta::assert_snapshot!(rows.join("\n"), @r"
    150 ⚕ some-large-model-2026-11 │ 62.3K/200K │ [███░░░░░░░] 31% │ 🗜 2 │ 4m │ ⏱ 12s │ YOLO │ ⏳ 2 │ $0.12 │ ▶ 1 │ mcp 2/3 │ ⎇ main │ ~/src/hermes
    120 ⚕ some-large-model-2026-11 │ 62.3K/200K │ [███░░░░░░░] 31% │ 🗜 2 │ 4m │ ⏱ 12s │ YOLO │ ⏳ 2 │ $0.12 │ ▶ 1 │ mcp 2/3
     76 ⚕ some-... │ 62.3K/200K │ [███░░░░░░░] 31% │ 🗜 2 │ 4m │ ⏱ 12s │ YOLO │ ⏳ 2
     75 ⚕ some-large-model-2026-11 · 31% · 4m · YOLO · ⏳ 2
     52 ⚕ some-large-model-2026-11 · 31% · 4m · YOLO · ⏳ 2
     51 ⚕ some-large-model-2026-11 · 4m · YOLO · ⏳ 2
     30 ⚕ some-... · 4m · YOLO · ⏳ 2
     12 ⚕ some-....
    ");
    let fresh = Bar {
        model: "m".to_owned(),
        ..Bar::default()
    };
    assert_eq!(shown(&fresh, 80), " ⚕ m │ ctx -- │ 0s");
}

#[test]
fn spinners() {
    let row = |tick, indicator, motion, depth| {
        let spinner = spinner::Spinner {
            tick,
            phase: spinner::Phase::Thinking,
            indicator,
            motion,
            elapsed: Duration::from_millis(2800),
        };
        let look = Look::new(Skin::default(), depth);
        spinner.row(60, &look).to_string()
    };
    use spinner::{Indicator, Motion};
    let check = |tick, indicator, motion, depth, expected: &str| {
        let row = row(tick, indicator, motion, depth);
        assert_eq!(row, format!("{expected}…  (  2.8s)"), "{tick}");
    };
    let (full, still) = (Motion::Full, Motion::Reduced);
    let kaomoji = Indicator::Kaomoji;
    check(0, kaomoji, full, Depth::Sixteen, "(•‿•) thinking");
    check(17, kaomoji, full, Depth::Sixteen, "(◕‿◕) pondering");
    check(17, kaomoji, still, Depth::Sixteen, "(•‿•) thinking");
    check(17, kaomoji, full, Depth::None, "(•‿•) thinking");
    check(1, Indicator::Ascii, full, Depth::Sixteen, "/ thinking");
}

/// Text nobody wants on a screen.
const NASTY: &str = "漢字漢字 e\u{301}e\u{301} 👩‍👩‍👧‍👦 🇩🇪 ✍️ \x1b[2J\x07 \u{202e}abc\ttab\r\n\
                     second_line_without_any_space_in_it_at_all_which_is_long | x | \u{200d}";

#[test]
fn everything_fits_whatever_it_says() {
    let nasty = || NASTY.to_owned();
    let ends =
        [Outcome::Done, Outcome::Failed].map(|outcome| tool::State::Ended(ended(outcome, 1)));
    let mut cells = vec![
        Cell::from(Said::new(NASTY.repeat(9))),
        Cell::from(Answer {
            text: format!(
                "# {NASTY}\n\n- {NASTY}\n\n| {NASTY} | b |\n|---|---|\n| {NASTY} | c |\n"
            ),
            ..Answer::default()
        }),
        Cell::from(Reasoning { text: nasty() }),
        Cell::from(Diff {
            files: vec![diff::Change::between(
                NASTY,
                "a\n漢 x\n",
                &format!("a\n漢 y\n{NASTY}\n"),
            )],
        }),
        Cell::from(Todo {
            steps: vec![Step {
                text: nasty(),
                status: StepStatus::InProgress,
            }],
        }),
        Cell::from(Notice::warn(NASTY)),
        Cell::from(Approval {
            command: nasty(),
            decided: Decided::Denied,
        }),
        Cell::from(Output {
            text: NASTY.repeat(20),
        }),
        Cell::from(Children {
            tasks: vec![children::Task {
                index: 0,
                goal: nasty(),
                last: Some(children::Last {
                    tool: nasty(),
                    about: nasty(),
                }),
                elapsed: Duration::from_secs(1),
                state: children::State::Running,
                children: Vec::new(),
            }],
        }),
        Cell::from(Recap {
            session: nasty(),
            title: Some(nasty()),
            user_messages: 1,
            all_messages: 2,
            exchanges: vec![recap::Exchange {
                said: nasty(),
                answers: vec![nasty(), nasty()],
                tools: 1,
            }],
            limits: recap::Limits::default(),
        }),
        Cell::from(Banner {
            size: banner::Size::Full,
            version: nasty(),
            model: nasty(),
            cwd: nasty(),
            toolsets: vec![(nasty(), vec![nasty()])],
            ..Banner::default()
        }),
        Cell::Plain(nasty()),
        tool(
            "write_file",
            NASTY,
            tool::State::Running(Duration::from_secs(1)),
        ),
        tool(NASTY, NASTY, tool::State::Preparing),
    ];
    let looked = ["read_file", "search_files"].map(|name| Tool {
        name: name.to_owned(),
        about: nasty(),
        state: ends[0].clone(),
        preview: 0,
    });
    cells.push(Cell::from(Explored {
        calls: looked.to_vec(),
    }));
    cells.extend(ends.map(|state| tool(NASTY, NASTY, state)));
    let look = Look::plain();
    for columns in (1..=132).step_by(3).chain([10, 40, 80]) {
        let bar = Bar {
            model: nasty(),
            cwd: Some(nasty()),
            ..Bar::default()
        };
        check(&[bar.row(columns, &look)], columns);
        for cell in &cells {
            cell.rows(0, &look, Detail::Short);
            check(&cell.rows(columns, &look, Detail::Short), columns);
            check(&cell.rows(columns, &look, Detail::Full), columns);
        }
    }
}

fn check(rows: &[Row], columns: u16) {
    for row in rows {
        let shown = row.to_string();
        assert!(
            width(&shown) <= usize::from(columns),
            "{columns}: {shown:?}"
        );
        assert!(row.width() <= usize::from(columns), "{columns}: {shown:?}");
        assert!(!shown.contains(char::is_control), "{shown:?}");
        assert_eq!(
            drawn(row, columns).trim_end(),
            shown.trim_end(),
            "{columns}"
        );
    }
}

/// A row as ratatui itself would lay it out, cut where it thinks the screen ends.
fn drawn(row: &Row, columns: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, 1)).unwrap();
    let drawn = terminal.draw(|frame| frame.render_widget(row, frame.area()));
    let buffer = drawn.unwrap().buffer;
    let mut shown = String::new();
    let mut x = 0;
    while x < columns {
        let symbol = buffer[(x, 0)].symbol();
        shown.push_str(symbol);
        x += width(symbol).max(1) as u16;
    }
    shown
}
