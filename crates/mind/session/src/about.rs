//! Commands that say what this is: `/status`, `/config`, `/profile`, `/toolsets` and `/tools`.

use hermes_home::clock;
use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use jiff::Timestamp;
use serde_json::json;

use crate::actor::Live;
use crate::toolsets::{enabled, leaves};
use crate::usage::short;

const TOOLS: &str = "/tools lists them, /tools enable NAME and /tools disable NAME change toolsets";

/// Whether a turn runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Rests,
    Runs,
}

impl Live {
    pub(crate) async fn status(&self, work: Work) -> String {
        let (info, store) = (self.opening.model.info(), &self.opening.store);
        let title = self.current_title().await.unwrap_or("(none)".to_owned());
        let stored = store.session(&self.id).await.ok().flatten();
        let created = stored.map_or_else(|| self.started.timestamp(), |session| session.started_at);
        let active = store.last_active(&self.id).await.ok().flatten();
        let tokens = store.account(&self.id).await.unwrap_or_default().tokens();
        let home = self.controls.as_ref().map(|controls| &controls.home);
        let home = home.map(|home| format!("home      {}\n", home.dir().display()));
        let lines = [
            format!("session   {}\n", self.id),
            home.unwrap_or_default(),
            format!("title     {title}\n"),
            format!("model     {} ({})\n", info.model, info.provider),
            format!("created   {}\n", moment(created)),
            format!("active    {}\n", active.map_or("never".to_owned(), moment)),
            format!("tokens    {}\n", short(tokens.total())),
            format!("context   {} tokens\n", info.context_length),
            format!("messages  {}\n", self.conversation.messages().len()),
            format!("directory {}\n", self.opening.workspace.cwd().display()),
            format!(
                "running   {}",
                if work == Work::Runs { "yes" } else { "no" }
            ),
        ];
        lines.concat() + &self.server_lines()
    }

    /// `/config`
    pub(crate) fn config(&self) -> String {
        let info = self.opening.model.info();
        let effort = format!("{:?}", self.opening.limits.effort).to_lowercase();
        let mut lines = vec![
            format!("model      {} ({})", info.model, info.provider),
            format!("address    {}", info.base_url),
            format!("reasoning  {effort}"),
            format!("busy       {}", self.opening.busy.word()),
            format!(
                "turns      at most {} requests",
                self.opening.limits.iterations
            ),
            format!("directory  {}", self.opening.workspace.cwd().display()),
        ];
        if let Some(controls) = &self.controls {
            let home = &controls.home;
            lines.push(format!("home       {}", home.dir().display()));
            lines.push(format!("settings   {}", home.config_path().display()));
            lines.push(format!("keys       {}", home.env_path().display()));
            lines.push("`hermes config` shows and changes everything".to_owned());
        }
        lines.join("\n")
    }

    /// `/profile`
    pub(crate) fn profile(&self) -> String {
        match &self.controls {
            None => "there is no home here".to_owned(),
            Some(controls) => {
                let (name, dir) = (controls.home.profile_name(), controls.home.dir());
                format!("profile  {name}\nhome     {}", dir.display())
            }
        }
    }

    /// `/toolsets`: as the settings have them for the next start.
    pub(crate) fn toolsets(&self) -> String {
        let Some(controls) = &self.controls else {
            return "there are no settings here".to_owned();
        };
        let on = enabled(&settings(&controls.home), PLATFORM);
        let row = |(leaf, tools): (&'static str, &[&str])| {
            let mark = if on.contains(&leaf) { "✓" } else { "✗" };
            format!("{mark} {leaf:<16}  {}", tools.join(", "))
        };
        leaves().map(row).collect::<Vec<_>>().join("\n")
    }

    /// `/tools [list|enable|disable]`
    pub(crate) async fn tools(&self, rest: &str) -> String {
        let mut words = rest.split_whitespace();
        match words.next() {
            None | Some("list") => {
                let names = (self.opening.tools)();
                format!("tools: {}", names.names().join(", "))
            }
            Some(word @ ("enable" | "disable")) => {
                let names: Vec<&str> = words.collect();
                self.turn_toolsets(word, &names).await
            }
            Some(_) => TOOLS.to_owned(),
        }
    }

    /// The tools of a conversation stay as they are: the provider has read them.
    async fn turn_toolsets(&self, word: &str, names: &[&str]) -> String {
        let Some(controls) = &self.controls else {
            return "there are no settings here".to_owned();
        };
        let is_odd = |name: &&&str| !leaves().any(|(leaf, _)| leaf == **name);
        if let Some(odd) = names.iter().find(is_odd) {
            return format!("there is no toolset '{odd}'; /toolsets lists them");
        }
        if names.is_empty() {
            return TOOLS.to_owned();
        }
        let mut on = enabled(&settings(&controls.home), PLATFORM);
        on.retain(|leaf| !names.contains(leaf));
        if word == "enable" {
            let wanted = leaves().map(|(leaf, _)| leaf);
            on.extend(wanted.filter(|leaf| names.contains(leaf)));
        }
        let unsaved = self.keep("platform_toolsets.cli", json!(on)).await;
        match unsaved.strip_prefix("; only for now: ") {
            Some(why) => why.to_owned(),
            None => format!("{word}d from the next start on: {}", names.join(", ")),
        }
    }
}

const PLATFORM: &str = "cli";

/// The file as it is now.
fn settings(home: &Home) -> Settings {
    Settings::load(home, &Env::default())
}

fn moment(at: Timestamp) -> String {
    clock::local(at).strftime("%Y-%m-%d %H:%M:%S").to_string()
}
