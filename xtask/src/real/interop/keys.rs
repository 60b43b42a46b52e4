//! Keys of one home, handled by both programs in turns.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Pair;
use super::compare;

const OURS: &str = "sk-or-v1-added-by-ours-0001";
const THEIRS: &str = "sk-or-v1-added-by-theirs-0002";

/// Each adds a key, each sees both, and a mark of one is a mark for the other.
pub fn are_shared(pair: &Pair) -> Result<()> {
    pair.ours(&[
        "auth",
        "add",
        "openrouter",
        "--api-key",
        OURS,
        "--label",
        "ours",
    ])?;
    they_list(pair, "ours")?;
    let add = [
        "auth",
        "add",
        "openrouter",
        "--type",
        "api-key",
        "--api-key",
        THEIRS,
        "--label",
        "theirs",
    ];
    let added = pair.their_program(&add)?;
    ensure!(added.code == Some(0), "{}{}", added.out, added.err);
    compare::equal(&labels(pair)?, &vec![json!("ours"), json!("theirs")])?;
    let path = pair.file("auth.json");
    let mut document: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    let pool = document["credential_pool"]["openrouter"].as_array_mut();
    let pool = pool.context("no pool")?;
    let mut added: Vec<_> = pool
        .iter_mut()
        .filter(|entry| entry["source"] == "manual")
        .collect();
    let keys: Vec<_> = added
        .iter()
        .map(|entry| entry["access_token"].clone())
        .collect();
    compare::equal(&keys, &vec![json!(OURS), json!(THEIRS)])?;
    let ours = added.first_mut().context("no key")?;
    ours["last_status"] = json!("exhausted");
    ours["last_error_code"] = json!(429);
    ours["last_error_reset_at"] = json!(4_000_000_000_u64);
    fs::write(&path, document.to_string())?;
    they_list(pair, "rate-limited")?;
    pair.ours(&["auth", "reset", "openrouter"])?;
    let listed = they_list(pair, "ours")?;
    ensure!(!listed.contains("rate-limited"), "{listed}");
    pair.ours(&["auth", "remove", "openrouter", "theirs"])?;
    compare::equal(&labels(pair)?, &vec![json!("ours")])
}

fn they_list(pair: &Pair, part: &str) -> Result<String> {
    let listed = pair.their_program(&["auth", "list", "openrouter"])?;
    ensure!(listed.code == Some(0), "{}", listed.err);
    ensure!(listed.out.contains(part), "no `{part}` in\n{}", listed.out);
    Ok(listed.out)
}

/// What we list of what was added by hand; the home may have more in its `.env`.
fn labels(pair: &Pair) -> Result<Vec<Value>> {
    let lists = pair.ours_json(&["auth", "list", "openrouter", "--json"])?;
    let entries = lists[0]["entries"].as_array().context("no entries")?;
    let added = entries.iter().filter(|entry| entry["source"] == "manual");
    Ok(added.map(|entry| entry["label"].clone()).collect())
}
