//! Sends a failed webhook again.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::jobs::{NewJob, enqueue_with};
use backoffice_core::{Feature, Rejection, Result};
use diesel::{ExpressionMethods, QueryDsl, update};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::acl;
use crate::model::WebhookDelivery;
use crate::schema::business_rules_webhook_deliveries as deliveries;
use crate::webhooks::SendWebhooks;

/// Queues a failed delivery again, with all its attempts.
#[derive(Debug, Clone, Copy)]
pub struct RetryWebhookDelivery {
    /// The delivery.
    pub id: Uuid,
}

impl Command for RetryWebhookDelivery {
    const ID: &'static str = "business_rules.webhook_delivery.retry";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Retry webhook";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    const UNDOABLE: bool = false;
    type Entity = WebhookDelivery;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let (tenant, now, batch) = (tx.tenant(), tx.now(), tx.new_id());
        let failed = deliveries::table
            .filter(deliveries::tenant_id.eq(tenant))
            .filter(deliveries::id.eq(self.id))
            .filter(deliveries::status.eq("failed"));
        let queued = update(failed)
            .set((
                deliveries::status.eq("pending"),
                deliveries::attempts.eq(0),
                deliveries::batch_id.eq(batch),
                deliveries::next_attempt_at.eq(tx.context().now()),
                deliveries::error.eq(None::<String>),
                deliveries::updated_at.eq(now),
            ))
            .prepared()
            .execute(tx.conn())
            .await?;
        if queued == 0 {
            return Err(Rejection::conflict("Only failed deliveries can be sent again")
                .code("webhook_delivery_not_failed")
                .into());
        }
        enqueue_with(tx, &NewJob::of_system(tenant, SendWebhooks { batch })).await?;
        Ok(())
    }
}
