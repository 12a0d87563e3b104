//! Values of tenants that every node keeps in memory, and that follow from the rows of some kinds.
//!
//! The command bus increments the [version](crate::collections) of a kind in the transaction that changes its rows, so that no command has to
//! announce what it invalidates. Each node reads the versions of the tenants that it keeps with one statement every 400 ms, and drops the values
//! of other versions. A node that could not read them for a second uses none of its values: decisions 10 and 45.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use diesel::sql_types::{Array, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use uuid::Uuid;

use crate::bounded_cache::BoundedCache;
use crate::collections::Version;
use crate::db::{Connection, Prepared};
use crate::error::Result;
use crate::ids::PLATFORM_TENANT;
use crate::platform::Runtime;
use crate::poll::Poll;
use crate::scope::Scope;
use crate::version_times;

/// Interval at which a node reads the versions.
const POLL: Duration = Duration::from_millis(400);
/// Longest time since the last read of the versions for which values are used.
const PATIENCE: Duration = Duration::from_millis(950);
/// Time after which the value that no command has needed is dropped.
const IDLE: Duration = Duration::from_secs(600);
/// Most bytes of values that a node keeps in one cache; the least recently used are dropped.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes that a value takes at least.
const LEAST_BYTES: u32 = 4096;

/// One value for each tenant, which follows from rows of some kinds: the tenant's, and those of the platform's tenant.
pub struct TenantCache<V> {
    kinds: &'static [&'static str],
    /// Each with the version of the kinds in the tenant and in the platform's tenant, whose rows all tenants use.
    values: BoundedCache<Uuid, (Version, Arc<V>)>,
    /// Number of values that were dropped.
    forgotten: AtomicU64,
    /// Start of the last successful read of the versions.
    confirmed: Mutex<Option<Instant>>,
    rounds: Poll,
}

impl<V> std::fmt::Debug for TenantCache<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TenantCache")
            .field("kinds", &self.kinds)
            .finish_non_exhaustive()
    }
}

impl<V: Send + Sync + 'static> TenantCache<V> {
    /// Creates an empty cache of what follows from the rows of these kinds: at most 64 MiB, as `bytes` estimates the size of a value.
    #[must_use]
    pub fn new(kinds: &'static [&'static str], bytes: fn(&V) -> usize) -> Self {
        let weigh = move |_: &Uuid, (_, value): &(Version, Arc<V>)| {
            u32::try_from(bytes(value)).unwrap_or(u32::MAX).max(LEAST_BYTES)
        };
        let values = BoundedCache::builder(MOST_BYTES).weigher(weigh).time_to_idle(IDLE);
        Self {
            kinds,
            values: values.build(),
            forgotten: AtomicU64::new(0),
            confirmed: Mutex::new(None),
            rounds: Poll::default(),
        }
    }

    /// Returns the value of a tenant without a statement, if this node keeps it and knows that it is valid.
    #[must_use]
    pub fn find(&self, tenant: Uuid) -> Option<Arc<V>> {
        let confirmed = *self.confirmed.lock().unwrap_or_else(PoisonError::into_inner);
        if confirmed.is_none_or(|at| at.elapsed() >= PATIENCE) {
            return None;
        }
        self.values.get(&tenant).map(|(_, value)| value)
    }

    /// Returns the value of a tenant, which `load` reads if this node does not keep it. Rows that the transaction of the connection itself has
    /// changed must not be among those that `load` reads: if it is rolled back, the version stays the same, and the value of a state that never
    /// existed would be used by all commands. Such a transaction calls `load` itself and keeps the value for itself.
    ///
    /// # Errors
    /// When the database can't be reached, or `load` fails.
    pub async fn get(
        &self,
        connection: &mut AsyncPgConnection,
        tenant: Uuid,
        load: impl for<'c> FnOnce(&'c mut AsyncPgConnection, Uuid) -> BoxFuture<'c, Result<V>> + Send,
    ) -> Result<Arc<V>> {
        if let Some(value) = self.find(tenant) {
            return Ok(value);
        }
        let (started, forgotten) = (Instant::now(), self.drops());
        // The version comes first: rows that change after it make the version too old, and the value is dropped needlessly.
        let version = version_of(connection, tenant, self.kinds).await?;
        let value = Arc::new(load(connection, tenant).await?);
        self.values.insert(tenant, (version, Arc::clone(&value)));
        // Checks during a slow `load` could not compare this value.
        if self.drops() != forgotten || started.elapsed() >= PATIENCE {
            self.values.invalidate(&tenant);
        }
        Ok(value)
    }

    fn drops(&self) -> u64 {
        AtomicU64::load(&self.forgotten, Ordering::Acquire)
    }

    /// Drops the value of a tenant on this node, after the commit that has changed the rows; those of all tenants after a change in the platform's.
    pub fn forget(&self, tenant: Uuid) {
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        match tenant {
            PLATFORM_TENANT => self.values.invalidate_all(),
            _ => self.values.invalidate(&tenant),
        }
    }

    /// Returns the rounds in which the versions are read, so that tests can request one.
    #[must_use]
    pub fn rounds(&self) -> &Poll {
        &self.rounds
    }

    /// Reads the versions until the process ends: the background work of the module that owns the cache.
    pub async fn watch(self: Arc<Self>, runtime: Runtime) {
        loop {
            self.rounds.begin();
            let started = Instant::now();
            match self.check(&runtime).await {
                Ok(()) => *self.confirmed.lock().unwrap_or_else(PoisonError::into_inner) = Some(started),
                Err(error) => {
                    tracing::debug!(%error, kinds = ?self.kinds, "could not read the versions of cached values");
                }
            }
            self.rounds.finish(POLL).await;
        }
    }

    /// Drops the values whose version is not the present one.
    async fn check(&self, runtime: &Runtime) -> Result<()> {
        let kept: Vec<(Uuid, Version)> = {
            let all = self.values.entries().into_iter();
            all.map(|(tenant, (at, _))| (tenant, at)).collect()
        };
        if kept.is_empty() {
            // The next check compares a value that is being loaded.
            return Ok(());
        }
        let tenants: Vec<Uuid> = kept
            .iter()
            .map(|(tenant, _)| *tenant)
            .chain([PLATFORM_TENANT])
            .collect();
        let mut connection: Connection = runtime.database.unlogged(&Scope::system()).await?;
        let statement = sql_query(VERSIONS)
            .bind::<Array<Text>, _>(self.kinds)
            .bind::<Array<SqlUuid>, _>(tenants);
        let found: Vec<VersionRow> = Prepared(statement).load(&mut *connection).await?;
        let present: HashMap<Uuid, Version> = found.into_iter().map(|row| (row.tenant_id, row.version)).collect();
        let version = |tenant| present.get(&tenant).copied().unwrap_or_default();
        for (tenant, at) in kept {
            let of_tenant = match tenant {
                PLATFORM_TENANT => Version::default(),
                _ => version(tenant),
            };
            if of_tenant.plus(version(PLATFORM_TENANT)) != at {
                self.forget(tenant);
            }
        }
        Ok(())
    }
}

#[derive(QueryableByName)]
struct VersionRow {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(embed)]
    version: Version,
}

const VERSIONS: &str = concat!(
    "select tenant_id, sum(version)::bigint as number, ",
    version_times!(sum "updated_at"),
    " as times from core_collections \
        where kind = any(array(select unnest($1::text[]))) and tenant_id = any(array(select unnest($2::uuid[]))) \
        group by tenant_id"
);

async fn version_of(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    kinds: &'static [&'static str],
) -> Result<Version> {
    let statement = sql_query(VERSIONS)
        .bind::<Array<Text>, _>(kinds)
        .bind::<Array<SqlUuid>, _>(vec![tenant, PLATFORM_TENANT]);
    let found: Vec<VersionRow> = Prepared(statement).load(connection).await?;
    let versions = found.into_iter().map(|row| row.version);
    Ok(versions.fold(Version::default(), Version::plus))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: Uuid = Uuid::from_u128(1);

    fn cache_with_a_value() -> TenantCache<u8> {
        let cache = TenantCache::new(&["sample.thing"], |_| 1);
        cache.values.insert(TENANT, (Version::default(), Arc::new(7)));
        cache
    }

    fn confirm(cache: &TenantCache<u8>) {
        *cache.confirmed.lock().expect("no panic") = Some(Instant::now());
    }

    #[tokio::test]
    async fn values_are_used_only_while_the_versions_are_read() {
        let cache = cache_with_a_value();
        assert_eq!(cache.find(TENANT), None);

        confirm(&cache);
        assert_eq!(cache.find(TENANT).as_deref(), Some(&7));

        *cache.confirmed.lock().expect("no panic") = Instant::now().checked_sub(Duration::from_secs(1));
        assert_eq!(cache.find(TENANT), None);
    }

    #[tokio::test]
    async fn a_forgotten_value_is_missing() {
        let cache = cache_with_a_value();
        confirm(&cache);

        cache.forget(TENANT);

        assert_eq!(cache.find(TENANT), None);
    }
}
