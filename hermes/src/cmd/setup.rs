//! `hermes setup`, and the question of a first start.

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use hermes_home::Env;
use hermes_model::{Overrides, RoutedModels};
use hermes_tui::setup::{Error, Finish, GUIDANCE, Inventory, Pen, Plan, SECTIONS, Wizard};
use hermes_types::ModelErrorKind;

use super::market::Shop;
use super::{Failed, chat, intact};
use crate::cli::{LoginArgs, Setup, Talk};
use crate::wire::{App, say};

pub fn run(app: &mut App, before: &Talk, args: &Setup) -> Result<()> {
    app.home.writable()?;
    if args.non_interactive {
        return Ok(writeln!(app.out, "{GUIDANCE}")?);
    }
    if !io::stdin().is_terminal() {
        say(GUIDANCE);
        return Err(Failed(1).into());
    }
    if !args.reset {
        intact(app)?;
    }
    let named = SECTIONS.iter();
    let mut named = named.filter(|(name, _)| args.section.as_deref() == Some(name));
    let plan = match (named.next(), args.quick, args.reconfigure) {
        (Some((_, section)), ..) => Plan::Only(*section),
        (None, true, _) => Plan::Quick,
        (None, false, true) => Plan::Full,
        (None, false, false) => Plan::Usual,
    };
    if args.reset && !super::confirm(app, "Forget all settings? A copy is kept, keys stay.")? {
        return Ok(writeln!(app.out, "Nothing was changed.")?);
    }
    match wizard(app, plan, args.reset)? {
        Finish::Done => Ok(()),
        Finish::Chat => chat::run(app, before, "cli", &chat::Job::Lines),
    }
}

/// Offers the questions to whoever starts a conversation with nothing set up.
pub fn offer(app: &mut App, talk: &Talk) -> Result<()> {
    let overrides = Overrides {
        model: talk.model.clone(),
        provider: talk.provider.clone(),
    };
    let usable = |app: &App| {
        let (settings, env) = (app.settings.clone(), app.env.clone());
        RoutedModels::new(&app.home, settings, env, &overrides)
    };
    let Err(error) = usable(app) else {
        return Ok(());
    };
    if error.kind != ModelErrorKind::NotConfigured || app.settings.broken().is_some() {
        return Ok(());
    }
    say(&format!("{error}\nOr answer a few questions: hermes setup"));
    write!(io::stderr(), "Run setup now? [Y/n] ")?;
    let mut answer = String::new();
    let is_end = io::stdin().read_line(&mut answer)? == 0;
    if is_end || !matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes") {
        return Err(Failed(1).into());
    }
    match wizard(app, Plan::Usual, false)? {
        Finish::Chat => Ok(()),
        // Somebody who only wanted to set it up has what they wanted.
        Finish::Done => Err(Failed(u8::from(usable(app).is_err())).into()),
    }
}

fn wizard(app: &mut App, plan: Plan, reset: bool) -> Result<Finish> {
    let desk = app.desk("setup", "see `hermes setup --non-interactive`")?;
    let env = Env::from_process();
    let tools = inventory(app)?;
    let mut pen = Pen::new(&app.home, &env).with_copy();
    pen.ready()?;
    if reset {
        pen.reset()?;
    }
    let login = LoginArgs::default();
    let market = Shop { app, login: &login };
    let mut wizard = Wizard {
        desk: &desk,
        pen: &mut pen,
        market: &market,
        tools: &tools,
    };
    let finish = match wizard.run(plan) {
        Err(Error::Interrupted) => {
            say(&Error::Interrupted.to_string());
            wizard.copy().iter().for_each(|line| say(line));
            return Err(Failed(1).into());
        }
        finish => finish?,
    };
    app.reload();
    Ok(finish)
}

/// The tools there are, and what each of them adds to a request.
pub fn inventory(app: &App) -> Result<Inventory> {
    let everything = Talk {
        toolsets: vec!["all".to_owned()],
        ..Talk::default()
    };
    let all = chat::preamble(app, &everything)?;
    Ok(Inventory {
        sizes: all.tools.into_iter().collect(),
        unusable: all.unusable.into_iter().collect(),
    })
}
