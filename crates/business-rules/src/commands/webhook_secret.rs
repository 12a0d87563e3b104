//! Creates and revokes secrets of webhooks.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::{Feature, Rejection, RequestContext, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use diesel::sql_types::Uuid as SqlUuid;
use diesel::{ExpressionMethods, QueryDsl, insert_into, sql_query};
use diesel_async::RunQueryDsl;
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use uuid::Uuid;

use crate::acl;
use crate::model::{WEBHOOK_SECRET, WebhookSecret};
use crate::schema::business_rules_webhook_secrets as secrets;

/// What every secret begins with.
const PREFIX: &str = "whsec_";
/// Most live secrets of a tenant: the old and the new one of a rotation.
const MOST_LIVE: i64 = 2;

/// Creates a secret.
#[derive(Debug)]
pub struct CreateWebhookSecret {
    id: Uuid,
    tenant: Uuid,
    key: SecretSlice<u8>,
    text: SecretString,
    most_live: i64,
}

impl CreateWebhookSecret {
    /// Draws a secret for a tenant that has at most one.
    #[must_use]
    pub fn new(ctx: &RequestContext, tenant: Uuid) -> Self {
        let key = ctx.ids().random::<32>();
        Self {
            id: ctx.new_id(),
            tenant,
            key: key.to_vec().into(),
            text: format!("{PREFIX}{}", STANDARD.encode(key)).into(),
            most_live: MOST_LIVE,
        }
    }

    /// Draws the first secret of a tenant, which is created only if there is none.
    pub(crate) fn first(ctx: &RequestContext, tenant: Uuid) -> Self {
        Self {
            most_live: 1,
            ..Self::new(ctx, tenant)
        }
    }

    /// Returns the id.
    #[must_use]
    pub const fn id(&self) -> Uuid {
        self.id
    }

    /// Returns the secret: `whsec_` and 32 bytes in base64.
    #[must_use]
    pub const fn text(&self) -> &SecretString {
        &self.text
    }
}

impl Command for CreateWebhookSecret {
    const ID: &'static str = "business_rules.webhook_secret.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create webhook secret";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    const UNDOABLE: bool = false;
    type Entity = WebhookSecret;
    type Output = ();

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        if tx.scope().organizations.is_some() {
            return Err(Rejection::organization_out_of_scope().into());
        }
        let lock = sql_query(
            "select pg_advisory_xact_lock(hashtextextended('business_rules.webhook_secrets:' || $1::text, 0))",
        );
        Prepared(lock.bind::<SqlUuid, _>(self.tenant))
            .execute(tx.conn())
            .await?;
        let live: i64 = secrets::table
            .filter(secrets::tenant_id.eq(self.tenant))
            .filter(secrets::revoked_at.is_null())
            .count()
            .get_result(tx.conn())
            .await?;
        if live >= self.most_live {
            return Err(Rejection::conflict("At most two webhook secrets can be live")
                .code("webhook_secret_limit_reached")
                .into());
        }
        let vault = tx.context().platform().vault();
        let sealed = vault.seal(self.tenant, WEBHOOK_SECRET.of(self.id), self.key.expose_secret())?;
        let text = self.text.expose_secret();
        let now = tx.now();
        insert_into(secrets::table)
            .values((
                secrets::tenant_id.eq(self.tenant),
                secrets::id.eq(self.id),
                secrets::secret.eq(sealed),
                secrets::last4.eq(text.get(text.len().saturating_sub(4)..).unwrap_or_default()),
                secrets::created_at.eq(now),
                secrets::updated_at.eq(now),
            ))
            .prepared()
            .execute(tx.conn())
            .await?;
        tx.wrote_secret("secret");
        Ok(())
    }
}

/// Revokes a secret: later webhooks are not signed with it.
#[derive(Debug, Clone, Copy)]
pub struct DeleteWebhookSecret {
    /// The secret.
    pub id: Uuid,
}

impl Command for DeleteWebhookSecret {
    const ID: &'static str = "business_rules.webhook_secret.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Revoke webhook secret";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    const UNDOABLE: bool = false;
    type Entity = WebhookSecret;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        WebhookSecret::remove(tx, &[self.id]).await
    }
}
