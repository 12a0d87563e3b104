//! Commands: what a user decides about an alert for everybody.

mod acknowledge_alert;
mod unacknowledge_alert;

pub use acknowledge_alert::{AcknowledgeAlert, Acknowledgement};
pub use unacknowledge_alert::UnacknowledgeAlert;

use backoffice_core::command::Tx;
use backoffice_core::{Rejection, Result};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::model::Alert;
use crate::schema::alerts_alerts as alerts;

/// Returns the locked alert, unless it is resolved.
async fn open(tx: &mut Tx<'_>, id: Uuid) -> Result<Alert> {
    let row: Alert = alerts::table
        .filter(alerts::tenant_id.eq(tx.tenant()))
        .filter(alerts::id.eq(id))
        .select(Alert::as_select())
        .first(tx.conn())
        .await?;
    if row.is_resolved(tx.context().now()) {
        return Err(Rejection::conflict("The alert is resolved")
            .code("alert_resolved")
            .into());
    }
    Ok(row)
}
