//! The alerts of written assignments.

use backoffice_core::Result;
use backoffice_core::command::Tx;
use futures_util::future::BoxFuture;
use uuid::Uuid;

/// Returns the ids of the open alerts that contain any of these assignments of the transaction's tenant, each once.
pub type FindAlerts = for<'a> fn(&'a mut Tx<'_>, &'a [Uuid]) -> BoxFuture<'a, Result<Vec<Uuid>>>;

/// Finds the open alerts that contain assignments. The module that keeps alerts registers it with
/// [`Registry::extend`](backoffice_core::registry::Registry::extend); without it, responses contain no alerts.
#[derive(Debug, Clone, Copy)]
pub struct AlertsOf {
    /// Finds alerts.
    pub find: FindAlerts,
}

/// Returns the open alerts that contain these assignments, by id.
pub(super) async fn alerts_of(tx: &mut Tx<'_>, assignments: &[Uuid]) -> Result<Vec<Uuid>> {
    let mut alerts = Vec::new();
    let known = tx.context().platform().extensions::<AlertsOf>().copied();
    for one in known.collect::<Vec<AlertsOf>>() {
        alerts.extend((one.find)(tx, assignments).await?);
    }
    alerts.sort_unstable();
    alerts.dedup();
    Ok(alerts)
}
