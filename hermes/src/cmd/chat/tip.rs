//! Told once: what becomes of what is typed while a turn runs.

use hermes_home::config::{Document, Settings};
use hermes_home::{Env, Home, yaml};
use hermes_session::Busy;
use hermes_tui::chat::{BUSY_TIP, busy_tip};
use serde_json::json;

use crate::wire::App;

pub struct Tip {
    home: Home,
    env: Env,
}

impl Tip {
    /// Nothing for those who know it.
    pub fn of(app: &App) -> Option<Self> {
        let seen = app.settings.is_on(BUSY_TIP);
        (!seen).then(|| Self {
            home: app.home.clone(),
            env: app.env.clone(),
        })
    }

    /// The words, remembered as said.
    pub fn told(self) -> String {
        // What holds now: it can be changed while the chat runs.
        let settings = Settings::load(&self.home, &self.env);
        let busy = Busy::read(settings.text("display.busy_input_mode")).unwrap_or_default();
        if let Err(error) = self.remember() {
            tracing::debug!("the tip will be told again: {error}");
        }
        busy_tip(busy)
    }

    fn remember(&self) -> hermes_home::Result<()> {
        self.home.writable()?;
        let path = yaml::Path::parse(BUSY_TIP)?;
        Document::edit(&self.home, |document| document.set(&path, &json!(true)))
    }
}
