//! One lock per path, for as long as somebody needs it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

/// Beyond this many paths the ones nobody holds are cleared away.
const TIDY_AT: usize = 1024;

type Lock = tokio::sync::Mutex<()>;

#[derive(Debug, Default)]
pub(super) struct Locks(Mutex<HashMap<PathBuf, Weak<Lock>>>);

impl Locks {
    pub async fn take(&self, mut paths: Vec<PathBuf>) -> Vec<OwnedMutexGuard<()>> {
        paths.sort();
        paths.dedup();
        let mut held = Vec::with_capacity(paths.len());
        for path in paths {
            held.push(self.of(path).lock_owned().await);
        }
        held
    }

    fn of(&self, path: PathBuf) -> Arc<Lock> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(&path).and_then(Weak::upgrade) {
            return lock;
        }
        if locks.len() >= TIDY_AT {
            locks.retain(|_, lock| lock.strong_count() > 0);
        }
        let lock = Arc::new(Lock::default());
        locks.insert(path, Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn the_same_path_waits_and_others_do_not() {
        let locks = Locks::default();
        let held = locks
            .take(vec!["/b".into(), "/a".into(), "/b".into()])
            .await;
        assert_eq!(held.len(), 2);
        locks.take(vec!["/c".into()]).await;
        let waiting = timeout(Duration::from_millis(20), locks.take(vec!["/a".into()]));
        assert!(waiting.await.is_err());
        drop(held);
        locks.take(vec!["/a".into()]).await;
    }

    #[tokio::test]
    async fn paths_nobody_holds_are_forgotten() {
        let locks = Locks::default();
        let _held = locks.take(vec!["/kept".into()]).await;
        for number in 0..3 * TIDY_AT {
            locks.take(vec![format!("/{number}").into()]).await;
        }
        let map = locks.0.lock().unwrap();
        assert!(map.len() <= TIDY_AT + 1 && map.contains_key(&PathBuf::from("/kept")));
    }
}
