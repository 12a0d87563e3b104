//! Ids: UUIDv7 from the context's instant, and random bytes for tokens.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::TryRng;
use rand::rngs::SysRng;
use uuid::Uuid;

use crate::time::Timestamp;

/// The tenant of global rows and of the platform's own users; `null` in the wire format.
pub const PLATFORM_TENANT: Uuid = Uuid::nil();

/// Returns the wire format of a tenant: the nil UUID is `null`.
#[must_use]
pub fn wire_tenant(tenant: Uuid) -> Option<Uuid> {
    (tenant != PLATFORM_TENANT).then_some(tenant)
}

/// A source of random bytes: the operating system's, or a seeded one in tests.
pub trait Randomness: Send + Sync + 'static {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);

    /// Fills the random part of an id, which is not secret: a source may use bytes that it fetched earlier.
    fn fill_id(&self, bytes: &mut [u8; 10]) {
        self.fill(bytes);
    }
}

/// Number of bytes that a thread fetches from the operating system at once, for ids: one call for a hundred of them.
const FETCHED: usize = 1000;

thread_local! {
    static UNUSED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The operating system's generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn fill(&self, bytes: &mut [u8]) {
        if SysRng.try_fill_bytes(bytes).is_err() {
            // Ending is better than continuing with predictable ids and tokens.
            std::process::abort();
        }
    }

    fn fill_id(&self, bytes: &mut [u8; 10]) {
        UNUSED.with_borrow_mut(|unused| {
            if unused.len() < bytes.len() {
                unused.resize(FETCHED, 0);
                self.fill(unused);
            }
            let rest = unused.len() - bytes.len();
            bytes.copy_from_slice(&unused[rest..]);
            unused.truncate(rest);
        });
    }
}

/// Creates ids and tokens.
#[derive(Clone)]
pub struct Ids {
    randomness: Arc<dyn Randomness>,
    counter: Arc<AtomicU64>,
}

impl std::fmt::Debug for Ids {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ids").finish_non_exhaustive()
    }
}

impl Ids {
    /// Creates ids from this source.
    #[must_use]
    pub fn new(randomness: Arc<dyn Randomness>) -> Self {
        Self {
            randomness,
            counter: Arc::default(),
        }
    }

    /// Creates a UUIDv7 of this instant. A 12-bit counter precedes the random bits: the ids of one process and one millisecond ascend, except where
    /// the counter begins again.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Uuid {
        let mut bytes = [0_u8; 10];
        self.randomness.fill_id(&mut bytes);
        let count = self.counter.fetch_add(1, Ordering::Relaxed) & 0x0fff;
        bytes[0] = (count >> 8) as u8;
        bytes[1] = (count & 0xff) as u8;
        uuid::Builder::from_unix_timestamp_millis(now.unix_millis().unsigned_abs(), &bytes).into_uuid()
    }

    /// Returns this many random bytes.
    #[must_use]
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0_u8; N];
        self.randomness.fill(&mut bytes);
        bytes
    }
}

impl Default for Ids {
    fn default() -> Self {
        Self::new(Arc::new(SystemRandomness))
    }
}
