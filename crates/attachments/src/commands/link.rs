//! Creates and revokes links. Neither can be undone, because a link is a credential.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::ids::Ids;
use backoffice_core::{Feature, Rejection, RequestContext, Result, Timestamp};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper, insert_into, update};
use diesel_async::RunQueryDsl;
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::error::Error;
use crate::model::{Attachment, Link};
use crate::query::attachments::in_scope;
use crate::query::links::count_live;
use crate::schema::{attachments_attachments as attachments, attachments_links as links};
use crate::{acl, hosts};

/// Most live links of a file.
const MOST_LINKS: i64 = 50;

/// A new token: 32 random bytes as base64url. Its text exists only here and in the response that shows it.
#[derive(Debug, Clone)]
pub struct LinkToken {
    /// The token.
    pub text: SecretString,
    hash: [u8; 32],
}

impl LinkToken {
    /// Draws a token.
    #[must_use]
    pub fn draw(ids: &Ids) -> Self {
        let text = URL_SAFE_NO_PAD.encode(ids.random::<32>());
        Self {
            hash: Self::hash(&text),
            text: text.into(),
        }
    }

    /// Returns what is stored of a token.
    #[must_use]
    pub fn hash(text: &str) -> [u8; 32] {
        Sha256::digest(text).into()
    }
}

/// Creates a link to a file.
#[derive(Debug, Clone)]
pub struct CreateLink {
    /// The id of the link.
    pub id: Uuid,
    /// The tenant.
    pub tenant: Uuid,
    /// The file.
    pub attachment: Uuid,
    /// Time after which the link no longer works.
    pub expires_at: Timestamp,
    /// Number of downloads after which it no longer works.
    pub max_downloads: Option<i32>,
    /// The token.
    pub token: LinkToken,
}

impl Command for CreateLink {
    const ID: &'static str = "attachments.link.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Share file by link";
    const FEATURES: &'static [Feature] = &[acl::SHARE];
    const UNDOABLE: bool = false;
    type Entity = Link;
    type Output = ();

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let file = in_scope(tx.context().scope())
            .filter(attachments::id.eq(self.attachment))
            .select(Attachment::as_select())
            .for_no_key_update();
        let file: Option<Attachment> = file.first(tx.conn()).await.optional()?;
        let file = file.ok_or(Error::NotFound)?;
        require_share(tx.context(), &file)?;
        let now = tx.now();
        if count_live(tx, self.attachment).await? >= MOST_LINKS {
            let text = format!("at most {MOST_LINKS} live links to a file are possible");
            return Err(Rejection::bad_request(text).code("too_many_links").into());
        }
        let creator = tx.context().identity();
        let row = (
            links::tenant_id.eq(self.tenant),
            links::id.eq(self.id),
            links::attachment_id.eq(self.attachment),
            links::token_hash.eq(self.token.hash.to_vec()),
            links::expires_at.eq(self.expires_at),
            links::max_downloads.eq(self.max_downloads),
            links::downloads.eq(0),
            links::creator_kind.eq(creator.kind.as_str()),
            links::creator_tenant_id.eq(creator.tenant),
            links::created_by.eq(creator.id),
            links::created_at.eq(now),
            links::updated_at.eq(now),
        );
        insert_into(links::table)
            .values(row)
            .prepared()
            .execute(tx.conn())
            .await?;
        tx.wrote_secret("tokenHash");
        Ok(())
    }
}

/// Checks that the caller may share a file: with the feature for it, and those to see its record.
///
/// # Errors
/// 403 that names the features.
pub(crate) fn require_share(ctx: &RequestContext, file: &Attachment) -> Result<()> {
    hosts::require(ctx, &[acl::SHARE], file.organization_id)?;
    hosts::require_view(ctx, file)
}

/// Ends a link.
#[derive(Debug, Clone, Copy)]
pub struct RevokeLink {
    /// The link.
    pub id: Uuid,
}

impl Command for RevokeLink {
    const ID: &'static str = "attachments.link.revoke";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Revoke link to file";
    const FEATURES: &'static [Feature] = &[acl::SHARE];
    const UNDOABLE: bool = false;
    type Entity = Link;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let link = Link::read(tx, &[self.id]).await?.pop();
        let link = link
            .filter(|link| link.revoked_at.is_none())
            .ok_or_else(|| Rejection::not_found(Link::NOT_FOUND))?;
        let file = Attachment::read(tx, &[link.attachment_id]).await?.pop();
        require_share(tx.context(), &file.ok_or(Error::NotFound)?)?;
        let (tenant, now) = (tx.tenant(), tx.now());
        let own = links::table
            .filter(links::tenant_id.eq(tenant))
            .filter(links::id.eq(self.id));
        update(own)
            .set((links::revoked_at.eq(now), links::updated_at.eq(now)))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}
