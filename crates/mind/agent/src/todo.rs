//! The model's own task lists, one for each conversation.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::{BoxFuture, FutureExt};
use hermes_types::{
    Args, CallCx, Parallel, SessionId, Step, StepStatus, Tool, ToolOutput, ToolSpec,
};
use serde_json::{Value, json};

const STATUSES: &[&str] = &["pending", "in_progress", "completed", "cancelled"];

/// How the list begins when the conversation was made shorter and it is said again.
pub(crate) const KEPT: &str = "[Your task list, kept while the conversation was made shorter]";

/// Lists that are kept; ids sort by age, so the oldest goes.
const LISTS: usize = 256;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
struct Item {
    id: String,
    content: String,
    status: String,
}

/// `todo`: no arguments read the list, `todos` replace it or, with `merge`, change parts of it.
pub struct Todo {
    spec: ToolSpec,
    lists: Mutex<BTreeMap<SessionId, Vec<Item>>>,
}

impl Default for Todo {
    fn default() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "string"},
                            "content": {"type": "string"},
                            "status": {"type": "string", "enum": STATUSES},
                        },
                        "required": ["id", "content", "status"],
                    },
                },
                "merge": {"type": "boolean", "description": "Change the given items only (default: replace the list)"},
            },
        });
        let spec = ToolSpec {
            name: "todo".to_owned(),
            toolset: "todo",
            description:
                "Your task list for work of three or more steps. Without arguments: read it. \
                          Keep one item in_progress and mark items completed as you finish them."
                    .to_owned(),
            parameters,
            emoji: "📋",
            parallel: Parallel::Never,
            idempotent: false,
            housekeeping: true,
            refundable: false,
            paths: |_| Vec::new(),
            digest: |args, _| match args.get("todos").and_then(Value::as_array).map(Vec::len) {
                Some(count) => format!("{count} items"),
                None => "reading".to_owned(),
            },
            max_output: None,
        };
        Self {
            spec,
            lists: Mutex::default(),
        }
    }
}

impl Tool for Todo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        let mut lists = self.lists();
        if lists.len() > LISTS {
            lists.pop_first();
        }
        let items = lists.entry(cx.scope.session.clone()).or_default();
        if let Some(given) = args.get("todos").and_then(Value::as_array) {
            if args.get("merge") == Some(&Value::Bool(true)) {
                merge(items, given);
            } else {
                *items = replacement(given);
            }
        }
        let mut output = ToolOutput::json(&shown(items));
        output.shown.plan = items.iter().map(Item::step).collect();
        drop(lists);
        async move { output }.boxed()
    }

    fn compacted(&self, session: &SessionId) -> Option<String> {
        self.lists()
            .get(session)
            .and_then(|items| said_again(items))
    }
}

impl Item {
    /// As people see it.
    fn step(&self) -> Step {
        Step {
            text: self.content.clone(),
            status: match self.status.as_str() {
                "in_progress" => StepStatus::InProgress,
                "completed" => StepStatus::Completed,
                "cancelled" => StepStatus::Cancelled,
                _ => StepStatus::Pending,
            },
        }
    }
}

impl Todo {
    fn lists(&self) -> MutexGuard<'_, BTreeMap<SessionId, Vec<Item>>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is still open of a list, if anything is.
fn said_again(items: &[Item]) -> Option<String> {
    let line = |item: &Item| match item.status.as_str() {
        "pending" => Some(format!("\n- [ ] {}. {}", item.id, item.content)),
        "in_progress" => Some(format!("\n- [>] {}. {}", item.id, item.content)),
        _ => None,
    };
    let open: String = items.iter().filter_map(line).collect();
    (!open.is_empty()).then(|| format!("{KEPT}{open}"))
}

/// Of several items with one id the last counts, in the place of the last.
fn replacement(given: &[Value]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for value in given {
        let item = Item {
            id: text(value, "id").unwrap_or("?").to_owned(),
            content: text(value, "content")
                .unwrap_or("(no description)")
                .to_owned(),
            status: status(value).unwrap_or("pending").to_owned(),
        };
        items.retain(|other| other.id != item.id);
        items.push(item);
    }
    items
}

fn merge(items: &mut Vec<Item>, given: &[Value]) {
    for value in given {
        let known = text(value, "id").and_then(|id| items.iter_mut().find(|item| item.id == id));
        match known {
            Some(item) => {
                if let Some(content) = text(value, "content") {
                    item.content = content.to_owned();
                }
                if let Some(status) = status(value) {
                    item.status = status.to_owned();
                }
            }
            None => items.extend(replacement(std::slice::from_ref(value))),
        }
    }
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value
        .get(key)
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// A status nobody knows means "pending".
fn status(value: &Value) -> Option<&str> {
    text(value, "status").map(|status| {
        if STATUSES.contains(&status) {
            status
        } else {
            "pending"
        }
    })
}

fn shown(items: &[Item]) -> Value {
    let count = |status: &str| items.iter().filter(|item| item.status == status).count();
    let todos: Vec<Value> = items
        .iter()
        .map(|item| json!({"id": item.id, "content": item.content, "status": item.status}))
        .collect();
    json!({
        "todos": todos,
        "summary": {
            "total": items.len(), "pending": count("pending"), "in_progress": count("in_progress"),
            "completed": count("completed"), "cancelled": count("cancelled"),
        },
    })
}

impl std::fmt::Debug for Todo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Todo")
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    // spec: tools §8.21
    #[test]
    fn the_last_of_one_id_counts_and_merging_keeps_the_rest() {
        let two = [
            json!({"id": "1", "content": "first", "status": "pending"}),
            json!({"id": "1", "content": "second", "status": "nonsense"}),
        ];
        let mut items = replacement(&two);
        assert_eq!(
            items,
            [Item {
                id: "1".into(),
                content: "second".into(),
                status: "pending".into()
            }]
        );
        merge(
            &mut items,
            &[
                json!({"id": "1", "status": "completed"}),
                json!({"content": "new"}),
            ],
        );
        assert_eq!(
            items[0],
            Item {
                id: "1".into(),
                content: "second".into(),
                status: "completed".into()
            }
        );
        assert_eq!(
            items[1],
            Item {
                id: "?".into(),
                content: "new".into(),
                status: "pending".into()
            }
        );
        assert_eq!(shown(&items)["summary"]["total"], 2);
        let seen: Vec<_> = items.iter().map(Item::step).collect();
        let step = |text: &str, status| Step {
            text: text.to_owned(),
            status,
        };
        assert_eq!(
            seen,
            [
                step("second", StepStatus::Completed),
                step("new", StepStatus::Pending)
            ]
        );
    }
}
