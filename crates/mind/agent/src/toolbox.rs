//! The tools of one turn: a snapshot that doesn't change while the turn runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use hermes_types::{Availability, SessionId, Tool, ToolDef};

use crate::names;

/// Tools by name, in name order.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    /// Other spellings that old conversations and skills use; the model is not told.
    aliases: BTreeMap<String, String>,
    /// What was left out because it cannot be used now, and why.
    unusable: BTreeMap<String, String>,
}

impl Toolbox {
    /// Keeps what can be used now; of two tools with one name the first stays.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut made = Self::default();
        for tool in tools {
            let name = tool.spec().name.clone();
            match tool.available() {
                Availability::Yes => drop(made.tools.entry(name).or_insert(tool)),
                Availability::No(why) => drop(made.unusable.insert(name, why)),
            }
        }
        made
    }

    fn more(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut made = Self::new(self.tools.values().cloned().chain(tools));
        made.unusable.extend(self.unusable.clone());
        made
    }

    /// More tools, and other spellings of their names.
    #[must_use]
    pub fn and<'n>(
        &self,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
        aliases: impl IntoIterator<Item = (&'n str, &'n str)>,
    ) -> Self {
        let own = |(alias, name): (&str, &str)| (alias.to_owned(), name.to_owned());
        Self {
            aliases: aliases.into_iter().map(own).collect(),
            ..self.more(tools)
        }
    }

    /// Tools beside these; a name that is taken stays with whom it belongs to.
    #[must_use]
    pub fn beside(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self {
            aliases: self.aliases.clone(),
            ..self.more(tools)
        }
    }

    /// The same names, with other tools behind them.
    #[must_use]
    pub fn map<T: Tool + 'static>(&self, change: impl Fn(&Arc<dyn Tool>) -> Arc<T>) -> Self {
        let changed = |(name, tool): (&String, &Arc<dyn Tool>)| {
            let tool: Arc<dyn Tool> = change(tool);
            (name.clone(), tool)
        };
        Self {
            tools: self.tools.iter().map(changed).collect(),
            aliases: self.aliases.clone(),
            unusable: self.unusable.clone(),
        }
    }

    /// Tools that cannot be used now, and why.
    pub fn unusable(&self) -> impl Iterator<Item = (&str, &str)> {
        let unusable = self.unusable.iter();
        unusable.map(|(name, why)| (name.as_str(), why.as_str()))
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let own = self.tools.get(name);
        own.or_else(|| self.tools.get(self.aliases.get(name)?))
    }

    /// The name of the tool that `name` stands for, if one does.
    pub fn meant(&self, name: &str) -> Option<&str> {
        match self.aliases.get(name) {
            Some(name) if self.tools.contains_key(name) => Some(name),
            _ => names::resolve(name, &self.names()),
        }
    }

    pub fn names(&self) -> Vec<&str> {
        self.tools.keys().map(String::as_str).collect()
    }

    /// Tells all tools that the conversation was made shorter; what they want said again.
    pub fn compacted(&self, session: &SessionId) -> Vec<String> {
        self.tools
            .values()
            .filter_map(|tool| tool.compacted(session))
            .collect()
    }

    /// What the model is told.
    pub fn definitions(&self) -> Vec<ToolDef> {
        let define = |tool: &Arc<dyn Tool>| {
            let spec = tool.spec();
            ToolDef {
                name: spec.name.clone(),
                description: spec.description.clone(),
                parameters: spec.parameters.clone(),
            }
        };
        self.tools.values().map(define).collect()
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}
