//! Turns: work for the same key that waits for the work before it.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Lets some tasks work for a key at once. The others wait, in the order in which they came. A key is kept only while a task waits or works
/// for it.
pub(crate) struct Turns<K> {
    at_once: usize,
    keys: Mutex<HashMap<K, Key>>,
}

struct Key {
    free: Arc<Semaphore>,
    /// Number of tasks that wait or work.
    tasks: usize,
}

/// The turn of a task, which ends when it is dropped.
pub(crate) struct Turn<'t, K: Eq + Hash> {
    turns: &'t Turns<K>,
    key: K,
    free: Arc<Semaphore>,
    has_begun: bool,
}

impl<K> fmt::Debug for Turns<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns").finish_non_exhaustive()
    }
}

impl<K: Eq + Hash> Turns<K> {
    fn keys(&self) -> MutexGuard<'_, HashMap<K, Key>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash> Turns<K> {
    /// Creates turns of which `at_once` of a key may run at the same time.
    pub(crate) fn new(at_once: usize) -> Self {
        Self {
            at_once,
            keys: Mutex::default(),
        }
    }

    /// Waits for a turn of this key. Returns `None` if none is free after `longest`.
    pub(crate) async fn take(&self, key: K, longest: Duration) -> Option<Turn<'_, K>> {
        let mut turn = self.join(key);
        timeout(longest, turn.begin()).await.ok()?;
        Some(turn)
    }

    fn join(&self, key: K) -> Turn<'_, K> {
        let mut keys = self.keys();
        let entry = keys.entry(key.clone()).or_insert_with(|| Key {
            free: Arc::new(Semaphore::new(self.at_once)),
            tasks: 0,
        });
        entry.tasks += 1;
        Turn {
            turns: self,
            key,
            free: Arc::clone(&entry.free),
            has_begun: false,
        }
    }
}

impl<K: Eq + Hash> Turn<'_, K> {
    async fn begin(&mut self) {
        // The semaphore is never closed.
        if let Ok(permit) = self.free.acquire().await {
            permit.forget();
            self.has_begun = true;
        }
    }
}

impl<K: Eq + Hash> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        if self.has_begun {
            self.free.add_permits(1);
        }
        let mut keys = self.turns.keys();
        if let Some(entry) = keys.get_mut(&self.key) {
            entry.tasks -= 1;
            if entry.tasks == 0 {
                keys.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::{join, join_all};
    use futures_util::poll;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn as_many_as_allowed_work_for_a_key() {
        let turns = Turns::new(2);
        let (first, second) = join(turns.take(1, LONG), turns.take(1, LONG)).await;
        let mut third = Box::pin(turns.take(1, LONG));
        let other = turns.take(2, LONG).await;

        assert!(first.is_some() && other.is_some());
        assert!(poll!(&mut third).is_pending());
        drop(second);
        assert!(third.await.is_some());
    }

    #[tokio::test]
    async fn turns_come_in_the_order_of_the_requests() {
        let turns = Turns::new(1);
        let order = Mutex::new(Vec::new());
        let first = turns.take((), LONG).await;
        let mut waiting = Box::pin(join_all((0..5).map(async |number| {
            let turn = turns.take((), LONG).await;
            order.lock().expect("a lock").push(number);
            drop(turn);
        })));

        assert!(poll!(&mut waiting).is_pending());
        drop(first);
        waiting.await;

        assert_eq!(*order.lock().expect("a lock"), [0, 1, 2, 3, 4]);
    }

    #[tokio::test]
    async fn a_wait_ends_without_a_turn() {
        let turns = Turns::new(1);
        let held = turns.take("key", LONG).await;

        assert!(turns.take("key", Duration::from_millis(1)).await.is_none());
        drop(held);
        assert!(turns.take("key", LONG).await.is_some());
    }

    #[tokio::test]
    async fn a_key_is_forgotten_with_its_last_task() {
        let turns = Turns::new(1);
        let held = turns.take("key", LONG).await;
        let mut cancelled = Box::pin(turns.take("key", LONG));
        assert!(poll!(&mut cancelled).is_pending());
        assert_eq!(turns.keys()["key"].tasks, 2);

        drop(cancelled);
        drop(held);

        assert!(turns.keys().is_empty());
        assert!(turns.take("key", LONG).await.is_some());
    }
}
