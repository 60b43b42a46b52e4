//! A provider's keys, and whose turn it is. The file is shared: marks other processes made count here, and ours
//! there.

mod choose;
mod renewing;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use reqwest::Url;
use serde_json::json;
use tokio::task::JoinSet;

pub(crate) use choose::Strategy;
pub(crate) use renewing::Renewed;

use crate::auth::{
    self, AuthError, AuthFile, Condition, Credential, Document, Endpoints, Seed, Spent, Stamp,
};
use crate::http::Http;
use choose::Candidate;

/// What a pool is made of.
#[derive(Debug)]
pub(crate) struct Setup {
    /// Its name in the file.
    pub name: String,
    /// Whose keys they are.
    pub provider: String,
    pub strategy: Strategy,
    pub seeds: Vec<Seed>,
    /// A key the owner named for this very use: it comes before all others.
    pub explicit: Option<Seed>,
    pub file: AuthFile,
    pub endpoints: Endpoints,
    pub http: Arc<Http>,
}

/// The pools of a session, so that all its clients know which keys are busy.
#[derive(Debug, Default)]
pub(crate) struct Pools(Mutex<BTreeMap<String, Arc<Pool>>>);

impl Pools {
    /// The pool for an address; made if it is the first time.
    pub fn get(&self, url: &Url, setup: Setup) -> Arc<Pool> {
        let explicit = setup.explicit.as_ref().map(|seed| seed.source.as_str());
        let key = format!("{} {url} {}", setup.name, explicit.unwrap_or_default());
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = pools
            .entry(key)
            .or_insert_with(|| Arc::new(Pool::new(setup)));
        pool.clone()
    }
}

#[derive(Debug)]
pub(crate) struct Pool {
    setup: Setup,
    state: Mutex<State>,
    /// Renewals that outlive whoever asked for them: a token that was replaced must be saved.
    tasks: Mutex<JoinSet<()>>,
    /// One renewal at a time; the next one finds the new token.
    renewing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Credential>,
    /// The file the entries are from; `None`: not read yet.
    read: Option<Option<Stamp>>,
    /// How many requests each key carries right now.
    leases: BTreeMap<String, u32>,
    /// Entries that could not be saved: for this process they are as they are here.
    unsaved: BTreeMap<String, Credential>,
}

/// A key in use, until this is dropped.
#[derive(Debug)]
pub(crate) struct Leased {
    pool: Arc<Pool>,
    pub entry: Credential,
    /// It had failed, and its rest is over.
    pub rested: bool,
}

impl Pool {
    fn new(setup: Setup) -> Self {
        Self {
            setup,
            state: Mutex::default(),
            tasks: Mutex::default(),
            renewing: Arc::default(),
        }
    }

    pub fn provider(&self) -> &str {
        &self.setup.provider
    }

    /// All keys that can be used at all, resting or not.
    pub fn entries(&self) -> Vec<Credential> {
        self.state().entries.clone()
    }

    /// The next key among those that `fit`: the `wanted` one if it is free, else by the strategy.
    pub fn lease(
        self: &Arc<Self>,
        wanted: Option<&str>,
        fit: impl Fn(&Credential) -> bool,
    ) -> Option<Leased> {
        let mut state = self.state();
        let places: Vec<usize> = (0..state.entries.len())
            .filter(|place| fit(&state.entries[*place]))
            .collect();
        let again = places.iter().copied().find(|place| {
            let id = state.entries[*place].id();
            wanted == Some(id) && state.carries(id) == 0
        });
        let candidates: Vec<_> = places.iter().map(|place| state.candidate(*place)).collect();
        let place = again.or_else(|| {
            let chosen = self
                .setup
                .strategy
                .choose(&candidates, fastrand::usize(..))?;
            Some(places[chosen])
        })?;
        let entry = state.entries.get_mut(place)?;
        let rested = entry.text("last_status") == "exhausted";
        if rested {
            entry.clear();
        }
        entry.set("request_count", json!(entry.uses() + 1));
        let entry = entry.clone();
        *state.leases.entry(entry.id().to_owned()).or_default() += 1;
        Some(Leased {
            pool: self.clone(),
            entry,
            rested,
        })
    }

    /// Saves what the choice of a key changed, as far as other processes should know: whose turn is next, how
    /// often it was used, and that its rest is over.
    pub async fn note_choice(self: &Arc<Self>, lease: &Leased) {
        let (chosen, rested) = (&lease.entry, lease.rested);
        let turns = match self.setup.strategy {
            Strategy::RoundRobin => Some(self.turn(chosen)),
            Strategy::LeastUsed => Some(Vec::new()),
            _ if rested => Some(Vec::new()),
            _ => None,
        };
        let Some(turns) = turns else { return };
        let (name, chosen) = (self.setup.name.clone(), chosen.clone());
        let change = move |document: &mut Document| {
            document.change(&name, &chosen, |entry| {
                entry.set("request_count", json!(entry.uses().max(chosen.uses())));
                if rested {
                    entry.clear();
                }
            });
            for (entry, priority) in turns {
                document.change(&name, &entry, |entry| {
                    entry.set("priority", json!(priority))
                });
            }
        };
        if let Err(error) = self.save(change).await {
            tracing::warn!("whose turn it is could not be saved: {error}");
        }
    }

    /// Puts a key at the end of the line; gives everybody's new place.
    fn turn(&self, chosen: &Credential) -> Vec<(Credential, i64)> {
        let mut state = self.state();
        let (mut line, last): (Vec<_>, Vec<_>) = state
            .entries
            .drain(..)
            .partition(|entry| entry.id() != chosen.id());
        line.extend(last);
        for (place, entry) in (0_i64..).zip(&mut line) {
            entry.set("priority", json!(place));
        }
        state.entries = line;
        let entries = state.entries.iter();
        entries
            .map(|entry| (entry.clone(), entry.priority()))
            .collect()
    }

    /// Notes that a key failed, here and for everybody.
    pub async fn exhausted(self: &Arc<Self>, entry: &Credential, spent: Spent, now: Timestamp) {
        let marked = {
            let mut state = self.state();
            let own = state.entries.iter_mut().find(|own| own.is_same(entry));
            let mut marked = own
                .as_ref()
                .map_or_else(|| entry.clone(), |own| (*own).clone());
            marked.exhaust(&spent, now);
            if let Some(own) = own {
                *own = marked.clone();
            }
            state.unsaved.insert(marked.id().to_owned(), marked.clone());
            marked
        };
        let name = self.setup.name.clone();
        let like = marked.clone();
        let change = move |document: &mut Document| {
            document.change(&name, &like, |entry| entry.exhaust(&spent, now));
        };
        match self.save(change).await {
            Ok(()) => drop(self.state().unsaved.remove(marked.id())),
            Err(error) => tracing::warn!("that a key failed could not be saved: {error}"),
        }
    }

    /// When the first of the keys that `fit` can be used again, and why it rests.
    pub fn next_time(
        &self,
        fit: impl Fn(&Credential) -> bool,
        now: Timestamp,
    ) -> Option<(Timestamp, Option<u16>)> {
        let state = self.state();
        let resting = state.entries.iter().filter(|entry| fit(entry));
        let times = resting.filter_map(|entry| match entry.condition(now) {
            Condition::Resting { until, code } => Some((until, code)),
            _ => None,
        });
        times.min_by_key(|(until, _)| *until)
    }

    /// Changes the file without holding up anybody else.
    async fn save(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Document) + Send + 'static,
    ) -> Result<(), AuthError> {
        let file = self.setup.file.clone();
        let saved = tokio::task::spawn_blocking(move || file.update(change)).await;
        saved.unwrap_or_else(|panic| Err(AuthError::invalid(panic.to_string())))
    }

    /// The state, as new as the file.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self.setup.file.stamp();
        if state.read != Some(stamp) {
            state.read = Some(stamp);
            state.entries = self.read(&state.unsaved);
        }
        state
    }

    fn read(&self, unsaved: &BTreeMap<String, Credential>) -> Vec<Credential> {
        let Setup {
            name,
            provider,
            seeds,
            explicit,
            file,
            ..
        } = &self.setup;
        let own = explicit.iter().chain(seeds).cloned().collect::<Vec<_>>();
        let mut entries = auth::merge(&file.read(), name, &own);
        for entry in &mut entries {
            if let Some(newer) = unsaved.get(entry.id()) {
                *entry = newer.clone();
            }
            if explicit
                .as_ref()
                .is_some_and(|seed| seed.source == entry.source())
            {
                entry.set("priority", json!(-1));
            }
        }
        let now = Timestamp::now();
        entries.retain(|entry| auth::is_alive(provider, entry, now));
        entries.sort_by_key(Credential::priority);
        entries
    }
}

impl State {
    fn carries(&self, id: &str) -> u32 {
        self.leases.get(id).copied().unwrap_or_default()
    }

    fn candidate(&self, place: usize) -> Candidate {
        let entry = &self.entries[place];
        Candidate {
            priority: entry.priority(),
            uses: entry.uses(),
            leases: self.carries(entry.id()),
        }
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        let mut state = self
            .pool
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = state.leases.get_mut(self.entry.id()) {
            *count = count.saturating_sub(1);
        }
    }
}
