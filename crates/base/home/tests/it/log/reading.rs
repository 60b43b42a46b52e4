//! The end of a log, what is added to it, and what the command line says about it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::Duration;

use hermes_home::log::{
    Component, Follow, Level, LogName, Query, Rotation, Settings, list, parse_since, tail,
};
use jiff::{ToSpan, Zoned};
use pretty_assertions::assert_eq;
use tempfile::TempDir;
use tracing::{info, warn};

use super::{logging, settings};

const SOON: Duration = Duration::from_millis(1);

/// Lines by how many minutes old they are; one without an age goes on with the message before it.
const LINES: [(Option<i64>, &str); 9] = [
    (None, "the end of a message of which the head is gone #0"),
    (Some(180), "ERROR gateway.run: #1"),
    (Some(90), "INFO [s_abc] agent.turn: #2"),
    (Some(50), "WARNING [s_abc] tools.exec: #3"),
    (None, "Traceback #4"),
    (Some(40), "DEBUG run_agent: mentions s_abc #5"),
    (Some(20), "CRITICAL hermes_cli.main: #6"),
    (Some(10), "ERROR cron.jobs: #7"),
    (Some(1), "INFO client.http: #8"),
];

fn write_lines(path: &Path) {
    let now = Zoned::now();
    let time = |age: i64| {
        (&now - age.minutes())
            .strftime("%Y-%m-%d %H:%M:%S,%3f")
            .to_string()
    };
    let line = |(age, rest): (Option<i64>, &str)| match age {
        Some(age) => format!("{} {rest}\n", time(age)),
        None => format!("{rest}\n"),
    };
    fs::write(path, LINES.map(line).concat()).unwrap();
}

/// A query in the words of the command line.
fn query(path: &Path, words: &str) -> Query {
    let mut query = Query::new(path);
    for (name, value) in words
        .split_whitespace()
        .map(|word| word.split_once('=').unwrap())
    {
        match name {
            "lines" => query.lines = value.parse().unwrap(),
            "level" => query.level = Some(value.parse().unwrap()),
            "session" => query.session = Some(value.to_owned()),
            "since" => query.since = Some(parse_since(value).unwrap()),
            _ => query.component = Some(value.parse().unwrap()),
        }
    }
    query
}

#[test]
fn filters_combine_and_the_rest_of_a_message_follows_its_head() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("agent.log");
    write_lines(&path);
    let check = |words: &str, expected: &str| {
        let lines = tail(&query(&path, words)).unwrap();
        let found: String = lines
            .iter()
            .filter_map(|line| line.chars().next_back())
            .collect();
        assert_eq!(found, expected, "{words}");
    };
    check("", "012345678");
    check("lines=2", "78");
    check("lines=0", "");
    check("level=debug", "12345678");
    check("level=WARNING", "13467");
    check("level=critical", "6");
    check("level=warning lines=2", "67");
    check("session=s_abc", "2345");
    check("session=s_abcd", "");
    check("since=1h", "345678");
    check("since=15m", "78");
    check("since=1s", "");
    check("since=999999d", "12345678");
    check("component=gateway", "1");
    check("component=agent", "25");
    check("component=tools", "34");
    check("component=cli", "6");
    check("component=cron", "7");
    check("level=info session=abc since=1h", "34");
    check("component=agent level=info", "2");
}

#[test]
fn a_short_log_is_continued_in_its_backups() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("agent.log");
    assert!(
        tail(&Query::new(&path))
            .unwrap_err()
            .to_string()
            .contains("agent.log")
    );
    fs::write(dir.path().join("agent.log.2"), "1\n2\n").unwrap();
    fs::write(dir.path().join("agent.log.1"), "3\n4\n").unwrap();
    assert_eq!(tail(&Query::new(&path)).unwrap(), ["1", "2", "3", "4"]);
    fs::write(&path, "5\n6 without end").unwrap();
    let check = |lines: usize, expected: &[&str]| {
        assert_eq!(
            tail(&Query {
                lines,
                ..Query::new(&path)
            })
            .unwrap(),
            expected
        );
    };
    check(1, &["6 without end"]);
    check(3, &["4", "5", "6 without end"]);
    check(9, &["1", "2", "3", "4", "5", "6 without end"]);
}

#[test]
fn bytes_that_are_no_text_and_long_logs_are_read() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("agent.log");
    fs::write(&path, b"a \xff b\n\n\xe2\x82\n").unwrap();
    assert_eq!(
        tail(&Query::new(&path)).unwrap(),
        ["a \u{fffd} b", "", "\u{fffd}"]
    );
    // Long enough for many blocks, with letters across their borders and lines longer than one.
    let line = |i: usize| format!("{i} {}", "ä日".repeat(i * i % 30_000));
    let text: String = (0..300).map(|i| line(i) + "\n").collect();
    assert!(text.len() > 10 << 20);
    fs::write(&path, text).unwrap();
    let expected: Vec<_> = (250..300).map(line).collect();
    assert!(tail(&Query::new(&path)).unwrap() == expected);
}

fn append(path: &Path, text: &str) {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

fn rotate(path: &Path) {
    let backup = |n: u32| path.with_extension(format!("log.{n}"));
    (1..9)
        .rev()
        .for_each(|n| drop(fs::rename(backup(n), backup(n + 1))));
    fs::rename(path, backup(1)).unwrap();
}

fn next(follow: &mut Follow) -> Vec<String> {
    follow.next_batch(SOON).unwrap()
}

#[test]
fn following_crosses_rotations_and_truncations() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("agent.log");
    append(&path, "old\n");
    let (lines, mut follow) = Follow::start(&Query::new(&path), SOON).unwrap();
    assert_eq!((lines, next(&mut follow)), (vec!["old".to_owned()], vec![]));

    append(&path, "1\nbegun");
    assert_eq!(next(&mut follow), ["1"]);
    append(&path, " and ended\n");
    assert_eq!(next(&mut follow), ["begun and ended"]);

    // A last line in the old file, one that came and went unseen, and the new one.
    append(&path, "2\n");
    rotate(&path);
    append(&path, "3\n");
    rotate(&path);
    assert_eq!(next(&mut follow), ["2", "3"]);
    assert_eq!(next(&mut follow), [""; 0]);
    append(&path, "4\n");
    assert_eq!(next(&mut follow), ["4"]);

    // Deleted, with old backups around.
    append(&path, "unfinished");
    fs::remove_file(&path).unwrap();
    append(&path, "new\n");
    assert_eq!(next(&mut follow), ["unfinished", "new"]);

    File::create(&path).unwrap();
    append(&path, "5\n");
    let seen = next(&mut follow);
    // Emptied and refilled to the same length at once looks unchanged; one more line tells.
    append(&path, "6\n");
    assert_eq!([seen, next(&mut follow)].concat().last().unwrap(), "6");
}

#[test]
fn following_filters_and_loses_nothing_of_a_busy_log() {
    let dir = TempDir::new().unwrap();
    let rotation = Rotation {
        max_bytes: 4 << 10,
        backups: 1_000,
    };
    let settings = Settings {
        rotation,
        ..settings(&dir)
    };
    logging(&settings, || warn!(target: "hermes_agent", "first"));
    let query = Query {
        level: Some(Level::Warning),
        ..Query::new(LogName::Agent.path(&settings.dir))
    };
    let (mut lines, mut follow) = Follow::start(&query, SOON).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            logging(&settings, || {
                for i in 0..2_000 {
                    warn!(target: "hermes_agent", "{i}");
                    info!(target: "hermes_agent", "noise");
                }
                warn!(target: "hermes_agent", "last");
            });
        });
        while !lines.last().unwrap().ends_with(" last") {
            lines.extend(follow.next_batch(Duration::from_secs(20)).unwrap());
        }
    });
    let numbers: Vec<_> = lines
        .iter()
        .filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok())
        .collect();
    assert_eq!(numbers, (0..2_000).collect::<Vec<_>>());
    assert_eq!(lines.len(), 2_002);
}

#[test]
fn words_of_the_command_line() {
    for (text, seconds) in [
        ("45s", 45),
        ("30m", 1_800),
        ("2h", 7_200),
        ("1d", 86_400),
        (" 1 H ", 3_600),
        ("0s", 0),
    ] {
        assert_eq!(parse_since(text).unwrap(), Duration::from_secs(seconds));
    }
    for text in [
        "",
        "m",
        "30",
        "30x",
        "-5m",
        "1.5h",
        "+1h",
        "99999999999999999999s",
        "999999999999999999d",
        "1日",
    ] {
        assert!(
            parse_since(text)
                .unwrap_err()
                .to_string()
                .contains("as in 30m"),
            "{text}"
        );
    }
    assert_eq!("warning".parse::<Level>().unwrap(), Level::Warning);
    assert_eq!("CRITICAL".parse::<Level>().unwrap().to_string(), "CRITICAL");
    assert!(
        "loud"
            .parse::<Level>()
            .unwrap_err()
            .to_string()
            .contains("WARNING")
    );
    assert_eq!("Tools".parse::<Component>().unwrap(), Component::Tools);
    assert!(
        "x".parse::<Component>()
            .unwrap_err()
            .to_string()
            .contains("cron")
    );
    assert_eq!("errors".parse::<LogName>().unwrap(), LogName::Errors);
    assert!(
        "x".parse::<LogName>()
            .unwrap_err()
            .to_string()
            .contains("gateway")
    );
}

#[test]
fn logs_are_listed_with_their_backups() {
    let dir = TempDir::new().unwrap();
    assert_eq!(list(&dir.path().join("none")).unwrap(), []);
    for name in [
        "b.log",
        "a.log",
        "a.log.2",
        "a.log.x",
        "notes.txt",
        ".rotate.lock",
        "log.1",
    ] {
        fs::write(dir.path().join(name), name).unwrap();
    }
    fs::create_dir(dir.path().join("dir.log")).unwrap();
    let logs = list(dir.path()).unwrap();
    let found: Vec<_> = logs
        .iter()
        .map(|log| (log.name.as_str(), log.bytes))
        .collect();
    assert_eq!(found, [("a.log", 5), ("a.log.2", 7), ("b.log", 5)]);
}
