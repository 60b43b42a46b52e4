//! Renewing a login once for everybody: behind the file's lock, after another look, and saved before it is used.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use hermes_net::{Ended, within};
use hermes_types::Scope;
use tokio::sync::oneshot;

use super::Pool;
use crate::auth::{self, AuthError, Credential, Document, LOGIN_FIELDS, Web};
use crate::route::Key;

/// How long to wait for another process that is renewing the same login.
const LOCK_WAIT: Duration = Duration::from_secs(40);

/// A credential that has just been renewed, by whomever.
#[derive(Debug)]
pub(crate) struct Renewed {
    pub entry: Credential,
    /// Why it could not be saved: it works for as long as this process lives.
    pub unsaved: Option<String>,
}

impl Pool {
    /// Makes sure that the key of `entry` is another one than `old`. The work goes on if nobody waits for it any
    /// more: what the server has replaced must not get lost.
    pub async fn renew(
        self: &Arc<Self>,
        entry: &Credential,
        old: Key,
        scope: &Scope,
    ) -> Result<Renewed, AuthError> {
        let (done, answer) = oneshot::channel();
        let (pool, entry) = (self.clone(), entry.clone());
        // Not cancelled with the caller, so in a scope of its own; every wait in it has its limit.
        let own = Scope::new(scope.session.clone());
        let work = async move {
            // Nobody may be waiting any more.
            let _ = done.send(pool.renew_now(&entry, &old, &own).await);
        };
        {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(work);
        }
        match within(scope, Duration::MAX, answer).await {
            Ok(Ok(renewed)) => renewed,
            Err(Ended::OutOfTime) => Err(AuthError::invalid("there was no time left for it")),
            Ok(Err(_)) | Err(_) => Err(AuthError::Cancelled),
        }
    }

    async fn renew_now(
        self: &Arc<Self>,
        entry: &Credential,
        old: &Key,
        scope: &Scope,
    ) -> Result<Renewed, AuthError> {
        let renewing = self.renewing.clone();
        let _alone = renewing.lock().await;
        let file = self.setup.file.clone();
        let locked = tokio::task::spawn_blocking(move || file.lock(LOCK_WAIT)).await;
        let lock = locked.map_err(|panic| AuthError::invalid(panic.to_string()))??;
        let provider = &self.setup.provider;
        let entries = self.entries();
        let now = entries.into_iter().find(|known| known.is_same(entry));
        let mut now = now.unwrap_or_else(|| entry.clone());
        if now.key(provider) != *old && !now.key(provider).is_empty() {
            // Somebody else was faster.
            return Ok(Renewed {
                entry: now,
                unsaved: None,
            });
        }
        let before = now.clone();
        let web = Web {
            http: &self.setup.http,
            scope,
            limit: self.setup.endpoints.timeout,
        };
        let outcome = auth::renew(provider, web, &self.setup.endpoints, &mut now).await;
        let mut unsaved = None;
        if now != before {
            now.clear();
            let name = self.setup.name.clone();
            let (fresh, file) = (now.clone(), self.setup.file.clone());
            let saved = tokio::task::spawn_blocking(move || {
                file.update_locked(&lock, |document| keep(document, &name, &fresh))
            });
            let saved = saved
                .await
                .map_err(|panic| AuthError::invalid(panic.to_string()))?;
            unsaved = saved.err().map(|error| error.to_string());
            self.remember(&now, unsaved.as_deref());
        }
        outcome?;
        if now.key(provider) == *old {
            return Err(AuthError::invalid("the server gave the same key again"));
        }
        Ok(Renewed {
            entry: now,
            unsaved,
        })
    }

    fn remember(&self, entry: &Credential, unsaved: Option<&str>) {
        let id = entry.id().to_owned();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match unsaved {
            Some(why) => {
                tracing::error!(
                    "the renewed login with {} could not be saved ({why}); it works until this process ends",
                    self.setup.provider
                );
                state.unsaved.insert(id, entry.clone());
            }
            None => drop(state.unsaved.remove(&id)),
        }
        // Whatever the file says: read it again with this in mind.
        state.read = None;
    }
}

/// Puts new tokens where both programs look for them.
fn keep(document: &mut Document, pool: &str, fresh: &Credential) {
    document.change(pool, fresh, |entry| {
        entry.clear();
        take(fresh, |name, value| entry.set(name, value));
    });
    let Some(mut login) = document.login(pool).cloned().filter(|_| !fresh.is_manual()) else {
        return;
    };
    let is_nested = login.contains_key("tokens");
    take(fresh, |name, value| {
        let place = match login
            .get_mut("tokens")
            .and_then(|tokens| tokens.as_object_mut())
        {
            Some(tokens) if is_nested && name.ends_with("_token") => tokens,
            _ => &mut login,
        };
        place.insert(name.to_owned(), value);
    });
    document.set_login(pool, login);
}

fn take(fresh: &Credential, mut put: impl FnMut(&str, serde_json::Value)) {
    for name in LOGIN_FIELDS {
        let value = fresh.get(name);
        if !value.is_null() {
            put(name, value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn new_tokens_go_where_both_programs_look() {
        let check = |login: Value, tokens: &str| {
            let before = json!({"providers": {"p": login}});
            let mut document = Document::parse(&before.to_string()).unwrap();
            let mut fresh = Credential::new("device_code", "x", crate::auth::Kind::OAuth);
            fresh.set("access_token", json!("new"));
            fresh.set("last_refresh", json!("today"));
            keep(&mut document, "p", &fresh);
            let login = Value::Object(document.login("p").unwrap().clone());
            assert_eq!(login.pointer(tokens).unwrap()["access_token"], "new");
            assert_eq!(
                (&login["last_refresh"], &login["odd"]),
                (&json!("today"), &json!(1))
            );
            assert_eq!(document.pool("p")[0].text("access_token"), "new");
        };
        check(json!({"access_token": "old", "odd": 1}), "");
        check(
            json!({"tokens": {"access_token": "old"}, "odd": 1}),
            "/tokens",
        );
    }
}
