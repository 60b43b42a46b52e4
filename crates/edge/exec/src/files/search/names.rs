//! Files by name, newest first.

use std::ops::ControlFlow;
use std::time::SystemTime;

use serde_json::json;

use super::walk::{Ended, Names, Tree};
use super::{Found, Query};

/// A tree with more matching files than this is sorted only as far.
const MAX_FILES: usize = 200_000;

pub(super) fn find(query: &Query, tree: &Tree) -> Result<Found, String> {
    let names = Names::new(&widened(&query.pattern))?;
    let mut files: Vec<(SystemTime, String)> = Vec::new();
    let (ended, omitted) = tree.walk(|entry| {
        if names.admits(entry.path(), &tree.root) {
            let modified = entry.metadata().ok().and_then(|meta| meta.modified().ok());
            let modified = modified.unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((modified, tree.shown(entry.path())));
        }
        if files.len() >= MAX_FILES {
            return ControlFlow::Break(Ended::Enough);
        }
        ControlFlow::Continue(())
    });
    // Stable: files of the same moment stay in the order of their paths.
    files.sort_by_key(|(modified, _)| std::cmp::Reverse(*modified));
    let page: Vec<&String> = files
        .iter()
        .map(|(_, path)| path)
        .skip(query.offset)
        .take(query.limit)
        .collect();
    Ok(Found {
        total: files.len(),
        more: files.len() >= query.enough(),
        rows: (!page.is_empty()).then(|| ("files", json!(page))),
        omitted,
        ended,
    })
}

/// A bare name also means files that end with it.
fn widened(pattern: &str) -> String {
    if pattern.contains('/') || pattern.starts_with(['*', '!']) {
        pattern.to_owned()
    } else {
        format!("*{pattern}")
    }
}
