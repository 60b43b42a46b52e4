//! `hermes backup` and `hermes import`

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use hermes_home::profile::{Name, Profiles};
use hermes_home::{backup, clock};
use hermes_lines::Table;
use jiff::Timestamp;

use super::{confirm, size};
use crate::cli::Backup;
use crate::wire::{App, say};

pub fn run(app: &mut App, options: &Backup) -> Result<()> {
    if options.list {
        return list(app);
    }
    if options.quick {
        let snapshot =
            backup::take_snapshot(&app.home, options.label.as_deref(), Timestamp::now(), &copy)?;
        let mark = app.out.good("✓");
        writeln!(
            app.out,
            "{mark} snapshot {} ({} files, {})",
            snapshot.id,
            snapshot.file_count,
            size(snapshot.total_size)
        )?;
        return Ok(writeln!(
            app.out,
            "  bring it back with `hermes import {}`",
            snapshot.id
        )?);
    }
    let target = target(app, options.output.as_deref());
    let mut progress = Progress::new("packing");
    let packed = backup::pack(app.home.root(), &target, &copy, &mut |path| {
        progress.show(path)
    })?;
    progress.clear();
    for skipped in &packed.skipped {
        say(&format!("skipped {skipped}"));
    }
    let mark = app.out.good("✓");
    writeln!(
        app.out,
        "{mark} {} ({} files, {})",
        packed.path.display(),
        packed.files,
        size(packed.bytes)
    )?;
    Ok(writeln!(
        app.out,
        "  it holds your keys: keep it somewhere safe"
    )?)
}

fn target(app: &App, given: Option<&Path>) -> PathBuf {
    let name = backup::default_name(&clock::now());
    match given {
        None => app.env.user_home().join(name),
        Some(dir) if dir.is_dir() => dir.join(name),
        Some(path) if path.extension().is_some_and(|end| end == "zip") => path.to_owned(),
        Some(path) => format!("{}.zip", path.display()).into(),
    }
}

fn list(app: &mut App) -> Result<()> {
    let snapshots = backup::snapshots(&app.home);
    if snapshots.is_empty() {
        return Ok(writeln!(
            app.out,
            "No snapshots yet: `hermes backup --quick` takes one."
        )?);
    }
    let mut table = Table::new(&["snapshot", "files", "size"], 0);
    for snapshot in snapshots {
        table.row(vec![
            snapshot.id,
            snapshot.file_count.to_string(),
            size(snapshot.total_size),
        ]);
    }
    Ok(table.print(&mut app.out)?)
}

pub fn import(app: &mut App, source: &str, force: bool) -> Result<()> {
    let overwrites = app.home.config_path().exists() || app.home.state_db().exists();
    if overwrites
        && !force
        && !confirm(
            app,
            &format!("Overwrite what is in {}?", app.home.root().display()),
        )?
    {
        return Ok(writeln!(app.out, "Nothing was changed.")?);
    }
    if !Path::new(source).exists()
        && backup::snapshots(&app.home)
            .iter()
            .any(|snapshot| snapshot.id == source)
    {
        let files = backup::restore_snapshot(&app.home, source, &put_back)?;
        return Ok(writeln!(
            app.out,
            "{files} files restored from snapshot {source}"
        )?);
    }
    let mut progress = Progress::new("restoring");
    let restored = backup::restore(&app.home, Path::new(source), &put_back, &mut |path| {
        progress.show(path)
    })?;
    progress.clear();
    for blocked in &restored.blocked {
        say(&format!("blocked {blocked}: it leads outside the home"));
    }
    for failed in &restored.failed {
        say(&format!("not restored: {failed}"));
    }
    let mark = app.out.good("✓");
    writeln!(
        app.out,
        "{mark} {} files restored to {}",
        restored.files,
        app.home.root().display()
    )?;
    recreate_aliases(app)?;
    if restored.failed.is_empty() {
        Ok(())
    } else {
        Err(super::Failed(1).into())
    }
}

/// Profiles came back; their commands live outside the home.
fn recreate_aliases(app: &App) -> Result<()> {
    let profiles = Profiles::of(&app.home, &app.env);
    for name in profiles
        .list()?
        .iter()
        .filter_map(|info| Name::for_new(&info.name).ok())
    {
        let alias = profiles.alias(&name);
        if !alias.is_ours() {
            alias
                .write()
                .unwrap_or_else(|error| say(&error.to_string()));
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> std::result::Result<(), String> {
    hermes_store::copy_database(from, to).map_err(|error| error.to_string())
}

fn put_back(from: &Path, to: &Path) -> std::result::Result<(), String> {
    hermes_store::restore_database(from, to).map_err(|error| error.to_string())
}

/// One line on a terminal's stderr, rewritten for each file.
struct Progress {
    verb: &'static str,
    shown: bool,
    count: usize,
}

impl Progress {
    fn new(verb: &'static str) -> Self {
        Self {
            verb,
            shown: io::stderr().is_terminal(),
            count: 0,
        }
    }

    fn show(&mut self, path: &Path) {
        self.count += 1;
        if self.shown {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let _ = write!(
                io::stderr(),
                "\r\x1b[K{} {} {}",
                self.verb,
                self.count,
                hermes_lines::cut(&name, 50)
            ); // cosmetic
        }
    }

    fn clear(&self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K"); // cosmetic
        }
    }
}
