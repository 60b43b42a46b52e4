//! From events to files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use hermes_home::log::{Access, Level, LogName, Role, Rotation, Settings, list};
use pretty_assertions::assert_eq;
use regex::Regex;
use tempfile::TempDir;
use tracing::{debug, error, info, info_span, trace, warn};

use super::{logging, settings};

const ALL: [LogName; 3] = [LogName::Agent, LogName::Errors, LogName::Gateway];

/// The lines of a log without the time they begin with.
fn untimed(settings: &Settings, name: LogName) -> Vec<String> {
    let time = Regex::new(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ").unwrap();
    let text = fs::read_to_string(name.path(&settings.dir)).unwrap_or_default();
    text.lines()
        .map(|line| time.replace(line, "").into_owned())
        .collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[derive(Debug, thiserror::Error)]
#[error("no answer")]
struct Chain(#[source] std::io::Error);

#[test]
fn lines_have_level_session_component_message_and_fields() {
    let dir = TempDir::new().unwrap();
    let settings = settings(&dir);
    logging(&settings, || {
        info!(target: "hermes_agent::turn", "hello");
        let session = info_span!(target: "hermes_session", "live", session = "20260405_ab12cd");
        session.in_scope(|| {
            warn!(target: "hermes_exec::pty", exit = 1, cwd = "/a b", "it {}", "failed");
            info_span!(target: "hermes_agent", "step").in_scope(|| info!(target: "hermes", "deep"));
        });
        let late = info_span!(target: "hermes_session", "late", session = tracing::field::Empty);
        late.record("session", "s1");
        late.in_scope(|| info!(target: "hermes_cron", session = %"s2", "own session wins"));
        error!(target: "hermes_chat", token = "hunter2", tokens = 12, "two\nlines\x1b[0m\n");
        let chain = Chain(std::io::Error::other("root"));
        error!(target: "hermes_net", error = &chain as &dyn std::error::Error);
    });
    assert_eq!(
        untimed(&settings, LogName::Agent),
        [
            "INFO agent.turn: hello",
            "WARNING [20260405_ab12cd] tools.exec.pty: it failed exit=1 cwd=\"/a b\"",
            "INFO [20260405_ab12cd] cli: deep",
            "INFO [s2] cron: own session wins",
            "ERROR gateway.chat: two",
            "lines\u{fffd}[0m token=*** tokens=12",
            "ERROR net: error=\"no answer: root\"",
        ]
    );
}

#[test]
fn each_file_gets_what_it_is_for() {
    let emit = || {
        info!(target: "hermes_agent", "agent info");
        debug!(target: "hermes_agent", "agent debug");
        trace!(target: "hermes_agent", "agent trace");
        info!(target: "hermes_chat::irc", "gateway info");
        error!(target: "hermes_gateway", "gateway error");
        info!(target: "hyper::client", "library info");
        warn!(target: "hyper::client", "library warning");
    };
    let agent = ["INFO agent: agent info", "DEBUG agent: agent debug"];
    let gateway = [
        "INFO gateway.chat.irc: gateway info",
        "ERROR gateway: gateway error",
    ];
    let library = "WARNING hyper.client: library warning";
    let check = |level: Level, role: Role, expected: [&[&str]; 3]| {
        let dir = TempDir::new().unwrap();
        let settings = Settings {
            level,
            role,
            ..settings(&dir)
        };
        logging(&settings, emit);
        assert_eq!(
            ALL.map(|name| untimed(&settings, name)),
            expected.map(<[&str]>::to_vec)
        );
    };
    let errors = [gateway[1], library];
    check(
        Level::Info,
        Role::Other,
        [&[agent[0], gateway[0], gateway[1], library], &errors, &[]],
    );
    check(
        Level::Debug,
        Role::Gateway,
        [
            &[agent[0], agent[1], gateway[0], gateway[1], library],
            &errors,
            &gateway,
        ],
    );
    check(
        Level::Error,
        Role::Gateway,
        [&[gateway[1]], &errors, &gateway],
    );
}

#[test]
fn a_session_is_named_even_where_only_warnings_are_written() {
    let dir = TempDir::new().unwrap();
    let settings = Settings {
        level: Level::Warning,
        ..settings(&dir)
    };
    logging(&settings, || {
        info_span!(target: "hermes_session", "live", session = "s1")
            .in_scope(|| warn!(target: "hermes_agent", "x"));
    });
    assert_eq!(
        untimed(&settings, LogName::Agent),
        ["WARNING [s1] agent: x"]
    );
}

// spec: state §13.16
#[test]
fn secrets_never_reach_a_log() {
    let dir = TempDir::new().unwrap();
    let settings = settings(&dir);
    let key = format!("ghp_{}", "aB3".repeat(12));
    logging(&settings, || {
        info!(target: "hermes_net", "Authorization: Bearer abcdefghijklmnopqrstuvwxyz");
        info!(target: "hermes_net", "got {key} back");
        info!(target: "hermes_net", header = %key, api_key = "hunter2", "field");
        info!(target: "hermes_net", "the task-force-of-twenty-people met");
        info!(target: "hermes_net", "two lines\nTOKEN=abc");
        info!(target: "hermes_net", "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----");
    });
    assert_eq!(
        untimed(&settings, LogName::Agent),
        [
            "INFO net: Authorization: Bearer abcdef...wxyz",
            "INFO net: got ghp_aB...3aB3 back",
            "INFO net: field header=ghp_aB...3aB3 api_key=***",
            "INFO net: the task-force-of-twenty-people met",
            "INFO net: two lines",
            "TOKEN=***",
            "INFO net: [REDACTED PRIVATE KEY]",
        ]
    );
}

#[test]
fn nothing_is_touched_before_the_first_line_and_files_are_private() {
    let dir = TempDir::new().unwrap();
    let private = settings(&dir);
    logging(&private, || {
        assert!(!private.dir.exists());
        info!(target: "hermes", "x");
    });
    let path = LogName::Agent.path(&private.dir);
    assert_eq!((mode(&private.dir), mode(&path)), (0o700, 0o600));
    assert!(!LogName::Errors.path(&private.dir).exists());

    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let shared = Settings {
        access: Access::Group,
        ..private
    };
    logging(&shared, || info!(target: "hermes", "x"));
    assert_eq!(mode(&path), 0o660);
}

#[test]
fn a_log_that_cannot_be_written_is_no_reason_to_fail() {
    let dir = TempDir::new().unwrap();
    let settings = settings(&dir);
    fs::write(&settings.dir, "a file, not a directory").unwrap();
    logging(&settings, || error!(target: "hermes", "lost"));
    fs::remove_file(&settings.dir).unwrap();
    logging(&settings, || error!(target: "hermes", "kept"));
    assert_eq!(untimed(&settings, LogName::Errors), ["ERROR cli: kept"]);
}

fn all_lines(dir: &Path) -> Vec<String> {
    let logs = list(dir).unwrap();
    let texts = logs
        .iter()
        .map(|log| fs::read_to_string(dir.join(&log.name)).unwrap());
    texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[test]
fn several_writers_lose_and_tear_nothing_while_rotating() {
    const WRITERS: usize = 8;
    const LINES: usize = 2_500;
    let dir = TempDir::new().unwrap();
    let rotation = Rotation {
        max_bytes: 16 << 10,
        backups: 10_000,
    };
    let settings = Settings {
        rotation,
        ..settings(&dir)
    };
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            // Each has its own files and locks, as a process of its own would.
            let settings = settings.clone();
            scope.spawn(move || {
                logging(&settings, || {
                    for line in 0..LINES {
                        info!(target: "hermes_agent", "{writer}/{line} {}", "x".repeat(line % 80));
                    }
                });
            });
        }
    });
    let message = Regex::new(r"^\S+ \S+ INFO agent: (\d+)/(\d+)(?: (x*))?$").unwrap();
    let mut seen = vec![vec![false; LINES]; WRITERS];
    for line in all_lines(&settings.dir) {
        let parts = message.captures(&line).expect(&line);
        let [writer, number] = [1, 2].map(|group| parts[group].parse::<usize>().unwrap());
        assert_eq!(
            parts.get(3).map_or(0, |x| x.len()),
            number % 80,
            "torn: {line}"
        );
        assert!(
            !std::mem::replace(&mut seen[writer][number], true),
            "twice: {line}"
        );
    }
    assert!(seen.iter().flatten().all(|seen| *seen));
    assert!(list(&settings.dir).unwrap().len() > 50);
}

#[test]
fn a_full_log_starts_anew_and_old_ones_go() {
    let check = |backups: u32, expected: &[&str]| {
        let dir = TempDir::new().unwrap();
        let settings = Settings {
            rotation: Rotation {
                max_bytes: 400,
                backups,
            },
            ..settings(&dir)
        };
        logging(&settings, || {
            (0..40).for_each(|i| info!(target: "hermes_agent", "line {i:03}"));
        });
        let logs = list(&settings.dir).unwrap();
        assert!(
            logs.iter()
                .all(|log| log.bytes <= 400 && log.age < Duration::from_secs(60))
        );
        assert_eq!(
            logs.into_iter().map(|log| log.name).collect::<Vec<_>>(),
            expected
        );
    };
    check(0, &["agent.log"]);
    check(1, &["agent.log", "agent.log.1"]);
    check(2, &["agent.log", "agent.log.1", "agent.log.2"]);
}
