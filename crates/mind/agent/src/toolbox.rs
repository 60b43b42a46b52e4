//! The tools of one turn: a snapshot that doesn't change while the turn runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use hermes_types::{Availability, Tool, ToolDef};

/// Tools by name, in name order.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Toolbox {
    /// Keeps what can be used now; of two tools with one name the first stays.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut kept = BTreeMap::new();
        for tool in tools {
            if tool.available() == Availability::Yes {
                kept.entry(tool.spec().name.clone()).or_insert(tool);
            }
        }
        Self { tools: kept }
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    pub fn names(&self) -> Vec<&str> {
        self.tools.keys().map(String::as_str).collect()
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
