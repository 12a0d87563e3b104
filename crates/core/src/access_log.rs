//! The access log: which principal read which record, one row per window (audit specification, section 11.4).
//!
//! An endpoint declares the kind of record that it returns ([`Declaration::reads`](crate::http::Declaration::reads)); its handler names the
//! records of the response ([`RequestContext::log_reads`]). One statement writes them, on the connection of the read and before the response is
//! sent. Reads that this process has already recorded in the current window cost no statement.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

use diesel::sql_query;
use diesel::sql_types::{Array, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::context::RequestContext;
use crate::db::Prepared;
use crate::error::{Error, Result};
use crate::ids::PLATFORM_TENANT;
use crate::platform::Platform;
use crate::time::Timestamp;

/// The way in which a record was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessType {
    /// As a row of a list.
    List,
    /// As a single record, by its id.
    Item,
    /// As a download of its bytes.
    Download,
    /// As part of a file of many records.
    Export,
}

impl AccessType {
    /// All types.
    pub const ALL: [Self; 4] = [Self::List, Self::Item, Self::Download, Self::Export];

    /// Returns the name in the database and in the wire format.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::List => "read:list",
            Self::Item => "read:item",
            Self::Download => "download",
            Self::Export => "export",
        }
    }

    /// Parses the name of an access type.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

/// A record that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    id: String,
    tenant: Uuid,
    organization: Option<Uuid>,
}

impl Record {
    /// Creates a record of a tenant. A record without a tenant is logged in the tenant in which it was read.
    #[must_use]
    pub fn new(id: Uuid, tenant: Option<Uuid>) -> Self {
        Self {
            id: id.to_string(),
            tenant: tenant.unwrap_or(PLATFORM_TENANT),
            organization: None,
        }
    }

    /// Creates an entry for all records of a kind, where an entry for each record would be of no use.
    fn all(tenant: Option<Uuid>) -> Self {
        Self {
            id: "*".to_owned(),
            tenant: tenant.unwrap_or(PLATFORM_TENANT),
            organization: None,
        }
    }

    /// Sets the organization of the record.
    #[must_use]
    pub fn of(self, organization: Option<Uuid>) -> Self {
        Self { organization, ..self }
    }
}

/// Entries that this process committed in the current window. Losing one costs a statement that changes nothing.
#[derive(Debug, Default)]
pub(crate) struct Committed(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    start: i64,
    ids: HashSet<Uuid>,
}

/// Maximum number of remembered ids: 16 bytes each, plus the overhead of the table.
const REMEMBERED: usize = 100_000;

impl Platform {
    fn committed_reads(&self) -> &Committed {
        self.services()
    }
}

impl Committed {
    fn unknown(&self, start: i64, ids: impl Iterator<Item = Uuid>) -> HashSet<Uuid> {
        let window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ids.filter(|id| window.start != start || !window.ids.contains(id))
            .collect()
    }

    fn remember(&self, start: i64, ids: impl Iterator<Item = Uuid>) {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if window.start > start {
            return;
        }
        if window.start < start || window.ids.len() > REMEMBERED {
            window.ids.clear();
            window.start = start;
        }
        window.ids.extend(ids);
    }
}

const WRITE: &str = "\
insert into audit_access_logs
    (tenant_id, id, organization_id, actor_kind, actor_id, actor_name, resource_kind, resource_id, access_type, fields, context,
     request_id, created_at)
select r.tenant_id, r.id, r.organization_id, $5, $6, $7, $8, r.resource_id, $9, $10, $11, $12, $13
from unnest($1, $2, $3, $4) with ordinality as r (tenant_id, id, organization_id, resource_id, place)
order by r.place
on conflict (tenant_id, id) do nothing";

impl RequestContext {
    /// Records that the response contains these records, of the endpoint's kind. To be awaited after the read and before the response, on the
    /// connection of the read; the names of the fields are taken from the first record.
    ///
    /// # Errors
    /// 503 when the entry can't be written; the read then fails too.
    pub async fn log_reads<T: Serialize>(
        &self,
        connection: &AsyncPgConnection,
        access: AccessType,
        read: &[T],
        record: impl Fn(&T) -> Record,
    ) -> Result<()> {
        let Some(first) = read.first() else { return Ok(()) };
        let records = read.iter().map(record);
        self.log_records(connection, access, first, read.len(), records).await
    }

    /// Records one entry for each tenant instead of one for each record: for a response of `count` records like the sample, where an entry for
    /// each record would be of no use.
    ///
    /// # Errors
    /// As [`RequestContext::log_reads`].
    pub async fn log_reads_of_many<T: Serialize>(
        &self,
        connection: &AsyncPgConnection,
        access: AccessType,
        sample: &T,
        count: usize,
        tenants: impl IntoIterator<Item = Option<Uuid>>,
    ) -> Result<()> {
        let tenants: BTreeSet<Option<Uuid>> = tenants.into_iter().collect();
        let records = tenants.into_iter().map(Record::all);
        self.log_records(connection, access, sample, count, records).await
    }

    async fn log_records<T: Serialize>(
        &self,
        connection: &AsyncPgConnection,
        access: AccessType,
        sample: &T,
        count: usize,
        records: impl Iterator<Item = Record>,
    ) -> Result<()> {
        let Some(policy) = self.read_policy() else {
            return Err(Error::internal("the endpoint does not declare what it reads"));
        };
        let config = &self.platform().audit().access;
        if config.disabled_kinds.iter().any(|kind| kind == policy.kind) {
            return Ok(());
        }
        let start = window_start(self.now(), config.window_seconds);
        let mut entries: BTreeMap<(Uuid, Uuid), Record> = BTreeMap::new();
        for record in records {
            let record = self.placed(record);
            let id = match start {
                Some(start) => self.window_id(start, policy.kind, access, &record),
                None => self.new_id(),
            };
            entries.insert((record.tenant, id), record);
        }
        let committed = self.platform().committed_reads();
        if let Some(start) = start {
            let unknown = committed.unknown(start, entries.keys().map(|(_, id)| *id));
            entries.retain(|(_, id), _| unknown.contains(id));
        }
        if entries.is_empty() {
            return Ok(());
        }
        let context = json!({"path": policy.path, "queryKeys": policy.query_keys, "resultCount": count});
        self.write_reads(connection, policy.kind, access, &entries, field_names(sample)?, context)
            .await
            .map_err(|error| Error::Unavailable(Box::new(error)))?;
        if let Some(start) = start {
            committed.remember(start, entries.into_keys().map(|(_, id)| id));
        }
        Ok(())
    }

    /// Returns the record with the tenant in whose log it is recorded.
    fn placed(&self, record: Record) -> Record {
        if record.tenant == PLATFORM_TENANT {
            let tenant = self.scope().tenant.unwrap_or(PLATFORM_TENANT);
            return Record { tenant, ..record };
        }
        record
    }

    /// Returns the entry id, which is the same for the same caller, record and access type throughout the window, on every node.
    fn window_id(&self, start: i64, kind: &str, access: AccessType, record: &Record) -> Uuid {
        let identity = self.identity();
        let mut hash = Sha256::new();
        hash.update(identity.kind.as_str());
        hash.update(identity.id.unwrap_or_default());
        hash.update(record.tenant);
        for text in [access.as_str(), kind, &record.id] {
            hash.update([0]);
            hash.update(text);
        }
        let hash: [u8; 32] = hash.finalize().into();
        let mut random = [0; 10];
        random.copy_from_slice(&hash[..10]);
        uuid::Builder::from_unix_timestamp_millis(start.unsigned_abs(), &random).into_uuid()
    }

    async fn write_reads(
        &self,
        connection: &AsyncPgConnection,
        kind: &str,
        access: AccessType,
        entries: &BTreeMap<(Uuid, Uuid), Record>,
        fields: Vec<String>,
        context: Value,
    ) -> diesel::QueryResult<usize> {
        let identity = self.identity();
        let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) = entries.keys().copied().unzip();
        let (organizations, resources): (Vec<Option<Uuid>>, Vec<&str>) = entries
            .values()
            .map(|record| (record.organization, record.id.as_str()))
            .unzip();
        let statement = sql_query(WRITE)
            .bind::<Array<SqlUuid>, _>(tenants)
            .bind::<Array<SqlUuid>, _>(ids)
            .bind::<Array<Nullable<SqlUuid>>, _>(organizations)
            .bind::<Array<Text>, _>(resources)
            .bind::<Text, _>(identity.kind.as_str())
            .bind::<Nullable<SqlUuid>, _>(identity.id)
            .bind::<Nullable<Text>, _>(identity.name.as_deref())
            .bind::<Text, _>(kind)
            .bind::<Text, _>(access.as_str())
            .bind::<Array<Text>, _>(fields)
            .bind::<Jsonb, _>(context)
            .bind::<Text, _>(&self.call().request_id)
            .bind::<Timestamptz, _>(self.now());
        Prepared(statement).execute(&mut &*connection).await
    }
}

/// Returns the start of the current window, in milliseconds since 1970; `None` when every read is recorded.
fn window_start(now: Timestamp, seconds: u32) -> Option<i64> {
    let length = i64::from(seconds) * 1000;
    (length > 0).then(|| now.unix_millis() - now.unix_millis().rem_euclid(length))
}

fn field_names<T: Serialize>(shown: &T) -> Result<Vec<String>> {
    let mut names: Vec<String> = match serde_json::to_value(shown)? {
        Value::Object(fields) => fields.into_iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    };
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_fixed_bounds() {
        let at = |text: &str| Timestamp::parse(text).expect("an instant");

        let first = window_start(at("2026-11-20T08:00:00.001Z"), 900);

        assert_eq!(first, window_start(at("2026-11-20T08:14:59.999Z"), 900));
        assert_eq!(first, Some(at("2026-11-20T08:00:00Z").unix_millis()));
        assert_ne!(first, window_start(at("2026-11-20T08:15:00Z"), 900));
        assert_eq!(window_start(at("2026-11-20T08:15:00Z"), 0), None);
    }

    #[test]
    fn committed_records_are_known_until_the_window_ends() {
        let committed = Committed::default();
        let [a, b] = [Uuid::from_u128(1), Uuid::from_u128(2)];

        committed.remember(900, [a].into_iter());

        assert_eq!(committed.unknown(900, [a, b].into_iter()), HashSet::from([b]));
        assert_eq!(committed.unknown(1800, [a].into_iter()), HashSet::from([a]));
        committed.remember(1800, [b].into_iter());
        assert_eq!(committed.unknown(1800, [a, b].into_iter()), HashSet::from([a]));
    }

    #[test]
    fn names_of_fields_are_sorted_and_without_values() {
        assert_eq!(
            field_names(&json!({"name": "x", "id": 1})).expect("an object"),
            ["id", "name"]
        );
    }
}
