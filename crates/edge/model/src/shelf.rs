//! Lists of models kept in the home, so that names, windows and prices are there without a network:
//! `cache/models/<provider>.json`.

use std::path::{Path, PathBuf};

use hermes_home::{Modes, replace_file};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::listing::ListedModel;

/// A list, and when it was fetched from where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub fetched_at: i64,
    pub base_url: String,
    pub models: Vec<ListedModel>,
}

impl Kept {
    pub fn age_seconds(&self) -> i64 {
        Timestamp::now().as_second().saturating_sub(self.fetched_at)
    }
}

/// The list that was kept, if it is from this address. A broken file counts as none.
pub(crate) fn load(home: &Path, provider: &str, base_url: &str) -> Option<Kept> {
    let text = std::fs::read(path(home, provider)).ok()?;
    let kept: Kept = serde_json::from_slice(&text).ok()?;
    (kept.base_url == base_url).then_some(kept)
}

/// Keeps a list. It can be fetched again: whatever goes wrong is only noted.
pub(crate) fn keep(home: &Path, provider: &str, base_url: &str, models: &[ListedModel]) {
    let kept = Kept {
        fetched_at: Timestamp::now().as_second(),
        base_url: base_url.to_owned(),
        models: models.to_vec(),
    };
    let Ok(text) = serde_json::to_vec(&kept) else {
        return;
    };
    if let Err(error) = write(&path(home, provider), &text) {
        tracing::warn!("the list of models of {provider} is not kept: {error}");
    }
}

/// Replaces a file of the cache, making its directory.
pub(crate) fn write(path: &Path, content: &[u8]) -> hermes_home::Result<()> {
    // Nothing secret is in it.
    let modes = Modes {
        dir: 0o700,
        secret: None,
    };
    if let Some(dir) = path.parent()
        && let Err(error) = std::fs::create_dir_all(dir)
    {
        tracing::debug!("{} cannot be made: {error}", dir.display());
    }
    replace_file(path, content, &modes)
}

fn path(home: &Path, provider: &str) -> PathBuf {
    let name: String = provider
        .chars()
        .map(|c| match c {
            'a'..='z' | '0'..='9' | '-' | '_' | '.' => c,
            _ => '-',
        })
        .collect();
    home.join("cache/models").join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_list_is_kept_for_its_address() {
        let dir = tempfile::tempdir().unwrap();
        let models = [ListedModel {
            id: "m".to_owned(),
            context_length: Some(7),
            ..ListedModel::default()
        }];
        keep(dir.path(), "custom:my/box", "http://a/v1", &models);
        let kept = load(dir.path(), "custom:my/box", "http://a/v1").unwrap();
        assert_eq!(kept.models, models);
        assert!((0..60).contains(&kept.age_seconds()));
        assert!(load(dir.path(), "custom:my/box", "http://b/v1").is_none());
        assert!(dir.path().join("cache/models/custom-my-box.json").is_file());
    }
}
