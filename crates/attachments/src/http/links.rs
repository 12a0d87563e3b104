//! Links to files for people without an account: an administrator creates a link, and anybody with its address downloads the file.

use backoffice_core::context::Call;
use backoffice_core::http::{
    Access, Conditions, Contents, Created, Done, FileResponse, Id, Json, Path, Pieces, Routes, given, requires,
};
use backoffice_core::identity::{ActorKind, Principal};
use backoffice_core::input::{Input, Validator};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{API_PREFIX, Rejection, RequestContext, Result, Scope, Timestamp, Visitor};
use futures_util::future::BoxFuture;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use time::Duration;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::file::original;
use super::link_page;
use super::reading::{self, Readable};
use crate::acl;
use crate::commands::{CreateLink, LinkToken, RevokeLink, require_share};
use crate::error::Error;
use crate::model::Link;
use crate::query::attachments::find;
use crate::query::links::{Shared, count_download, of_file, with_token};

/// Downloads by links from one address of the network.
pub(crate) const SHARED: RateLimit = RateLimit::new("attachments.shared.ip", 60, 60);

const PATH: &str = "/attachments/library/{id}/links";
/// Hours for which a link works by default.
const HOURS: i64 = 72;
/// Most hours for which a link works: 30 days.
const MOST_HOURS: i64 = 720;
/// Most downloads of a link with a bound.
const MOST_DOWNLOADS: i32 = 1000;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(PATH, requires(&[acl::SHARE]), list_attachment_links)
        .about("List the links to a file")
        .rejects(&[404]);
    routes
        .post(PATH, requires(&[acl::SHARE]), create_attachment_link)
        .about("Create a link to a file for people without an account")
        .one_time(&["url"])
        .rejects(&[404, 422]);
    routes
        .delete(
            "/attachments/links/{id}",
            requires(&[acl::SHARE]),
            revoke_attachment_link,
        )
        .about("Revoke a link to a file")
        .rejects(&[404, 422]);
    routes
        .get("/attachments/shared/{token}", Access::Public, get_shared_attachment)
        .downloads(&["*/*"])
        .without_tag()
        .rejects_as_page(link_page::rejection)
        .sends_headers(&[
            "Content-Disposition",
            "Content-Security-Policy",
            "Cross-Origin-Resource-Policy",
        ])
        .limit(SHARED)
        .about("The bytes of a file, by a link")
        .rejects(&[404]);
}

/// A link to a file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentLink)]
struct LinkItem {
    id: Uuid,
    created_at: Timestamp,
    /// The user who created it; null for an API key.
    created_by: Option<Uuid>,
    /// Time after which it no longer works.
    expires_at: Timestamp,
    /// Number of downloads after which it no longer works.
    max_downloads: Option<i32>,
    /// The downloads so far.
    downloads: i32,
    last_used_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

impl From<Link> for LinkItem {
    fn from(link: Link) -> Self {
        let is_user = link.creator_kind() == Some(ActorKind::User);
        Self {
            id: link.id,
            created_at: link.created_at,
            created_by: link.created_by.filter(|_| is_user),
            expires_at: link.expires_at,
            max_downloads: link.max_downloads,
            downloads: link.downloads,
            last_used_at: link.last_used_at,
            revoked_at: link.revoked_at,
        }
    }
}

/// The links to a file, live ones before others, the newest first, at most 200. They are deleted 30 days after they expire.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AttachmentLinks)]
struct LinkList {
    items: Vec<LinkItem>,
}

async fn list_attachment_links(ctx: RequestContext, path: Path<Id>) -> Result<Json<LinkList>> {
    let connection = ctx.read().await?;
    let file = find(&connection, ctx.scope(), path.0.id)
        .await?
        .ok_or(Error::NotFound)?;
    require_share(&ctx, &file.row)?;
    let links = of_file(&connection, ctx.scope(), path.0.id, ctx.now()).await?;
    Ok(Json(LinkList {
        items: links.into_iter().map(LinkItem::from).collect(),
    }))
}

/// For how long a link works.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewAttachmentLink)]
struct NewLink {
    /// Hours until it expires; 72 by default.
    #[serde(default, deserialize_with = "given")]
    #[schema(minimum = 1, maximum = 720, nullable = false)]
    expires_in_hours: Option<i64>,
    /// Number of downloads after which it no longer works; without a bound by default, and for null.
    #[schema(minimum = 1, maximum = 1000)]
    max_downloads: Option<i32>,
}

impl Input for NewLink {
    fn validate(&self, validator: &mut Validator) {
        if self
            .expires_in_hours
            .is_some_and(|hours| !(1..=MOST_HOURS).contains(&hours))
        {
            validator.reject("expiresInHours", "must be between 1 and 720", "out_of_range");
        }
        if self
            .max_downloads
            .is_some_and(|most| !(1..=MOST_DOWNLOADS).contains(&most))
        {
            validator.reject("maxDownloads", "must be between 1 and 1000", "out_of_range");
        }
    }
}

/// The created link.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreatedAttachmentLink)]
struct CreatedLink {
    id: Uuid,
    /// Where the file is, relative to the site, shown only once; null when the request is repeated with its `Idempotency-Key`.
    url: Option<String>,
    expires_at: Timestamp,
}

async fn create_attachment_link(
    ctx: RequestContext,
    path: Path<Id>,
    body: Json<NewLink>,
) -> Result<Created<CreatedLink>> {
    let mut validator = Validator::default();
    body.0.validate(&mut validator);
    validator.check()?;
    let attachment = path.0.id;
    let file = {
        let connection = ctx.read().await?;
        find(&connection, ctx.scope(), attachment).await?
    };
    let command = CreateLink {
        id: ctx.new_id(),
        tenant: file.ok_or(Error::NotFound)?.row.tenant_id,
        attachment,
        expires_at: ctx
            .now()
            .after(Duration::hours(body.0.expires_in_hours.unwrap_or(HOURS))),
        max_downloads: body.0.max_downloads,
        token: LinkToken::draw(ctx.ids()),
    };
    let response = |()| {
        Created(CreatedLink {
            id: command.id,
            url: Some(format!(
                "{API_PREFIX}/attachments/shared/{}",
                command.token.text.expose_secret()
            )),
            expires_at: command.expires_at,
        })
    };
    ctx.execute(&command, response).await
}

async fn revoke_attachment_link(ctx: RequestContext, path: Path<Id>) -> Result<Json<Done>> {
    ctx.execute(&RevokeLink { id: path.0.id }, |()| Json(Done::OK)).await
}

/// The token of a link.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct Token {
    /// The last part of the address of the link.
    token: String,
}

/// Rejects a token that is unknown or malformed, and a link that does not work any more, all alike.
fn not_found() -> backoffice_core::Error {
    Rejection::not_found("Link not found").into()
}

async fn get_shared_attachment(visitor: Visitor, path: Path<Token>, conditions: Conditions) -> Result<FileResponse> {
    let call = visitor.0;
    let shared = find_shared(&call, &path.0.token).await?.ok_or_else(not_found)?;
    let scope = Scope::tenant(shared.link.tenant_id);
    let found = reading::find(&call, shared.link.tenant_id, shared.file.id).await?;
    let file = Readable {
        // The headers are those of a private file.
        is_public: false,
        ..reading::opened(&call, found.ok_or_else(not_found)?)?
    };
    let mut download = original(file, true, &conditions).await?;
    download.etag = None;
    download.headers = reading::uncached(download.headers);
    let contents = download.contents;
    download.contents = Contents::Stream(Box::new(move |range| {
        let counted: BoxFuture<'static, Result<Pieces>> = Box::pin(async move {
            let begins = range.start == 0;
            // A file that can't be read is no download. What was opened is closed again if the link has no download left.
            let pieces = contents.open(range).await?;
            // Further ranges belong to the download that began with the first byte.
            if begins {
                let mut connection = call.database().unlogged(&scope).await?;
                if !count_download(&mut connection, &shared.link, call.now).await? {
                    return Err(not_found());
                }
            }
            Ok(pieces)
        });
        counted
    }));
    conditions.respond(download).await
}

/// Returns the link of a token, and its file, if the link works and its creator may still share the file. The creator is looked up even if there is
/// no such link, so that the response takes as long.
async fn find_shared(call: &Call, token: &str) -> Result<Option<Shared>> {
    let found = {
        let connection = call.database().read_briefly(&Scope::system()).await?;
        with_token(&connection, LinkToken::hash(token)).await?
    };
    let creator = found.as_ref().map_or(
        Principal {
            kind: ActorKind::User,
            tenant: Uuid::nil(),
            id: Uuid::nil(),
        },
        |shared| Principal {
            kind: shared.link.creator_kind().unwrap_or(ActorKind::User),
            tenant: shared.link.creator_tenant_id,
            id: shared.link.created_by.unwrap_or_default(),
        },
    );
    let tenant = found.as_ref().map_or(creator.tenant, |shared| shared.link.tenant_id);
    let creator = RequestContext::in_name_of(call, &creator, tenant).await?;
    let (Some(shared), Some(creator)) = (found, creator) else {
        return Ok(None);
    };
    let works = shared.link.is_live(call.now) && require_share(&creator, &shared.file).is_ok();
    Ok(works.then_some(shared))
}
