//! `/model`: another model from the next turn on.

use std::sync::Arc;

use futures::future::BoxFuture;
use hermes_types::{AgentEvent, ModelClient};

use crate::actor::{Live, Switched, Wanted};

/// Reads settings and keys again; the model that answers then.
pub type Reload = Arc<dyn Fn() -> BoxFuture<'static, Switched> + Send + Sync>;

const USAGE: &str = "/model [PROVIDER:]MODEL [--provider NAME] [--global]";

impl Wanted {
    /// What was typed behind `/model`.
    fn read(typed: &str) -> Result<Self, String> {
        let mut wanted = Self::default();
        let mut words = typed.split_whitespace();
        while let Some(word) = words.next() {
            match word.split_once('=').unwrap_or((word, "")) {
                ("--global", "") => wanted.lasting = true,
                ("--provider", "") => {
                    let name = words.next().ok_or("--provider needs a name")?;
                    wanted.provider = Some(name.to_owned());
                }
                ("--provider", name) => wanted.provider = Some(name.to_owned()),
                (odd, _) if odd.starts_with("--") => {
                    return Err(format!("there is no option {odd}: {USAGE}"));
                }
                _ if wanted.model.is_empty() => word.clone_into(&mut wanted.model),
                _ => return Err(format!("a model's name has no spaces: {USAGE}")),
            }
        }
        match wanted.model.is_empty() {
            true => Err(format!("which model? {USAGE}")),
            false => Ok(wanted),
        }
    }
}

impl Live {
    pub(crate) async fn change_model(&mut self, typed: &str) -> String {
        if typed.is_empty() {
            let info = self.opening.model.info();
            let (model, provider) = (&info.model, &info.provider);
            return format!("model: {model} ({provider}) at {}", info.base_url);
        }
        let wanted = match Wanted::read(typed) {
            Ok(wanted) => wanted,
            Err(odd) => return odd,
        };
        match (self.opening.switch)(wanted).await {
            Ok(model) => self.answers(model),
            Err(error) => error.to_string(),
        }
    }

    /// With settings and keys that can be read again.
    #[must_use]
    pub fn with_reload(mut self, reload: Reload) -> Self {
        self.reload = Some(reload);
        self
    }

    /// `/reload`
    pub(crate) async fn reload(&mut self) -> String {
        let Some(reload) = &self.reload else {
            return "there are no settings here".to_owned();
        };
        match reload().await {
            Ok(model) => format!("keys and models are read again; {}", self.answers(model)),
            Err(error) => format!("everything stays as it was: {error}"),
        }
    }

    /// Who answers from the next turn on, in words.
    fn answers(&mut self, model: Arc<dyn ModelClient>) -> String {
        let before = std::mem::replace(&mut self.opening.model, model);
        let info = self.opening.model.info().clone();
        self.note_switch(&before.info().model, &info.model);
        let said = format!("model: {} ({})", info.model, info.provider);
        self.events.send(AgentEvent::Model(info));
        said
    }

    /// The next message tells the model who it is now, once.
    fn note_switch(&mut self, from: &str, to: &str) {
        let is_told = self.conversation.messages().is_empty();
        if from == to || is_told {
            return;
        }
        let kept = match self.switch_note.take() {
            // Nobody has heard of the one before.
            Some(note) => self.preface.replace(&note, ""),
            None => std::mem::take(&mut self.preface),
        };
        let note = format!("[The model was changed from {from} to {to}.]\n\n");
        self.preface = format!("{note}{kept}");
        self.switch_note = Some(note);
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_can_be_said_of_a_model() {
        let read = |typed: &str| {
            let wanted = Wanted::read(typed).ok()?;
            Some((wanted.model, wanted.provider, wanted.lasting))
        };
        let named = |model: &str, provider: Option<&str>, lasting| {
            Some((model.to_owned(), provider.map(str::to_owned), lasting))
        };
        assert_eq!(read("a:b"), named("a:b", None, false));
        assert_eq!(read("m --provider p"), named("m", Some("p"), false));
        assert_eq!(read("--provider=p --global m"), named("m", Some("p"), true));
        for odd in ["--global", "m --provider", "m --locally", "a b"] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }
}
