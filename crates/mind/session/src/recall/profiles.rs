//! Conversations of the owner's other profiles: read, never changed.

use hermes_home::profile::Profiles;
use hermes_store::{ErrorKind, OpenOptions, Store};
use hermes_types::{Args, CallCx};
use serde_json::{Value, json};

use super::SessionSearch;

/// How conversations are written where people refer to them.
const LINK: &str = "@session:";

/// Where a call wants to look.
pub(super) struct Wanted {
    /// `None`: here, and where it is not found here, elsewhere.
    pub profile: Option<String>,
    pub session: Option<String>,
}

impl SessionSearch {
    /// With the profiles whose conversations can be read; `own` is the name of this one.
    #[must_use]
    pub fn among(self, profiles: Profiles, own: &str) -> Self {
        Self {
            others: Some(Others {
                profiles,
                own: own.to_owned(),
            }),
            ..self
        }
    }

    /// What `profile` and `session_id` of a call mean.
    pub(super) fn wanted(&self, profile: Option<&str>, session: Option<&str>) -> Wanted {
        let session = session.map(|text| text.strip_prefix(LINK).unwrap_or(text));
        // A title may have a slash in it, too.
        let linked = session.and_then(|text| {
            let (name, id) = text.split_once('/')?;
            let others = self.others.as_ref()?;
            others.profiles.dir(name).is_ok().then_some((name, id))
        });
        let (named, session) = match linked {
            Some((name, id)) => (Some(name), Some(id)),
            None => (None, session),
        };
        let is_other = |name: &&str| match &self.others {
            Some(others) => *name != others.own,
            None => true,
        };
        Wanted {
            profile: profile.or(named).filter(is_other).map(str::to_owned),
            session: session.map(str::to_owned),
        }
    }

    /// The same search among the conversations of another profile.
    pub(super) async fn of_profile(&self, name: &str) -> Result<Self, Value> {
        let refused = |error: String| json!({"success": false, "error": error});
        let Some(others) = &self.others else {
            return Err(refused("there are no other profiles here".to_owned()));
        };
        let dir = others.profiles.dir(name);
        let dir = dir.map_err(|error| refused(error.to_string()))?;
        let options = OpenOptions::read_only();
        match Store::open_existing(dir.join("state.db"), options).await {
            Ok(Some(store)) => Ok(Self {
                spec: self.spec.clone(),
                store,
                others: None,
                ..*self
            }),
            Ok(None) => Err(refused(format!("profile {name} has no conversations yet"))),
            Err(error) => Err(refused(format!("profile {name}: {error}"))),
        }
    }

    /// A conversation this profile does not know, in the first other one that does.
    pub(super) async fn look_elsewhere(
        &self,
        args: &Args,
        session: Option<&str>,
        cx: &CallCx,
    ) -> Option<Value> {
        let others = self.others.as_ref()?;
        for name in others.profiles.names() {
            if name == others.own {
                continue;
            }
            let Ok(other) = self.of_profile(&name).await else {
                continue; // it may have no conversations, or none that can be read
            };
            match other.look(args, session, cx).await {
                Ok(mut found) => {
                    found["profile"] = name.into();
                    return Some(found);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => tracing::debug!("profile {name}: {error}"),
            }
        }
        None
    }
}

/// The profiles besides this one.
#[derive(Clone, Debug)]
pub(super) struct Others {
    profiles: Profiles,
    own: String,
}
