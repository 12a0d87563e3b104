//! Reads of feeds.

use backoffice_core::collections::{Version, counting};
use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{Page, Window as PageWindow};
use backoffice_core::scope::Owned;
use backoffice_core::{RequestContext, Result, Scope, version_times};
use diesel::dsl::{Eq, Filter, count_star};
use diesel::sql_types::{Array, Text, Uuid as SqlUuid};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::Feed;
use crate::schema::calendar_feeds as feeds;

type Own = Filter<Filter<feeds::table, Owned<feeds::tenant_id>>, Eq<feeds::user_id, Uuid>>;

/// Returns the feeds of a user. They are visible to this user only, and do not depend on organizations.
pub(crate) fn own(scope: &Scope, user: Uuid) -> Own {
    feeds::table
        .filter(scope.owns(feeds::tenant_id))
        .filter(feeds::user_id.eq(user))
}

/// Returns a page of the caller's feeds by name and id.
pub(crate) async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    ids: Option<Vec<Uuid>>,
    page: PageWindow,
) -> Result<Page<Feed>> {
    let user = ctx.user_id()?;
    let requested = || {
        let mut query = own(ctx.scope(), user).into_boxed::<diesel::pg::Pg>();
        if let Some(ids) = &ids {
            query = query.filter(feeds::id.one_of(ids.clone()));
        }
        query
    };
    let rows = requested().order((feeds::name, feeds::id)).select(Feed::as_select());
    let total = requested().select(count_star());
    let rows = page.limited(rows).load(&mut &*connection);
    page.fetch(ctx, connection, rows, || Prepared(total).get_result(&mut &*connection))
        .await
}

/// Returns the feed with this hash of its token. The scope is that of all tenants: only the row says to which one it belongs.
pub(crate) async fn by_token(connection: &AsyncPgConnection, scope: &Scope, hash: &[u8]) -> Result<Option<Feed>> {
    let found = feeds::table
        .filter(scope.owns(feeds::tenant_id))
        .filter(feeds::token_hash.eq(hash))
        .select(Feed::as_select());
    Ok(Prepared(found).get_result(&mut &*connection).await.optional()?)
}

/// Reads the versions of the collections behind a feed; `*` stands for all collections.
const VERSION: &str = concat!(
    "select coalesce(sum(version), 0)::bigint as number, ",
    version_times!(sum "updated_at"),
    " as times from core_collections where tenant_id = any($2) and kind = any($1)"
);

/// Returns the version of the rows of these kinds in a tenant.
pub(crate) async fn version(connection: &AsyncPgConnection, tenant: Uuid, kinds: &[&str]) -> Result<Version> {
    let kinds: Vec<&str> = kinds.iter().copied().chain(["*"]).collect();
    let statement = sql_query(VERSION)
        .bind::<Array<Text>, _>(kinds)
        .bind::<Array<SqlUuid>, _>(counting(tenant, tenant).to_vec());
    Ok(Prepared(statement).get_result(&mut &*connection).await?)
}
