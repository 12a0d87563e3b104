//! The public endpoint of a feed.

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH};
use actix_web::web::Bytes;
use backoffice_core::db::Recurring;
use backoffice_core::http::{Access, Path, Raw, Routes};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::text::hex;
use backoffice_core::{Error, Rejection, RequestContext, Result, Scope, Timestamp, Visitor, events};
use diesel::sql_query;
use diesel::sql_types::{Timestamptz, Uuid as SqlUuid};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use time::Duration;
use utoipa::IntoParams;

use super::content;
use crate::acl;
use crate::model::{FEED, Feed};
use crate::query::feeds;
use crate::token;

/// Requests of a network.
pub(super) const FEED_BY_IP: RateLimit = RateLimit::new("calendar.feed.ip", 60, 60);
/// The last use is stored at most this often.
const USE_NOTED: Duration = Duration::hours(1);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/calendar/feed/{token}", Access::Public, read_calendar_feed)
        .about("A feed in the format iCalendar, from 30 days ago to 365 days ahead")
        .limit(FEED_BY_IP)
        .produces(&["text/calendar; charset=utf-8"])
        .responses(&[304])
        .rejects(&[404]);
}

/// The token in the path.
#[derive(Debug, Deserialize, IntoParams)]
struct TokenPath {
    /// The token of the feed.
    token: String,
}

/// The response to every token that leads to no feed, whatever the reason.
fn not_found() -> Error {
    Rejection::not_found("Feed not found").code("feed_not_found").into()
}

async fn read_calendar_feed(visitor: Visitor, path: Path<TokenPath>, request: HttpRequest) -> Result<Raw> {
    metrics::counter!("calendar_feed_requests_total").increment(1);
    let hash = token::hash_of(&path.0.token).ok_or_else(not_found)?;
    let scope = Scope::system();
    let connection = visitor.database().read(&scope).await?;
    let feed = feeds::by_token(&connection, &scope, &hash).await?;
    drop(connection);
    let feed = feed.ok_or_else(not_found)?;
    let ctx = reader(&visitor, &feed).await?.ok_or_else(not_found)?;
    note_use(&ctx, &feed).await?;
    let connection = ctx.read().await?;
    let version = feeds::version(&connection, feed.tenant_id, content::KINDS).await?;
    let tag = entity_tag(&ctx, &feed, &format!("{version:?}"));
    if is_current(&request, &tag) {
        return response(StatusCode::NOT_MODIFIED, Bytes::new(), &tag);
    }
    let text = content::read(&connection, &ctx, &feed).await?;
    response(StatusCode::OK, text.into(), &tag)
}

/// Returns the user of a feed with their present rights; `None` if they may no longer see calendars.
async fn reader(visitor: &Visitor, feed: &Feed) -> Result<Option<RequestContext>> {
    let Some(ctx) = RequestContext::in_name_of(visitor, &feed.user(), feed.tenant_id).await? else {
        return Ok(None);
    };
    Ok(ctx.for_features(&[acl::VIEW]).ok())
}

/// Returns the tag of what the feed shows now: it depends on its rows, on the scope and rights of its user, and on the day.
fn entity_tag(ctx: &RequestContext, feed: &Feed, version: &str) -> String {
    let day = ctx.now().get().date();
    let rights = (ctx.rights(), ctx.scope());
    let seen = format!("{} {} {} {version} {day} {rights:?}", feed.id, feed.name, feed.filter);
    let digest: [u8; 32] = Sha256::digest(seen.as_bytes()).into();
    format!("W/\"{}\"", hex(&digest[..16]))
}

fn is_current(request: &HttpRequest, tag: &str) -> bool {
    let tags = request.headers().get_all(IF_NONE_MATCH);
    tags.filter_map(|value| value.to_str().ok())
        .any(|value| value.split(',').any(|one| opaque(one.trim()) == opaque(tag)))
}

/// Returns a tag without the mark of weak tags: the comparison of `If-None-Match` ignores it (RFC 9110, 13.1.2).
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

fn response(status: StatusCode, bytes: Bytes, tag: &str) -> Result<Raw> {
    let tag = HeaderValue::from_str(tag).map_err(|error| Error::Internal(Box::new(error)))?;
    let cache = HeaderValue::from_static("private, max-age=300");
    Ok(Raw {
        status,
        content_type: "text/calendar; charset=utf-8",
        bytes,
        headers: vec![(ETAG, tag), (CACHE_CONTROL, cache)],
    })
}

const NOTE_USE: &str = "update calendar_feeds set last_used_at = $3 where tenant_id = $1 and id = $2";

/// Stores the time of a use, also of one that finds the feed unchanged: calendar programs ask for changes most of the time.
async fn note_use(ctx: &RequestContext, feed: &Feed) -> Result<()> {
    // Only here: its `execute` would hide that of contexts.
    use diesel_async::RunQueryDsl;

    let now: Timestamp = ctx.now();
    if feed.last_used_at.is_some_and(|last| now < last.after(USE_NOTED)) {
        return Ok(());
    }
    let mut transaction = ctx.database().transaction(&Scope::tenant(feed.tenant_id)).await?;
    sql_query(NOTE_USE)
        .bind::<SqlUuid, _>(feed.tenant_id)
        .bind::<SqlUuid, _>(feed.id)
        .bind::<Timestamptz, _>(now)
        .prepared()
        .execute(transaction.connection())
        .await?;
    events::touch(transaction.connection(), ctx.call(), feed.tenant_id, &[FEED]).await?;
    transaction.commit().await
}
