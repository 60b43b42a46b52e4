//! Tool servers of a session: whoever started them knows how they are and how to load them anew.

use std::sync::Arc;

use futures::future::BoxFuture;
use hermes_types::Message;

use crate::actor::Live;

/// What a session can do about its tool servers.
#[derive(Clone)]
pub struct ToolServers {
    /// How each is doing, a line each.
    pub report: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Loads their configuration anew; says what that changed.
    pub reload: Arc<dyn Fn() -> BoxFuture<'static, String> + Send + Sync>,
    pub asking: Asking,
}

/// Whether the owner is asked before servers are loaded anew.
#[derive(Clone)]
pub enum Asking {
    Never,
    /// The function makes it `Never` for good.
    First(Arc<dyn Fn() -> Result<(), String> + Send + Sync>),
}

impl std::fmt::Debug for ToolServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries((self.report)()).finish()
    }
}

impl std::fmt::Debug for Asking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Never => "Never",
            Self::First(_) => "First",
        })
    }
}

impl Live {
    #[must_use]
    pub fn with_servers(mut self, servers: Option<ToolServers>) -> Self {
        self.servers = servers;
        self
    }

    /// `/reload-mcp`: other tools mean that the whole conversation is read, and paid for, once more.
    pub(crate) async fn reload_servers(&mut self, answer: &str) -> String {
        let Some(servers) = &mut self.servers else {
            return "no MCP servers are configured".to_owned();
        };
        match (&servers.asking, answer) {
            (Asking::First(_), "") => {
                return "Other tools make the provider read the whole conversation anew.\n\
                        /reload-mcp now     reload this time\n\
                        /reload-mcp always  reload, and never ask again"
                    .to_owned();
            }
            (Asking::First(stop_asking), "always") => {
                if let Err(error) = stop_asking() {
                    return error;
                }
                servers.asking = Asking::Never;
            }
            (_, "" | "now" | "always") => {}
            (_, other) => return format!("/reload-mcp takes `now` or `always`, not `{other}`"),
        }
        let reload = (servers.reload)();
        let said = reload.await;
        // At the end, so that everything before it stays as the provider knows it.
        let note = format!("[MCP servers were reloaded: {said}]");
        self.conversation.push(Message::user(note)).await;
        said
    }

    /// Lines for `/status`.
    pub(crate) fn server_lines(&self) -> String {
        let lines = self.servers.as_ref().map(|servers| (servers.report)());
        let lines = lines.unwrap_or_default();
        lines
            .iter()
            .map(|line| format!("\nmcp       {line}"))
            .collect()
    }
}
