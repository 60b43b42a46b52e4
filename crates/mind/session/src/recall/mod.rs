//! The `session_search` tool: finding what was said in other conversations. A model is only asked on request.

mod profiles;
mod summary;
mod titled;

use std::collections::HashSet;

use futures::future::{BoxFuture, FutureExt};
use hermes_home::clock;
use hermes_store::{
    ErrorKind, Hit, ListQuery, Order, SearchOrder, SearchQuery, Store, StoredMessage,
};
use hermes_types::{Args, CallCx, Content, Parallel, Role, SessionId, Tool, ToolOutput, ToolSpec};
use jiff::Timestamp;
use serde_json::{Value, json};

use self::profiles::{Others, Wanted};

/// Hits looked at to find enough different conversations.
const SCANNED: usize = 300;
/// Messages shown around a match, and at both ends of its conversation.
const AROUND: usize = 5;
const ENDS: usize = 3;
/// A conversation read as a whole: its beginning and its end.
const READ_START: usize = 20;
const READ_END: usize = 10;
const SHOWN_CHARS: usize = 1_000;
/// Each of them is a request to a model.
const MOST_SUMMARIES: usize = 5;
/// Not a person's conversations.
const HIDDEN: &[&str] = &["tool", "subagent", "curator"];

pub struct SessionSearch {
    spec: ToolSpec,
    store: Store,
    /// What a search gives if the call doesn't say.
    usual: Shape,
    /// Summaries that are written at the same time.
    at_once: usize,
    /// Whose conversations can be read besides.
    others: Option<Others>,
}

/// What a search gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Messages,
    Summaries,
}

impl SessionSearch {
    pub fn new(store: Store) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words, \"phrases\", OR, NOT, prefix*"},
                "limit": {"type": "integer", "description": "1-10, default 3"},
                "role_filter": {"type": "string", "description": "Comma list, default user,assistant"},
                "sort": {"type": "string", "enum": ["newest", "oldest"]},
                "session_id": {"type": "string", "description": "Read it; also profile/id"},
                "around_message_id": {"type": "integer", "description": "With session_id: around this"},
                "window": {"type": "integer", "description": "1-20 on each side, default 5"},
                "profile": {"type": "string", "description": "Another of the user's"},
                "summarize": {"type": "boolean", "description": "By a model (slow)"},
            },
        });
        let spec = ToolSpec {
            name: "session_search".to_owned(),
            toolset: "session_search",
            description:
                "Find earlier conversations by their words, or list recent ones without a query. \
                          Look here before asking the user to repeat something."
                    .to_owned(),
            parameters,
            emoji: "🔍",
            parallel: Parallel::Always,
            idempotent: true,
            housekeeping: true,
            refundable: false,
            paths: |_| Vec::new(),
            digest: |args, _| {
                args.get("query")
                    .and_then(Value::as_str)
                    .unwrap_or("recent sessions")
                    .to_owned()
            },
            max_output: Some(100_000),
        };
        Self {
            spec,
            store,
            usual: Shape::Messages,
            at_once: 3,
            others: None,
        }
    }

    /// `auxiliary.session_search.mode` and `.max_concurrency`.
    #[must_use]
    pub fn giving(self, usual: Shape, at_once: usize) -> Self {
        let at_once = at_once.clamp(1, 5);
        Self {
            usual,
            at_once,
            ..self
        }
    }

    async fn answer(&self, args: &Args, cx: &CallCx) -> hermes_store::Result<Value> {
        let Wanted { profile, session } =
            self.wanted(text(args, "profile"), text(args, "session_id"));
        let session = session.as_deref();
        let Some(name) = profile else {
            return match self.look(args, session, cx).await {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let found = self.look_elsewhere(args, session, cx).await;
                    found.ok_or(error)
                }
                looked => looked,
            };
        };
        match self.of_profile(&name).await {
            Err(refused) => Ok(refused),
            Ok(other) => {
                let mut found = other.look(args, session, cx).await?;
                found["profile"] = name.into();
                Ok(found)
            }
        }
    }

    async fn look(
        &self,
        args: &Args,
        session: Option<&str>,
        cx: &CallCx,
    ) -> hermes_store::Result<Value> {
        let current = &cx.scope.session;
        let number = |key: &str| {
            args.get(key)
                .and_then(Value::as_u64)
                .and_then(|n| usize::try_from(n).ok())
        };
        let limit = number("limit").unwrap_or(3).clamp(1, 10);
        let around = args.get("around_message_id").and_then(Value::as_i64);
        match (session, around, text(args, "query")) {
            (Some(session), Some(message), _) => {
                let window = number("window").unwrap_or(AROUND).clamp(1, 20);
                self.scroll(session, message, window, current).await
            }
            (Some(session), None, _) => self.read(session).await,
            (None, _, Some(query)) => {
                let search = SearchQuery {
                    hide: HIDDEN.iter().map(|source| (*source).to_owned()).collect(),
                    roles: roles(text(args, "role_filter").unwrap_or("user,assistant")),
                    order: order(text(args, "sort")),
                    limit: SCANNED,
                    ..SearchQuery::new(query)
                };
                let shape = match args.get("summarize").and_then(Value::as_bool) {
                    Some(true) => Shape::Summaries,
                    Some(false) => Shape::Messages,
                    None => self.usual,
                };
                self.discover(query, search, limit, (shape, cx)).await
            }
            (None, _, None) => self.browse(limit, current).await,
        }
    }

    async fn browse(&self, limit: usize, current: &SessionId) -> hermes_store::Result<Value> {
        let own = self.store.root(current).await?;
        let query = ListQuery {
            hide: HIDDEN.iter().map(|source| (*source).to_owned()).collect(),
            order: Order::Activity,
            limit: limit + 1,
            ..ListQuery::default()
        };
        let listed = self.store.list(query).await?;
        let others = listed
            .iter()
            .filter(|row| row.id != *current && row.root.as_ref() != Some(&own));
        let results: Vec<Value> = others
            .take(limit)
            .map(|row| {
                json!({
                    "session_id": row.id, "title": row.title, "source": row.source, "started_at": when(row.started_at),
                    "last_active": when(row.last_active), "message_count": row.message_count, "preview": row.preview,
                })
            })
            .collect();
        Ok(json!({"success": true, "mode": "recent", "count": results.len(), "results": results}))
    }

    /// The best match of each conversation, shown where it is.
    async fn discover(
        &self,
        query: &str,
        search: SearchQuery,
        limit: usize,
        (shape, cx): (Shape, &CallCx),
    ) -> hermes_store::Result<Value> {
        let mut hits = self.store.search(search).await?;
        // What jobs said on their own comes after what people said.
        hits.sort_by_key(|hit| hit.source == "cron");
        if let Some(titled) = self.titled(query).await? {
            hits = self.first_of(titled, hits).await?;
        }
        let mut seen = HashSet::from([self.store.root(&cx.scope.session).await?]);
        let mut best = Vec::new();
        for hit in hits {
            if seen.insert(self.store.root(&hit.session).await?) {
                best.push(hit);
            }
        }
        let searched = best.len();
        let (mode, results) = match shape {
            Shape::Messages => {
                let mut results = Vec::new();
                for hit in best.iter().take(limit) {
                    results.push(self.found(hit).await?);
                }
                ("discover", results)
            }
            Shape::Summaries => {
                best.truncate(limit.min(MOST_SUMMARIES));
                ("summary", self.summarised(query, &best, cx).await)
            }
        };
        Ok(json!({
            "success": true, "mode": mode, "query": query, "count": results.len(),
            "sessions_searched": searched, "results": results,
        }))
    }

    async fn found(&self, hit: &Hit) -> hermes_store::Result<Value> {
        let session = self.store.session(&hit.session).await?;
        let messages = self.store.messages(&hit.session).await?;
        let spoken: Vec<&StoredMessage> =
            messages.iter().filter(|stored| is_speech(stored)).collect();
        let near = self
            .store
            .messages_around(&hit.session, hit.message, AROUND)
            .await?;
        let before = messages
            .iter()
            .filter(|stored| stored.id < hit.message)
            .count();
        Ok(json!({
            "session_id": hit.session,
            "when": when(hit.session_started_at),
            "source": hit.source,
            "model": hit.model,
            "title": session.as_ref().and_then(|session| session.title.clone()),
            "matched_role": hit.role.as_str(),
            "match_message_id": hit.message,
            "snippet": hit.snippet,
            "bookend_start": spoken.iter().take(ENDS).map(|stored| shown(stored)).collect::<Vec<_>>(),
            "messages": near.iter().map(|stored| anchored(stored, hit.message)).collect::<Vec<_>>(),
            "bookend_end": spoken.iter().rev().take(ENDS).rev().map(|stored| shown(stored)).collect::<Vec<_>>(),
            "messages_before": before,
            "messages_after": messages.len().saturating_sub(before + 1),
            "parent_session_id": session.and_then(|session| session.parent),
        }))
    }

    async fn scroll(
        &self,
        session: &str,
        message: i64,
        window: usize,
        current: &SessionId,
    ) -> hermes_store::Result<Value> {
        let named = self.store.find(session).await?;
        let refused = |error: String| Ok(json!({"success": false, "error": error}));
        if self.store.root(&named).await? == self.store.root(current).await? {
            return refused("this is the current conversation: you have it before you".to_owned());
        }
        // An earlier part of the same conversation may hold it.
        let mut parts = self.store.lineage(&self.store.tip(&named).await?).await?;
        parts.sort_by_key(|part| *part != named);
        let (mut id, mut near) = (named.clone(), Vec::new());
        for part in parts {
            near = self.store.messages_around(&part, message, window).await?;
            id = part;
            if !near.is_empty() {
                break;
            }
        }
        if near.is_empty() {
            return refused(format!("message {message} is not in session {named}"));
        }
        let warning = (id != named).then(|| {
            format!("message {message} is in {id}, another part of the same conversation")
        });
        let messages: Vec<Value> = near
            .iter()
            .map(|stored| anchored(stored, message))
            .collect();
        let mut answer =
            json!({"success": true, "mode": "scroll", "session_id": id, "messages": messages});
        if let Some(warning) = warning {
            answer["warning"] = warning.into();
        }
        Ok(answer)
    }

    async fn read(&self, session: &str) -> hermes_store::Result<Value> {
        let id = self.store.find(session).await?;
        let title = self
            .store
            .session(&id)
            .await?
            .and_then(|session| session.title);
        let messages = self.store.messages(&id).await?;
        let left_out = messages.len().saturating_sub(READ_START + READ_END);
        let kept = messages
            .iter()
            .take(READ_START)
            .chain(messages.iter().skip(READ_START + left_out));
        Ok(json!({
            "success": true, "mode": "read", "session_id": id, "title": title, "message_count": messages.len(),
            "left_out": left_out, "messages": kept.map(shown).collect::<Vec<_>>(),
        }))
    }
}

impl Tool for SessionSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            match self.answer(&args, cx).await {
                Ok(value) => ToolOutput::json(&value),
                Err(error) => ToolOutput::failed(error.to_string()),
            }
        }
        .boxed()
    }
}

impl std::fmt::Debug for SessionSearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionSearch")
    }
}

/// An argument that says something.
fn text<'a>(args: &'a Args, key: &str) -> Option<&'a str> {
    let text = args.get(key).and_then(Value::as_str).map(str::trim);
    text.filter(|text| !text.is_empty())
}

fn roles(list: &str) -> Vec<Role> {
    list.split(',')
        .map(str::trim)
        .filter(|role| !role.is_empty())
        .map(Role::from)
        .collect()
}

fn order(sort: Option<&str>) -> SearchOrder {
    match sort {
        Some("newest") => SearchOrder::Newest,
        Some("oldest") => SearchOrder::Oldest,
        _ => SearchOrder::Relevance,
    }
}

fn is_speech(stored: &StoredMessage) -> bool {
    matches!(stored.message.role, Role::User | Role::Assistant)
}

fn shown(stored: &StoredMessage) -> Value {
    let text = stored
        .message
        .content
        .as_ref()
        .map(Content::plain)
        .unwrap_or_default();
    let cut: String = text.chars().take(SHOWN_CHARS).collect();
    let text = if cut.len() < text.len() {
        format!("{cut}…")
    } else {
        text
    };
    json!({"id": stored.id, "role": stored.message.role.as_str(), "content": text})
}

fn anchored(stored: &StoredMessage, anchor: i64) -> Value {
    let mut value = shown(stored);
    if stored.id == anchor {
        value["anchor"] = true.into();
    }
    value
}

/// `April 01, 2026 at 03:04 PM`
fn when(time: Timestamp) -> String {
    clock::local(time)
        .strftime("%B %d, %Y at %I:%M %p")
        .to_string()
}
