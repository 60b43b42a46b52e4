//! Which model answers: the one that is set, or another by the name a person types.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use futures::FutureExt;
use hermes_home::Home;
use hermes_home::config::Settings;
use hermes_model::{Overrides, Route, RoutedModels, context};
use hermes_session::{Reload, Switch, Switched};
use hermes_types::{ModelError, ModelErrorKind, Models, Purpose, Scope, SessionId};

use crate::cli::Talk;
use crate::cmd::model::set::write;
use crate::wire::{App, read_again, say};

/// The models as settings and options have them.
pub fn routed(app: &App, talk: &Talk) -> Result<RoutedModels, ModelError> {
    let overrides = Overrides {
        model: talk.model.clone(),
        provider: talk.provider.clone(),
    };
    let (settings, env) = (app.settings.clone(), app.env.clone());
    RoutedModels::new(&app.home, settings, env, &overrides)
}

/// Decides about the model; fails with how to set one up.
pub fn check_model(app: &App, talk: &Talk) -> Result<RoutedModels> {
    let models = routed(app, talk).map_err(|error| explained(&error))?;
    for warning in models.warnings() {
        say(&warning);
    }
    Ok(models)
}

/// The main model, once its server was asked for what only it knows, if its window is large enough.
pub async fn main_model(models: &RoutedModels) -> Switched {
    let scope = Scope::new(SessionId::new("start"));
    let window = models.context(&scope).await;
    match context::refusal(&models.route().model, window) {
        Some(refusal) => Err(ModelError::new(ModelErrorKind::NotConfigured, refusal)),
        None => models.client(&Purpose::Main),
    }
}

/// `/model`
pub fn switch(app: &App, models: &Arc<RoutedModels>) -> Switch {
    let models = models.clone();
    let (home, settings) = (app.home.clone(), app.settings.clone());
    Arc::new(move |wanted| {
        let (models, home, settings) = (models.clone(), home.clone(), settings.clone());
        async move {
            let scope = Scope::new(SessionId::new("switch"));
            let overrides = Overrides {
                model: Some(wanted.model),
                provider: wanted.provider,
            };
            let client = models.switch(overrides, &scope).await?;
            if wanted.lasting {
                keep(home, settings, models.route()).await;
            }
            Ok(client)
        }
        .boxed()
    })
}

/// `/reload`
pub fn reload(app: &App, models: &Arc<RoutedModels>) -> Reload {
    let (home, models) = (app.home.clone(), models.clone());
    Arc::new(move || {
        let (home, models) = (home.clone(), models.clone());
        async move {
            let (settings, env) = read_again(&home);
            let scope = Scope::new(SessionId::new("reload"));
            models.reload(&home, settings, env, &scope).await
        }
        .boxed()
    })
}

/// Writes the choice down; the file may be locked for a moment.
async fn keep(home: Home, settings: Settings, route: Route) {
    let write = move || write(&home, &settings, &route, &route.model);
    match tokio::task::spawn_blocking(write).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => say(&format!("the model is another one only for now: {error:#}")),
        Err(error) => say(&format!("the model is another one only for now: {error}")),
    }
}

pub fn explained(error: &ModelError) -> anyhow::Error {
    match error.kind {
        ModelErrorKind::NotConfigured => anyhow!("{error}"),
        _ => anyhow!("the model cannot be used: {error}"),
    }
}
