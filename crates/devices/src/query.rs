//! Reads of devices.

use backoffice_auth::query::users::visible_among_scope;
use backoffice_core::command::{Entity, LockedRow};
use backoffice_core::db::{KeyColumn, Prepared, Recurring};
use backoffice_core::list::{Fragment, ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::Owned;
use backoffice_core::{RequestContext, Result, Scope, Timestamp, events};
use diesel::dsl::{Filter, IsNotNull, IsNull, count_star, exists};
use diesel::pg::Pg;
use diesel::sql_types::Bool;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, PgExpressionMethods, QueryDsl, Queryable,
    SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::acl;
use crate::foreign::auth_users as users;
use crate::model::Device;
use crate::schema::devices_devices as devices;

/// A condition on devices.
type Condition = Fragment<devices::table, Bool>;
/// Live devices of the visible tenants.
type Live = Filter<Filter<devices::table, Owned<devices::tenant_id>>, IsNull<devices::deleted_at>>;

fn live(scope: &Scope) -> Live {
    devices::table
        .filter(scope.owns(devices::tenant_id))
        .filter(devices::deleted_at.is_null())
}

/// Returns the condition for the devices that the caller may change: their own, whatever organization is selected, and with `devices.admin` those
/// of the organizations in which they hold it and those of the present users of these organizations: the devices of a user who has changed organization
/// keep the former one until they are registered again.
fn changeable(ctx: &RequestContext) -> Condition {
    match ctx.for_features(&[acl::ADMIN]) {
        Ok(others) => Box::new(own_or_within(ctx, others.scope()).or(of_users_within(others.scope()))),
        Err(_) => Box::new(devices::user_id.eq(caller(ctx))),
    }
}

/// Returns the condition for the devices of users who belong to the organizations of a scope.
fn of_users_within(scope: &Scope) -> Condition {
    let owner = users::table
        .filter(users::tenant_id.eq(devices::tenant_id))
        .filter(users::id.eq(devices::user_id))
        .filter(users::deleted_at.is_null())
        .filter(scope.within(users::organization_id));
    Box::new(exists(owner))
}

/// Returns the condition for the devices of users who belong to the organizations of a scope now, whatever organization the devices have. A caller without
/// organization limits sees all devices of the tenant, for which no user is looked up.
fn of_present_users(scope: &Scope) -> Condition {
    match scope.organizations {
        Some(_) => of_users_within(scope),
        None => Box::new(scope.within(devices::organization_id)),
    }
}

/// Returns the condition for the caller's own devices, and for those of the organizations of a scope.
fn own_or_within(ctx: &RequestContext, scope: &Scope) -> Condition {
    let own = devices::user_id.eq(caller(ctx));
    Box::new(own.or(scope.within(devices::organization_id)))
}

fn caller(ctx: &RequestContext) -> Uuid {
    ctx.identity().id.unwrap_or_else(Uuid::nil)
}

/// Locks the live devices that the caller may change, by ascending id.
pub(crate) async fn lock(connection: &AsyncPgConnection, ctx: &RequestContext, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
    Ok(live(ctx.scope())
        .filter(changeable(ctx))
        .filter(devices::id.one_of(ids))
        .order(devices::id)
        .select((devices::id, devices::tenant_id))
        .for_update()
        .load(&mut &*connection)
        .await?)
}

/// Returns the owner of a live device of the caller, or of the organizations in which the caller holds the feature of the endpoint.
pub(crate) async fn owner(connection: &AsyncPgConnection, ctx: &RequestContext, id: Uuid) -> Result<Option<Uuid>> {
    let statement = live(ctx.scope())
        .filter(own_or_within(ctx, ctx.scope()))
        .filter(devices::id.eq(id))
        .select(devices::user_id);
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

/// A registration of a device by its user, live or deactivated.
#[derive(Debug, Clone, Copy, Queryable)]
pub(crate) struct Registered {
    /// The id.
    pub(crate) id: Uuid,
    /// Whether the device is live.
    pub(crate) is_live: bool,
}

/// Finds the registration of a device.
pub(crate) async fn registered(
    connection: &AsyncPgConnection,
    tenant: Uuid,
    user: Uuid,
    device_id: &str,
) -> Result<Option<Registered>> {
    let statement = devices::table
        .filter(devices::tenant_id.eq(tenant))
        .filter(devices::user_id.eq(user))
        .filter(devices::device_id.eq(device_id))
        .select((devices::id, devices::deleted_at.is_null()));
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

impl Sortable for Device {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::nullable_time("lastSeenAt", "devices_devices.last_seen_at"),
        SortField::time("createdAt", "devices_devices.created_at"),
        SortField::new("updatedAt", "devices_devices.updated_at"),
    ];
    const SEARCHES: bool = false;
}

/// Whose devices a list shows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owners {
    /// Of this user.
    One(Uuid),
    /// Of the users in the organizations of the caller.
    InScope,
    /// Of no user: programs have no devices.
    None,
}

/// Filter of a list.
#[derive(Debug, Clone)]
pub(crate) struct DeviceFilter {
    /// Whose devices.
    pub(crate) owners: Owners,
    /// Only those of this user.
    pub(crate) user: Option<Uuid>,
    /// Only those of this platform.
    pub(crate) platform: Option<String>,
}

impl DeviceFilter {
    fn condition(&self, scope: &Scope, request: &ListRequest) -> Condition {
        let mut all: Condition = match self.owners {
            Owners::One(user) => Box::new(devices::user_id.eq(user)),
            Owners::InScope => of_present_users(scope),
            Owners::None => Box::new(devices::id.eq(Uuid::nil())),
        };
        if let Some(user) = self.user {
            all = Box::new(all.and(devices::user_id.eq(user)));
        }
        if let Some(platform) = &self.platform {
            all = Box::new(all.and(devices::platform.eq(platform.clone())));
        }
        if let Some(ids) = &request.ids {
            all = Box::new(all.and(devices::id.one_of(ids.clone())));
        }
        all
    }
}

/// Returns a page of devices, each with whether it has a token for push messages, and their total: two pipelined statements.
pub(crate) async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &DeviceFilter,
    request: &ListRequest,
) -> Result<Page<(Device, bool)>> {
    let (scope, window) = (ctx.scope(), request.window);
    let filtered = || live(scope).filter(filter.condition(scope, request)).into_boxed::<Pg>();
    let has_token: IsNotNull<devices::push_token_hash> = devices::push_token_hash.is_not_null();
    let keys = request.order.then("devices_devices.id");
    let rows = async |start: Start| {
        let page = start.of::<devices::table, _>(filtered()).order(keys.expression());
        start
            .limited(page.select((Device::as_select(), has_token)))
            .load(&mut &*connection)
            .await
    };
    let total = filtered().select(count_star());
    let id = |(row, _): &(Device, bool)| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

/// Returns a live user of the caller's tenant with their own organization. Only super administrators see other ones.
pub(crate) async fn owner_for_new(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    user: Uuid,
) -> Result<Option<(Uuid, Option<Uuid>)>> {
    let statement = users::table
        .filter(users::tenant_id.eq(ctx.tenant()?))
        .filter(users::id.eq(user))
        .filter(users::deleted_at.is_null())
        .into_boxed::<Pg>();
    let statement = match visible_among_scope::<users::table>(ctx) {
        Some(condition) => statement.filter(condition),
        None => statement,
    };
    let statement = statement.select((users::id, users::organization_id));
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

/// Notes when a device was seen, in an unlogged transaction.
pub(crate) async fn note_seen(ctx: &RequestContext, id: Uuid, at: Option<Timestamp>) -> Result<()> {
    let tenant = ctx.tenant()?;
    let mut transaction = ctx.database().transaction(&Scope::tenant(tenant)).await?;
    let connection = transaction.connection();
    let noted = diesel::update(
        devices::table
            .filter(devices::tenant_id.eq(tenant))
            .filter(devices::id.eq(id))
            .filter(devices::deleted_at.is_null())
            .filter(devices::last_seen_at.is_distinct_from(at)),
    )
    .set(devices::last_seen_at.eq(at))
    .prepared()
    .execute(&mut **connection)
    .await?;
    if noted > 0 {
        events::touch(connection, ctx.call(), tenant, &[Device::KIND]).await?;
    }
    transaction.commit().await
}
