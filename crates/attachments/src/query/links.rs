//! Reads of links, and the count of their downloads.

use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;
use backoffice_core::{Result, Scope, Timestamp};
use diesel::dsl::auto_type;
use diesel::sql_types::{BigInt, Timestamptz};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, NullableExpressionMethods, OptionalExtension, QueryDsl,
    Queryable, SelectableHelper, sql_query, update,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{Attachment, Link};
use crate::schema::{attachments_attachments as attachments, attachments_links as links};

/// Most links of a list: all live ones of a file, and the newest of the others.
const MOST_LISTED: i64 = 200;

/// Returns the links to a file, live ones before others, the newest first, at most 200.
///
/// # Errors
/// When the database can't be reached.
pub async fn of_file(
    connection: &AsyncPgConnection,
    scope: &Scope,
    attachment: Uuid,
    now: Timestamp,
) -> Result<Vec<Link>> {
    let rows = links::table
        .filter(scope.owns(links::tenant_id))
        .filter(links::attachment_id.eq(attachment))
        .order((is_live(now).desc(), links::created_at.desc(), links::id.desc()))
        .limit(MOST_LISTED);
    Ok(rows.select(Link::as_select()).load(&mut &*connection).await?)
}

/// Matches the links that work, apart from the rights of their creators; see [`Link::is_live`].
#[auto_type]
fn is_live(now: Timestamp) -> _ {
    let is_left = links::max_downloads
        .is_null()
        .or(links::max_downloads.gt(links::downloads.nullable()));
    links::revoked_at.is_null().and(links::expires_at.gt(now)).and(is_left)
}

/// Returns the links of a tenant that work.
#[auto_type(no_type_alias)]
fn live(tenant: Uuid, now: Timestamp) -> _ {
    let works: is_live = is_live(now);
    links::table.filter(links::tenant_id.eq(tenant)).filter(works)
}

/// Returns the number of links to a file that work.
pub(crate) async fn count_live(tx: &mut Tx<'_>, attachment: Uuid) -> Result<i64> {
    let (tenant, now) = (tx.tenant(), tx.now());
    let live = live(tenant, now).filter(links::attachment_id.eq(attachment));
    Ok(live.count().get_result(tx.conn()).await?)
}

/// A link that was found by its token, with its file.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct Shared {
    /// The link.
    #[diesel(embed)]
    pub link: Link,
    /// The file.
    #[diesel(embed)]
    pub file: Attachment,
}

/// Returns the link of a token in any tenant: the address of a link names nothing else.
///
/// # Errors
/// When the database can't be reached.
pub async fn with_token(connection: &AsyncPgConnection, hash: [u8; 32]) -> Result<Option<Shared>> {
    let found = links::table
        .inner_join(
            attachments::table.on(attachments::tenant_id
                .eq(links::tenant_id)
                .and(attachments::id.eq(links::attachment_id))),
        )
        .filter(links::token_hash.eq(hash.to_vec()))
        .select((Link::as_select(), Attachment::as_select()));
    Ok(found.first(&mut &*connection).await.optional()?)
}

/// Counts a download; false if the link does not work any more.
///
/// # Errors
/// When the database can't be reached.
pub async fn count_download(connection: &mut AsyncPgConnection, link: &Link, now: Timestamp) -> Result<bool> {
    let live = live(link.tenant_id, now).filter(links::id.eq(link.id));
    let counted = update(live)
        .set((links::downloads.eq(links::downloads + 1), links::last_used_at.eq(now)))
        .prepared()
        .execute(connection)
        .await?;
    Ok(counted > 0)
}

const FORGET: &str = "\
delete from attachments_links where (tenant_id, id) in (
    select tenant_id, id from attachments_links where expires_at < $1 order by expires_at limit $2 for update skip locked)";

/// Deletes links that expired before an instant, at most this many. Returns their number.
///
/// # Errors
/// When the database can't be reached.
pub async fn forget(connection: &mut AsyncPgConnection, before: Timestamp, most: i64) -> Result<usize> {
    let statement = sql_query(FORGET).bind::<Timestamptz, _>(before).bind::<BigInt, _>(most);
    Ok(statement.execute(connection).await?)
}
