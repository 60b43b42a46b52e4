//! What the questions about models ask of providers, answered with what is set at that moment.

use hermes_home::config::{Document, Settings};
use hermes_home::{Env, yaml};
use hermes_lines::one_line;
use hermes_model::auth::{LoginWay, login_way};
use hermes_model::{
    EffortField, Mode, Offers, Origin, Overrides, ProviderInfo, RoutedModels, list_providers,
};
use hermes_tui::setup::{Endpoint, Login, Main, Market, Model, Offered, Provider};
use serde_json::json;

use super::auth;
use super::model::{list, scope};
use crate::cli::LoginArgs;
use crate::wire::{App, read_again};

/// Everything this program knows about providers.
pub struct Shop<'a> {
    pub app: &'a App,
    pub login: &'a LoginArgs,
}

impl Shop<'_> {
    fn now(&self) -> (Settings, Env) {
        read_again(&self.app.home)
    }

    fn offered(&self, provider: &str, settings: Settings, env: Env) -> Offered {
        let offers = Offers::new(&self.app.home, settings, env);
        let offer = self
            .app
            .block_on(async { Ok(offers.of(provider, &scope()).await?) });
        match offer {
            Ok(offer) => Offered {
                origin: match offer.origin {
                    Origin::Nowhere { why } => one_line(&format!("There is no list: {why}")),
                    origin => one_line(&origin.to_string()),
                },
                models: offer.models.iter().map(listed).collect(),
            },
            Err(error) => Offered {
                models: Vec::new(),
                origin: one_line(&format!("{error:#}")),
            },
        }
    }
}

impl Market for Shop<'_> {
    fn providers(&self) -> Vec<Provider> {
        let (settings, env) = self.now();
        let all = list_providers(self.app.home.dir(), &settings, &env).into_iter();
        all.map(|info| Provider {
            login: match login_way(&info.id) {
                None => Login::None,
                Some(LoginWay::Forbidden(why)) => Login::Forbidden(why.to_owned()),
                Some(_) => Login::Account,
            },
            key: variable(&info, &env),
            id: info.id,
            name: info.name,
            address: info.base_url,
            is_ready: info.is_configured,
        })
        .collect()
    }

    fn models(&self, provider: &str) -> Offered {
        let (settings, env) = self.now();
        self.offered(provider, settings, env)
    }

    fn probe(&self, endpoint: &Endpoint) -> Offered {
        let (_, env) = self.now();
        // As if it were written down already, so that no other server's key is sent to it.
        let entry =
            json!({"api": endpoint.address, "api_key": endpoint.key, "transport": endpoint.mode});
        let text = yaml::write(&json!({"providers": {"probe": entry}}));
        let document = Document::parse(&self.app.home.config_path(), text);
        self.offered(
            "custom:probe",
            Settings::from_document(&document, &env),
            env,
        )
    }

    fn log_in(&self, provider: &str) -> Result<(), String> {
        let result = auth::log_in(self.app, provider, self.login);
        result.map(drop).map_err(|error| format!("{error:#}"))
    }

    fn main(&self) -> Option<Main> {
        let (settings, env) = self.now();
        let models =
            RoutedModels::new(&self.app.home, settings, env, &Overrides::default()).ok()?;
        let route = models.route();
        let thinks =
            route.quirks.effort != EffortField::Nowhere || route.mode != Mode::ChatCompletions;
        Some(Main {
            takes_effort: thinks && !route.quirks.no_effort,
        })
    }
}

/// The variable a provider's key is in, or would be kept in.
fn variable(info: &ProviderInfo, env: &Env) -> String {
    let usual = info.keys.iter().find(|name| name.ends_with("_API_KEY"));
    let usual = usual.or(info.keys.first());
    // OpenAI's own is accepted by others too, if it is theirs; it is not theirs to replace.
    let is_in_use = |name: &&String| env.filled(name).is_some() && *name != "OPENAI_API_KEY";
    let used = info.keys.iter().find(is_in_use);
    used.or(usual).cloned().unwrap_or_default()
}

fn listed(model: &hermes_model::ListedModel) -> Model {
    let [name, context, input, output] = list::cells(model);
    Model {
        name,
        cells: [context, input, output],
    }
}
