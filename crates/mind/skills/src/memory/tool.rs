//! `memory`: the model writes down what it wants to know next time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, FutureExt};
use hermes_text::scan::{Screen, findings};
use hermes_types::{
    Args, Availability, CallCx, MemoryWrite, Outcome, Parallel, SessionId, Tool, ToolOutput,
    ToolSpec, WriteOrigin,
};
use serde_json::{Value, json};

use super::change::{Done, Refused, Wish};
use super::entries::length;
use super::notes::{Changed, Notes, Stays};
use super::{Memory, Target};
use crate::journal::{Author, By, Journal, Subject};

/// A model that has failed this often in a row is told to stop.
const PATIENCE: u32 = 3;
/// Sessions whose failures are remembered; ids sort by age, so the oldest goes.
const SESSIONS: usize = 256;

/// Hears of what was written.
pub type Tell = Arc<dyn Fn(MemoryWrite) + Send + Sync>;

pub struct MemoryTool {
    spec: ToolSpec,
    memory: Memory,
    journal: Arc<Journal>,
    author: Author,
    tell: Option<Tell>,
    /// Failures in a row.
    failures: Mutex<BTreeMap<SessionId, u32>>,
}

impl MemoryTool {
    pub fn new(memory: Memory, journal: Arc<Journal>, author: Author) -> Self {
        Self {
            spec: spec(),
            memory,
            journal,
            author,
            tell: None,
            failures: Mutex::default(),
        }
    }

    /// With somebody who hears of what was written, and must not take long.
    #[must_use]
    pub fn telling(self, tell: Option<Tell>) -> Self {
        Self { tell, ..self }
    }

    async fn run(&self, args: &Args, cx: &CallCx) -> Result<Value, Value> {
        let target = target(args)?;
        let Some(notes) = self.memory.notes(target) else {
            let told = format!(
                "The {} store is switched off in the settings.",
                target.name()
            );
            return Err(failure(&told));
        };
        let wishes = wishes(args, notes)?;
        for text in wishes.iter().filter_map(written) {
            check(text)?;
        }
        let subject = || Subject::Memory(target);
        self.journal.look(subject(), Author::of(By::Outside)).await;
        let (own, wanted) = (notes.clone(), wishes.clone());
        let changed = tokio::task::spawn_blocking(move || own.change(&wanted)).await;
        let changed = changed.map_err(|error| failure(&error.to_string()))?;
        match changed {
            Ok(changed) => {
                let author = self.author.in_session(&cx.scope.session);
                self.journal.look(subject(), author).await;
                self.tell(target, &wishes, &changed.done, cx);
                Ok(success(target, notes, &changed))
            }
            Err(stays) => Err(explained(notes, stays)),
        }
    }

    /// What is new in a store is news for whoever remembers besides.
    fn tell(&self, target: Target, wishes: &[Wish], done: &[Done], cx: &CallCx) {
        let Some(tell) = &self.tell else {
            return;
        };
        let origin = match self.author.by {
            By::Review => WriteOrigin::BackgroundReview,
            _ => WriteOrigin::Foreground,
        };
        for (wish, done) in wishes.iter().zip(done) {
            let (action, content) = match (wish, done) {
                (Wish::Add(content), Done::Added) => ("add", content),
                (Wish::Replace { new, .. }, Done::Replaced) => ("replace", new),
                _ => continue,
            };
            tell(MemoryWrite {
                action,
                target: target.name(),
                content: content.clone(),
                origin,
                session: cx.scope.session.clone(),
                call_id: cx.call_id.clone(),
            });
        }
    }

    /// After several failures in a row the model is told to give up.
    fn counted(&self, session: &SessionId, outcome: Result<Value, Value>) -> ToolOutput {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() > SESSIONS {
            failures.pop_first();
        }
        match outcome {
            Ok(value) => {
                failures.remove(session);
                ToolOutput::json(&value)
            }
            Err(mut value) => {
                let count = failures.entry(session.clone()).or_default();
                *count += 1;
                if *count >= PATIENCE {
                    *count = 0;
                    value["error"] = json!(format!(
                        "{} This was attempt {PATIENCE}: stop retrying and go on with the user's request; \
                         memory stays as it is.",
                        value["error"].as_str().unwrap_or_default()
                    ));
                }
                ToolOutput::json(&value).with_outcome(Outcome::Failed)
            }
        }
    }
}

impl std::fmt::Debug for MemoryTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryTool")
            .field("memory", &self.memory)
            .field("author", &self.author)
            .finish_non_exhaustive()
    }
}

impl Tool for MemoryTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            let outcome = self.run(&args, cx).await;
            self.counted(&cx.scope.session, outcome)
        }
        .boxed()
    }

    fn available(&self) -> Availability {
        match self.memory.is_off() {
            true => Availability::No("memory is switched off (memory.memory_enabled)".to_owned()),
            false => Availability::Yes,
        }
    }
}

fn target(args: &Args) -> Result<Target, Value> {
    let name = text(args, "target").unwrap_or("memory");
    Target::named(name).ok_or_else(|| failure("target must be 'memory' or 'user'."))
}

/// What is asked for, in order.
fn wishes(args: &Args, notes: &Notes) -> Result<Vec<Wish>, Value> {
    match args.get("operations").and_then(Value::as_array) {
        Some(operations) if !operations.is_empty() => {
            let one = |value: &Value| match value.as_object() {
                Some(operation) => wish(operation, notes),
                None => Err(failure("Each operation must be an object with an action.")),
            };
            operations.iter().map(one).collect()
        }
        _ => Ok(vec![wish(args, notes)?]),
    }
}

fn wish(args: &Args, notes: &Notes) -> Result<Wish, Value> {
    let content = ["content", "new_text", "new_content"];
    let content = content.iter().find_map(|name| text(args, name));
    let old = || {
        let told = "old_text is missing: name the entry by a part of it.";
        text(args, "old_text").map(str::to_owned).ok_or_else(|| {
            let entries = notes.entries().unwrap_or_default();
            with_entries(failure(told), notes, &entries)
        })
    };
    match text(args, "action") {
        Some("add") => match content {
            Some(content) => Ok(Wish::Add(content.to_owned())),
            None => Err(failure("content is missing: what should be remembered?")),
        },
        Some("replace") => match (old()?, content) {
            (old, Some(new)) => Ok(Wish::Replace {
                old,
                new: new.to_owned(),
            }),
            (_, None) => Err(failure(
                "content is empty: to take an entry out, use action 'remove'.",
            )),
        },
        Some("remove") => Ok(Wish::Remove { old: old()? }),
        _ => Err(failure("action must be 'add', 'replace' or 'remove'.")),
    }
}

fn text<'a>(args: &'a Args, name: &str) -> Option<&'a str> {
    let text = args.get(name)?.as_str()?.trim();
    (!text.is_empty()).then_some(text)
}

fn written(wish: &Wish) -> Option<&str> {
    match wish {
        Wish::Add(text) | Wish::Replace { new: text, .. } => Some(text),
        Wish::Remove { .. } => None,
    }
}

/// Memory is read by every session to come: what gives orders does not get in.
fn check(content: &str) -> Result<(), Value> {
    let found = findings(content, Screen::Memory);
    match found.is_empty() {
        true => Ok(()),
        false => Err(failure(&format!(
            "Blocked: the content looks like an injected instruction or a way to leak secrets ({}).",
            found.join(", ")
        ))),
    }
}

fn success(target: Target, notes: &Notes, changed: &Changed) -> Value {
    let message = match changed.done.as_slice() {
        [Done::Added] => "Entry added.".to_owned(),
        [Done::Replaced] => "Entry replaced.".to_owned(),
        [Done::Removed] => "Entry removed.".to_owned(),
        [Done::Known] => "It already exists; nothing was added.".to_owned(),
        several => format!("{} changes made.", several.len()),
    };
    json!({
        "success": true,
        "target": target.name(),
        "entries": changed.entries,
        "usage": percent(length(&changed.entries), notes.limit),
        "entry_count": changed.entries.len(),
        "message": message,
        "done": true,
        "note": "Saved on disk. The prompt shows it from the next session on; there is no need to repeat this.",
    })
}

fn explained(notes: &Notes, stays: Stays) -> Value {
    match stays {
        Stays::Refused { by, entries } => with_entries(refused(notes, by), notes, &entries),
        Stays::Misshapen { copy, entries } => {
            // Whoever mended it in the meantime may try again.
            let problem = notes
                .problem()
                .unwrap_or_else(|| "it was edited".to_owned());
            let told = format!(
                "{problem}. Nothing was changed, and a copy is in {}. Ask the user to mend the file; adding an entry \
                 works as long as it is text.",
                copy.display()
            );
            with_entries(failure(&told), notes, &entries)
        }
        Stays::Failed(error) => failure(&format!("Memory could not be changed: {error}")),
    }
}

fn refused(notes: &Notes, by: Refused) -> Value {
    match by {
        Refused::TooLong { would_be } => failure(&format!(
            "Over the limit: it would be {} of {} characters. Make room in the same turn: replace or remove entries \
             (one call with `operations` can do it all), then add.",
            grouped(would_be),
            grouped(notes.limit)
        )),
        Refused::NoMatch { old } => failure(&format!("No entry contains '{old}'.")),
        Refused::Several { matches } => {
            let mut value =
                failure("Several entries contain old_text: use a longer part of the one you mean.");
            value["matches"] = json!(matches);
            value
        }
    }
}

fn failure(told: &str) -> Value {
    json!({"success": false, "error": told})
}

fn with_entries(mut value: Value, notes: &Notes, entries: &[String]) -> Value {
    let (used, limit) = (grouped(length(entries)), grouped(notes.limit));
    value["current_entries"] = json!(entries);
    value["usage"] = json!(format!("{used}/{limit}"));
    value
}

/// `12% — 264/2,200 chars`
pub(super) fn percent(used: usize, limit: usize) -> String {
    let share = used * 100 / limit.max(1);
    format!("{share}% — {}/{} chars", grouped(used), grouped(limit))
}

/// `2,200`
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn spec() -> ToolSpec {
    let operation = json!({
        "action": {"type": "string", "enum": ["add", "replace", "remove"]},
        "content": {"type": "string", "description": "What to remember (add, replace)"},
        "old_text": {"type": "string", "description": "A part of the entry that is meant (replace, remove)"},
    });
    let mut properties = operation.clone();
    properties["target"] = json!({
        "type": "string",
        "enum": ["memory", "user"],
        "description": "user: who they are and what they like; memory: the rest",
    });
    properties["operations"] = json!({
        "type": "array",
        "description": "Several changes, all or none; only the outcome must fit",
        "items": {"type": "object", "properties": operation, "required": ["action"]},
    });
    ToolSpec {
        name: "memory".to_owned(),
        toolset: "memory",
        description: include_str!("../prompts/memory_tool.md").trim().to_owned(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": ["target"],
        }),
        emoji: "🧠",
        parallel: Parallel::Never,
        idempotent: false,
        housekeeping: true,
        refundable: false,
        paths: |_| Vec::new(),
        digest: |args, _| {
            let action = args.get("action").and_then(Value::as_str);
            let target = args.get("target").and_then(Value::as_str);
            format!(
                "{} {}",
                action.unwrap_or("change"),
                target.unwrap_or("memory")
            )
        },
        max_output: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_limit() {
        assert_eq!(percent(9, 1_375), "0% — 9/1,375 chars");
        assert_eq!(
            percent(1_234_567, 2_200_000),
            "56% — 1,234,567/2,200,000 chars"
        );
    }
}
