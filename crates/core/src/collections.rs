//! Versions of collections: how often the rows of a kind have changed in a tenant.
//!
//! The command bus increments the versions of all kinds that a command changed, in the statement that writes the log; other transactions call
//! [`touch`](crate::events::touch). A list reads the version before its rows, so a total or an entity tag that belongs to a version never hides a change that was
//! committed before the request.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::Hash;

use diesel::sql_types::{Array, BigInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryResult, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::batches::Batches;
use crate::bounded_cache::BoundedCache;
use crate::db::{Database, Prepared};
use crate::error::Result;
use crate::ids::PLATFORM_TENANT;
use crate::platform::Platform;
use crate::scope::{Scope, VisibleTenants};
use crate::time::Timestamp;

/// The kind that stands for all kinds, in the platform's tenant: migrations change it.
pub(crate) const ALL: &str = "*";

/// Most totals that a process keeps.
const MOST_TOTALS: u64 = 20_000;
/// Most positions of rows that a process keeps.
const MOST_MARKS: u64 = 10_000;

/// The version of one or more collections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, QueryableByName)]
pub struct Version {
    #[diesel(sql_type = BigInt)]
    number: i64,
    /// The sum of the times of the last change of each kind, in milliseconds. It differs after a backup was restored, when numbers occur again, also
    /// while a clock is behind. The latest time would not: another kind may have it.
    #[diesel(sql_type = BigInt)]
    times: i64,
}

impl Version {
    /// Creates the version with this number, and with the sum of the times of the last changes in milliseconds.
    #[must_use]
    pub const fn new(number: i64, times: i64) -> Self {
        Self { number, times }
    }

    /// Returns the number, which grows with every change.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.number
    }

    /// Returns the version of the collections of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            number: self.number + other.number,
            times: self.times.wrapping_add(other.times),
        }
    }

    /// Returns the bytes that identify the version.
    pub(crate) fn bytes(self) -> [u8; 16] {
        (u128::from(self.number.cast_unsigned()) << 64 | u128::from(self.times.cast_unsigned())).to_be_bytes()
    }
}

/// Expands to the SQL of the times of a [`Version`](crate::collections::Version) in milliseconds, by the column with the time of the last change: of a
/// row, or with `sum` of all rows.
#[macro_export]
macro_rules! version_times {
    (sum $column:literal) => {
        concat!("coalesce(sum(", $crate::version_times!($column), "), 0)::bigint")
    };
    ($column:literal) => {
        concat!("floor(extract(epoch from ", $column, ") * 1000)::bigint")
    };
}

/// The kind of the entries of the action log. Every entry takes a number of its tenant's stream, so the stream's last number is their version.
pub(crate) const LOG: &str = "audit_logs.action";

/// The kinds on which the response of the action log depends besides its stream: all kinds, erased entries, and the names beside them.
pub const BESIDE_LOG: [&str; 4] = [ALL, LOG, "directory.tenant", "directory.organization"];

// A sub-query hides the number of kinds from PostgreSQL, which would otherwise plan each execution (`db::KeyColumn`). The tenants are always three.
const OF_LOG: &str = concat!(
    "select (c.number + s.number)::bigint as number, s.times from \
        (select coalesce(sum(version), 0) as number from core_collections \
            where tenant_id in ($2, $3, $4) and kind = any(array(select unnest($1::text[])))) c, \
        (select coalesce(sum(last_seq), 0) as number, ",
    version_times!(sum "updated_at"),
    " as times from core_event_streams where tenant_id in ($2, $3, $4) and name = 'log') s"
);
const OF_ALL_LOGS: &str = concat!(
    "select (c.number + s.number)::bigint as number, s.times from \
        (select coalesce(sum(version), 0) as number from core_collections where kind = any($1)) c, \
        (select coalesce(sum(last_seq), 0) as number, ",
    version_times!(sum "updated_at"),
    " as times from core_event_streams where name = 'log') s"
);

/// The kind of the entries of the access log. Its version changes when entries are removed or changed, not when one is added.
pub(crate) const ACCESS_LOG: &str = "audit_logs.access";

/// The kinds whose versions change when entries of the access log are removed or changed.
pub const BESIDE_ACCESS_LOG: [&str; 2] = [ALL, ACCESS_LOG];

/// Returns the tenants whose versions count for a caller of the tenant `own`: the one whose rows it sees, its own, and the platform.
#[must_use]
pub fn counting(tenant: Uuid, own: Uuid) -> [Uuid; 3] {
    [tenant, own, PLATFORM_TENANT]
}

const OF_TENANTS: &str = concat!(
    "select coalesce(sum(version), 0)::bigint as number, ",
    version_times!(sum "updated_at"),
    " as times from core_collections where tenant_id in ($2, $3, $4) and kind = any(array(select unnest($1::text[])))"
);
const OF_ALL: &str = concat!(
    "select coalesce(sum(version), 0)::bigint as number, ",
    version_times!(sum "updated_at"),
    " as times from core_collections where kind = any($1)"
);

/// Returns the version of the rows of these kinds that a caller of the tenant `own` may see in this scope: those of its tenants, of the caller's
/// tenant and of the platform.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn version(
    connection: &AsyncPgConnection,
    scope: &Scope,
    own: Uuid,
    kinds: &[&str],
) -> QueryResult<Version> {
    let is_log = kinds.contains(&LOG);
    let kinds: Vec<&str> = match is_log {
        true => BESIDE_LOG.to_vec(),
        false => kinds.iter().copied().chain([ALL]).collect(),
    };
    match scope.visible_tenants {
        VisibleTenants::Tenant(tenant) => {
            let text = if is_log { OF_LOG } else { OF_TENANTS };
            let [tenant, own, platform] = counting(tenant, own);
            let statement = sql_query(text).bind::<Array<Text>, _>(kinds);
            let statement = statement.bind::<SqlUuid, _>(tenant).bind::<SqlUuid, _>(own);
            Prepared(statement.bind::<SqlUuid, _>(platform))
                .get_result(&mut &*connection)
                .await
        }
        VisibleTenants::All => {
            let text = if is_log { OF_ALL_LOGS } else { OF_ALL };
            let statement = sql_query(text).bind::<Array<Text>, _>(kinds);
            Prepared(statement).get_result(&mut &*connection).await
        }
    }
}

const TOUCH: &str = "\
insert into core_collections as c (tenant_id, id, kind, version, created_at, updated_at) \
select $1, (substr($3::text, 1, 14) || '7' || substr(md5($3::text || k)::uuid::text, 16))::uuid, k, 1, $4, $4 from unnest($2) k order by k \
on conflict (tenant_id, kind) do update set version = c.version + 1, updated_at = $4";

/// Increments the versions of these kinds: those of the tenant, or, in the platform's tenant, of all tenants. It is the last statement of its
/// transaction, which holds the versions locked from here on. `id` is a new id.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn touch(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    kinds: &[&str],
    id: Uuid,
    now: Timestamp,
) -> Result<()> {
    let statement = sql_query(TOUCH)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<Text>, _>(kinds)
        .bind::<SqlUuid, _>(id)
        .bind::<Timestamptz, _>(now);
    Prepared(statement).execute(connection).await?;
    Ok(())
}

/// The kinds whose versions one statement reads: those of a caller of the second tenant, who sees the first ones; of the action log or of rows.
type VersionGroup = (VisibleTenants, Uuid, bool);

/// Reads of versions before a response: those of one tenant that arrive while one runs share the next statement.
#[derive(Debug, Default)]
pub(crate) struct SharedVersions(Batches<VersionGroup, &'static str, Version>);

#[derive(QueryableByName)]
struct OfKind {
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(embed)]
    version: Version,
}

// One row for each tenant and kind: adding them up here costs less than a group in PostgreSQL.
const EACH_OF_TENANTS: &str = concat!(
    "select kind, version as number, ",
    version_times!("updated_at"),
    " as times from core_collections where tenant_id in ($2, $3, $4) and kind = any(array(select unnest($1::text[])))"
);
const EACH_OF_ALL: &str = concat!(
    "select kind, sum(version)::bigint as number, ",
    version_times!(sum "updated_at"),
    " as times from core_collections where kind = any($1) group by kind"
);

impl SharedVersions {
    /// Returns what [`version`] returns.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub(crate) async fn find(
        &self,
        database: &Database,
        scope: &Scope,
        own: Uuid,
        kinds: &[&'static str],
    ) -> Result<Version> {
        let is_log = kinds.contains(&LOG);
        // The action log has one version, whatever it is read with.
        let kinds: HashSet<&'static str> = match is_log {
            true => HashSet::from([LOG]),
            false => kinds.iter().copied().chain([ALL]).collect(),
        };
        let group = (scope.visible_tenants, own, is_log);
        let load = async |kinds: Vec<&'static str>| {
            let connection = database.read_briefly(scope).await?;
            if is_log {
                let version = version(&connection, scope, own, &[LOG]).await?;
                return Ok(HashMap::from([(LOG, version)]));
            }
            Ok(each(&connection, scope, own, kinds).await?)
        };
        let found = self.0.find(group, kinds.iter().copied(), load).await?;
        let versions = kinds.iter().filter_map(|kind| found.get(kind));
        Ok(versions.copied().fold(Version::default(), Version::plus))
    }
}

/// Returns the version of each kind that has one.
async fn each(
    connection: &AsyncPgConnection,
    scope: &Scope,
    own: Uuid,
    kinds: Vec<&'static str>,
) -> QueryResult<HashMap<&'static str, Version>> {
    let found: Vec<OfKind> = match scope.visible_tenants {
        VisibleTenants::Tenant(tenant) => {
            let [tenant, own, platform] = counting(tenant, own);
            let statement = sql_query(EACH_OF_TENANTS).bind::<Array<Text>, _>(&kinds);
            let statement = statement.bind::<SqlUuid, _>(tenant).bind::<SqlUuid, _>(own);
            Prepared(statement.bind::<SqlUuid, _>(platform))
                .load(&mut &*connection)
                .await?
        }
        VisibleTenants::All => {
            let statement = sql_query(EACH_OF_ALL).bind::<Array<Text>, _>(&kinds);
            Prepared(statement).load(&mut &*connection).await?
        }
    };
    let of = |kind: &str| kinds.iter().copied().find(|known| *known == kind);
    let mut versions: HashMap<&'static str, Version> = HashMap::with_capacity(kinds.len());
    for row in found {
        if let Some(kind) = of(&row.kind) {
            let version = versions.entry(kind).or_default();
            *version = version.plus(row.version);
        }
    }
    Ok(versions)
}

/// Identifies a list with its filters, as one caller sees it.
pub(crate) type TotalKey = [u8; 32];

/// Values that are valid for one version of the collections from which they were read. Bounded; the least recently used are dropped. Each process
/// has its own: the versions are the database's.
pub struct Versioned<K, V>(BoundedCache<K, (Version, V)>);

impl<K, V> fmt::Debug for Versioned<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Versioned").finish_non_exhaustive()
    }
}

impl<K: Hash + Eq + Send + Sync + 'static, V: Clone + Send + Sync + 'static> Versioned<K, V> {
    /// Creates an empty cache of at most `most` values.
    #[must_use]
    pub fn new(most: u64) -> Self {
        Self(BoundedCache::new(most))
    }

    /// Returns the value that was read at this version.
    #[must_use]
    pub fn find(&self, key: &K, version: Version) -> Option<V> {
        let (known, value) = self.0.get(key)?;
        (known == version).then_some(value)
    }

    /// Returns the value that was read last, with its version.
    pub(crate) fn latest(&self, key: &K) -> Option<(Version, V)> {
        self.0.get(key)
    }

    /// Keeps a value that was read after this version.
    pub fn keep(&self, key: K, version: Version, value: V) {
        self.0.insert(key, (version, value));
    }
}

/// The totals of lists.
#[derive(Debug)]
pub(crate) struct Totals(pub(crate) Versioned<TotalKey, i64>);

impl Totals {
    pub(crate) fn new() -> Self {
        Self(Versioned::new(MOST_TOTALS))
    }
}

/// Identifies a position in a list with its filters and its order, as one caller sees it.
pub(crate) type MarkKey = [u8; 32];

/// The row at a position of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) tenant: Uuid,
    pub(crate) id: Uuid,
    /// Whether the position is that of the next row.
    pub(crate) is_before: bool,
}

/// The rows at positions of lists.
#[derive(Debug)]
pub(crate) struct Marks(Versioned<MarkKey, Mark>);

impl Marks {
    pub(crate) fn new() -> Self {
        Self(Versioned::new(MOST_MARKS))
    }
}

/// The number of rows that were added to a table before a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) until: Timestamp,
    pub(crate) rows: i64,
}

/// Numbers of rows of lists of which each read may add one.
#[derive(Debug)]
pub(crate) struct CountedRows(Versioned<TotalKey, Counted>);

impl CountedRows {
    pub(crate) fn new() -> Self {
        Self(Versioned::new(MOST_TOTALS))
    }
}

impl Platform {
    pub(crate) fn counted_rows(&self) -> &Versioned<TotalKey, Counted> {
        &self.services::<CountedRows>().0
    }

    pub(crate) fn marks(&self) -> &Versioned<MarkKey, Mark> {
        &self.services::<Marks>().0
    }

    pub(crate) fn totals(&self) -> &Versioned<TotalKey, i64> {
        &self.services::<Totals>().0
    }

    pub(crate) fn shared_versions(&self) -> &SharedVersions {
        self.services::<SharedVersions>()
    }
}
