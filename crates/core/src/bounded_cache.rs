//! Caches of bounded size. The caches of all keys and values share one compiled implementation: each instantiation of the library's generic code
//! takes 60 KiB of the program.

use std::any::Any;
use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use equivalent::Equivalent;
use moka::notification::RemovalCause;
use moka::sync::{Cache, CacheBuilder};

/// A value of a cache.
type AnyValue = Arc<dyn Any + Send + Sync>;
type Entries = Cache<Key, AnyValue>;

/// Values by their keys. When the cache is full, values that are seldom used are dropped. A value is cloned when it is read.
pub struct BoundedCache<K, V> {
    entries: Entries,
    types: PhantomData<fn(K) -> V>,
}

/// What limits a cache. Every cache has a largest size.
pub struct BoundedCacheBuilder<K, V> {
    entries: CacheBuilder<Key, AnyValue, Entries>,
    types: PhantomData<fn(K) -> V>,
}

/// The copy has the same values, also those that are inserted later.
impl<K, V> Clone for BoundedCache<K, V> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
            types: PhantomData,
        }
    }
}

impl<K, V> fmt::Debug for BoundedCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedCache").finish_non_exhaustive()
    }
}

impl<K, V> fmt::Debug for BoundedCacheBuilder<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedCacheBuilder").finish_non_exhaustive()
    }
}

impl<K: Hash + Eq + Send + Sync + 'static, V: Clone + Send + Sync + 'static> BoundedCache<K, V> {
    /// Creates an empty cache of at most `most` values.
    #[must_use]
    pub fn new(most: u64) -> Self {
        Self::builder(most).build()
    }

    /// Returns a builder of a cache whose values have at most the weight `most` together. Without [`BoundedCacheBuilder::weigher`], each value has
    /// the weight 1.
    #[must_use]
    pub fn builder(most: u64) -> BoundedCacheBuilder<K, V> {
        BoundedCacheBuilder {
            entries: Cache::builder().max_capacity(most),
            types: PhantomData,
        }
    }

    /// Returns the value of a key. The key may be borrowed, as for a `HashMap`.
    #[must_use]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        clone_of(&find(&self.entries, &Borrowed::<K, Q>::new(key))?)
    }

    /// Returns the value of a key. If there is none, inserts the one that `create` returns; simultaneous calls with one key insert one value.
    pub fn get_or_insert_with(&self, key: K, create: impl Fn() -> V) -> V {
        let found = find_or_insert(&self.entries, Key::new(key), Box::new(|| Arc::new(create())));
        clone_of(&found).unwrap_or_else(create)
    }

    /// Returns all keys and values.
    #[must_use]
    pub fn entries(&self) -> Vec<(K, V)>
    where
        K: Clone,
    {
        let typed = |(key, value): (Arc<Key>, AnyValue)| Some((key.typed::<K>()?.clone(), clone_of(&value)?));
        all(&self.entries).into_iter().filter_map(typed).collect()
    }

    /// Inserts a value, which replaces the present one of the key.
    pub fn insert(&self, key: K, value: V) {
        insert(&self.entries, Key::new(key), Arc::new(value));
    }

    /// Removes the value of a key.
    pub fn invalidate<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        remove(&self.entries, &Borrowed::<K, Q>::new(key));
    }

    /// Removes all values.
    pub fn invalidate_all(&self) {
        self.entries.invalidate_all();
    }

    /// Removes what exceeds the limits and calls [`BoundedCacheBuilder::on_removal`] now. Without this call, later reads and writes do so.
    pub fn run_pending_tasks(&self) {
        self.entries.run_pending_tasks();
    }
}

impl<K: Hash + Eq + Send + Sync + 'static, V: Clone + Send + Sync + 'static> BoundedCacheBuilder<K, V> {
    /// Sets the weight of each value.
    #[must_use]
    pub fn weigher(mut self, weigh: impl Fn(&K, &V) -> u32 + Send + Sync + 'static) -> Self {
        self.entries =
            self.entries.weigher(
                move |key: &Key, value: &AnyValue| match (key.typed(), value.downcast_ref()) {
                    (Some(key), Some(value)) => weigh(key, value),
                    _ => 1,
                },
            );
        self
    }

    /// Drops values this long after they were inserted.
    #[must_use]
    pub fn time_to_live(mut self, longest: Duration) -> Self {
        self.entries = self.entries.time_to_live(longest);
        self
    }

    /// Drops values this long after they were last read or inserted.
    #[must_use]
    pub fn time_to_idle(mut self, longest: Duration) -> Self {
        self.entries = self.entries.time_to_idle(longest);
        self
    }

    /// Calls a function with each value that was removed, for whatever reason.
    #[must_use]
    pub fn on_removal(mut self, listener: impl Fn(&K, &V) + Send + Sync + 'static) -> Self {
        let listener = move |key: Arc<Key>, value: AnyValue, _: RemovalCause| {
            if let (Some(key), Some(value)) = (key.typed(), value.downcast_ref()) {
                listener(key, value);
            }
        };
        self.entries = self.entries.eviction_listener(listener);
        self
    }

    /// Returns an empty cache.
    #[must_use]
    pub fn build(self) -> BoundedCache<K, V> {
        BoundedCache {
            entries: build(self.entries),
            types: PhantomData,
        }
    }
}

fn clone_of<V: Clone + 'static>(value: &AnyValue) -> Option<V> {
    value.downcast_ref().cloned()
}

/// A key of a cache.
struct Key(Box<dyn AnyKey>);

impl Key {
    fn new(key: impl Hash + Eq + Send + Sync + 'static) -> Self {
        Self(Box::new(key))
    }

    fn typed<K: 'static>(&self) -> Option<&K> {
        let key: &dyn Any = &*self.0;
        key.downcast_ref()
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (*self.0).hash_into(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        (*self.0).equals(other)
    }
}

impl Eq for Key {}

trait AnyKey: Any + Send + Sync {
    fn hash_into(&self, hasher: &mut dyn Hasher);
    fn equals(&self, other: &Key) -> bool;
}

impl<K: Hash + Eq + Send + Sync + 'static> AnyKey for K {
    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }

    fn equals(&self, other: &Key) -> bool {
        other.typed() == Some(self)
    }
}

/// A key in a form that is borrowed from `K`, such as `str` for `String`.
struct Borrowed<'a, K, Q: ?Sized>(&'a Q, PhantomData<fn() -> K>);

impl<'a, K, Q: ?Sized> Borrowed<'a, K, Q> {
    const fn new(key: &'a Q) -> Self {
        Self(key, PhantomData)
    }
}

trait AnyBorrowed {
    fn hash_into(&self, hasher: &mut dyn Hasher);
    fn is(&self, key: &Key) -> bool;
}

impl<K: Borrow<Q> + 'static, Q: Hash + Eq + ?Sized> AnyBorrowed for Borrowed<'_, K, Q> {
    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.0.hash(&mut hasher);
    }

    fn is(&self, key: &Key) -> bool {
        key.typed::<K>().is_some_and(|key| key.borrow() == self.0)
    }
}

impl Hash for dyn AnyBorrowed + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash_into(state);
    }
}

impl Equivalent<Key> for dyn AnyBorrowed + '_ {
    fn equivalent(&self, key: &Key) -> bool {
        self.is(key)
    }
}

// What follows has no parameters of types, so it is compiled once, with this crate.

fn build(builder: CacheBuilder<Key, AnyValue, Entries>) -> Entries {
    builder.build()
}

fn find(entries: &Entries, key: &dyn AnyBorrowed) -> Option<AnyValue> {
    entries.get(key)
}

fn find_or_insert(entries: &Entries, key: Key, create: Box<dyn FnOnce() -> AnyValue + '_>) -> AnyValue {
    entries.get_with(key, create)
}

fn all(entries: &Entries) -> Vec<(Arc<Key>, AnyValue)> {
    entries.iter().collect()
}

fn insert(entries: &Entries, key: Key, value: AnyValue) {
    entries.insert(key, value);
}

fn remove(entries: &Entries, key: &dyn AnyBorrowed) {
    entries.invalidate(key);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn values_are_found_by_owned_and_by_borrowed_keys() {
        let cache = BoundedCache::<String, u8>::new(10);
        cache.insert("a".to_owned(), 1);
        cache.insert("b".to_owned(), 2);
        cache.insert("b".to_owned(), 3);

        assert_eq!(
            (cache.get("a"), cache.get(&"b".to_owned()), cache.get("c")),
            (Some(1), Some(3), None)
        );
        let mut entries = cache.entries();
        entries.sort();
        assert_eq!(entries, [("a".to_owned(), 1), ("b".to_owned(), 3)]);

        cache.invalidate("a");
        assert_eq!((cache.get("a"), cache.get("b")), (None, Some(3)));
        cache.invalidate_all();
        assert_eq!(cache.get("b"), None);
    }

    #[test]
    fn a_value_is_created_if_there_is_none() {
        let (cache, created) = (BoundedCache::<u8, u32>::new(10), AtomicU32::new(7));
        let create = || created.fetch_add(1, Ordering::Relaxed);

        assert_eq!([1, 1, 2].map(|key| cache.get_or_insert_with(key, create)), [7, 7, 8]);
    }

    #[test]
    fn the_weight_of_all_values_is_bounded_and_removals_are_announced() {
        let removed = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&removed);
        let cache = BoundedCache::<u8, u32>::builder(100)
            .weigher(|_, weight| *weight)
            .on_removal(move |_, weight| {
                counted.fetch_add(*weight, Ordering::Relaxed);
            })
            .build();

        cache.insert(1, 60);
        cache.insert(2, 70);
        cache.run_pending_tasks();

        assert_eq!((cache.entries().len(), cache.entries.weighted_size()), (1, 60));
        assert_eq!(removed.load(Ordering::Relaxed), 70);
    }
}
