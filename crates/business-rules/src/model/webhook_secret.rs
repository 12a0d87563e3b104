//! Secrets with which webhooks are signed.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::vault::SealedColumn;
use backoffice_core::{Error, Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper, update};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::schema::business_rules_webhook_secrets as secrets;
use crate::{acl, query};

/// The sealed column with the secret.
pub(crate) const SECRET: SealedColumn = SealedColumn {
    table: "business_rules_webhook_secrets",
    column: "secret",
};

/// A secret of the whole tenant, without its value: the entity `business_rules.webhook_secret`. A revoked secret does not exist any more.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = secrets, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleWebhookSecret)]
pub struct WebhookSecret {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The last four characters.
    pub last4: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for WebhookSecret {
    const KIND: &'static str = "business_rules.webhook_secret";
    const SECRET: &'static [&'static str] = &["secret"];
    const NOT_FOUND: &'static str = "Webhook secret not found";
    const VIEW: Option<Feature> = Some(acl::MANAGE);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        // Secrets belong to the whole tenant.
        if locker.scope().organizations.is_some() {
            return Ok(Vec::new());
        }
        let live = query::webhooks::secrets_in_scope(locker.scope()).filter(secrets::id.one_of(ids));
        Ok(live
            .order(secrets::id)
            .select((secrets::id, secrets::tenant_id))
            .for_update()
            .load(&mut locker.connection())
            .await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = secrets::table.filter(secrets::tenant_id.eq(tx.tenant()));
        let rows = rows
            .filter(secrets::id.one_of(ids))
            .filter(secrets::revoked_at.is_null());
        let rows: Vec<Self> = rows.select(Self::as_select()).load(tx.conn()).await?;
        rows.iter()
            .map(|row| Ok((row.id, Snapshot::of(row)?.with_organization(None))))
            .collect()
    }

    /// No command on secrets can be undone, so no snapshot of one is ever restored.
    async fn store(_tx: &mut Tx<'_>, _snapshots: &[Snapshot]) -> Result<Vec<String>> {
        Err(Error::internal("webhook secrets cannot be restored"))
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let rows = secrets::table.filter(secrets::tenant_id.eq(tenant));
        update(rows.filter(secrets::id.one_of(ids)))
            .set((
                secrets::secret.eq(None::<Vec<u8>>),
                secrets::revoked_at.eq(now),
                secrets::updated_at.eq(now),
            ))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}
