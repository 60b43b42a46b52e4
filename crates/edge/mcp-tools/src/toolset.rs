//! The tools of all servers, under names that hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hermes_mcp::Catalog;
use hermes_types::{Parallel, Tool};

use crate::config::Entry;
use crate::describe;
use crate::names::{Aliases, canonical, distinct, toolset_name};
use crate::result::{Caches, Shelf};
use crate::tool::{Caller, ServerSide, ServerTool, Subject};

/// What one server offers right now. It stays listed while the server is down.
#[derive(Clone)]
pub struct Listing<'a> {
    pub entry: &'a Entry,
    pub catalog: &'a Catalog,
    pub caller: Arc<dyn Caller>,
}

/// An immutable snapshot of all servers' tools, by name.
#[derive(Clone, Debug, Default)]
pub struct Toolset {
    tools: BTreeMap<String, Arc<ServerTool>>,
    aliases: Aliases,
    /// What the owner should be told: names that collided.
    pub warnings: Vec<String>,
}

/// How one snapshot differs from the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub added: Vec<String>,
    pub removed: Vec<String>,
}

impl Toolset {
    /// `is_built_in` says which names are taken. A tool that is as it was in `before` is the very same.
    pub fn build(
        listings: &[Listing<'_>],
        caches: &Caches,
        is_built_in: &dyn Fn(&str) -> bool,
        before: &Self,
    ) -> Self {
        let mut listings: Vec<&Listing<'_>> = listings.iter().collect();
        listings.sort_by_key(|listing| listing.entry.name());
        let mut made = Self::default();
        for listing in listings {
            made.add_server(listing, caches, is_built_in, before);
        }
        let named = made
            .tools
            .iter()
            .map(|(name, tool)| (tool.server(), tool.raw_name(), name.as_str()));
        let aliases = Aliases::of(named);
        made.aliases = aliases;
        made
    }

    fn add_server(
        &mut self,
        listing: &Listing<'_>,
        caches: &Caches,
        is_built_in: &dyn Fn(&str) -> bool,
        before: &Self,
    ) {
        let subjects = subjects(listing);
        let named = self.names(listing.entry.name(), subjects, is_built_in);
        let reader = named
            .iter()
            .find(|(_, subject)| *subject == Subject::ReadResource);
        let side = Arc::new(ServerSide {
            caller: Arc::clone(&listing.caller),
            shelf: Shelf {
                caches: caches.clone(),
                secrets: listing.entry.secrets.clone(),
                reader: reader.map(|(name, _)| name.clone()),
            },
            parallel: match listing.entry.parallel {
                true => Parallel::Always,
                false => Parallel::Never,
            },
            elicitation: listing.entry.elicitation,
        });
        for (name, subject) in named {
            let tool = ServerTool::new(name.clone(), subject, Arc::clone(&side));
            let known = before.tools.get(&name).filter(|known| known.is_same(&tool));
            let tool = known.cloned().unwrap_or_else(|| {
                describe::watch(tool.server(), tool.raw_name(), &tool.spec().description);
                Arc::new(tool)
            });
            self.tools.insert(name, tool);
        }
    }

    /// A name of its own for each; what a built-in tool is called stays the built-in's.
    fn names(
        &mut self,
        server: &str,
        subjects: Vec<Subject>,
        is_built_in: &dyn Fn(&str) -> bool,
    ) -> Vec<(String, Subject)> {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut named = Vec::new();
        for subject in subjects {
            let plain = canonical(server, subject.name());
            if is_built_in(&plain) {
                self.warn(
                    server,
                    subject.name(),
                    "has the name of a built-in tool and is left out",
                );
                continue;
            }
            let is_taken = |name: &str| {
                taken.contains(name) || self.tools.contains_key(name) || is_built_in(name)
            };
            let name = distinct(server, subject.name(), is_taken);
            if name != plain {
                let text = format!("has the same name as another one and is called {name}");
                self.warn(server, subject.name(), &text);
            }
            taken.insert(name.clone());
            named.push((name, subject));
        }
        named
    }

    fn warn(&mut self, server: &str, tool: &str, text: &str) {
        self.warnings
            .push(format!("MCP server '{server}': the tool '{tool}' {text}"));
    }

    /// All tools, in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = Arc<dyn Tool>> + '_ {
        self.tools
            .values()
            .map(|tool| Arc::clone(tool) as Arc<dyn Tool>)
    }

    /// The advertised name behind any accepted spelling.
    pub fn resolve<'s>(&'s self, name: &str) -> Option<&'s str> {
        let own = self
            .tools
            .get_key_value(name)
            .map(|(name, _)| name.as_str());
        own.or_else(|| self.aliases.get(name))
    }

    /// The other spellings, each with the name it stands for.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter()
    }

    /// The server a tool belongs to.
    pub fn server_of(&self, name: &str) -> Option<&str> {
        self.tools
            .get(self.resolve(name)?)
            .map(|tool| tool.server())
    }

    /// A server's tool by its raw name or any spelling of its full one.
    pub fn find(&self, server: &str, name: &str) -> Option<Arc<dyn Tool>> {
        let found = self.own(server, name)?;
        Some(Arc::clone(found) as Arc<dyn Tool>)
    }

    /// The same as the server described it.
    pub(crate) fn raw(&self, server: &str, name: &str) -> Option<Arc<hermes_mcp::Tool>> {
        match self.own(server, name)?.subject() {
            Subject::Tool(tool) => Some(Arc::clone(tool)),
            _ => None,
        }
    }

    fn own(&self, server: &str, name: &str) -> Option<&Arc<ServerTool>> {
        let own = || self.tools.values().filter(|tool| tool.server() == server);
        let raw = own().find(|tool| tool.raw_name() == name);
        let full = || own().find(|tool| Some(tool.spec().name.as_str()) == self.resolve(name));
        raw.or_else(full)
    }

    /// The names of the tools in each toolset `mcp-<server>`.
    pub fn toolsets(&self) -> BTreeMap<String, Vec<&str>> {
        let mut all: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (name, tool) in &self.tools {
            all.entry(toolset_name(tool.server()))
                .or_default()
                .push(name);
        }
        all
    }

    /// What is new and what is gone since `before`; to be told once, when a conversation takes it up.
    pub fn changes(&self, before: &Self) -> Changes {
        let without = |one: &Self, other: &Self| {
            let names = one
                .tools
                .keys()
                .filter(|name| !other.tools.contains_key(*name));
            names.cloned().collect()
        };
        Changes {
            added: without(self, before),
            removed: without(before, self),
        }
    }
}

/// What the model may see of a server: tools by their raw names, then the four of everybody.
fn subjects(listing: &Listing<'_>) -> Vec<Subject> {
    let (filter, catalog) = (&listing.entry.filter, listing.catalog);
    let mut tools: Vec<_> = catalog
        .tools
        .iter()
        .filter(|tool| filter.admits(&tool.name))
        .collect();
    // Not in the server's order: it may change, and a name must not.
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools.dedup_by(|a, b| a.name == b.name);
    let tools = tools.into_iter().filter(|_| catalog.has_tools);
    let mut subjects: Vec<Subject> = tools.map(|tool| Subject::Tool(Arc::clone(tool))).collect();
    if catalog.has_resources && filter.resources {
        subjects.extend([Subject::ListResources, Subject::ReadResource]);
    }
    if catalog.has_prompts && filter.prompts {
        subjects.extend([Subject::ListPrompts, Subject::GetPrompt]);
    }
    subjects
}

impl std::fmt::Debug for Listing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listing")
            .field("server", &self.entry.name())
            .field("tools", &self.catalog.tools.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
