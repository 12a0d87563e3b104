//! Shares of something bounded: how many slots a tenant or a caller holds at once, so that one of them does not take what all use.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the slots that each key holds. A key is kept only while it holds one.
#[derive(Debug)]
pub struct Shares<K>(Arc<Mutex<HashMap<K, usize>>>);

/// A slot that a key holds; released when dropped.
#[derive(Debug)]
pub struct Share<K: Eq + Hash> {
    shares: Shares<K>,
    key: K,
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K> Shares<K> {
    fn held(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash> Shares<K> {
    /// Takes a slot for a key; `None` if the key holds `most` already.
    #[must_use]
    pub fn take(&self, key: K, most: usize) -> Option<Share<K>> {
        let mut held = self.held();
        let count = held.get(&key).copied().unwrap_or_default();
        if count >= most {
            return None;
        }
        held.insert(key.clone(), count + 1);
        drop(held);
        Some(Share {
            shares: Self(Arc::clone(&self.0)),
            key,
        })
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        let mut held = self.shares.held();
        if let Some(count) = held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_holds_at_most_its_share_and_others_hold_theirs() {
        let shares = Shares::default();
        let first = shares.take("a", 2).expect("a slot");
        let _second = shares.take("a", 2).expect("a slot");

        assert!(shares.take("a", 2).is_none());
        let other = shares.take("b", 2).expect("the share of another key");
        drop((first, other));

        let _again = shares.take("a", 2).expect("the released slot");
        assert!(shares.take("a", 2).is_none());
        assert_eq!(shares.held().get("b"), None, "a key without slots is forgotten");
    }
}
