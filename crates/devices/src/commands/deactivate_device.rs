use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::model::Device;

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
        Device::remove(tx, &[self.id]).await
    }
}
