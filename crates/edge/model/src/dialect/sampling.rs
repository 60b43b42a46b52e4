//! How much chance there is in a reply, where a model lets itself be told.

use hermes_types::ModelRequest;

use crate::route::Route;

/// Families that refuse the field, or have a value of their own for it.
const NEVER: [&str; 6] = ["kimi-", "gpt-5", "codex", "o1", "o3", "o4"];
const OWN: [(&str, f64); 1] = [("trinity-large-thinking", 0.5)];

/// The temperature to send; usually none, and the server decides.
pub(super) fn temperature(route: &Route, request: &ModelRequest) -> Option<f64> {
    let name = route.model.to_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    if route.concessions.no_temperature || is_fixed(name) {
        return None;
    }
    let own = OWN.iter().find(|(family, _)| name.starts_with(family));
    own.map(|(_, value)| *value).or(request.temperature)
}

fn is_fixed(name: &str) -> bool {
    let is_claude_47 = name.contains("claude") && (name.contains("4-7") || name.contains("4.7"));
    is_claude_47 || NEVER.iter().any(|family| name.starts_with(family))
}
