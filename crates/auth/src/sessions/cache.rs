//! Identities behind credentials, cached for a short while. The cache is used only while this node receives revocations.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backoffice_core::Timestamp;
use backoffice_core::bounded_cache::BoundedCache;
use backoffice_core::identity::Identity;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use super::revocation::Subject;

/// Longest time since the last read of revocations for which the cache is used.
const PATIENCE: Duration = Duration::from_millis(950);
/// Longest time between two reads of revocations that the cached identities outlast. A read covers the rows of the last minute, which leaves a
/// transaction half of it between the write of its row and the commit.
const LONGEST_GAP: Duration = Duration::from_secs(30);
const CAPACITY: u64 = 20_000;

#[derive(Clone)]
struct Remembered {
    identity: Arc<Identity>,
    expires_at: Timestamp,
}

/// Maps each subject to its cached sessions, so that a revocation does not scan the whole cache. Counted, because an entry that replaces
/// another one is added before the removal of the old one is announced.
#[derive(Default)]
struct Index(Mutex<HashMap<Uuid, HashMap<Uuid, u32>>>);

impl Index {
    fn subjects(identity: &Identity) -> impl Iterator<Item = Uuid> + '_ {
        let roles = identity.roles.iter().map(|role| role.id);
        roles.chain(identity.id).chain([identity.tenant])
    }

    fn add(&self, session: Uuid, identity: &Identity) {
        let mut index = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for subject in Self::subjects(identity) {
            *index.entry(subject).or_default().entry(session).or_default() += 1;
        }
    }

    fn remove(&self, session: Uuid, identity: &Identity) {
        let mut index = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for subject in Self::subjects(identity) {
            let Some(sessions) = index.get_mut(&subject) else {
                continue;
            };
            if let Some(count) = sessions.get_mut(&session) {
                *count -= 1;
                if *count == 0 {
                    sessions.remove(&session);
                }
            }
            if sessions.is_empty() {
                index.remove(&subject);
            }
        }
    }

    fn sessions_of(&self, subject: Uuid) -> Vec<Uuid> {
        let index = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        index
            .get(&subject)
            .map(|sessions| sessions.keys().copied().collect())
            .unwrap_or_default()
    }
}

/// The cache of one node. Sessions are cached by their ids; a module with another kind of credential uses a UUID that it derives from the
/// credential, and checks the kind of the returned identity.
pub struct IdentityCache {
    sessions: BoundedCache<Uuid, Remembered>,
    index: Arc<Index>,
    forgotten: AtomicU64,
    /// No cached identity is older.
    created: Instant,
    /// Start of the last successful read of revocations.
    confirmed: Mutex<Option<Instant>>,
    changes: watch::Sender<()>,
}

impl std::fmt::Debug for IdentityCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdentityCache").finish_non_exhaustive()
    }
}

/// The state of the cache before an identity is read from the database; an identity that is revoked after that is not cached.
#[derive(Debug, Clone, Copy)]
pub struct CacheEpoch(u64);

impl IdentityCache {
    pub(crate) fn new(ttl: Duration) -> Self {
        let index = Arc::new(Index::default());
        let leaving = Arc::clone(&index);
        let sessions = BoundedCache::builder(CAPACITY)
            .time_to_live(ttl)
            .on_removal(move |session, removed: &Remembered| leaving.remove(*session, &removed.identity));
        Self {
            sessions: sessions.build(),
            index,
            forgotten: AtomicU64::new(0),
            created: Instant::now(),
            confirmed: Mutex::new(None),
            changes: watch::channel(()).0,
        }
    }

    fn is_trusted(&self) -> bool {
        let confirmed = *self.confirmed.lock().unwrap_or_else(PoisonError::into_inner);
        confirmed.is_some_and(|at| at.elapsed() < PATIENCE)
    }

    /// Records that revocations were read by a statement that began at `started`. Drops all identities first if the read before it was too long ago
    /// for this one to find every revocation since.
    pub(crate) fn confirm(&self, started: Instant) {
        let confirmed = *self.confirmed.lock().unwrap_or_else(PoisonError::into_inner);
        if started.duration_since(confirmed.unwrap_or(self.created)) > LONGEST_GAP {
            self.forget_all();
        }
        *self.confirmed.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
    }

    /// Returns the identity cached under this id and the end of its credential, unless the credential has expired.
    pub fn find(&self, session: Uuid, now: Timestamp) -> Option<(Arc<Identity>, Timestamp)> {
        let found = self.sessions.get(&session).filter(|_| self.is_trusted())?;
        (found.expires_at > now).then_some((found.identity, found.expires_at))
    }

    /// Returns the epoch to pass to [`Self::remember`]; must be called before the identity is read.
    pub fn start_reading(&self) -> CacheEpoch {
        CacheEpoch(self.forgotten.load(Ordering::Acquire))
    }

    /// Caches an identity until it is revoked, `expires_at` is reached, or `auth.identity_cache_ttl` has passed.
    pub fn remember(&self, reading: CacheEpoch, session: Uuid, identity: &Arc<Identity>, expires_at: Timestamp) {
        // Before the entry is inserted, so that no entry is ever missing from the index.
        self.index.add(session, identity);
        self.sessions.insert(
            session,
            Remembered {
                identity: Arc::clone(identity),
                expires_at,
            },
        );
        if self.forgotten.load(Ordering::Acquire) != reading.0 {
            self.sessions.invalidate(&session);
        }
    }

    /// Returns a receiver that is notified of every revocation, on this node or another one.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(crate) fn forget(&self, subject: Subject) {
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        match subject {
            Subject::Session(id) => self.sessions.invalidate(&id),
            Subject::User(id) | Subject::Key(id) | Subject::Role(id) | Subject::Tenant(id) => {
                for session in self.index.sessions_of(id) {
                    self.sessions.invalidate(&session);
                }
            }
        }
        self.changes.send_replace(());
    }

    fn forget_all(&self) {
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        self.sessions.invalidate_all();
        self.changes.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(user: u128) -> Arc<Identity> {
        Arc::new(Identity {
            id: Some(Uuid::from_u128(user)),
            ..Identity::system()
        })
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("an instant")
    }

    #[tokio::test]
    async fn an_identity_that_was_revoked_while_it_was_read_is_not_remembered() {
        let cache = IdentityCache::new(Duration::from_secs(30));
        cache.confirm(Instant::now());
        let reading = cache.start_reading();

        cache.forget(Subject::User(Uuid::from_u128(7)));
        cache.remember(reading, Uuid::from_u128(1), &identity(7), at("2030-01-01T00:00:00Z"));

        assert!(cache.find(Uuid::from_u128(1), at("2026-01-01T00:00:00Z")).is_none());
    }

    #[tokio::test]
    async fn only_the_revoked_user_is_forgotten() {
        let cache = IdentityCache::new(Duration::from_secs(30));
        cache.confirm(Instant::now());
        for user in [7, 8] {
            cache.remember(
                cache.start_reading(),
                Uuid::from_u128(user),
                &identity(user),
                at("2030-01-01T00:00:00Z"),
            );
        }

        cache.forget(Subject::User(Uuid::from_u128(7)));

        let now = at("2026-01-01T00:00:00Z");
        assert!(cache.find(Uuid::from_u128(7), now).is_none());
        assert!(cache.find(Uuid::from_u128(8), now).is_some());
    }

    #[tokio::test]
    async fn a_revoked_key_is_forgotten_by_its_own_id() {
        let cache = IdentityCache::new(Duration::from_secs(30));
        cache.confirm(Instant::now());
        for key in [7, 8] {
            cache.remember(
                cache.start_reading(),
                Uuid::from_u128(key + 100),
                &identity(key),
                at("2030-01-01T00:00:00Z"),
            );
        }

        cache.forget(Subject::Key(Uuid::from_u128(7)));

        let now = at("2026-01-01T00:00:00Z");
        assert!(cache.find(Uuid::from_u128(107), now).is_none());
        assert!(cache.find(Uuid::from_u128(108), now).is_some());
    }

    #[tokio::test]
    async fn the_index_forgets_removed_entries_and_keeps_replaced_ones() {
        let cache = IdentityCache::new(Duration::from_secs(30));
        cache.confirm(Instant::now());
        let now = at("2026-01-01T00:00:00Z");
        for _ in 0..3 {
            for session in 0..100 {
                cache.remember(
                    cache.start_reading(),
                    Uuid::from_u128(session),
                    &identity(session % 10),
                    at("2030-01-01T00:00:00Z"),
                );
            }
        }
        let tenant = Identity::system().tenant;

        cache.forget(Subject::User(Uuid::from_u128(3)));
        cache.sessions.run_pending_tasks();
        assert_eq!(cache.index.sessions_of(tenant).len(), 90);
        assert!(cache.find(Uuid::from_u128(13), now).is_none());
        assert!(cache.find(Uuid::from_u128(14), now).is_some());

        cache.forget(Subject::Tenant(tenant));
        cache.sessions.run_pending_tasks();
        assert!(cache.index.0.lock().expect("no panic").is_empty());
        assert!(cache.find(Uuid::from_u128(14), now).is_none());
    }

    #[tokio::test]
    async fn without_word_of_revocations_nothing_is_taken_from_the_cache() {
        let cache = IdentityCache::new(Duration::from_secs(30));

        cache.remember(
            cache.start_reading(),
            Uuid::from_u128(1),
            &identity(7),
            at("2030-01-01T00:00:00Z"),
        );

        assert!(cache.find(Uuid::from_u128(1), at("2026-01-01T00:00:00Z")).is_none());
    }

    #[tokio::test]
    async fn a_read_of_revocations_is_trusted_from_its_start() {
        let cache = IdentityCache::new(Duration::from_secs(30));
        let reading = cache.start_reading();
        cache.remember(reading, Uuid::from_u128(1), &identity(7), at("2030-01-01T00:00:00Z"));
        let now = at("2026-01-01T00:00:00Z");
        let before = Instant::now().checked_sub(Duration::from_secs(1));

        cache.confirm(before.expect("the machine has run for a second"));
        assert!(cache.find(Uuid::from_u128(1), now).is_none());

        cache.confirm(Instant::now());
        assert!(cache.find(Uuid::from_u128(1), now).is_some());
    }

    #[tokio::test]
    async fn after_a_gap_in_the_reads_of_revocations_all_identities_are_forgotten() {
        let cache = IdentityCache::new(Duration::from_secs(3600));
        let (first, now) = (Instant::now(), at("2026-01-01T00:00:00Z"));
        let remember = |reading, session| {
            let session = Uuid::from_u128(session);
            cache.remember(reading, session, &identity(7), at("2030-01-01T00:00:00Z"));
        };
        cache.confirm(first);
        let reading = cache.start_reading();
        remember(reading, 1);
        let changes = cache.changes();

        let second = first + Duration::from_secs(30);
        cache.confirm(second);
        assert!(cache.find(Uuid::from_u128(1), now).is_some());
        assert!(!changes.has_changed().expect("the cache exists"));

        cache.confirm(second + Duration::from_secs(31));
        remember(reading, 2);
        for session in [1, 2] {
            assert!(cache.find(Uuid::from_u128(session), now).is_none(), "{session}");
        }
        assert!(changes.has_changed().expect("the cache exists"));
    }
}
