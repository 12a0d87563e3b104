use backoffice_auth::protect_user;
use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Feature, Patch, Result};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::fields::{choose_provider, has_token, note_seen, take_stored_token, write_token};
use super::{DeviceFields, NewDevice};
use crate::acl;
use crate::model::{Device, PLATFORMS};
use crate::push::{Providers, own};
use crate::schema::devices_devices as devices;

/// Changes a device.
#[derive(Debug, Clone)]
pub struct UpdateDevice {
    id: Uuid,
    fields: DeviceFields,
    registration: Option<Registration>,
}

/// What a registration changes besides the fields.
#[derive(Debug, Clone)]
struct Registration {
    platform: Patch<String>,
    organization: Option<Uuid>,
}

impl UpdateDevice {
    /// Validates the changes.
    ///
    /// # Errors
    /// 400 with the invalid fields.
    pub fn new(id: Uuid, fields: DeviceFields) -> Result<Self> {
        let mut validator = Validator::default();
        fields.validate_update(&mut validator);
        validator.check()?;
        Ok(Self {
            id,
            fields,
            registration: None,
        })
    }

    /// Creates the changes that a registration makes to a live device: it overwrites the platform and the organization, which is that of the owner.
    /// A token that the device has already is no change, unless a device of another tenant has registered it since.
    ///
    /// # Errors
    /// 400 with the invalid fields.
    pub fn registered(id: Uuid, organization: Option<Uuid>, input: &NewDevice) -> Result<Self> {
        input.name()?;
        Ok(Self {
            id,
            fields: input.fields(),
            registration: Some(Registration {
                platform: input.platform.clone(),
                organization,
            }),
        })
    }
}

impl Command for UpdateDevice {
    const ID: &'static str = "devices.device.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update device";
    /// The guard of devices requires the feature that the owner or another caller needs.
    const FEATURES: &'static [Feature] = &[];
    const FEATURES_OF_OTHERS: &'static [Feature] = &[acl::ADMIN];
    type Entity = Device;
    /// Whether anything but the time at which the device was last seen has changed.
    type Output = bool;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<bool> {
        let rows = devices::table.filter(devices::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(devices::id.eq(self.id)).select(Device::as_select());
        let stored: Device = rows.first(tx.conn()).await?;
        let (mut row, mut validator) = (stored.clone(), Validator::default());
        self.fields.fill(&mut row, &mut validator);
        if let Some(registration) = &self.registration {
            let platform = &mut row.platform;
            validator.text("platform", &registration.platform, platform, rules::one_of(PLATFORMS));
            row.organization_id = registration.organization;
        }
        if self.fields.has_token() {
            choose_provider(tx, &mut row)?;
        }
        let providers = tx.context().call().provided::<Providers>()?;
        let changes_provider = row.differs_in_provider(&stored, &providers);
        // Token and provider decide who gets the push messages of the owner.
        if self.registration.is_some() && (self.fields.has_token() || changes_provider) {
            protect_user(tx, row.user_id).await?;
        }
        let seen = row.last_seen_at;
        row.last_seen_at = stored.last_seen_at;
        let differs = row != stored;
        if differs {
            row.last_seen_at = seen;
            if self.registration.is_some() {
                row.last_seen_at = Some(tx.context().now());
            }
            row.updated_at = tx.now();
            if changes_provider {
                match &self.fields.push_token {
                    Patch::Keep => take_stored_token(tx, &row).await?,
                    // Another device may have the former token with the new provider, and keeps it.
                    Patch::Clear | Patch::Set(_) => write_token(tx, &row, None).await?,
                }
            }
            row.write(tx).await?;
        }
        let token = match &self.fields.push_token {
            Patch::Keep => return Ok(differs),
            Patch::Clear => None,
            Patch::Set(token) => Some(token.trim()),
        };
        if let Some(token) = token
            && self.registration.is_some()
            && !changes_provider
            && has_token(tx, self.id, token).await?
            // A user of another tenant may have registered the token since.
            && !own(tx, self.id, row.provider(&providers), token).await?
        {
            return Ok(differs);
        }
        write_token(tx, &row, token).await?;
        tx.wrote_secret("pushToken");
        if !differs {
            let at = if self.registration.is_some() {
                Some(tx.context().now())
            } else {
                seen
            };
            note_seen(tx, self.id, at).await?;
        }
        Ok(true)
    }
}
