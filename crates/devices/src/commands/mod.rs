//! The commands on devices.

mod deactivate_device;
mod fields;
mod register_device;
mod update_device;

pub use deactivate_device::DeactivateDevice;
pub(crate) use fields::language_tag;
pub use fields::{DeviceFields, NewDevice, NewDeviceOfUser};
pub(crate) use register_device::MEANWHILE;
pub use register_device::RegisterDevice;
pub use update_device::UpdateDevice;
