//! Reads of the action log. Every statement starts from [`visible`], which limits it to the entries that the caller may see.

use backoffice_core::collections::{self, BESIDE_LOG, Version};
use backoffice_core::db::{Connection, DocumentTexts, KeyColumn, PreparedIf, read_documents};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::list::{Keys, KnownRow, Limited, Order, References};
use backoffice_core::{Result, Timestamp, VisibleTenants, version_times};
use diesel::expression::SqlLiteral;
use diesel::pg::Pg;
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Untyped, Uuid as SqlUuid};
use diesel::{
    BoolExpressionMethods, BoxableExpression, ExpressionMethods, NullableExpressionMethods, PgArrayExpressionMethods,
    QueryDsl, QueryResult, Queryable, Selectable, SelectableHelper, dsl,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::Value;
use uuid::Uuid;

use super::{lowest_id, organization_name, tenant_name, visible_entries};
use crate::filter::{ActionFilter, SortField};
use crate::foreign::{
    audit_action_logs as logs, audit_entry_counts as counts, directory_organizations as organizations,
    directory_tenants as tenants,
};
use crate::visibility::{UndoableCommands, Viewer};

/// An entry.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = logs, check_for_backend(Pg))]
pub(crate) struct ActionRow {
    pub(crate) tenant_id: Uuid,
    pub(crate) id: Uuid,
    pub(crate) organization_id: Option<Uuid>,
    pub(crate) actor_kind: String,
    pub(crate) actor_id: Option<Uuid>,
    pub(crate) actor_name: Option<String>,
    pub(crate) command_id: String,
    pub(crate) action_type: String,
    pub(crate) action_label: String,
    pub(crate) source: String,
    pub(crate) resource_kind: Option<String>,
    pub(crate) resource_id: Option<String>,
    pub(crate) parent_resource_kind: Option<String>,
    pub(crate) parent_resource_id: Option<String>,
    pub(crate) execution_state: String,
    pub(crate) undo_secret: Option<Vec<u8>>,
    pub(crate) undo_expires_at: Option<Timestamp>,
    pub(crate) source_log_id: Option<Uuid>,
    pub(crate) context: Option<Value>,
    pub(crate) changed_fields: Vec<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// Maximum bytes of documents in a page: with 1000 entries the response stays below its size limit.
const DOCUMENTS_OF_PAGE: usize = 5 * 1024 * 1024;

/// Returns the documents of these entries: snapshot before, snapshot after and changes; `None` for entries for which the page has no space. The
/// documents of a single entry that is requested by its id are returned regardless of their size.
pub(crate) async fn documents(
    connection: &Connection,
    rows: &[NamedRow],
    filter: &ActionFilter,
) -> Result<Vec<Option<DocumentTexts>>> {
    let keys: Vec<(Uuid, Uuid)> = rows.iter().map(|(row, ..)| (row.tenant_id, row.id)).collect();
    let budget = match filter.id {
        Some(_) => usize::MAX,
        None => DOCUMENTS_OF_PAGE,
    };
    let columns = ["snapshot_before", "snapshot_after", "changes"];
    read_documents(connection, "audit_action_logs", &columns, &keys, budget).await
}

/// An entry with the names of its tenant and organization, if these exist.
pub(crate) type NamedRow = (ActionRow, Option<String>, Option<String>);

type Boxed<'a> = dsl::IntoBoxed<'a, logs::table, Pg>;

visible_entries!(logs);

pub(super) fn filtered<'a>(viewer: Viewer<'a>, filter: &'a ActionFilter) -> Boxed<'a> {
    let mut query = about(visible(viewer), viewer, filter);
    if let Some(id) = filter.id {
        query = query.filter(logs::id.eq(id));
    }
    if let Some(ids) = &filter.ids {
        query = query.filter(logs::id.one_of(ids));
    }
    if let Some(organization) = filter.organization {
        query = query.filter(logs::organization_id.eq(organization));
    }
    if let Some(actors) = &filter.actors {
        query = query.filter(References::any_of(actors).condition::<logs::table>("audit_action_logs.actor_id"));
    }
    if let Some(types) = &filter.action_types {
        query = query.filter(logs::action_type.eq_any(types));
    }
    if let Some(fields) = &filter.fields {
        query = query.filter(logs::changed_fields.overlaps_with(fields));
    }
    let (first, end) = bounds(viewer, filter);
    query = query.filter(logs::id.lt(end));
    // Without `after` there is no lower bound: PostgreSQL expects very few rows between two parameters, and would sort all of an actor.
    if filter.after.is_some() {
        query = query.filter(logs::id.ge(first));
    }
    if filter.undoable_only {
        undoable(query, viewer)
    } else {
        query
    }
}

/// Returns the range of requested ids, the upper bound excluded. The time of an entry's id is its `created_at`; a range of ids makes PostgreSQL
/// skip the partitions of months outside the range and in the future.
fn bounds(viewer: Viewer<'_>, filter: &ActionFilter) -> (Uuid, Uuid) {
    let first = filter.after.map_or(0, |after| after.unix_millis() + 1);
    let end = filter.before.map_or(i64::MAX, Timestamp::unix_millis);
    (lowest_id(first), lowest_id(end.min(viewer.horizon())))
}

/// Limits the query to entries about a resource, optionally including its parts.
fn about<'a>(query: Boxed<'a>, viewer: Viewer<'a>, filter: &'a ActionFilter) -> Boxed<'a> {
    match (&filter.resource_kind, &filter.resource_id, filter.include_related) {
        // Entries of the resource, entries of which it is the parent, and entries that name it as affected: three indexes, where one condition
        // with `or` would scan the whole log.
        // PostgreSQL can't derive the month from an array of ids that is known only at execution time, but it can from the id of each row.
        (Some(kind), Some(id), true) => {
            let tenant = match viewer.ctx.scope().visible_tenants {
                VisibleTenants::Tenant(tenant) => format!("tenant_id = '{tenant}' and "),
                VisibleTenants::All => String::new(),
            };
            let (first, end) = bounds(viewer, filter);
            query.filter(
                dsl::sql::<Bool>(&format!(
                    "audit_action_logs.id in (select unnest(array(select l.id from audit_action_logs l where {tenant}resource_kind = "
                ))
                .bind::<Text, _>(kind)
                .sql(" and resource_id = ")
                .bind::<Text, _>(id)
                .sql(" and l.id >= ")
                .bind::<SqlUuid, _>(first)
                .sql(" and l.id < ")
                .bind::<SqlUuid, _>(end)
                .sql(&format!(
                    " union select l.id from audit_action_logs l where {tenant}parent_resource_kind = "
                ))
                .bind::<Text, _>(kind)
                .sql(" and parent_resource_id = ")
                .bind::<Text, _>(id)
                .sql(" and l.id >= ")
                .bind::<SqlUuid, _>(first)
                .sql(" and l.id < ")
                .bind::<SqlUuid, _>(end)
                .sql(&format!(
                    " union select l.log_id from audit_action_links l where {tenant}resource_kind = "
                ))
                .bind::<Text, _>(kind)
                .sql(" and resource_id = ")
                .bind::<Text, _>(id)
                .sql(")))"),
            )
        }
        (Some(kind), None, true) => query.filter(logs::resource_kind.eq(kind).or(logs::parent_resource_kind.eq(kind))),
        (kind, id, _) => {
            let mut query = query;
            if let Some(kind) = kind {
                query = query.filter(logs::resource_kind.eq(kind));
            }
            if let Some(id) = id {
                query = query.filter(logs::resource_id.eq(id));
            }
            query
        }
    }
}

/// Matches an entry if it is the latest of its resource. The offset makes PostgreSQL look up the version of each entry by the index. It would join
/// `exists` without an offset, and scan the versions of all resources for each entry if it expects few entries.
const IS_LATEST: &str = "exists (select 1 from audit_resource_versions v \
    where v.tenant_id = audit_action_logs.tenant_id and v.resource_kind = audit_action_logs.resource_kind \
        and v.resource_id = audit_action_logs.resource_id and v.version = audit_action_logs.version_after offset 0)";

/// Matches an entry with several resources only if it is the latest of each of them.
const AFFECTED_ARE_LATEST: &str = "(audit_action_logs.touched is null or not exists ( \
    select 1 from jsonb_to_recordset(audit_action_logs.touched) as t (kind text, id text, \"versionAfter\" bigint) \
    left join audit_resource_versions v on v.tenant_id = audit_action_logs.tenant_id \
        and v.resource_kind = t.kind and v.resource_id = t.id \
    where v.version is distinct from t.\"versionAfter\"))";

/// Matches a resource unless it was deleted together with another one, by a deletion that is not undone. Such a deletion has no version of the resource,
/// but a link to it. It also has links to resources that it only concerns, hence the condition on its snapshot. PostgreSQL would join `not exists` with
/// all links.
macro_rules! is_present {
    ($kind:literal, $id:literal) => {
        concat!(
            "coalesce((select false from audit_action_links l \
              join audit_action_logs d on d.tenant_id = l.tenant_id and d.id = l.log_id \
              where l.tenant_id = audit_action_logs.tenant_id and l.resource_kind = ",
            $kind,
            " and l.resource_id = ",
            $id,
            " and d.action_type = 'delete' and d.execution_state = 'done' \
              and d.snapshot_before @> jsonb_build_object('_children', jsonb_build_object( \
                  l.resource_kind, jsonb_build_array(jsonb_build_object('id', l.resource_id)))) \
              limit 1), true)"
        )
    };
}

/// Matches an entry if its resource was not deleted together with another one.
const IS_PRESENT: &str = is_present!("audit_action_logs.resource_kind", "audit_action_logs.resource_id");
/// Matches an entry with several resources only if the same is true of each of them.
const AFFECTED_ARE_PRESENT: &str = concat!(
    "(audit_action_logs.touched is null or not exists ( \
      select 1 from jsonb_to_recordset(audit_action_logs.touched) as t (kind text, id text) where not ",
    is_present!("t.kind", "t.id"),
    "))"
);

/// Limits the query to entries that the caller could undo now.
fn undoable<'a>(query: Boxed<'a>, viewer: Viewer<'a>) -> Boxed<'a> {
    if !viewer.may_undo() {
        return query.filter(dsl::sql::<Bool>("false"));
    }
    let (identity, now) = (viewer.ctx.identity(), viewer.ctx.now());
    let query = query
        .filter(logs::execution_state.eq("done"))
        .filter(logs::undo_secret.is_not_null())
        .filter(logs::undo_expires_at.is_null().or(logs::undo_expires_at.gt(now)))
        .filter(dsl::sql::<Bool>(IS_LATEST))
        .filter(dsl::sql::<Bool>(AFFECTED_ARE_LATEST))
        .filter(dsl::sql::<Bool>(IS_PRESENT))
        .filter(dsl::sql::<Bool>(AFFECTED_ARE_PRESENT));
    let visible = &viewer.ctx.scope().organizations;
    let own = any_of(viewer.undoable_commands(true), |group| {
        let commands = logs::command_id.eq_any(group.ids);
        if group.scope.organizations == *visible {
            return Box::new(commands);
        }
        // An own entry without organization needs the features anywhere.
        let within = group.scope.within(logs::organization_id);
        Box::new(commands.and(within.or(logs::organization_id.is_null())))
    });
    let others = any_of(viewer.undoable_commands(false), |group| {
        let within = group.scope.within(logs::organization_id);
        Box::new(logs::command_id.eq_any(group.ids).and(within))
    });
    let by_caller = logs::actor_kind
        .eq(identity.kind.as_str())
        .and(logs::actor_id.eq(identity.id));
    query.filter(by_caller.and(own).or(others))
}

type Condition = Box<dyn BoxableExpression<logs::table, Pg, SqlType = Bool>>;

/// Returns the condition that one of the groups matches.
fn any_of(groups: Vec<UndoableCommands>, matches: impl Fn(UndoableCommands) -> Condition) -> Condition {
    let conditions = groups.into_iter().map(matches);
    let any = conditions.reduce(|one, other| Box::new(one.or(other)));
    any.unwrap_or_else(|| Box::new(dsl::sql("false")))
}

/// Returns the order; missing values are last in both directions, then the newest entries are first. Newest first is the order of ids, in which
/// PostgreSQL reads the partitions of months one after the other and only as far as the page needs.
pub(super) fn order(filter: &ActionFilter) -> SqlLiteral<Untyped> {
    dsl::sql(match (filter.sort, filter.descending) {
        (SortField::CreatedAt, true) => "audit_action_logs.id desc",
        (SortField::CreatedAt, false) => "audit_action_logs.created_at asc",
        (SortField::User, true) => "lower(audit_action_logs.actor_name) desc nulls last",
        (SortField::User, false) => "lower(audit_action_logs.actor_name) asc nulls last",
        (SortField::Action, true) => "audit_action_logs.action_type desc, audit_action_logs.command_id desc",
        (SortField::Action, false) => "audit_action_logs.action_type asc, audit_action_logs.command_id asc",
        (SortField::Field, true) => "audit_action_logs.changed_fields[1] desc nulls last",
        (SortField::Field, false) => "audit_action_logs.changed_fields[1] asc nulls last",
        (SortField::Source, true) => "audit_action_logs.source desc",
        (SortField::Source, false) => "audit_action_logs.source asc",
    })
}

/// Matches entries of partitions after the counted ones.
const AFTER_COUNTED: &str = "audit_action_logs.id >= coalesce( \
    (select p.ends from audit_counted_partitions p order by p.ends desc limit 1), '00000000-0000-0000-0000-000000000000')";
/// Matches entries of partitions before the counted ones.
const BEFORE_COUNTED: &str =
    "audit_action_logs.id < (select p.begins from audit_counted_partitions p order by p.begins limit 1)";

/// An entry with the version of the log.
type VersionedRow = (ActionRow, Option<String>, Option<String>, i64, i64);

/// The tenants of which the version counts.
type Counting = [Uuid; 3];

/// Returns the number of the version of the log. Sub-queries hide the number of tenants and kinds from PostgreSQL, which would otherwise plan each
/// execution.
macro_rules! number {
    ($tenants:expr) => {
        dsl::sql::<BigInt>("((select coalesce(sum(c.version), 0) from core_collections c where c.tenant_id = any(array(select unnest(")
            .bind::<Array<SqlUuid>, _>($tenants.to_vec())
            .sql("))) and c.kind = any(array(select unnest(")
            .bind::<Array<Text>, _>(BESIDE_LOG.to_vec())
            .sql(")))) + (select coalesce(sum(s.last_seq), 0) from core_event_streams s where s.name = 'log' and s.tenant_id = any(array(select unnest(")
            .bind::<Array<SqlUuid>, _>($tenants.to_vec())
            .sql(")))))::bigint")
    };
}

/// Returns the sum of the times of the last changes of the log, in milliseconds.
macro_rules! times {
    ($tenants:expr) => {
        dsl::sql::<BigInt>(concat!(
            "(select ",
            version_times!(sum "s.updated_at"),
            " from core_event_streams s where s.name = 'log' and s.tenant_id = any(array(select unnest("
        ))
        .bind::<Array<SqlUuid>, _>($tenants.to_vec())
        .sql("))))")
    };
}

/// Returns the stored counts of partitions that have ended. Returns `None` for callers who do not see all entries of their tenants or
/// organizations, and for filters other than by organization: then every entry is counted.
fn counted<'a>(viewer: Viewer<'a>, filter: &ActionFilter) -> Option<dsl::IntoBoxed<'a, counts::table, Pg>> {
    let scope = viewer.ctx.scope();
    let sees_own_of_none = scope.organizations.is_some() && scope.selected.is_none();
    let sees_all = viewer
        .tenant_scope()
        .is_some_and(|all| all.organizations == scope.organizations);
    if !sees_all || sees_own_of_none || !filter.is_by_place() {
        return None;
    }
    let mut counted = counts::table
        .filter(scope.owns(counts::tenant_id))
        .filter(scope.within(counts::organization_id))
        .into_boxed();
    if let Some(tenant) = viewer.own_tenant_of_many() {
        counted = counted.filter(counts::tenant_id.eq_any([tenant, PLATFORM_TENANT]));
    }
    if let Some(organization) = filter.organization {
        counted = counted.filter(counts::organization_id.eq(organization));
    }
    Some(counted)
}

/// Returns the sum of the stored counts.
fn sum() -> SqlLiteral<Nullable<BigInt>> {
    dsl::sql("sum(entries)::bigint")
}

/// Returns whether connections keep the statements for this filter. The condition on a resource with its parts contains the tenant as text, and a
/// range of ids is planned for its values.
fn recurs(filter: &ActionFilter) -> bool {
    let is_about_parts = filter.include_related && filter.resource_kind.is_some() && filter.resource_id.is_some();
    !is_about_parts && filter.after.is_none()
}

/// Returns the number of entries: one statement.
async fn total(connection: &mut &AsyncPgConnection, viewer: Viewer<'_>, filter: &ActionFilter) -> QueryResult<i64> {
    let Some(counted) = counted(viewer, filter) else {
        let all = filtered(viewer, filter).count();
        return PreparedIf(all, recurs(filter)).get_result(connection).await;
    };
    // One condition on both ends would read every partition.
    let uncounted = |condition: &str| {
        filtered(viewer, filter)
            .filter(dsl::sql::<Bool>(condition))
            .count()
            .single_value()
    };
    let (after, before) = (uncounted(AFTER_COUNTED), uncounted(BEFORE_COUNTED));
    let statement = diesel::select((after, before, counted.select(sum()).single_value()));
    let counts = PreparedIf(statement, recurs(filter)).get_result(connection).await?;
    let (after, before, counted): (Option<i64>, Option<i64>, Option<i64>) = counts;
    Ok([after, before, counted].into_iter().flatten().sum())
}

/// The order in which the positions of entries are kept: the newest first.
const NEWEST_FIRST: Keys = Order {
    column: "audit_action_logs.id",
    nullable: false,
    descending: true,
}
.then("audit_action_logs.id");

/// Returns the rows of the window and, if requested, the total. Without a total it returns one additional row if more entries follow. Sends one
/// statement, and a second one if the total is not known at the version of the log that the first one reads. A page after the first one begins
/// at an entry of which an earlier request has found the position ([`Window::fetch_from`](backoffice_core::list::Window::fetch_from)).
pub(crate) async fn page(
    connection: &Connection,
    viewer: Viewer<'_>,
    filter: &ActionFilter,
) -> Result<(Vec<NamedRow>, Option<i64>)> {
    let ctx = viewer.ctx;
    // Tokens that end make a response old that no change has changed, so it has no version then.
    let ends = ctx.platform().audit().undo.ttl_seconds.is_some();
    // A caller of all tenants reads the version by a statement of its own.
    let tenants = ctx.scope().visible_tenants.one();
    if tenants.is_none() && !ends {
        ctx.read_version_first(connection).await?;
    }
    let has_version = tenants.is_some() && !ends;
    let (start, size) = (filter.paging.start, filter.paging.size);
    let keeps_rows = has_version && filter.sort == SortField::CreatedAt && filter.descending;
    let known = ctx.known_row(NEWEST_FIRST, start).filter(|_| keeps_rows);
    let mut rows = versioned(connection, viewer, filter, known).await?;
    let version = |rows: &[VersionedRow]| {
        let first = rows.first();
        first.map(|(.., number, times)| Version::new(*number, *times))
    };
    if let Some(known) = known
        && version(&rows) != Some(known.version)
    {
        rows = versioned(connection, viewer, filter, None).await?;
    }
    let version = version(&rows).filter(|_| has_version);
    let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    let is_last = count < size && (count > 0 || start == 0);
    let mut total = is_last.then_some(start + count).or_else(|| {
        let (latest, total) = ctx.latest_total()?;
        Some(total).filter(|_| Some(latest) == version)
    });
    if filter.include_total && total.is_none() {
        let mut shared: &AsyncPgConnection = connection;
        total = Some(self::total(&mut shared, viewer, filter).await?);
    }
    let total = total.filter(|_| filter.include_total);
    if let Some(version) = version {
        ctx.keep_version(version, total);
        if keeps_rows {
            let page = &rows[..rows.len().min(usize::try_from(size).unwrap_or(usize::MAX))];
            ctx.keep_rows(NEWEST_FIRST, (start, size), page, |(row, ..)| (row.tenant_id, row.id));
        }
    }
    let rows = rows
        .into_iter()
        .map(|(row, tenant, organization, ..)| (row, tenant, organization));
    Ok((rows.collect(), total))
}

/// Returns the rows of the window, each with the version of the log. The window begins at the entry whose position is known, if there is one.
async fn versioned(
    connection: &Connection,
    viewer: Viewer<'_>,
    filter: &ActionFilter,
    known: Option<KnownRow>,
) -> Result<Vec<VersionedRow>> {
    let tenants = viewer.ctx.scope().visible_tenants.one();
    let counting: Counting = collections::counting(tenants.unwrap_or_default(), viewer.ctx.identity().tenant);
    let mut list = filtered(viewer, filter);
    if let Some(known) = known {
        list = list.filter(logs::id.le(known.id));
    }
    let shown = (
        ActionRow::as_select(),
        tenant_name!(logs),
        organization_name!(logs),
        number!(counting),
        times!(counting),
    );
    let list = list.order(order(filter)).then_order_by(logs::id.desc());
    let skipped = known.map_or(filter.paging.start, |known| known.skipped);
    let size = filter.paging.size + i64::from(!filter.include_total);
    let mut shared: &AsyncPgConnection = connection;
    // The primary key finds an entry by its id within one tenant.
    if skipped <= 1 || tenants.is_none() {
        let limited = Limited::new(list.select(shown), size, skipped);
        return Ok(PreparedIf(limited, recurs(filter)).load(&mut shared).await?);
    }
    // The ids first: PostgreSQL would look up the names beside the skipped entries too.
    let page = list.select(logs::id).limit(size).offset(skipped);
    let named = visible(viewer)
        .filter(logs::id.eq_any(page))
        .order(order(filter))
        .then_order_by(logs::id.desc())
        .select(shown);
    Ok(PreparedIf(named, recurs(filter)).load(&mut shared).await?)
}
