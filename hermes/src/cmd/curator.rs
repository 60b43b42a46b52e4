//! `hermes curator`: who tidies up what was learned, and the way back.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use hermes_exec::files::{Cwd, LocalWorkspace};
use hermes_lines::printable;
use hermes_proc::{Spawn, Stdin, Tty};
use hermes_session::{Thinking, carry_out};
use hermes_skills::curator::{Answer, Curator, Wish};
use hermes_types::Finding;

use super::chat::{models::check_model, open::spending};
use super::confirm;
use crate::cli::{self, CuratorRun, Talk};
use crate::wire::{App, say};

pub fn run(app: &mut App, asked: Option<&cli::Curator>) -> Result<()> {
    if let Some(cli::Curator::Run(run)) = asked
        && run.background
    {
        return detach(app, run);
    }
    let wish = asked.map_or(Wish::Status, Wish::from);
    match answer(app, wish.clone())? {
        Answer::Told(text) => tell(app, &text),
        Answer::Ask { text, question } => {
            tell(app, &text)?;
            if !confirm(app, &question)? {
                return tell(app, "Nothing was changed.");
            }
            match answer(app, wish.confirmed())? {
                Answer::Told(text) | Answer::Ask { text, .. } => tell(app, &text),
            }
        }
    }
}

/// For `hermes doctor`.
pub fn findings(app: &App) -> Vec<Finding> {
    of(app).findings()
}

pub fn of(app: &App) -> Arc<Curator> {
    Arc::new(Curator::new(&app.home, &app.settings, &app.env))
}

fn answer(app: &App, wish: Wish) -> Result<Answer> {
    let curator = of(app);
    let thinking = match curator.wants_model(&wish) {
        true => Some(Arc::new(check_model(app, &Talk::default())?)),
        false => None,
    };
    app.block_on(async {
        let thinking = match thinking {
            None => None,
            Some(models) => {
                say("a model reads the skills; this can take some minutes");
                let workspace = Arc::new(LocalWorkspace::new(Cwd::new(app.home.dir())));
                let store = app.store().await?;
                Some(Thinking::alone(models, workspace, spending(app), &store).await)
            }
        };
        let answered = carry_out(&curator, wish, thinking).await;
        answered.map_err(|reason| anyhow!(reason))
    })
}

/// The same in a process of its own that nobody waits for.
fn detach(app: &mut App, run: &CuratorRun) -> Result<()> {
    let mut args = vec!["curator".to_owned(), "run".to_owned()];
    args.extend(run.dry_run.then(|| "--dry-run".to_owned()));
    args.extend(run.consolidate.then(|| "--consolidate".to_owned()));
    let mut env = app.env.clone();
    // Whatever chose this home chose it for the other process too.
    env.set("HERMES_HOME", app.home.dir().to_string_lossy());
    let spawn = Spawn {
        program: std::env::current_exe().context("finding this program")?,
        args,
        env: env
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        dir: app.home.dir().to_owned(),
        stdin: Stdin::Null,
        tty: Tty::None,
    };
    app.block_on(async {
        spawn.start()?.release();
        Ok(())
    })?;
    tell(
        app,
        "The curator is at work; `hermes curator status` shows what came of it.",
    )
}

fn tell(app: &mut App, text: &str) -> Result<()> {
    Ok(writeln!(app.out, "{}", printable(text.trim_end()))?)
}
