//! Look-ups that wait for each other and share one statement.
//!
//! A look-up of a row by its key costs PostgreSQL and the process less than the message to ask for it. While one statement of a group runs, further
//! look-ups of the group wait, and the next statement serves all of them. It begins after the last of them was requested, so each sees every
//! commit that was acknowledged before it. A look-up without others of its group does not wait.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use tokio::sync::{OnceCell, Semaphore};
use tokio::time::timeout;

use crate::error::{Error, Result};

/// Longest time for which a batch waits for the one before it.
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// Look-ups of values `V` by keys `K` in groups `G`; a statement serves one group. Each thread has its own groups, because each has its own
/// connections.
pub struct Batches<G, K, V>(Mutex<HashMap<(ThreadId, G), Group<K, V>>>);

impl<G, K, V> fmt::Debug for Batches<G, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").finish_non_exhaustive()
    }
}

impl<G, K, V> Default for Batches<G, K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// The look-ups of a group.
struct Group<K, V> {
    /// The batch that has not begun.
    waiting: Option<Arc<Batch<K, V>>>,
    /// The permit of the batch that runs.
    turn: Arc<Semaphore>,
    /// Number of look-ups that wait or run.
    users: usize,
}

/// One statement: its keys, and what it has found.
struct Batch<K, V> {
    keys: Mutex<HashSet<K>>,
    found: OnceCell<Result<Arc<HashMap<K, V>>, Failure>>,
}

/// Why a statement failed, for the look-ups that shared it.
struct Failure {
    is_temporary: bool,
    text: String,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self {
            is_temporary: matches!(error, Error::Unavailable(_) | Error::Collision(_)),
            text: error.to_string(),
        }
    }
}

impl From<&Failure> for Error {
    fn from(failure: &Failure) -> Self {
        let text = failure.text.clone();
        match failure.is_temporary {
            true => Self::Unavailable(text.into()),
            false => Self::internal(text),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<G: Clone + Eq + Hash, K: Clone + Eq + Hash, V> Batches<G, K, V> {
    /// Returns the values of the keys, among those of other look-ups of the group; a key without a value has no entry. `load` reads the values of
    /// all keys that it is given. It must return the same for every look-up of a group, and reads them from the database when it is polled.
    ///
    /// # Errors
    /// Those of `load`. Every look-up that shared the statement gets the error.
    pub async fn find<F>(
        &self,
        group: G,
        keys: impl IntoIterator<Item = K>,
        load: impl FnOnce(Vec<K>) -> F,
    ) -> Result<Arc<HashMap<K, V>>>
    where
        F: Future<Output = Result<HashMap<K, V>>>,
    {
        let group_key = (thread::current().id(), group);
        let user = self.join(group_key, keys);
        // If the look-up that loads is dropped, another one that waits takes over.
        let found = user.batch.found.get_or_init(|| async {
            // A batch that is slow delays the next one a little; it does not stop it.
            let _turn = timeout(LONGEST_WAIT, user.turn.acquire()).await;
            let loaded = load(user.begin()).await;
            loaded.map(Arc::new).map_err(|error| Failure::from(&error))
        });
        match found.await {
            Ok(found) => Ok(Arc::clone(found)),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Adds keys to the batch of the group that has not begun.
    fn join(&self, group_key: (ThreadId, G), keys: impl IntoIterator<Item = K>) -> User<'_, G, K, V> {
        let mut groups = lock(&self.0);
        let group = groups.entry(group_key.clone()).or_insert_with(|| Group {
            waiting: None,
            turn: Arc::new(Semaphore::new(1)),
            users: 0,
        });
        group.users += 1;
        let batch = group.waiting.get_or_insert_with(|| {
            Arc::new(Batch {
                keys: Mutex::default(),
                found: OnceCell::new(),
            })
        });
        lock(&batch.keys).extend(keys);
        User {
            batch: Arc::clone(batch),
            turn: Arc::clone(&group.turn),
            batches: self,
            group_key,
        }
    }
}

/// A look-up that waits or runs.
struct User<'a, G: Eq + Hash, K, V> {
    batch: Arc<Batch<K, V>>,
    turn: Arc<Semaphore>,
    batches: &'a Batches<G, K, V>,
    group_key: (ThreadId, G),
}

impl<G: Eq + Hash, K: Clone, V> User<'_, G, K, V> {
    /// Closes the batch to further look-ups, and returns its keys.
    fn begin(&self) -> Vec<K> {
        let mut groups = lock(&self.batches.0);
        if let Some(group) = groups.get_mut(&self.group_key) {
            group.waiting.take_if(|waiting| Arc::ptr_eq(waiting, &self.batch));
        }
        lock(&self.batch.keys).iter().cloned().collect()
    }
}

impl<G: Eq + Hash, K, V> Drop for User<'_, G, K, V> {
    fn drop(&mut self) {
        let mut groups = lock(&self.batches.0);
        if let Some(group) = groups.get_mut(&self.group_key) {
            group.users -= 1;
            if group.users == 0 {
                groups.remove(&self.group_key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use futures_util::future::join_all;
    use futures_util::poll;
    use tokio::sync::Notify;

    use super::*;

    type Numbers = Batches<(), u32, u32>;

    /// Loads the squares of all keys but 0.
    async fn squares(keys: Vec<u32>) -> Result<HashMap<u32, u32>> {
        let known = keys.into_iter().filter(|key| *key > 0);
        Ok(known.map(|key| (key, key * key)).collect())
    }

    #[tokio::test]
    async fn look_ups_that_wait_share_one_statement() {
        let (batches, statements, go) = (Numbers::default(), RefCell::new(Vec::new()), Notify::new());
        let find = |key: u32| {
            let (statements, go) = (&statements, &go);
            batches.find((), [key], move |mut keys| async move {
                keys.sort_unstable();
                statements.borrow_mut().push(keys.clone());
                go.notified().await;
                squares(keys).await
            })
        };
        let mut first = std::pin::pin!(find(1));
        assert!(poll!(&mut first).is_pending());
        let mut others = std::pin::pin!(join_all([find(2), find(3), find(0), find(3)]));
        assert!(poll!(&mut others).is_pending());

        go.notify_one();
        assert_eq!(first.await.expect("loaded").get(&1), Some(&1));
        go.notify_one();
        for found in others.await {
            let found = found.expect("loaded");
            assert_eq!(
                (found.get(&2), found.get(&3), found.get(&0)),
                (Some(&4), Some(&9), None)
            );
        }

        assert_eq!(*statements.borrow(), [vec![1], vec![0, 2, 3]]);
        assert!(lock(&batches.0).is_empty());
    }

    #[tokio::test]
    async fn a_statement_serves_only_look_ups_that_were_requested_before_it_began() {
        let (batches, go) = (Numbers::default(), Notify::new());
        let truth = RefCell::new(1);
        let find = || {
            let (truth, go) = (&truth, &go);
            batches.find((), [1], move |_| async move {
                let seen = *truth.borrow();
                go.notified().await;
                Ok(HashMap::from([(1, seen)]))
            })
        };
        let mut first = std::pin::pin!(find());
        assert!(poll!(&mut first).is_pending());
        truth.replace(2);
        let mut second = std::pin::pin!(find());
        assert!(poll!(&mut second).is_pending());

        go.notify_one();
        assert_eq!(first.await.expect("loaded")[&1], 1);
        go.notify_one();
        assert_eq!(second.await.expect("loaded")[&1], 2);
    }

    #[tokio::test]
    async fn a_look_up_that_is_dropped_leaves_its_batch_to_the_others() {
        let batches = Numbers::default();
        let (mut never, mut second) = (
            Box::pin(batches.find((), [1], |_| std::future::pending())),
            Box::pin(batches.find((), [2], squares)),
        );
        assert!(poll!(&mut never).is_pending());
        assert!(poll!(&mut second).is_pending());
        let mut third = Box::pin(batches.find((), [3], squares));
        assert!(poll!(&mut third).is_pending());

        drop(never);
        drop(second);

        let found = third.await.expect("loaded");
        assert_eq!((found.get(&2), found.get(&3)), (Some(&4), Some(&9)));
        assert!(lock(&batches.0).is_empty());
    }

    #[tokio::test]
    async fn a_slow_statement_does_not_stop_the_next_one() {
        let batches = Numbers::default();
        let mut never = std::pin::pin!(batches.find((), [1], |_| std::future::pending()));
        assert!(poll!(&mut never).is_pending());

        assert_eq!(batches.find((), [2], squares).await.expect("loaded")[&2], 4);
    }

    #[tokio::test]
    async fn all_look_ups_of_a_statement_get_its_error() {
        let batches = Numbers::default();
        let fail = |_| async { Err(Error::Unavailable("out".into())) };

        let outcomes = join_all([batches.find((), [1], fail), batches.find((), [2], fail)]).await;

        for outcome in outcomes {
            assert!(matches!(outcome, Err(Error::Unavailable(_))));
        }
        assert!(batches.find((), [1], squares).await.is_ok());
    }
}
