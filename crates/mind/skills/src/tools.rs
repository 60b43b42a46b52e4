//! The toolset `skills`: `skills_list`, `skill_view` and `skill_manage`.

mod manage;
mod view;

pub use manage::SkillManage;
pub use view::SkillView;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use hermes_types::{Args, CallCx, Outcome, Parallel, Tool, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::manage::Origin;
use crate::service::Skills;

/// The three tools.
pub fn skill_tools(skills: &Arc<Skills>, origin: Origin) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(SkillsList::new(skills.clone())),
        Arc::new(SkillView::new(skills.clone())),
        Arc::new(SkillManage::new(skills.clone(), origin)),
    ]
}

/// `skills_list`
#[derive(Debug)]
pub struct SkillsList {
    spec: ToolSpec,
    skills: Arc<Skills>,
}

impl SkillsList {
    pub fn new(skills: Arc<Skills>) -> Self {
        let spec = ToolSpec {
            description: "List the skills there are, each with its description and category. Load one with skill_view.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"category": {"type": "string", "description": "Only skills of this category"}},
            }),
            ..spec("skills_list", |args, _| text(args, "category").unwrap_or("all").to_owned())
        };
        Self { spec, skills }
    }

    fn list(&self, category: Option<&str>) -> Value {
        let mut skills = self.skills.visible();
        skills.sort_by(|a, b| (a.category(), a.name()).cmp(&(b.category(), b.name())));
        let categories: BTreeSet<&str> =
            skills.iter().filter_map(|skill| skill.category()).collect();
        let wanted = |own: Option<&str>| category.is_none_or(|category| own == Some(category));
        let rows: Vec<Value> = skills
            .iter()
            .filter(|skill| wanted(skill.category()))
            .map(|skill| {
                json!({"name": skill.name(), "description": skill.found.description, "category": skill.category()})
            })
            .collect();
        json!({
            "success": true,
            "count": rows.len(),
            "skills": rows,
            "categories": categories,
            "hint": "skill_view(name) shows a skill and its files.",
        })
    }
}

impl Tool for SkillsList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, _cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move { ToolOutput::json(&self.list(text(&args, "category"))) }.boxed()
    }
}

/// What the three have in common.
fn spec(name: &str, digest: fn(&Args, &ToolOutput) -> String) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        toolset: "skills",
        description: String::new(),
        parameters: Value::Null,
        emoji: "📚",
        parallel: Parallel::Always,
        idempotent: true,
        housekeeping: false,
        refundable: false,
        paths: |_| Vec::new(),
        digest,
        max_output: Some(120_000),
    }
}

/// A result with its outcome.
fn output(result: &Value) -> ToolOutput {
    let outcome = match result["success"].as_bool() {
        Some(true) => Outcome::Done,
        _ => Outcome::Failed,
    };
    ToolOutput::json(result).with_outcome(outcome)
}

/// An argument that has something in it.
fn text<'a>(args: &'a Args, name: &str) -> Option<&'a str> {
    args.get(name)
        .and_then(Value::as_str)
        .filter(|text| !text.trim().is_empty())
}
