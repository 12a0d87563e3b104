//! Files whose records have been absent for some time.

use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Array, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

#[derive(QueryableByName)]
struct Tenant {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
}

const NEXT_TENANT: &str = "\
select a.tenant_id from attachments_attachments a where a.tenant_id > $1 and a.entity_id = $2 order by a.tenant_id limit 1";

/// Returns the next tenant with files of this kind of records.
pub(crate) async fn next_tenant(connection: &AsyncPgConnection, kind: &str, after: Uuid) -> Result<Option<Uuid>> {
    let statement = sql_query(NEXT_TENANT).bind::<SqlUuid, _>(after).bind::<Text, _>(kind);
    let found: Option<Tenant> = statement.get_result(&mut &*connection).await.optional()?;
    Ok(found.map(|row| row.tenant_id))
}

#[derive(QueryableByName)]
struct Record {
    #[diesel(sql_type = Text)]
    record_id: String,
}

const RECORDS: &str = "\
select distinct a.record_id from attachments_attachments a
where a.tenant_id = $1 and a.entity_id = $2 and a.record_id > $3 order by a.record_id limit 500";

/// Returns the next 500 records of this kind that have files.
pub(crate) async fn records_after(
    connection: &AsyncPgConnection,
    tenant: Uuid,
    kind: &str,
    after: &str,
) -> Result<Vec<String>> {
    let statement = sql_query(RECORDS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Text, _>(kind)
        .bind::<Text, _>(after);
    let found: Vec<Record> = statement.load(&mut &*connection).await?;
    Ok(found.into_iter().map(|row| row.record_id).collect())
}

const NOTE: &str = "\
update attachments_attachments a set absent_since = case when a.record_id = any($4) then null else $5 end
where a.tenant_id = $1 and a.entity_id = $2 and a.record_id = any($3) and (a.absent_since is null) <> (a.record_id = any($4))";

/// Notes which of these records are present, and since when the others have been absent. Files whose record is as before are not written.
pub(crate) async fn note(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    kind: &str,
    records: &[String],
    present: &[&str],
    now: Timestamp,
) -> Result<()> {
    sql_query(NOTE)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Text, _>(kind)
        .bind::<Array<Text>, _>(records)
        .bind::<Array<Text>, _>(present)
        .bind::<Timestamptz, _>(now)
        .execute(connection)
        .await?;
    Ok(())
}

/// A file whose record can't come back. Its fields are its key in the order in which such files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, QueryableByName)]
pub(crate) struct AbsentFile {
    #[diesel(sql_type = Timestamptz)]
    absent_since: Timestamp,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
}

impl AbsentFile {
    /// The key before those of all files.
    pub(crate) const FIRST: Self = Self {
        absent_since: Timestamp::UNIX_EPOCH,
        tenant_id: Uuid::nil(),
        id: Uuid::nil(),
    };
}

const TO_DELETE: &str = "\
select a.absent_since, a.tenant_id, a.id from attachments_attachments a
where a.absent_since < $2 and a.entity_id = any($1) and (a.absent_since, a.tenant_id, a.id) > ($3, $4, $5)
order by a.absent_since, a.tenant_id, a.id limit 100";

/// Returns the next 100 files of these kinds of records whose record has been absent since before the action log begins.
pub(crate) async fn files_to_delete(
    connection: &AsyncPgConnection,
    kinds: &[&str],
    log_start: Timestamp,
    after: AbsentFile,
) -> Result<Vec<AbsentFile>> {
    let statement = sql_query(TO_DELETE)
        .bind::<Array<Text>, _>(kinds)
        .bind::<Timestamptz, _>(log_start)
        .bind::<Timestamptz, _>(after.absent_since)
        .bind::<SqlUuid, _>(after.tenant_id)
        .bind::<SqlUuid, _>(after.id);
    Ok(statement.load(&mut &*connection).await?)
}
