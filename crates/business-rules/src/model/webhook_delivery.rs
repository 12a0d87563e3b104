//! Deliveries of webhooks.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Error, Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::documented::{BusinessRuleWebhookMethod, BusinessRuleWebhookStatus};
use crate::schema::business_rules_webhook_deliveries as deliveries;
use crate::{acl, query};

/// A webhook that was sent or is to be sent, without headers and body: the entity `business_rules.webhook_delivery`.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = deliveries, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleWebhookDelivery)]
pub struct WebhookDelivery {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id, which is also sent as `webhook-id`.
    pub id: Uuid,
    /// The organization of the rule; null for the whole tenant.
    #[schema(required = true)]
    pub organization_id: Option<Uuid>,
    /// The rule.
    pub rule_id: Uuid,
    /// The run in whose course the rule queued it.
    pub run_id: Uuid,
    /// The address.
    pub url: String,
    /// The method.
    #[schema(value_type = BusinessRuleWebhookMethod)]
    pub method: String,
    /// `pending`, `sent` or `failed`.
    #[schema(value_type = BusinessRuleWebhookStatus)]
    pub status: String,
    /// Number of attempts.
    pub attempts: i32,
    /// Earliest time of the next attempt of a pending delivery.
    pub next_attempt_at: Timestamp,
    /// Status of the last response.
    #[schema(required = true)]
    pub response_status: Option<i32>,
    /// Why the last attempt failed.
    #[schema(required = true)]
    pub error: Option<String>,
    /// Time at which it was queued.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for WebhookDelivery {
    const KIND: &'static str = "business_rules.webhook_delivery";
    const SECRET: &'static [&'static str] = &["headers", "body", "batchId"];
    const NOT_FOUND: &'static str = "Webhook delivery not found";
    const VIEW: Option<Feature> = Some(acl::VIEW_LOGS);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::webhooks::deliveries_in_scope(locker.scope()).filter(deliveries::id.one_of(ids));
        Ok(visible
            .order(deliveries::id)
            .select((deliveries::id, deliveries::tenant_id))
            .for_update()
            .load(&mut locker.connection())
            .await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = deliveries::table.filter(deliveries::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(deliveries::id.one_of(ids)).select(Self::as_select());
        let rows: Vec<Self> = rows.load(tx.conn()).await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    /// No command on deliveries can be undone, so no snapshot of one is ever restored.
    async fn store(_tx: &mut Tx<'_>, _snapshots: &[Snapshot]) -> Result<Vec<String>> {
        Err(Error::internal("webhook deliveries cannot be restored"))
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = deliveries::table.filter(deliveries::tenant_id.eq(tx.tenant()));
        delete(rows.filter(deliveries::id.one_of(ids)))
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}
