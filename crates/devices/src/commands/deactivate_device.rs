use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::events::Event;
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::acl;
use crate::model::Device;
use crate::schema::devices_devices as devices;

/// Deactivates a device and destroys its token. Registering the device again revives it.
#[derive(Debug, Clone)]
pub struct DeactivateDevice {
    /// The device.
    pub id: Uuid,
}

impl Command for DeactivateDevice {
    const ID: &'static str = "devices.device.deactivate";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Deactivate device";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    const UNDOABLE: bool = false;
    type Entity = Device;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let row = devices::table
            .filter(devices::tenant_id.eq(tx.tenant()))
            .filter(devices::id.eq(self.id))
            .select(devices::user_id);
        let owner: Uuid = row.first(tx.conn()).await?;
        Device::remove(tx, &[self.id]).await?;
        tx.emit(Event::new("devices.device.deactivated", self.id).for_principal(owner));
        Ok(())
    }
}
