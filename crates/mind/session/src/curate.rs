//! The curator beside a conversation: looked after when one begins, asked with `/curator`, helped by a model when
//! skills are to be merged.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_agent::{Conversation, Events, Hints, Limits, Steer, Toolbox, Turn};
use hermes_skills::curator::{
    Answer, Curator, Due, Extent, Finished, Merging, Thought, Trigger, Wish,
};
use hermes_store::{ListQuery, NewSession, Order, Store};
use hermes_types::{AgentEvent, Message, Models, Purpose, Purse, Scope, SessionId, Workspace};
use jiff::Timestamp;
use tokio::task::spawn_blocking;

use crate::actor::Live;
use crate::begin::new_id;
use crate::silent::{Account, Nobody, Nowhere};
use crate::spending::Spending;

const TASK: &str = "curator";
/// Replies with tool calls: a large library is read skill by skill.
const ITERATIONS: u32 = 200;
/// Why a session that only pays for it ends.
const OVER: &str = "curator_complete";
/// For all of them together.
const PATIENCE: Duration = Duration::from_secs(2 * 60 * 60);

/// What a model needs to merge skills.
#[derive(Clone)]
pub struct Thinking {
    pub models: Arc<dyn Models>,
    pub workspace: Arc<dyn Workspace>,
    pub purse: Purse,
    payer: Payer,
}

/// Whose account it goes on.
#[derive(Clone)]
enum Payer {
    Session(Account),
    /// A session without words, which is there for that.
    Itself(Store),
}

impl Thinking {
    /// For whoever is in no conversation: what it costs stands in `store` as the curator's own.
    pub async fn alone(
        models: Arc<dyn Models>,
        workspace: Arc<dyn Workspace>,
        spending: Spending,
        store: &Store,
    ) -> Self {
        Self {
            models,
            workspace,
            purse: spending.rest_of_day(store).await,
            payer: Payer::Itself(store.clone()),
        }
    }

    /// Lets a model work; what goes wrong is part of the result.
    async fn merge(&self, merging: &Merging) -> Thought {
        let model = match self.models.client(&Purpose::Aux(TASK)) {
            Ok(model) => model,
            Err(error) => {
                return Thought {
                    error: Some(error.to_string()),
                    ..Thought::default()
                };
            }
        };
        let info = model.info().clone();
        let scope = Scope {
            purse: self.purse.clone(),
            ..Scope::new(SessionId::new(TASK)).within(PATIENCE)
        };
        let turn = Turn {
            model,
            toolbox: Toolbox::new(merging.tools.iter().cloned()),
            workspace: self.workspace.clone(),
            asker: Arc::new(Nobody),
            models: self.models.clone(),
            witness: None,
            scope,
            events: Events::new(|_| {}),
            steer: Steer::default(),
            hints: Arc::new(Mutex::new(Hints::new(self.workspace.cwd()))),
            limits: Limits {
                iterations: ITERATIONS,
                verify_files: false,
                ..Limits::default()
            },
        };
        let account = self.payer.account(&info.model).await;
        let journal = Arc::new(Nowhere {
            account: account.clone(),
        });
        let mut conversation = Conversation::resume(merging.system.clone(), Vec::new(), journal);
        let prompt = Message::user(merging.prompt.clone());
        let end = turn.run(&mut conversation, prompt).await;
        self.payer.close(account).await;
        Thought {
            model: info.model,
            provider: info.provider,
            text: end.text,
            error: end.error,
            calls: merging.calls(),
        }
    }
}

impl Payer {
    /// `None`: it cannot be written down, which is no reason not to work.
    async fn account(&self, model: &str) -> Option<Account> {
        let store = match self {
            Self::Session(account) => return Some(account.clone()),
            Self::Itself(store) => store,
        };
        let account = Account {
            store: store.clone(),
            id: new_id(),
            task: TASK,
        };
        let row = NewSession {
            model: Some(model.to_owned()),
            ..NewSession::new(account.id.clone(), TASK)
        };
        match store.ensure_session(row).await {
            Ok(()) => Some(account),
            Err(error) => {
                tracing::warn!("what the curator costs cannot be noted: {error}");
                None
            }
        }
    }

    async fn close(&self, account: Option<Account>) {
        if let (Self::Itself(store), Some(Account { id, .. })) = (self, account)
            && let Err(error) = store.end_session(&id, OVER, Timestamp::now()).await
        {
            tracing::warn!("{id}: {error}");
        }
    }
}

impl std::fmt::Debug for Thinking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Thinking").finish_non_exhaustive()
    }
}

/// Does what somebody wants of the curator. Without `thinking`, nothing is merged.
pub async fn carry_out(
    curator: &Arc<Curator>,
    wish: Wish,
    thinking: Option<Thinking>,
) -> Result<Answer, String> {
    let thinking = thinking.filter(|_| curator.wants_model(&wish));
    match (wish, thinking) {
        (Wish::Run { extent, .. }, Some(thinking)) => {
            curator
                .is_allowed()
                .map_err(|refused| refused.to_string())?;
            let told = match extent {
                Extent::Proposal => rehearse(curator, &thinking).await?,
                Extent::Real => {
                    let finished = run(curator, Trigger::Owner, Some(thinking)).await?;
                    finished.map(|done| done.told()).unwrap_or_default()
                }
            };
            Ok(Answer::Told(told))
        }
        (wish, _) => {
            let curator = curator.clone();
            let answered = spawn_blocking(move || curator.answer(&wish)).await;
            let answered = answered.map_err(|error| error.to_string())?;
            answered.map_err(|refused| refused.to_string())
        }
    }
}

/// A run from its beginning to its report; `None`: somebody else has done it.
async fn run(
    curator: &Arc<Curator>,
    trigger: Trigger,
    thinking: Option<Thinking>,
) -> Result<Option<Finished>, String> {
    let own = curator.clone();
    let begun = spawn_blocking(move || own.begin(trigger)).await;
    let begun = begun.map_err(|error| error.to_string())?;
    let Some(begun) = begun.map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let thought = match thinking {
        Some(thinking) => merge(curator, Extent::Real, &thinking).await?,
        None => None,
    };
    let own = curator.clone();
    let done = spawn_blocking(move || own.finish(begun, thought.unwrap_or_default())).await;
    let done = done.map_err(|error| error.to_string())?;
    done.map(Some).map_err(|error| error.to_string())
}

async fn rehearse(curator: &Arc<Curator>, thinking: &Thinking) -> Result<String, String> {
    let own = curator.clone();
    let told = spawn_blocking(move || own.rehearse()).await;
    let told = told.map_err(|error| error.to_string())?;
    let said = match merge(curator, Extent::Proposal, thinking).await? {
        None => "There are not two skills that could be merged.".to_owned(),
        Some(Thought {
            error: Some(error), ..
        }) => return Err(error),
        Some(thought) => thought.text,
    };
    Ok(format!("{told}\n\n{said}"))
}

async fn merge(
    curator: &Arc<Curator>,
    extent: Extent,
    thinking: &Thinking,
) -> Result<Option<Thought>, String> {
    let own = curator.clone();
    let merging = spawn_blocking(move || own.merging(extent)).await;
    match merging.map_err(|error| error.to_string())? {
        Some(merging) => Ok(Some(thinking.merge(&merging).await)),
        None => Ok(None),
    }
}

impl Live {
    /// With a curator, who looks after the skills when the session begins.
    #[must_use]
    pub fn with_curator(mut self, curator: Arc<Curator>) -> Self {
        self.curator = Some(curator);
        self
    }

    /// Beside everything else: has the curator run if it is time.
    pub(crate) fn tidy_up(&mut self) {
        let Some(curator) = self.curator.clone() else {
            return;
        };
        let (store, thinking) = (self.opening.store.clone(), self.thinking());
        self.aside.spawn(async move {
            let used = last_use(&store).await;
            let own = curator.clone();
            let due = spawn_blocking(move || own.check(used)).await;
            match due {
                Ok(Ok(Due::Now)) => {}
                Ok(Ok(_)) => return,
                Ok(Err(error)) => return tracing::warn!("the curator cannot work: {error}"),
                Err(error) => return tracing::warn!("the curator cannot work: {error}"),
            }
            let thinking = match curator.config().merges {
                true => Some(thinking.await),
                false => None,
            };
            match run(&curator, Trigger::Clock, thinking).await {
                Ok(None) => {}
                Ok(Some(done)) => tracing::info!("the curator tidied up: {}", done.summary),
                Err(error) => tracing::warn!("the curator could not tidy up: {error}"),
            }
        });
    }

    /// `/curator`
    pub(crate) async fn ask_curator(&mut self, words: &str) -> String {
        let Some(curator) = self.curator.clone() else {
            return "there is no curator here".to_owned();
        };
        let wish = match Wish::read(words) {
            Ok(wish) => wish,
            Err(usage) => return usage,
        };
        if !matches!(wish, Wish::Run { .. }) {
            return told(carry_out(&curator, wish, None).await);
        }
        let (events, thinking) = (self.events.clone(), self.thinking());
        self.aside.spawn(async move {
            let thinking = thinking.await;
            let answer = told(carry_out(&curator, wish, Some(thinking)).await);
            events.send(AgentEvent::Notice(format!("curator: {answer}")));
        });
        "the curator is at work and says when it is done".to_owned()
    }

    /// What a model would need; the purse is filled when it is.
    fn thinking(&self) -> impl Future<Output = Thinking> + Send + use<> {
        let (models, workspace) = (self.opening.models.clone(), self.opening.workspace.clone());
        let (spending, store) = (self.spending, self.opening.store.clone());
        let account = Account {
            store: store.clone(),
            id: self.id.clone(),
            task: TASK,
        };
        async move {
            Thinking {
                models,
                workspace,
                purse: spending.rest_of_day(&store).await,
                payer: Payer::Session(account),
            }
        }
    }
}

fn told(answer: Result<Answer, String>) -> String {
    match answer {
        Ok(Answer::Told(text)) => text,
        Ok(Answer::Ask { text, question }) => {
            format!("{text}\n{question} The same command with -y does it.")
        }
        Err(reason) => reason,
    }
}

/// When somebody last talked with Hermes, in whatever way.
async fn last_use(store: &Store) -> Option<Timestamp> {
    let query = ListQuery {
        order: Order::Activity,
        limit: 1,
        ..ListQuery::default()
    };
    let rows = store.list(query).await;
    let rows =
        rows.inspect_err(|error| tracing::warn!("nobody knows when Hermes was last used: {error}"));
    Some(rows.ok()?.first()?.last_active)
}
