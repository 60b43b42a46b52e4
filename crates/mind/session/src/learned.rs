//! What was learned, looked at from inside a conversation: `/memory` and `/journey`.

use std::sync::Arc;

use hermes_home::Home;
use hermes_skills::journal::{Author, By, Journal, Wanted};
use hermes_skills::memory::{Memory, Shown};
use hermes_types::{Answer, Asker, Consent as Longest, Question};

use crate::actor::{After, Live};
use crate::command::Then;

const NONE: &str = "nothing is remembered here";
const JOURNEY: &str = "/journey [N] lists the last changes, /journey show N one of them, /journey undo N takes it back";

/// Where what was learned lies.
#[derive(Clone, Debug)]
pub struct Learned {
    pub home: Home,
    pub memory: Memory,
    pub journal: Arc<Journal>,
    /// The memory outside, in words.
    pub provider: String,
}

impl Live {
    /// With what was learned, to be looked at.
    #[must_use]
    pub fn with_learned(mut self, learned: Learned) -> Self {
        self.learned = Some(learned);
        self
    }

    /// `/memory`: what is on disk now, which the prompt may not show yet.
    pub(crate) fn show_memory(&self, rest: &str) -> String {
        let Some(learned) = &self.learned else {
            return NONE.to_owned();
        };
        if !matches!(rest, "" | "status") {
            return "/memory shows what is remembered; `hermes memory` does more".to_owned();
        }
        let stores = learned.memory.shown(&learned.home);
        let stores: Vec<String> = stores.iter().map(Shown::to_string).collect();
        format!("{}\nprovider: {}", stores.join("\n"), learned.provider)
    }

    /// `/journey` as far as it changes nothing.
    pub(crate) async fn show_journey(&self, rest: &str) -> String {
        match Wanted::read(rest) {
            Some(Wanted::Last(most)) => said(self.journal(move |kept| kept.listed(most)).await),
            Some(Wanted::Show(number)) => said(self.journal(move |kept| kept.shown(number)).await),
            Some(Wanted::Undo(_)) => {
                "taking something back has to wait until the running turn is over (or /stop)"
                    .to_owned()
            }
            None => JOURNEY.to_owned(),
        }
    }

    /// `/journey`, while nothing runs.
    pub(crate) async fn journey(&mut self, rest: &str) -> Then {
        let (wish, is_decided) = match rest.strip_suffix(" now") {
            Some(wish) => (wish, true),
            None => (rest, false),
        };
        let Some(Wanted::Undo(number)) = Wanted::read(wish) else {
            let said = self.show_journey(rest).await;
            self.notice(said);
            return Then::Wait;
        };
        let shown = match is_decided {
            true => Ok(String::new()),
            false => self.journal(move |kept| kept.shown(number)).await,
        };
        let consent = match shown {
            Ok(text) if text.is_empty() => Consent::Given,
            Ok(text) => {
                self.notice(text);
                self.confirm(number).await
            }
            Err(missing) => Consent::Refused(missing),
        };
        let told = match consent {
            Consent::Given => said(self.journal(move |kept| kept.take_back(number)).await),
            Consent::Refused(why) => why,
            Consent::Left => return Then::Leave,
        };
        self.notice(told);
        // What came while the owner was asked is next.
        self.waiting.pop_front().map_or(Then::Wait, Then::Ask)
    }

    async fn confirm(&mut self, number: u64) -> Consent {
        let (asker, scope) = (self.asker.clone(), self.work());
        let question = format!("Take entry {number} back?");
        let asking = asker.ask(
            Question::Confirm {
                question,
                longest: Longest::Once,
            },
            &scope,
        );
        tokio::pin!(asking);
        match self.watch(asking, &scope).await {
            (_, After::Close) => Consent::Left,
            (Answer::Once | Answer::Session | Answer::Always, _) => Consent::Given,
            (Answer::Nobody, _) => {
                Consent::Refused(format!("/journey undo {number} now takes it back unasked"))
            }
            _ => Consent::Refused("everything stays as it is".to_owned()),
        }
    }

    /// What the journal says, after a look at what others did.
    async fn journal(
        &self,
        say: impl FnOnce(&Journal) -> hermes_skills::Result<String> + Send + 'static,
    ) -> Result<String, String> {
        let learned = self.learned.as_ref().ok_or(NONE)?;
        let journal = learned.journal.clone();
        let work = tokio::task::spawn_blocking(move || {
            journal.keep_all(&Author::of(By::Outside))?;
            say(&journal)
        });
        let told = work.await.map_err(|error| error.to_string())?;
        told.map_err(|error| error.to_string())
    }
}

/// What came of asking the owner.
enum Consent {
    Given,
    /// What they are told.
    Refused(String),
    Left,
}

fn said(told: Result<String, String>) -> String {
    told.unwrap_or_else(|why| why)
}
