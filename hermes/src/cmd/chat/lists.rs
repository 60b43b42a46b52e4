//! What can be chosen in a chat: conversations, models, checkpoints, files, and words behind commands.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, FutureExt};
use hermes_checkpoints::Checkpoints;
use hermes_exec::files::Cwd;
use hermes_home::Env;
use hermes_model::Offers;
use hermes_refs::{Finder, Kind};
use hermes_store::{ListQuery, Order, Store};
use hermes_tui::chat::{Lists, Pickable};
use hermes_tui::look::Skin;
use hermes_tui::menu::{Candidate, Files, Words};
use tokio_util::sync::CancellationToken;

use super::open::Open;
use crate::cmd::model;
use crate::wire::App;

/// Conversations to choose from.
const CONVERSATIONS: usize = 200;
/// A list of files older than this is made anew.
const STALE: Duration = Duration::from_secs(10);

/// Lists for `/resume`, `/model` and `/rollback`.
pub struct Picks {
    store: Store,
    offers: Arc<Offers>,
    checkpoints: Arc<Checkpoints>,
    cwd: Cwd,
}

impl Picks {
    pub fn new(app: &App, open: &Open) -> Self {
        Self {
            store: open.store.clone(),
            offers: Arc::new(model::offers(app)),
            checkpoints: open.hands.checkpoints.clone(),
            cwd: open.hands.cwd.clone(),
        }
    }
}

impl Lists for Picks {
    fn rows(&self, command: &'static str) -> BoxFuture<'static, Result<Vec<Pickable>, String>> {
        match command {
            "resume" => conversations(self.store.clone()).boxed(),
            "model" => models(self.offers.clone()).boxed(),
            "rollback" => snapshots(self.checkpoints.clone(), self.cwd.get()).boxed(),
            _ => std::future::ready(Ok(Vec::new())).boxed(),
        }
    }
}

async fn conversations(store: Store) -> Result<Vec<Pickable>, String> {
    let query = ListQuery {
        order: Order::Activity,
        limit: CONVERSATIONS,
        ..ListQuery::default()
    };
    let rows = store.list(query).await.map_err(|error| error.to_string())?;
    let rows = rows.into_iter().map(|row| Pickable {
        argument: row.id.to_string(),
        name: row.title.clone().unwrap_or_default(),
        label: row.title.unwrap_or_else(|| row.preview.clone()),
        about: format!(
            "{} · {} messages",
            row.last_active.strftime("%Y-%m-%d %H:%M"),
            row.message_count
        ),
        group: String::new(),
        current: false,
        preview: row.preview,
    });
    Ok(rows.collect())
}

async fn models(offers: Arc<Offers>) -> Result<Vec<Pickable>, String> {
    let found = offers.search(&[], &model::scope()).await;
    let ready = found.into_iter().filter(|entry| entry.is_ready);
    let rows: Vec<Pickable> = ready
        .map(|entry| {
            let [id, context, input, output] = model::list::cells(&entry.model);
            let price = match input.is_empty() {
                true => String::new(),
                false => format!("  {input} in, {output} out per M"),
            };
            Pickable {
                argument: format!("{}:{id}", entry.provider),
                name: String::new(),
                label: id,
                about: format!("{context}{price}"),
                group: entry.provider,
                current: false,
                preview: String::new(),
            }
        })
        .collect();
    match rows.is_empty() {
        true => Err("no list of models is known; `hermes model refresh` fetches them, /model PROVIDER:MODEL changes without one".to_owned()),
        false => Ok(rows),
    }
}

async fn snapshots(checkpoints: Arc<Checkpoints>, cwd: PathBuf) -> Result<Vec<Pickable>, String> {
    let found = checkpoints.list_at(&cwd).await;
    let found = found.map_err(|error| error.to_string())?;
    let rows = found
        .into_iter()
        .enumerate()
        .map(|(index, checkpoint)| Pickable {
            argument: (index + 1).to_string(),
            name: String::new(),
            label: format!("{}", checkpoint.at.strftime("%Y-%m-%d %H:%M:%S")),
            about: format!(
                "{} · {} files, +{} −{}",
                checkpoint.reason, checkpoint.files, checkpoint.insertions, checkpoint.deletions
            ),
            group: String::new(),
            current: false,
            preview: String::new(),
        });
    Ok(rows.collect())
}

/// Files that `@` could mean, looked at when somebody asks.
pub struct Found {
    finder: Mutex<(Finder, Option<Instant>)>,
}

impl Found {
    pub fn new(cwd: &Path, env: &Env) -> Self {
        let finder = Finder::new(cwd, env.user_home());
        Self {
            finder: Mutex::new((finder, None)),
        }
    }
}

impl Files for Found {
    fn candidates(&self, typed: &str) -> Vec<Candidate> {
        let mut held = self.finder.lock().unwrap_or_else(PoisonError::into_inner);
        let (finder, looked) = &mut *held;
        let Some(wanted) = typed.strip_prefix('@') else {
            return finder.paths(typed).into_iter().map(candidate).collect();
        };
        if looked.is_none_or(|at| at.elapsed() > STALE) {
            finder.refresh(&CancellationToken::new());
            *looked = Some(Instant::now());
        }
        finder
            .candidates(wanted)
            .into_iter()
            .map(candidate)
            .collect()
    }
}

fn candidate(found: hermes_refs::Candidate) -> Candidate {
    let about = match found.kind {
        Kind::Word => "",
        Kind::File => "file",
        Kind::Folder => "folder",
    };
    Candidate {
        insert: found.insert,
        ..Candidate::word(found.label, about)
    }
}

/// Words that can follow a command.
pub struct Names {
    skins: Vec<String>,
    personalities: Vec<String>,
}

impl Names {
    pub fn new(app: &App) -> Self {
        let personalities = hermes_session::Personalities::new(&app.home, &app.settings, &app.env);
        Self {
            skins: Skin::builtins().map(str::to_owned).collect(),
            personalities: personalities.names(),
        }
    }
}

impl Words for Names {
    fn arguments(&self, command: &str, typed: &str) -> Vec<Candidate> {
        let words = |names: &[String]| {
            let names = names.iter();
            names.map(|name| Candidate::word(name, "")).collect()
        };
        match command {
            "skin" => words(&self.skins),
            "personality" => words(&self.personalities),
            "tools" if typed.contains(' ') => toolsets(typed),
            command => spelled_out(command),
        }
    }
}

/// `enable NAME` and `disable NAME`; the last of several is looked for.
fn toolsets(typed: &str) -> Vec<Candidate> {
    let (before, _) = typed.rsplit_once(' ').unwrap_or_default();
    let names = hermes_session::toolsets::leaves().map(|(leaf, _)| leaf);
    let names = names.filter(|leaf| !before.split(' ').any(|word| word == *leaf));
    match before.split(' ').next() {
        Some("enable" | "disable") => names
            .map(|leaf| Candidate::word(format!("{before} {leaf}"), ""))
            .collect(),
        _ => Vec::new(),
    }
}

/// The words its own usage names: `[interrupt|queue|steer]`.
fn spelled_out(command: &str) -> Vec<Candidate> {
    let found = hermes_session::slash::TABLE
        .iter()
        .find(|slash| slash.name == command);
    let usage = found
        .map_or("", |slash| slash.args)
        .trim_matches(['[', ']']);
    let word =
        |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    match usage.contains('|') {
        true => usage
            .split('|')
            .filter(word)
            .map(|word| Candidate::word(word, ""))
            .collect(),
        false => Vec::new(),
    }
}
