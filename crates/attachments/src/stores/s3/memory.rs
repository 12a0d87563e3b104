//! Memory for parts of uploads to buckets.

use std::sync::Arc;
use std::time::Duration;

use backoffice_core::bounded_cache::BoundedCache;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

/// Parts that a process holds in memory at once, of 8 MiB each.
const PARTS: usize = 8;
/// Parts for the buckets of one tenant.
const PARTS_OF_TENANT: usize = 2;
/// Parts for the buckets of the platform, which all tenants may use.
const PARTS_OF_PLATFORM: usize = 6;
/// Parts for the buckets of all slow tenants together.
const PARTS_OF_SLOW_TENANTS: usize = 2;
/// A tenant is slow if one of its parts was in memory for longer.
const SLOW: Duration = Duration::from_secs(20);
/// Time for which a tenant remains slow.
const REMAINS_SLOW: Duration = Duration::from_secs(600);
/// Longest wait for other uploads to release memory.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// Tenants whose share is kept, each for an hour after its last part.
const KEPT_SHARES: u64 = 10_000;
const KEPT: Duration = Duration::from_secs(3600);

/// The memory of a process for parts of uploads. A tenant has a small share of it; tenants whose buckets responded late have an even smaller
/// share together, so that buckets that do not respond leave memory to others.
#[derive(Debug)]
pub(crate) struct PartMemory {
    all: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    slow_tenants: BoundedCache<Uuid, ()>,
    shares: BoundedCache<Uuid, Arc<Semaphore>>,
}

/// Memory for one part, until it is dropped.
#[derive(Debug)]
pub(super) struct Held<'a> {
    memory: &'a PartMemory,
    tenant: Uuid,
    since: Instant,
    _permits: [Option<OwnedSemaphorePermit>; 3],
}

impl PartMemory {
    pub(crate) fn new() -> Self {
        Self {
            all: Arc::new(Semaphore::new(PARTS)),
            slow: Arc::new(Semaphore::new(PARTS_OF_SLOW_TENANTS)),
            slow_tenants: BoundedCache::builder(KEPT_SHARES).time_to_live(REMAINS_SLOW).build(),
            shares: BoundedCache::builder(KEPT_SHARES).time_to_idle(KEPT).build(),
        }
    }

    /// Waits for memory for a part of an upload to a bucket of this tenant; `None` if there is none for two minutes.
    pub(super) async fn take(&self, tenant: Uuid) -> Option<Held<'_>> {
        timeout(LONGEST_WAIT, self.wait(tenant)).await.ok()?.ok()
    }

    async fn wait(&self, tenant: Uuid) -> Result<Held<'_>, AcquireError> {
        let share = self
            .shares
            .get_or_insert_with(tenant, || Arc::new(Semaphore::new(share_of(tenant))));
        let share = share.acquire_owned().await?;
        let slow = match self.slow_tenants.get(&tenant).is_some() {
            true => Some(Arc::clone(&self.slow).acquire_owned().await?),
            false => None,
        };
        let all = Arc::clone(&self.all).acquire_owned().await?;
        Ok(Held {
            memory: self,
            tenant,
            since: Instant::now(),
            _permits: [Some(share), slow, Some(all)],
        })
    }
}

fn share_of(tenant: Uuid) -> usize {
    match tenant.is_nil() {
        true => PARTS_OF_PLATFORM,
        false => PARTS_OF_TENANT,
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // The platform's own buckets are the operator's, and all tenants wait for them.
        if !self.tenant.is_nil() && self.since.elapsed() > SLOW {
            self.memory.slow_tenants.insert(self.tenant, ());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    /// Takes as many parts for these tenants as there are without a wait.
    fn take_all(memory: &PartMemory, tenants: impl Iterator<Item = u128>) -> Vec<Held<'_>> {
        let mut held = Vec::new();
        for number in tenants {
            while let Some(Ok(part)) = memory.wait(Uuid::from_u128(number)).now_or_never() {
                held.push(part);
            }
        }
        held
    }

    /// Releases parts as if they had been taken this long ago.
    fn release_after(held: Vec<Held<'_>>, time: Duration) {
        for mut part in held {
            part.since = part.since.checked_sub(time).expect("the machine runs for longer");
        }
    }

    #[test]
    fn a_tenant_has_two_parts_and_the_platform_six() {
        let memory = PartMemory::new();
        let own = take_all(&memory, 1..2);
        assert_eq!(own.len(), PARTS_OF_TENANT);
        assert_eq!(take_all(&memory, 0..1).len(), PARTS_OF_PLATFORM);
        let all = take_all(&memory, 2..6);
        assert_eq!(all.len(), PARTS - PARTS_OF_TENANT);
        assert!(take_all(&memory, 6..7).is_empty(), "all parts are taken");
        drop(own);
        assert_eq!(take_all(&memory, 6..7).len(), PARTS_OF_TENANT);
    }

    #[test]
    fn tenants_with_slow_buckets_leave_memory_to_others() {
        let memory = PartMemory::new();
        let held = take_all(&memory, 1..9);
        assert_eq!(held.len(), PARTS);
        release_after(held, SLOW + Duration::from_secs(1));

        let slow = take_all(&memory, 1..5);
        assert_eq!(slow.len(), PARTS_OF_SLOW_TENANTS, "four slow tenants");
        let others = take_all(&memory, 11..19);
        assert_eq!(others.len(), PARTS - PARTS_OF_SLOW_TENANTS);
    }

    #[test]
    fn tenants_with_quick_buckets_and_the_platform_are_not_slow() {
        let memory = PartMemory::new();
        release_after(take_all(&memory, 1..4), SLOW / 2);
        release_after(take_all(&memory, 0..1), SLOW * 2);

        assert_eq!(take_all(&memory, 1..4).len(), 3 * PARTS_OF_TENANT);
        assert_eq!(take_all(&memory, 0..1).len(), PARTS_OF_PLATFORM);
    }
}
