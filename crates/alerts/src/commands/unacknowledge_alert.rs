//! Withdraws the acknowledgement of an alert.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::{Feature, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, update};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::open;
use crate::acl;
use crate::model::Alert;
use crate::schema::alerts_alerts as alerts;

/// Removes the acknowledgement of an alert, which escalates again.
#[derive(Debug, Clone, Copy)]
pub struct UnacknowledgeAlert {
    /// The alert.
    pub alert: Uuid,
}

impl Command for UnacknowledgeAlert {
    const ID: &'static str = "alerts.alert.unacknowledge";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Withdraw acknowledgement of alert";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    type Entity = Alert;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.alert)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let row = open(tx, self.alert).await?;
        update(alerts::table.filter(alerts::tenant_id.eq(row.tenant_id)))
            .filter(alerts::id.eq(row.id))
            .set((
                alerts::acknowledged_at.eq(None::<Timestamp>),
                alerts::acknowledged_by.eq(None::<Uuid>),
                alerts::acknowledgement.eq(None::<String>),
                alerts::updated_at.eq(tx.now()),
            ))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}
