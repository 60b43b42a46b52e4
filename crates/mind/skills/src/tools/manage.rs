//! `skill_manage`

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use hermes_text::Occurrences;
use hermes_types::{Answer, Args, CallCx, Parallel, Question, Tool, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::{output, spec, text};
use crate::manage::{Change, Changed, Consent, Origin, Refused};
use crate::service::Skills;

#[derive(Debug)]
pub struct SkillManage {
    spec: ToolSpec,
    skills: Arc<Skills>,
    origin: Origin,
}

impl SkillManage {
    pub fn new(skills: Arc<Skills>, origin: Origin) -> Self {
        let spec = ToolSpec {
            description: "Keep what was learned as a skill. create: a new one (content: a whole SKILL.md, front matter with \
                name and description, then instructions); name it after a kind of task, not one occasion. patch: \
                replace old_string by new_string, the usual way to mend one. edit: replace all of SKILL.md. \
                write_file, remove_file: files below references/, templates/, scripts/, assets/. delete: move it to \
                the archive. Ask the user before you create or delete one, unless they wanted it."
                .to_owned(),
            parameters: parameters(),
            parallel: Parallel::Never,
            idempotent: false,
            housekeeping: true,
            ..spec("skill_manage", digest)
        };
        Self {
            spec,
            skills,
            origin,
        }
    }

    async fn run(&self, args: &Args, cx: &CallCx) -> ToolOutput {
        let done = match parse(args) {
            Ok((name, change)) => self.change(name, change, cx).await,
            Err(refused) => Err(refused),
        };
        match done {
            Err(refused) => output(&refused.to_json()),
            Ok(changed) => {
                let result = json!({
                    "success": true,
                    "message": changed.message,
                    "path": changed.path.to_string_lossy(),
                    "changed": {"kind": changed.kind, "name": changed.name},
                });
                ToolOutput {
                    changed: vec![changed.path],
                    ..output(&result)
                }
            }
        }
    }

    /// Does it; what the guard objects to only with the owner's consent.
    async fn change(&self, name: String, change: Change, cx: &CallCx) -> Result<Changed, Refused> {
        let first = self.attempt(&name, &change, Consent::NotAsked).await;
        let question = match &first {
            Err(refused @ Refused::Dangerous { .. }) if self.origin == Origin::Foreground => {
                format!("{refused}. Write the skill '{name}' anyway?")
            }
            _ => return first,
        };
        match cx
            .asker
            .ask(
                Question::Confirm {
                    question,
                    longest: hermes_types::Consent::Once,
                },
                &cx.scope,
            )
            .await
        {
            Answer::Once | Answer::Session | Answer::Always => {
                self.attempt(&name, &change, Consent::Given).await
            }
            _ => first,
        }
    }

    /// On a thread that may wait: for the disk, and for others who change skills.
    async fn attempt(
        &self,
        name: &str,
        change: &Change,
        consent: Consent,
    ) -> Result<Changed, Refused> {
        let (skills, origin) = (self.skills.clone(), self.origin);
        let (name, change) = (name.to_owned(), change.clone());
        let work = move || skills.change_with(&name, &change, origin, consent);
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(Refused::new(format!("the change broke off: {error}"))))
    }
}

impl Tool for SkillManage {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move { self.run(&args, cx).await }.boxed()
    }
}

fn parse(args: &Args) -> Result<(String, Change), Refused> {
    let action = text(args, "action").ok_or_else(|| Refused::new("action is missing"))?;
    let name = text(args, "name").ok_or_else(|| Refused::new("name is missing: which skill?"))?;
    let given = |key: &str| args.get(key).and_then(Value::as_str).map(str::to_owned);
    let need = |key: &str| {
        given(key).ok_or_else(|| Refused::new(format!("action={action} needs '{key}'")))
    };
    let change = match action {
        "create" => Change::Create {
            content: need("content")?,
            category: given("category"),
        },
        "edit" => Change::Edit {
            content: need("content")?,
        },
        "patch" => Change::Patch {
            old: need("old_string")?,
            new: need("new_string")?,
            occurrences: match args.get("replace_all").and_then(Value::as_bool) {
                Some(true) => Occurrences::All,
                _ => Occurrences::One,
            },
            file: given("file_path").filter(|path| !path.is_empty()),
        },
        "delete" => Change::Delete {
            absorbed_into: given("absorbed_into"),
        },
        "write_file" => Change::WriteFile {
            path: need("file_path")?,
            content: need("file_content")?,
        },
        "remove_file" => Change::RemoveFile {
            path: need("file_path")?,
        },
        other => {
            return Err(Refused::new(format!(
                "There is no action '{other}': use create, patch, edit, delete, write_file or remove_file"
            )));
        }
    };
    Ok((name.to_owned(), change))
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["create", "patch", "edit", "delete", "write_file", "remove_file"]},
            "name": {"type": "string", "description": "Lowercase letters, digits and hyphens"},
            "content": {"type": "string", "description": "create, edit: the whole SKILL.md"},
            "category": {"type": "string", "description": "create: one directory to file it under"},
            "old_string": {"type": "string", "description": "patch: text to replace, unique unless replace_all"},
            "new_string": {"type": "string", "description": "patch: its replacement; empty to remove it"},
            "replace_all": {"type": "boolean", "default": false},
            "file_path": {"type": "string", "description": "A file inside the skill, such as references/api.md"},
            "file_content": {"type": "string", "description": "write_file: what it holds"},
            "absorbed_into": {"type": "string",
                "description": "delete: the skill that has its content now; empty if nothing does"},
        },
        "required": ["action", "name"],
    })
}

fn digest(args: &Args, _: &ToolOutput) -> String {
    let part = |key: &str| text(args, key).unwrap_or_default();
    format!("{} {} {}", part("action"), part("name"), part("file_path"))
        .trim()
        .to_owned()
}
