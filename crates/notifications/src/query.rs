//! Reads of notifications and preferences, always those of one user.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{Fragment, ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::Owned;
use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use diesel::dsl::{Filter, count_star};
use diesel::pg::Pg;
use diesel::sql_types::Bool;
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join;
use serde_json::Value;
use uuid::Uuid;

use crate::model::Preference;
use crate::schema::{notifications_notifications as notifications, notifications_preferences as preferences};

pub(crate) const UNREAD: &str = "unread";
pub(crate) const READ: &str = "read";
pub(crate) const DISMISSED: &str = "dismissed";

/// A condition on notifications.
type Condition = Fragment<notifications::table, Bool>;
/// Notifications of the visible tenants.
type Visible = Filter<notifications::table, Owned<notifications::tenant_id>>;

fn visible(scope: &Scope) -> Visible {
    notifications::table.filter(scope.owns(notifications::tenant_id))
}

/// The columns that a list shows.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = notifications, check_for_backend(Pg))]
pub(crate) struct Notification {
    pub(crate) id: Uuid,
    pub(crate) type_: String,
    pub(crate) params: Value,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) severity: String,
    pub(crate) status: String,
    pub(crate) source_module: String,
    pub(crate) source_entity_type: Option<String>,
    pub(crate) source_entity_id: Option<Uuid>,
    pub(crate) link_href: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) read_at: Option<Timestamp>,
}

impl Sortable for Notification {
    const SORT_FIELDS: &'static [SortField] = &[SortField::time("createdAt", "notifications_notifications.created_at")];
    const PAGE_SIZE: u32 = 20;
    const SEARCHES: bool = false;
}

/// Filter of a list.
#[derive(Debug, Clone, Default)]
pub(crate) struct NotificationFilter {
    /// Only this status; otherwise all but dismissed ones.
    pub(crate) status: Option<String>,
    /// Only this type.
    pub(crate) type_: Option<String>,
    /// Only this severity.
    pub(crate) severity: Option<String>,
    /// Only those created at this time or later.
    pub(crate) since: Option<Timestamp>,
}

impl NotificationFilter {
    fn condition(&self, request: &ListRequest) -> Condition {
        let mut all: Condition = match &self.status {
            Some(status) => Box::new(notifications::status.eq(status.clone())),
            None => Box::new(notifications::status.ne(DISMISSED)),
        };
        if let Some(type_) = &self.type_ {
            all = Box::new(all.and(notifications::type_.eq(type_.clone())));
        }
        if let Some(severity) = &self.severity {
            all = Box::new(all.and(notifications::severity.eq(severity.clone())));
        }
        if let Some(since) = self.since {
            all = Box::new(all.and(notifications::created_at.ge(since)));
        }
        if let Some(ids) = &request.ids {
            all = Box::new(all.and(notifications::id.one_of(ids.clone())));
        }
        all
    }
}

/// The scope of the caller's notifications: the tenant of their account, whatever is selected.
pub(crate) fn own_scope(ctx: &RequestContext) -> Scope {
    Scope::tenant(ctx.identity().tenant)
}

/// Returns a page of the user's notifications, the newest first, and how many are unread: three pipelined statements.
pub(crate) async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    user: Uuid,
    filter: &NotificationFilter,
    request: &ListRequest,
) -> Result<(Page<Notification>, i64)> {
    let (scope, window) = (own_scope(ctx), request.window);
    let filtered = || {
        visible(&scope)
            .filter(notifications::recipient_user_id.eq(user))
            .filter(notifications::expires_at.gt(ctx.now()))
            .filter(filter.condition(request))
            .into_boxed::<Pg>()
    };
    let keys = request.order.then("notifications_notifications.id");
    let rows = async |start: Start| {
        let page = start.of::<notifications::table, _>(filtered()).order(keys.expression());
        start
            .limited(page.select(Notification::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = filtered().select(count_star());
    let id = |row: &Notification| (ctx.identity().tenant, row.id);
    let total = || Prepared(total).get_result(&mut &*connection);
    let listed = window.fetch_from(ctx, connection, keys, id, rows, total);
    try_join(listed, count_unread(connection, ctx, user)).await
}

/// Counts the user's unread notifications.
pub(crate) async fn count_unread(connection: &AsyncPgConnection, ctx: &RequestContext, user: Uuid) -> Result<i64> {
    let scope = own_scope(ctx);
    let unread = visible(&scope)
        .filter(notifications::recipient_user_id.eq(user))
        .filter(notifications::status.eq(UNREAD))
        .filter(notifications::expires_at.gt(ctx.now()))
        .select(count_star());
    Ok(Prepared(unread).get_result(&mut &*connection).await?)
}

/// Returns the user's preferences.
pub(crate) async fn preferences_of(
    connection: &AsyncPgConnection,
    scope: &Scope,
    user: Uuid,
) -> Result<Vec<Preference>> {
    let own = preferences::table
        .filter(scope.owns(preferences::tenant_id))
        .filter(preferences::user_id.eq(user))
        .select(Preference::as_select());
    Ok(Prepared(own).load(&mut &*connection).await?)
}
