//! Reads of the constraints of fields.

use std::collections::BTreeSet;

use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;
use backoffice_core::{RequestContext, Result, Scope};
use diesel::sql_types::{Array, BigInt, Integer, Nullable, Text, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, QueryableByName, SelectableHelper, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::hosts;
use crate::model::{ALL_FIELDS, Field};
use crate::schema::attachments_fields as fields;

/// Returns the constraints of a kind of records, or of all kinds, by kind and key.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(connection: &AsyncPgConnection, scope: &Scope, entity: Option<&str>) -> Result<Vec<Field>> {
    let mut rows = fields::table.filter(scope.owns(fields::tenant_id)).into_boxed();
    if let Some(entity) = entity {
        rows = rows.filter(fields::entity_id.eq(entity));
    }
    let rows = rows
        .order((fields::entity_id, fields::field_key, fields::id))
        .limit(MOST_FIELDS)
        .select(Field::as_select());
    Ok(rows.load(&mut &*connection).await?)
}

/// Returns the constraints that apply to a kind of records, or to all kinds, by kind and key: those of the tenant, and those that modules declare and the
/// tenant does not replace. `true` marks the latter.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn applying(
    ctx: &RequestContext,
    connection: &AsyncPgConnection,
    entity: Option<&str>,
) -> Result<Vec<(Field, bool)>> {
    let own = list(connection, ctx.scope(), entity).await?;
    let declared = match ctx.tenant() {
        Ok(tenant) => hosts::declared_fields(ctx.platform(), tenant, entity),
        Err(_) => Vec::new(),
    };
    let replaced: BTreeSet<Uuid> = own.iter().map(|field| field.id).collect();
    let declared = declared.into_iter().filter(|field| !replaced.contains(&field.id));
    let mut all: Vec<(Field, bool)> = declared.map(|field| (field, true)).collect();
    all.extend(own.into_iter().map(|field| (field, false)));
    all.sort_by(|(one, _), (other, _)| (&one.entity_id, &one.field_key).cmp(&(&other.entity_id, &other.field_key)));
    Ok(all)
}

/// Most fields with constraints in a tenant.
pub(crate) const MOST_FIELDS: i64 = 1000;

/// Returns the number of fields with constraints in the transaction's tenant. Other transactions that add one wait until this one ends.
pub(crate) async fn count(tx: &mut Tx<'_>) -> Result<i64> {
    super::lock_number(tx, "attachments_fields").await?;
    let own = fields::table.filter(fields::tenant_id.eq(tx.tenant()));
    Ok(own.count().get_result(tx.conn()).await?)
}

#[derive(QueryableByName)]
struct Over {
    #[diesel(sql_type = BigInt)]
    fields: i64,
}

/// Fields of a record with more files than they may have; `$6` and `$7` are what modules declare.
const OVER: &str = "\
select count(*) as fields from (
    select o.field_key, o.max_count from attachments_fields o where o.tenant_id = $1 and o.entity_id = $2
    union all
    select d.field_key, d.max_count from unnest($6, $7) as d (field_key, max_count)
    where not exists (select from attachments_fields o where o.tenant_id = $1 and o.entity_id = $2 and o.field_key = d.field_key)) f
where f.max_count is not null and ($4::text is null or f.field_key in ($4, $5)) and (
    select count(*) from attachments_attachments a
    where a.tenant_id = $1 and a.entity_id = $2 and a.record_id = $3 and (f.field_key = $5 or a.field_key = f.field_key)) > f.max_count";

const LOCK: &str = "\
select count(pg_advisory_xact_lock(hashtextextended($1::text || chr(10) || $2 || chr(10) || $3, 0))) as fields from (select) one";

/// Locks a record: until the end of the transaction, no other one that checks limits adds files to it.
pub(crate) async fn lock_record(tx: &mut Tx<'_>, entity: &str, record: &str) -> Result<()> {
    let statement = sql_query(LOCK)
        .bind::<SqlUuid, Uuid>(tx.tenant())
        .bind::<Text, _>(entity)
        .bind::<Text, _>(record);
    let _locked: Over = statement.prepared().get_result(tx.conn()).await?;
    Ok(())
}

/// Returns whether a record, which is locked, has more files than a field may have: this field, or any if `key` is absent.
pub(crate) async fn is_over(tx: &mut Tx<'_>, entity: &str, record: &str, key: Option<&str>) -> Result<bool> {
    let declared = hosts::declared_fields(tx.context().platform(), tx.tenant(), Some(entity));
    let limits = declared
        .into_iter()
        .filter_map(|field| Some((field.field_key, field.max_count?)));
    let (keys, most): (Vec<String>, Vec<i32>) = limits.unzip();
    let statement = sql_query(OVER)
        .bind::<SqlUuid, Uuid>(tx.tenant())
        .bind::<Text, _>(entity)
        .bind::<Text, _>(record)
        .bind::<Nullable<Text>, _>(key)
        .bind::<Text, _>(ALL_FIELDS)
        .bind::<Array<Text>, _>(keys)
        .bind::<Array<Integer>, _>(most);
    let over: Over = statement.prepared().get_result(tx.conn()).await?;
    Ok(over.fields > 0)
}
