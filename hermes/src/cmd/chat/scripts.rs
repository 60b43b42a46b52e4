//! Scripts that call the session's tools.

use std::sync::Arc;
use std::time::Duration;

use hermes_code::{CodeLimits, CodeServices, ExecuteCode, Mode};
use hermes_home::config::Settings;
use hermes_session::toolsets::Selection;
use hermes_types::Tool;

use super::hands::{Hands, Noticed, list};
use crate::wire::App;

impl Hands {
    /// With scripts that can call the tools there are so far, if the session may have them. Children don't get it.
    #[must_use]
    pub fn with_scripts(mut self, app: &App, selection: &Selection) -> Self {
        let tools = self.toolbox.names();
        let code = ExecuteCode::new(self.code_services(app), self.gate.clone(), tools);
        if selection.allows(&code.spec().name) {
            let tool = Noticed::by(&self.files.state, Arc::new(code));
            self.toolbox = self.toolbox.and([tool], []);
        }
        self
    }

    fn code_services(&self, app: &App) -> CodeServices {
        let settings = &app.settings;
        let mut env = app.env.clone();
        let zone = settings.text("timezone");
        if !zone.is_empty() && env.filled("HERMES_TIMEZONE").is_none() {
            env.set("HERMES_TIMEZONE", zone);
        }
        CodeServices {
            limits: limits(settings),
            mode: Mode::from(settings.text("code_execution.mode")),
            env,
            passthrough: list(settings, "terminal.env_passthrough"),
            hermes_home: app.home.dir().to_owned(),
            temp_dir: std::env::temp_dir(),
            redactor: app.redactor,
            sandbox: self.sandbox.clone(),
            dying: self.children.clone(),
        }
    }
}

/// What makes no sense is as if nothing were set.
fn limits(settings: &Settings) -> CodeLimits {
    let usual = CodeLimits::default();
    let positive = |key: &str| Some(settings.number(key)).filter(|number| *number > 0.0);
    let seconds = positive("code_execution.timeout").map(|seconds| seconds.min(86_400.0));
    let calls = positive("code_execution.max_tool_calls").map(|calls| calls.ceil() as usize);
    CodeLimits {
        timeout: seconds.map_or(usual.timeout, Duration::from_secs_f64),
        max_tool_calls: calls.unwrap_or(usual.max_tool_calls),
    }
}
