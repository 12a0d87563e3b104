//! Devices that undo and redo restore, change or remove.

use std::collections::BTreeSet;

use backoffice_auth::{lock_user, protect_user};
use backoffice_core::command::{Entity, Snapshot, Transition, Tx};
use backoffice_core::{Error, Rejection, Result};
use diesel::dsl::count_star;
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::Device;
use crate::DevicesConfig;
use crate::push::Providers;
use crate::schema::devices_devices as devices;

/// A device that undo or redo has restored.
#[derive(Debug)]
pub(crate) struct RestoredDevice {
    owner: Uuid,
}

/// Rejects the removal of a device and the change of its provider if its owner holds more than the caller: both decide who gets the push messages of the
/// owner. A restored device has no token, so its return decides nothing. The number of live devices is checked at the end of the transaction, because a
/// redo restores a device before it removes the one that the device replaces.
pub(super) async fn validate(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
    let row = |snapshot: Option<&Snapshot>| snapshot.map(Snapshot::row::<Device>).transpose();
    match (row(step.from)?, row(step.to)?) {
        (None, Some(to)) => {
            tx.defer(RestoredDevice { owner: to.user_id });
            Ok(())
        }
        (Some(from), to) => {
            let providers = tx.context().call().provided::<Providers>()?;
            if to.is_some_and(|to| !to.differs_in_provider(&from, &providers)) {
                return Ok(());
            }
            protect_user(tx, from.user_id).await
        }
        (None, None) => Ok(()),
    }
}

/// Checks the owners of restored devices: they are not deleted, and have no more live devices than the limit. Registrations lock the owner too.
///
/// # Errors
/// 400 `undo_conflict`.
pub(crate) async fn check_restored(tx: &mut Tx<'_>, restored: Vec<RestoredDevice>) -> Result<()> {
    let most = tx.context().call().provided::<DevicesConfig>()?.max_per_user;
    let tenant = tx.tenant();
    let owners: BTreeSet<Uuid> = restored.into_iter().map(|device| device.owner).collect();
    for owner in owners {
        let locked = lock_user(tx.shared(), tenant, owner).await;
        locked.map_err(|error| match error {
            Error::Rejected(_) => Rejection::undo_conflict(&["userId"]).into(),
            failed => failed,
        })?;
        let live: i64 = devices::table
            .filter(devices::tenant_id.eq(tenant))
            .filter(devices::user_id.eq(owner))
            .filter(devices::deleted_at.is_null())
            .select(count_star())
            .get_result(tx.conn())
            .await?;
        if live > i64::from(most) {
            return Err(Rejection::undo_conflict(&[Device::KIND]).into());
        }
    }
    Ok(())
}
