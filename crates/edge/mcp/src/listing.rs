//! Reading a server's lists, page by page.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::content::{self, Tool};
use crate::failure::Failure;
use crate::generation::Generation;
use crate::mirror;
use crate::server::Catalog;

/// A server that has more pages than this never stops.
const MAX_PAGES: usize = 50;

/// The items of a list, and whether there were more than anybody reads.
pub(crate) struct Listed {
    pub items: Vec<Value>,
    pub is_cut: bool,
}

/// Reads all pages of the list `method` gives under `field`.
pub(crate) async fn list(
    generation: &Generation,
    first_id: u64,
    method: &'static str,
    field: &str,
) -> Result<Listed, Failure> {
    let mut items = Vec::new();
    let mut params = json!({});
    let mut id = first_id;
    for _ in 0..MAX_PAGES {
        let mut page = generation.request(id, method, params, Vec::new()).await?;
        items.extend(content::list(&mut page, field));
        match page.get_mut("nextCursor").map(Value::take) {
            Some(Value::String(cursor)) if !cursor.is_empty() => params = json!({"cursor": cursor}),
            _ => {
                return Ok(Listed {
                    items,
                    is_cut: false,
                });
            }
        }
        id = generation.new_id();
    }
    tracing::warn!(
        method,
        "more than {MAX_PAGES} pages: the rest of the list is left out"
    );
    Ok(Listed {
        items,
        is_cut: true,
    })
}

/// What the server offers now. A server without tools is not asked for them.
pub(crate) async fn catalog(generation: &Generation) -> Result<Catalog, Failure> {
    let hello = &generation.hello;
    let mut catalog = Catalog {
        tools: Vec::new(),
        has_tools: hello.has_tools,
        has_resources: hello.has_resources,
        has_prompts: hello.has_prompts,
        instructions: hello.instructions.clone(),
        server: hello.server.clone(),
        warning: None,
    };
    if hello.has_tools {
        let listed = list(generation, generation.new_id(), "tools/list", "tools").await?;
        catalog.tools = listed.items.into_iter().filter_map(offered).collect();
        if listed.is_cut {
            catalog.warning = Some(format!("tools after page {MAX_PAGES} are left out"));
        }
    }
    Ok(catalog)
}

fn offered(value: Value) -> Option<Arc<Tool>> {
    let tool = Tool::read(value)?;
    match mirror::fault(&tool) {
        None => Some(Arc::new(tool)),
        Some(fault) => {
            tracing::warn!(tool = tool.name, "tool is left out: {fault}");
            None
        }
    }
}
