//! The file itself: read whole, changed behind a lock, replaced at once. Keys nobody here knows are kept.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_home::{Env, FileLock, Manager, Modes, replace_secret};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{AuthError, Credential};

/// How long to wait for another program that is changing the file.
const LOCK_WAIT: Duration = Duration::from_secs(15);
const LOCK_POLL: Duration = Duration::from_millis(25);
const VERSION: u64 = 1;

#[derive(Clone, Debug)]
pub(crate) struct AuthFile {
    path: PathBuf,
    modes: Modes,
}

/// What the file was when it was last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl AuthFile {
    pub fn new(home: &Path, env: &Env) -> Self {
        Self {
            path: home.join("auth.json"),
            modes: Modes::from_env(env, Manager::detect(env, home).as_ref()),
        }
    }

    /// To look at: a file that is absent, broken or out of reach is an empty one.
    pub fn read(&self) -> Document {
        let content = self.content().unwrap_or_else(|error| {
            tracing::warn!("{error}: no stored key is used");
            None
        });
        content.unwrap_or_default()
    }

    /// `None` if the file is broken.
    fn content(&self) -> Result<Option<Document>, AuthError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Some(Document::default()));
            }
            Err(error) => return Err(hermes_home::Error::io("read", &self.path)(error).into()),
        };
        let document = str::from_utf8(&bytes).ok().and_then(Document::parse);
        if document.is_none() {
            tracing::warn!("{} is not a JSON object: ignored", self.path.display());
        }
        Ok(document)
    }

    /// `None` if there is no file.
    pub fn stamp(&self) -> Option<Stamp> {
        let meta = fs::metadata(&self.path).ok()?;
        Some(Stamp {
            inode: meta.ino(),
            size: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        })
    }

    /// Changes the file behind its lock. Nothing is written if nothing changed.
    pub fn update<T>(&self, change: impl FnOnce(&mut Document) -> T) -> Result<T, AuthError> {
        let lock = self.lock(LOCK_WAIT)?;
        self.update_locked(&lock, change)
    }

    /// The same for somebody who holds the lock.
    pub fn update_locked<T>(
        &self,
        _lock: &FileLock,
        change: impl FnOnce(&mut Document) -> T,
    ) -> Result<T, AuthError> {
        // One that cannot be read may hold every key there is: better no change than a new file in its place.
        let content = self.content()?;
        let is_broken = content.is_none();
        let before = content.unwrap_or_default();
        let mut after = before.clone();
        let result = change(&mut after);
        if before != after {
            if is_broken {
                self.put_aside();
            }
            self.write(after)?;
        }
        Ok(result)
    }

    /// Blocks until the lock is ours or `patience` is over.
    pub fn lock(&self, patience: Duration) -> Result<FileLock, AuthError> {
        let path = self.path.with_extension("lock");
        let end = Instant::now() + patience;
        loop {
            if let Some(lock) = FileLock::try_acquire(&path)? {
                return Ok(lock);
            }
            if Instant::now() >= end {
                return Err(AuthError::Locked(path.display().to_string()));
            }
            std::thread::sleep(LOCK_POLL);
        }
    }

    fn write(&self, mut document: Document) -> Result<(), AuthError> {
        let root = &mut document.0;
        root.insert("version".to_owned(), json!(VERSION));
        root.entry("providers").or_insert_with(|| json!({}));
        let now = json!(Timestamp::now().to_string());
        root.insert("updated_at".to_owned(), now);
        // A JSON value can always be written.
        let text = serde_json::to_string_pretty(root).unwrap_or_default();
        Ok(replace_secret(&self.path, text + "\n", &self.modes)?)
    }

    /// For what is broken, before something else takes its place.
    fn put_aside(&self) {
        // Without a copy there is still nothing in it that anybody could use.
        let _ = fs::rename(&self.path, self.path.with_extension("json.corrupt"));
    }
}

/// The whole of `auth.json`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Document(Map<String, Value>);

impl Document {
    pub fn parse(text: &str) -> Option<Self> {
        match serde_json::from_str(text) {
            Ok(Value::Object(root)) => Some(Self(root)),
            _ => None,
        }
    }

    /// The providers with entries in the pool.
    pub fn pools(&self) -> Vec<String> {
        let pools = self.0.get("credential_pool").and_then(Value::as_object);
        let pools = pools.into_iter().flatten();
        let filled = pools.filter(|(_, list)| list.as_array().is_some_and(|list| !list.is_empty()));
        filled.map(|(name, _)| name.clone()).collect()
    }

    /// One provider's entries, first choice first.
    pub fn pool(&self, provider: &str) -> Vec<Credential> {
        let list = self
            .0
            .get("credential_pool")
            .and_then(|pools| pools.get(provider));
        let list = list.and_then(Value::as_array).into_iter().flatten();
        let mut entries: Vec<_> = list.filter_map(Credential::read).collect();
        entries.sort_by_key(Credential::priority);
        entries
    }

    /// Replaces a provider's entries.
    pub fn set_pool(&mut self, provider: &str, entries: &[Credential]) {
        self.section("credential_pool", |pools| match entries {
            [] => drop(pools.remove(provider)),
            entries => {
                let list = entries.iter().map(Credential::written).collect();
                pools.insert(provider.to_owned(), list);
            }
        });
    }

    /// Replaces one entry, found by its id or its source, or adds it.
    pub fn put(&mut self, provider: &str, entry: &Credential) {
        self.change(provider, entry, |known| *known = entry.clone());
    }

    /// Changes one entry as it is now, which another program may have changed meanwhile. One that isn't there
    /// is added.
    pub fn change(
        &mut self,
        provider: &str,
        entry: &Credential,
        change: impl FnOnce(&mut Credential),
    ) {
        let mut entries = self.pool(provider);
        match entries.iter_mut().find(|known| known.is_same(entry)) {
            Some(known) => change(known),
            None => {
                let mut entry = entry.clone();
                change(&mut entry);
                entries.push(entry);
            }
        }
        self.set_pool(provider, &entries);
    }

    /// What a login left behind.
    pub fn login(&self, provider: &str) -> Option<&Map<String, Value>> {
        self.0.get("providers")?.get(provider)?.as_object()
    }

    pub fn set_login(&mut self, provider: &str, login: Map<String, Value>) {
        self.section("providers", |logins| {
            logins.insert(provider.to_owned(), Value::Object(login));
        });
    }

    /// Whether there was one.
    pub fn remove_login(&mut self, provider: &str) -> bool {
        self.section("providers", |logins| logins.remove(provider).is_some())
    }

    pub fn active(&self) -> Option<&str> {
        self.0.get("active_provider")?.as_str()
    }

    pub fn set_active(&mut self, provider: Option<&str>) {
        self.0.insert("active_provider".to_owned(), json!(provider));
    }

    /// Sources the owner took out of a pool and does not want back.
    pub fn suppressed(&self, provider: &str) -> Vec<String> {
        let list = self
            .0
            .get("suppressed_sources")
            .and_then(|all| all.get(provider));
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|source| source.as_str().map(str::to_owned))
            .collect()
    }

    pub fn suppress(&mut self, provider: &str, source: &str) {
        let mut sources = self.suppressed(provider);
        if !sources.iter().any(|known| known == source) {
            sources.push(source.to_owned());
            self.section("suppressed_sources", |all| {
                all.insert(provider.to_owned(), json!(sources));
            });
        }
    }

    /// Lets every source of a provider in again.
    pub fn allow(&mut self, provider: &str) {
        if self.suppressed(provider).is_empty() {
            return;
        }
        let is_empty = self.section("suppressed_sources", |all| {
            all.remove(provider);
            all.is_empty()
        });
        if is_empty {
            self.0.remove("suppressed_sources");
        }
    }

    /// Changes a section, which is made if there is none or it is none.
    fn section<T>(&mut self, name: &str, change: impl FnOnce(&mut Map<String, Value>) -> T) -> T {
        if let Some(Value::Object(section)) = self.0.get_mut(name) {
            return change(section);
        }
        let mut made = Map::new();
        let result = change(&mut made);
        if !made.is_empty() {
            self.0.insert(name.to_owned(), Value::Object(made));
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use pretty_assertions::assert_eq;

    use super::*;

    fn file(dir: &Path) -> AuthFile {
        AuthFile::new(dir, &Env::from([("HERMES_CONTAINER", "0")]))
    }

    fn text(dir: &Path) -> Value {
        serde_json::from_str(&fs::read_to_string(dir.join("auth.json")).unwrap()).unwrap()
    }

    #[test]
    fn what_nobody_knows_is_kept_and_the_file_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(dir.path());
        let before = json!({"version": 1, "odd": [1, null], "providers": {"spotify": {"x": 1}},
            "credential_pool": {"p": [{"id": "a", "source": "manual", "access_token": "k", "mine": {"y": 2}}]}});
        fs::write(dir.path().join("auth.json"), before.to_string()).unwrap();
        file.update(|document| {
            let mut entry = document.pool("p").remove(0);
            entry.set("last_status", json!("ok"));
            document.put("p", &entry);
            document.suppress("p", "env:X");
        })
        .unwrap();
        let after = text(dir.path());
        assert_eq!(after["odd"], before["odd"]);
        assert_eq!(after["providers"], before["providers"]);
        let entry = &after["credential_pool"]["p"][0];
        assert_eq!(
            (&entry["mine"]["y"], &entry["last_status"]),
            (&json!(2), &json!("ok"))
        );
        assert_eq!(after["suppressed_sources"]["p"], json!(["env:X"]));
        let mode = fs::metadata(dir.path().join("auth.json")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        file.update(|document| document.allow("p")).unwrap();
        assert_eq!(text(dir.path()).get("suppressed_sources"), None);
    }

    #[test]
    fn nothing_is_written_if_nothing_changes() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(dir.path());
        file.update(|_| ()).unwrap();
        assert_eq!(file.stamp(), None);
        file.update(|document| document.set_active(Some("nous")))
            .unwrap();
        let stamp = file.stamp().unwrap();
        file.update(|document| document.set_active(Some("nous")))
            .unwrap();
        assert_eq!(file.stamp(), Some(stamp));
    }

    #[test]
    fn a_broken_file_is_put_aside() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(dir.path());
        let broken = b"{\"providers\": {\xff";
        fs::write(dir.path().join("auth.json"), broken).unwrap();
        assert_eq!(file.read(), Document::default());
        file.update(|document| document.set_active(Some("nous")))
            .unwrap();
        assert_eq!(file.read().active(), Some("nous"));
        let kept = fs::read(dir.path().join("auth.json.corrupt")).unwrap();
        assert_eq!(kept, broken);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(dir.path());
        // Even root cannot read it.
        fs::create_dir(dir.path().join("auth.json")).unwrap();
        assert_eq!(file.read(), Document::default());
        let changed = file.update(|document| document.set_active(Some("nous")));
        assert!(matches!(changed, Err(AuthError::Home(_))), "{changed:?}");
    }

    #[test]
    fn a_held_lock_is_waited_for_but_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(dir.path());
        let held = file.lock(LOCK_WAIT).unwrap();
        let tried = file.lock(Duration::from_millis(60));
        assert!(matches!(tried, Err(AuthError::Locked(path)) if path.ends_with("auth.lock")));
        drop(held);
        file.lock(Duration::ZERO).unwrap();
    }
}
