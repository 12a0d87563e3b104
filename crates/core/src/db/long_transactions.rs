//! Permits of transactions that hold a connection as long as a client takes: limited for a pool, for a tenant and for a principal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

/// Maximum number of permits of one tenant in a process.
const OF_TENANT: usize = 4;
/// Maximum number of permits of one principal in a process.
const OF_PRINCIPAL: usize = 2;

/// The principal for whom a connection is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The principal's own tenant, not the visible one.
    pub tenant: Uuid,
    /// The user or key.
    pub principal: Uuid,
}

/// The permits held in this process, in the pools of all its threads.
#[derive(Debug, Clone, Default)]
pub(super) struct LongTransactions(Arc<Mutex<Vec<(u64, Holder)>>>);

/// The permits of one pool.
#[derive(Debug)]
pub(super) struct LongTransactionPermits {
    held: LongTransactions,
    pool: u64,
    capacity: usize,
}

/// A permit; released when dropped.
#[derive(Debug)]
pub struct LongTransactionPermit {
    held: LongTransactions,
    entry: (u64, Holder),
}

impl LongTransactions {
    fn entries(&self) -> MutexGuard<'_, Vec<(u64, Holder)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates the permits of a new pool of this size: a quarter of it, but at least two. One connection remains for others if the pool has
    /// several.
    pub(super) fn permits_of_pool(&self, pool_size: usize) -> LongTransactionPermits {
        static POOLS: AtomicU64 = AtomicU64::new(0);
        LongTransactionPermits {
            held: self.clone(),
            pool: POOLS.fetch_add(1, Ordering::Relaxed),
            capacity: (pool_size / 4).max(2).min(pool_size.saturating_sub(1)).max(1),
        }
    }
}

impl LongTransactionPermits {
    /// Takes a permit for this holder, if one is free.
    pub(super) fn take(&self, holder: Holder) -> Option<LongTransactionPermit> {
        let mut entries = self.held.entries();
        let count =
            |requested: &dyn Fn(&(u64, Holder)) -> bool| entries.iter().filter(|entry| requested(entry)).count();
        let of_tenant = |entry: &(u64, Holder)| entry.1.tenant == holder.tenant;
        // A tenant leaves permits of this pool to the others, unless there is only one.
        let is_free = count(&|entry| entry.0 == self.pool) < self.capacity
            && count(&|entry| entry.0 == self.pool && of_tenant(entry)) < (self.capacity / 2).max(1)
            && count(&of_tenant) < OF_TENANT
            && count(&|entry| entry.1 == holder) < OF_PRINCIPAL;
        let entry = (self.pool, holder);
        is_free.then(|| {
            entries.push(entry);
            LongTransactionPermit {
                held: self.held.clone(),
                entry,
            }
        })
    }
}

impl Drop for LongTransactionPermit {
    fn drop(&mut self) {
        let mut entries = self.held.entries();
        // Equal entries are interchangeable.
        if let Some(index) = entries.iter().position(|entry| *entry == self.entry) {
            entries.swap_remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(tenant: u128, principal: u128) -> Holder {
        Holder {
            tenant: Uuid::from_u128(tenant),
            principal: Uuid::from_u128(principal),
        }
    }

    #[test]
    fn f12_a_principal_has_two_and_a_tenant_four() {
        let permits = LongTransactions::default().permits_of_pool(100);
        let own = [permits.take(holder(1, 1)), permits.take(holder(1, 1))];
        assert!(own.iter().all(Option::is_some));
        assert!(permits.take(holder(1, 1)).is_none());

        let others = [permits.take(holder(1, 2)), permits.take(holder(1, 3))];
        assert!(others.iter().all(Option::is_some));
        assert!(permits.take(holder(1, 4)).is_none());
        assert!(permits.take(holder(2, 5)).is_some());

        drop(own);
        assert!(permits.take(holder(1, 1)).is_some());
    }

    #[test]
    fn f12_no_tenant_takes_all_permits_of_a_pool_or_more_in_another_one() {
        let long_transactions = LongTransactions::default();
        let pools = [
            long_transactions.permits_of_pool(8),
            long_transactions.permits_of_pool(8),
        ];
        let of_one: Vec<_> = (0..10)
            .flat_map(|principal| pools.each_ref().map(|pool| pool.take(holder(1, principal))))
            .flatten()
            .collect();

        assert_eq!(of_one.len(), 2, "one in each pool of two permits");
        assert!(pools.iter().all(|pool| pool.take(holder(2, 99)).is_some()));
        let small = long_transactions.permits_of_pool(1);
        assert!(small.take(holder(3, 1)).is_some(), "there is always one permit");
    }
}
