//! `hermes --version`: how long, how much memory, and that it touches nothing.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::table::{Bar, Row};
use super::{Setup, percentile};
use crate::cache::Scratch;
use crate::command::as_user;

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let user = Scratch::new("start")?;
    let ours = || version(&setup.hermes, &user);
    let theirs = || version(&setup.theirs.join("hermes"), &user);

    // Turn and turn about, so that what else the machine does hits both alike.
    let (mut nothing, mut us) = (Vec::new(), Vec::new());
    for _ in 0..setup.rounds(400) {
        nothing.push(wall(&mut as_user(Path::new("/bin/true"), user.path()))?);
        us.push(wall(&mut ours())?);
    }
    // Its first start makes folders and caches; that is not what is compared.
    wall(&mut theirs())?;
    let rounds = 0..setup.rounds(20).max(3);
    let them: Vec<_> = rounds.map(|_| wall(&mut theirs())).collect::<Result<_>>()?;

    let above = |times: &[f64], rank| percentile(times, rank) - percentile(&nothing, 50);
    let row =
        |what: &str, ours, unit, bar| Row::new(format!("`--version` {what}"), ours, unit, bar);
    let faster = percentile(&them, 50) / percentile(&us, 50);
    let memory = peak_mb(&mut ours())?;
    let mut rows = vec![
        row(
            "above `/bin/true`, median",
            above(&us, 50),
            "ms",
            Bar::AtMost(4.0),
        )
        .beside(above(&them, 50)),
        row("above `/bin/true`, p95", above(&us, 95), "ms", Bar::None).beside(above(&them, 95)),
        row("faster than Python", faster, "×", Bar::AtLeast(60.0)),
        row("peak memory", memory, "MB", Bar::AtMost(8.0)).beside(peak_mb(&mut theirs())?),
    ];
    if let Some(count) = touched(setup, &user)? {
        rows.push(row(
            "looks into the home, sockets",
            count as f64,
            "",
            Bar::AtMost(0.0),
        ));
    }
    Ok(rows)
}

fn version(program: &Path, user: &Scratch) -> Command {
    let mut command = as_user(program, user.path());
    command.arg("--version");
    command
}

/// Milliseconds from start to end.
pub fn wall(command: &mut Command) -> Result<f64> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let elapsed = start.elapsed();
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(elapsed.as_secs_f64() * 1000.0)
}

/// Peak resident memory. What `wait4` reports includes the parent's own pages from before `exec`, which may be more than ours; so the
/// program is held at its last step, writing into a pipe that stays full, and the kernel is asked for its high-water mark.
pub fn peak_mb(command: &mut Command) -> Result<f64> {
    const TRIES: usize = 10;
    for _ in 0..TRIES {
        let (reader, mut writer) = std::io::pipe()?;
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(Stdio::null());
        let stuffing = std::thread::spawn(move || while writer.write_all(&[0; 4096]).is_ok() {});
        let mut child = command.spawn()?;
        let peak = settled_peak(child.id());
        drop(reader); // breaks the pipe: both writers end
        child.wait()?;
        let _ = stuffing.join();
        if let Some(kilobytes) = peak {
            return Ok(kilobytes / 1024.0);
        }
    }
    bail!("{command:?} was never seen waiting for its reader")
}

/// `VmHWM` once the process has slept for a while; `None` if it ended instead.
fn settled_peak(process: u32) -> Option<f64> {
    const STEP: Duration = Duration::from_millis(5);
    let mut asleep = 0;
    while asleep < 40 {
        std::thread::sleep(STEP);
        let status = status(process)?;
        asleep = if status.contains("State:\tS") {
            asleep + 1
        } else {
            0
        };
    }
    let status = status(process)?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn status(process: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{process}/status"))
        .ok()
        .filter(|text| text.contains("VmHWM"))
}

/// How many times it looked into the home or opened a socket; `None` without strace.
fn touched(setup: &Setup, user: &Scratch) -> Result<Option<usize>> {
    let log = user.path().join("strace.log");
    let mut strace = as_user(Path::new("strace"), user.path());
    strace
        .args(["-f", "-e", "trace=%file,%network", "-o"])
        .arg(&log);
    strace
        .arg(&setup.hermes)
        .arg("--version")
        .stdout(Stdio::null());
    match strace.status() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        ended => ensure!(ended?.success(), "strace failed"),
    }
    let home = user.path().join(".hermes").display().to_string();
    let log = fs::read_to_string(log)?;
    let touches = log
        .lines()
        .filter(|line| line.contains(&home) || line.contains("socket("));
    Ok(Some(touches.count()))
}
