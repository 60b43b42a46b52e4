//! `hermes mcp serve`

use anyhow::{Context, Result};

use crate::wire::App;

/// Standard output carries the protocol and nothing else.
pub fn run(app: &App) -> Result<()> {
    let home = app.home.clone();
    app.block_on(async {
        hermes_mcp_serve::serve(home, tokio::io::stdin(), tokio::io::stdout())
            .await
            .context("serving MCP")
    })
}
