use backoffice_auth::{lock_user, protect_user};
use backoffice_core::command::{Class, Command, Entity, EntityRef, Target, Tx};
use backoffice_core::events::Event;
use backoffice_core::input::Validator;
use backoffice_core::{Feature, Patch, Rejection, RequestContext, Result};
use diesel::{ExpressionMethods, PgSortExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::NewDevice;
use super::fields::{choose_provider, write_token};
use crate::model::Device;
use crate::query::{self, Registered};
use crate::schema::devices_devices as devices;
use crate::{DevicesConfig, acl};

/// Code of the 409 for a device that another request registered or deactivated at the same time.
pub(crate) const MEANWHILE: &str = "device_changed_meanwhile";
/// Most devices that one registration deactivates.
const MOST_DEACTIVATED: i64 = 100;

/// The devices that a registration deactivates. The bus locks them and takes their snapshots, so the registration changes these and no others, even if one of
/// them is seen in the meantime.
struct Surplus(Vec<Uuid>);

/// Registers a new device, or one that was deactivated, which keeps its id and the time of its first registration.
#[derive(Debug, Clone)]
pub struct RegisterDevice {
    tenant: Uuid,
    id: Uuid,
    owner: Uuid,
    organization: Option<Uuid>,
    name: String,
    input: NewDevice,
    is_revived: bool,
    accepted_language: Option<String>,
}

impl RegisterDevice {
    /// Validates the input. `owner` is the user with their own organization, `deactivated` the id of their deactivated device of this name,
    /// `accepted_language` the locale of a new device whose registration names none.
    ///
    /// # Errors
    /// 400 with the invalid fields, or without a tenant.
    pub fn new(
        ctx: &RequestContext,
        owner: (Uuid, Option<Uuid>),
        input: &NewDevice,
        deactivated: Option<Uuid>,
        accepted_language: Option<String>,
    ) -> Result<Self> {
        Ok(Self {
            tenant: ctx.tenant()?,
            id: deactivated.unwrap_or_else(|| ctx.new_id()),
            owner: owner.0,
            organization: owner.1,
            name: input.name()?,
            input: input.clone(),
            is_revived: deactivated.is_some(),
            accepted_language,
        })
    }

    /// Returns the id.
    #[must_use]
    pub const fn id(&self) -> Uuid {
        self.id
    }

    /// Returns the row before the registration, with the present organization of its owner: a new one, or the deactivated one.
    async fn blank(&self, tx: &mut Tx<'_>) -> Result<Device> {
        if self.is_revived {
            let row = devices::table.filter(devices::tenant_id.eq(self.tenant));
            let row = row.filter(devices::id.eq(self.id)).select(Device::as_select());
            return Ok(Device {
                organization_id: self.organization,
                ..row.first(tx.conn()).await?
            });
        }
        Ok(Device {
            tenant_id: self.tenant,
            id: self.id,
            user_id: self.owner,
            organization_id: self.organization,
            locale: self.accepted_language.clone(),
            created_at: tx.now(),
            ..Device::unknown()
        })
    }

    /// Returns the devices of the owner that the registration deactivates: those seen longest ago, beyond the limit.
    async fn surplus(&self, tx: &mut Tx<'_>) -> Result<Vec<Uuid>> {
        let most = tx.context().call().provided::<DevicesConfig>()?.max_per_user;
        Ok(devices::table
            .filter(devices::tenant_id.eq(self.tenant))
            .filter(devices::user_id.eq(self.owner))
            .filter(devices::deleted_at.is_null())
            .order((devices::last_seen_at.desc().nulls_last(), devices::id))
            .offset(i64::from(most) - 1)
            .limit(MOST_DEACTIVATED)
            .select(devices::id)
            .load(tx.conn())
            .await?)
    }

    /// Rejects the registration if the device was registered, revived or deleted since the command was created.
    async fn check_unchanged(&self, tx: &Tx<'_>) -> Result<()> {
        let found = query::registered(tx.shared(), self.tenant, self.owner, &self.name).await?;
        let is_unchanged = match found {
            None => !self.is_revived,
            Some(Registered { id, is_live }) => self.is_revived && id == self.id && !is_live,
        };
        if is_unchanged {
            return Ok(());
        }
        Err(Rejection::conflict("The device was changed by another request")
            .code(MEANWHILE)
            .into())
    }
}

impl Command for RegisterDevice {
    const ID: &'static str = "devices.device.register";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Register device";
    /// The guard of devices requires the feature that the owner or another caller needs.
    const FEATURES: &'static [Feature] = &[];
    const FEATURES_OF_OTHERS: &'static [Feature] = &[acl::ADMIN];
    const LOCKS_FIRST: bool = true;
    type Entity = Device;
    type Output = ();

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    /// Locks the owner, and finds the devices beyond the limit: those seen longest ago.
    async fn affects_behind_lock(&self, tx: &mut Tx<'_>) -> Result<Vec<EntityRef>> {
        lock_user(tx.shared(), self.tenant, self.owner).await?;
        self.check_unchanged(tx).await?;
        let surplus = self.surplus(tx).await?;
        let kind = Device::KIND;
        let affected = surplus.iter().map(|id| EntityRef { kind, id: *id }).collect();
        tx.keep(Surplus(surplus));
        Ok(affected)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let surplus = tx.take_kept::<Surplus>().map_or_else(Vec::new, |Surplus(ids)| ids);
        if !surplus.is_empty() || self.input.fields().has_token() {
            protect_user(tx, self.owner).await?;
        }
        if !surplus.is_empty() {
            Device::remove(tx, &surplus).await?;
        }
        let mut row = self.blank(tx).await?;
        self.input.fill(&mut row, &mut Validator::default());
        row.last_seen_at = Some(tx.context().now());
        row.updated_at = tx.now();
        if self.input.fields().has_token() {
            choose_provider(tx, &mut row)?;
        }
        row.write(tx).await?;
        if let Patch::Set(token) = &self.input.push_token {
            write_token(tx, &row, Some(token.trim())).await?;
        }
        let event = Event::new("devices.device.registered", self.id)
            .with("deviceId", row.device_id.as_str())
            .with("platform", row.platform.as_str())
            .with("revived", self.is_revived);
        tx.emit(event.for_principal(self.owner));
        Ok(())
    }
}
