//! The entries of an export, read by a cursor: all of them are from the same instant, and only few are in memory.

use backoffice_core::db::{Connection, Holder, LongTransactionPermit, UnloggedTransaction};
use backoffice_core::{Result, Timestamp};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, NullableExpressionMethods, QueryDsl, QueryResult, QueryableByName, dsl, sql_query};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::actions::{filtered, order};
use super::organization_name;
use crate::filter::ActionFilter;
use crate::foreign::{audit_action_logs as logs, directory_organizations as organizations};
use crate::visibility::Viewer;

/// The columns of an entry in an export.
#[derive(Debug, QueryableByName)]
pub(crate) struct ExportRow {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) created_at: Timestamp,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(crate) actor_id: Option<Uuid>,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) actor_name: Option<String>,
    #[diesel(sql_type = Text)]
    pub(crate) action_type: String,
    #[diesel(sql_type = Text)]
    pub(crate) action_label: String,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) resource_kind: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) resource_id: Option<String>,
    /// JSON text.
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) changes: Option<String>,
    #[diesel(sql_type = Text)]
    pub(crate) source: String,
    #[diesel(sql_type = Text)]
    pub(crate) execution_state: String,
    /// Name of the organization, if it exists.
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) name: Option<String>,
}

/// Returns the number of matching entries in each tenant, limited in total to the size of the page.
pub(crate) async fn counts(
    connection: &mut Connection,
    viewer: Viewer<'_>,
    filter: &ActionFilter,
) -> Result<Vec<(Uuid, i64)>> {
    let entries = filtered(viewer, filter)
        .order(order(filter))
        .then_order_by(logs::id.desc())
        .limit(filter.paging.size)
        .select(logs::tenant_id);
    Ok(RunQueryDsl::load(CountedByTenant(entries), &mut **connection).await?)
}

/// Number of entries per fetch: even the largest entries take only a few megabytes.
const FETCH: &str = "fetch forward 20 from action_export";

/// The changes of an entry, as text, because a document that is nested too deeply must not cost the whole file. Values that are longer than any cell are
/// truncated in the database.
const CHANGES: &str = "(case when octet_length(audit_action_logs.changes::text) <= 65536 \
        or jsonb_typeof(audit_action_logs.changes) <> 'object' then audit_action_logs.changes \
    else (select jsonb_object_agg(f.key, case when octet_length(f.value::text) <= 65536 then f.value \
        else jsonb_build_object('from', s.start_of_from, 'to', s.start_of_to) end) \
        from jsonb_each(audit_action_logs.changes) f \
        cross join lateral (select \
            case when octet_length((f.value -> 'from')::text) <= 65536 then f.value -> 'from' \
                when jsonb_typeof(f.value -> 'from') = 'string' then to_jsonb(left(f.value ->> 'from', 65536)) \
                else to_jsonb(left((f.value -> 'from')::text, 65536)) end as start_of_from, \
            case when octet_length((f.value -> 'to')::text) <= 65536 then f.value -> 'to' \
                when jsonb_typeof(f.value -> 'to') = 'string' then to_jsonb(left(f.value ->> 'to', 65536)) \
                else to_jsonb(left((f.value -> 'to')::text, 65536)) end as start_of_to) s) \
    end)::text as changes";

/// Takes a permit for an export of the caller.
///
/// # Errors
/// 429 while too many exports are open.
pub(crate) fn permit(viewer: Viewer<'_>) -> Result<LongTransactionPermit> {
    let identity = viewer.ctx.identity();
    viewer.ctx.database().long_transaction_permit(Holder {
        tenant: identity.tenant,
        principal: identity.id.unwrap_or_default(),
    })
}

/// An open cursor; its transaction ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Cursor(UnloggedTransaction);

impl Cursor {
    /// Opens the cursor for the entries of the filter, limited to the size of the page.
    pub(crate) async fn open(viewer: Viewer<'_>, filter: &ActionFilter, permit: LongTransactionPermit) -> Result<Self> {
        let (database, scope) = (viewer.ctx.database(), viewer.ctx.scope());
        let mut transaction = database.long_transaction(scope, permit).await?;
        let entries = filtered(viewer, filter)
            .order(order(filter))
            .then_order_by(logs::id.desc())
            .limit(filter.paging.size)
            .select((
                logs::id,
                logs::created_at,
                logs::actor_id,
                logs::actor_name,
                logs::action_type,
                logs::action_label,
                logs::resource_kind,
                logs::resource_id,
                dsl::sql::<Nullable<Text>>(CHANGES),
                logs::source,
                logs::execution_state,
                organization_name!(logs),
            ));
        RunQueryDsl::execute(Declared(entries), &mut **transaction.connection()).await?;
        Ok(Self(transaction))
    }

    /// Returns the next entries; empty at the end.
    pub(crate) async fn next(&mut self) -> Result<Vec<ExportRow>> {
        Ok(RunQueryDsl::load(sql_query(FETCH), &mut **self.0.connection()).await?)
    }

    /// Commits the transaction, which releases the connection.
    pub(crate) async fn close(self) -> Result<()> {
        self.0.commit().await
    }
}

/// Declares a query as a cursor.
struct Declared<Q>(Q);

/// Counts the rows of a query by tenant, which is its only column.
struct CountedByTenant<Q>(Q);

macro_rules! dynamic {
    ($name:ident) => {
        impl<Q> QueryId for $name<Q> {
            type QueryId = ();

            const HAS_STATIC_QUERY_ID: bool = false;
        }
    };
}

dynamic!(Declared);
dynamic!(CountedByTenant);

impl<Q> Query for CountedByTenant<Q> {
    type SqlType = (SqlUuid, BigInt);
}

impl<Q: QueryFragment<Pg>> QueryFragment<Pg> for CountedByTenant<Q> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.unsafe_to_cache_prepared();
        out.push_sql("select tenant_id, count(*) from (");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(") as entries group by tenant_id");
        Ok(())
    }
}

impl<Q: QueryFragment<Pg>> QueryFragment<Pg> for Declared<Q> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.unsafe_to_cache_prepared();
        out.push_sql("declare action_export no scroll cursor for ");
        self.0.walk_ast(out)
    }
}
