//! `skill_view`

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use hermes_home::dotenv;
use hermes_types::{Answer, Args, CallCx, Question, Tool, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::{output, spec, text};
use crate::format::Variable;
use crate::service::Skills;
use crate::view::View;

#[derive(Debug)]
pub struct SkillView {
    spec: ToolSpec,
    skills: Arc<Skills>,
}

/// What became of asking the owner for missing values.
#[derive(PartialEq)]
enum Asked {
    Nothing,
    /// They did not want to tell.
    Declined,
}

impl SkillView {
    pub fn new(skills: Arc<Skills>) -> Self {
        let spec = ToolSpec {
            description: "Load a skill's instructions, or with file_path one of its files (references/, templates/, \
                scripts/, assets/). Two skills of one name: category/name."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "file_path": {"type": "string", "description": "A file inside the skill; without it, SKILL.md"},
                },
                "required": ["name"],
            }),
            ..spec("skill_view", digest)
        };
        Self { spec, skills }
    }

    async fn show(&self, args: &Args, cx: &CallCx) -> Value {
        let Some(name) = text(args, "name") else {
            return json!({"success": false, "error": "name is missing: which skill?"});
        };
        let view = match self.skills.view(name) {
            Ok(view) => view,
            Err(missing) => return missing.to_json(),
        };
        if let Some(path) = text(args, "file_path") {
            return self.skills.show_file(&view, path);
        }
        let asked = self.ask(&view, cx).await;
        let mut result = self.skills.show(&view, cx.scope.session.as_str()).await;
        if asked == Asked::Declined {
            result["setup_skipped"] = json!(true);
        }
        result
    }

    /// Asks the owner, once for each, for what the skill needs. The model never sees the values.
    async fn ask(&self, view: &View, cx: &CallCx) -> Asked {
        let mut outcome = Asked::Nothing;
        for variable in self.skills.askable(view) {
            let prompt = question(&variable, view.skill.name());
            match cx.asker.ask(Question::Secret { prompt }, &cx.scope).await {
                Answer::Text(value) if !value.trim().is_empty() => {
                    self.keep(&variable.name, value.trim());
                }
                Answer::Nobody | Answer::Cancelled => return outcome,
                _ => outcome = Asked::Declined,
            }
        }
        outcome
    }

    fn keep(&self, name: &str, value: &str) {
        self.skills.learned(name, value);
        if let Err(error) = dotenv::save(&self.skills.home, name, value) {
            tracing::warn!("{name} is known for this session only: {error}");
        }
    }
}

fn question(variable: &Variable, skill: &str) -> String {
    let what = variable.prompt.as_deref().unwrap_or(&variable.name);
    let mut text = format!("The skill '{skill}' needs {what}");
    if variable.prompt.is_some() {
        text.push_str(&format!(" ({})", variable.name));
    }
    if let Some(why) = &variable.required_for {
        text.push_str(&format!(", for {why}"));
    }
    if let Some(help) = &variable.help {
        text.push_str(&format!(". Get it here: {help}"));
    }
    text + " (empty: not now)"
}

impl Tool for SkillView {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move { output(&self.show(&args, cx).await) }.boxed()
    }
}

fn digest(args: &Args, _: &ToolOutput) -> String {
    let name = text(args, "name").unwrap_or_default();
    match text(args, "file_path") {
        Some(file) => format!("{name}: {file}"),
        None => name.to_owned(),
    }
}
