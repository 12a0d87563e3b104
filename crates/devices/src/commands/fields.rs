//! The fields of devices in requests.

use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;
use backoffice_core::input::rules::Violation;
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Patch, Rejection, Result, Timestamp};
use diesel::dsl::exists;
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, select, update};
use diesel_async::RunQueryDsl;
use secrecy::ExposeSecret;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::documented::{
    DeviceLocale, DeviceName, DevicePlatform, DeviceProvider, DeviceToken, DeviceVersion, LONGEST_DEVICE_ID,
    LONGEST_LOCALE, LONGEST_PROVIDER, LONGEST_TOKEN, LONGEST_VERSION,
};
use crate::model::{Device, PLATFORMS, PUSH_TOKEN};
use crate::push::{Providers, Subscription, WEBPUSH, own};
use crate::schema::devices_devices as devices;

/// The changes of a device: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceFields {
    /// At most 64 characters.
    #[schema(value_type = Option<DeviceVersion>)]
    pub client_app_version: Patch<String>,
    /// At most 64 characters.
    #[schema(value_type = Option<DeviceVersion>)]
    pub os_version: Patch<String>,
    /// Language tag (BCP 47), at most 35 characters.
    #[schema(value_type = Option<DeviceLocale>)]
    pub locale: Patch<String>,
    /// Token for push messages, 1 to 4096 characters; of `webpush` the JSON of a `PushSubscription`. No response shows it. Null removes it.
    #[schema(value_type = Option<DeviceToken>)]
    pub push_token: Patch<String>,
    /// Name of the provider of push messages, at most 32 characters. A device without one gets the default of its platform with a token.
    #[schema(value_type = Option<DeviceProvider>)]
    pub push_provider: Patch<String>,
    /// Time at which the user was last active on the device.
    #[schema(value_type = Option<Timestamp>)]
    pub last_seen_at: Patch<Timestamp>,
}

/// A device to register.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NewDevice {
    /// The name that the client gives to the device, 1 to 255 characters without surrounding white space.
    #[schema(value_type = DeviceName, required = true)]
    pub device_id: Patch<String>,
    /// `ios`, `android` or `web`.
    #[schema(value_type = DevicePlatform, required = true)]
    pub platform: Patch<String>,
    /// The owner: the caller, or for administrators another user of the tenant.
    #[schema(value_type = Option<Uuid>)]
    pub user_id: Patch<Uuid>,
    /// At most 64 characters.
    #[schema(value_type = Option<DeviceVersion>)]
    pub client_app_version: Patch<String>,
    /// At most 64 characters.
    #[schema(value_type = Option<DeviceVersion>)]
    pub os_version: Patch<String>,
    /// Language tag (BCP 47), at most 35 characters.
    #[schema(value_type = Option<DeviceLocale>)]
    pub locale: Patch<String>,
    /// Token for push messages, 1 to 4096 characters; of `webpush` the JSON of a `PushSubscription`. No response shows it. Null keeps the stored one.
    #[schema(value_type = Option<DeviceToken>)]
    pub push_token: Patch<String>,
    /// Name of the provider of push messages, at most 32 characters. Null keeps the stored one; a device without one gets the default of its platform
    /// with its token.
    #[schema(value_type = Option<DeviceProvider>)]
    pub push_provider: Patch<String>,
}

/// A device of another user to register.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct NewDeviceOfUser(pub NewDevice);

impl Input for NewDeviceOfUser {
    fn require(&self, validator: &mut Validator) {
        self.0.require(validator);
        validator.require("userId", &self.0.user_id);
    }

    fn validate(&self, validator: &mut Validator) {
        self.0.validate(validator);
        validator.value("userId", &self.0.user_id, &mut Uuid::nil(), rules::any);
    }
}

impl DeviceFields {
    /// Validates the given fields and writes them into the row. The token is not part of it.
    pub(super) fn fill(&self, row: &mut Device, validator: &mut Validator) {
        let (app, os) = (&mut row.client_app_version, &mut row.os_version);
        validator.optional_text(
            "clientAppVersion",
            &self.client_app_version,
            app,
            rules::line(LONGEST_VERSION),
        );
        validator.optional_text("osVersion", &self.os_version, os, rules::line(LONGEST_VERSION));
        validator.optional_text("locale", &self.locale, &mut row.locale, language_tag);
        let provider = &mut row.push_provider;
        validator.optional_text(
            "pushProvider",
            &self.push_provider,
            provider,
            rules::line(LONGEST_PROVIDER),
        );
        let mut token = String::new();
        if !self.push_token.is_clear() {
            validator.text("pushToken", &self.push_token, &mut token, |text| self.token(text));
        }
        validator.optional("lastSeenAt", &self.last_seen_at, &mut row.last_seen_at, rules::any);
    }
}

impl DeviceFields {
    /// Accepts a token. A token for browsers is a subscription; further rules of the providers are checked by the commands.
    fn token(&self, text: &str) -> Result<String, Violation> {
        let token = rules::line(LONGEST_TOKEN)(text)?;
        if matches!(&self.push_provider, Patch::Set(name) if name.trim() == WEBPUSH) {
            Subscription::parse(&token).map_err(Violation::invalid)?;
        }
        Ok(token)
    }

    /// Returns whether the fields contain a token.
    pub(super) const fn has_token(&self) -> bool {
        matches!(self.push_token, Patch::Set(_))
    }
}

impl Input for DeviceFields {
    fn validate(&self, validator: &mut Validator) {
        self.fill(&mut Device::unknown(), validator);
    }
}

impl NewDevice {
    /// Returns the fields that may also be updated. A registration removes neither the token nor the provider.
    pub(super) fn fields(&self) -> DeviceFields {
        let given = |field: &Patch<String>| match field {
            Patch::Set(text) => Patch::Set(text.clone()),
            Patch::Keep | Patch::Clear => Patch::Keep,
        };
        DeviceFields {
            client_app_version: self.client_app_version.clone(),
            os_version: self.os_version.clone(),
            locale: self.locale.clone(),
            push_token: given(&self.push_token),
            push_provider: given(&self.push_provider),
            last_seen_at: Patch::Keep,
        }
    }

    /// Validates the given fields and writes them into the row. The token is not part of it.
    pub(super) fn fill(&self, row: &mut Device, validator: &mut Validator) {
        let name = &mut row.device_id;
        validator.text("deviceId", &self.device_id, name, rules::line(LONGEST_DEVICE_ID));
        validator.text("platform", &self.platform, &mut row.platform, rules::one_of(PLATFORMS));
        self.fields().fill(row, validator);
    }

    /// Returns the name that the client gives to the device.
    ///
    /// # Errors
    /// 400 with all invalid fields of the registration.
    pub(crate) fn name(&self) -> Result<String> {
        let (mut row, mut validator) = (Device::unknown(), Validator::default());
        self.require(&mut validator);
        self.fill(&mut row, &mut validator);
        validator.check().map(|()| row.device_id)
    }
}

impl Input for NewDevice {
    fn require(&self, validator: &mut Validator) {
        validator.require("deviceId", &self.device_id);
        validator.require("platform", &self.platform);
    }

    fn validate(&self, validator: &mut Validator) {
        self.fill(&mut Device::unknown(), validator);
    }
}

/// Accepts a language tag such as `pt-BR`: a language of 2 to 8 letters, which may be followed by groups of 1 to 8 letters or digits. The parts are
/// separated by `-` or `_`. The tag has at most 35 characters.
pub(crate) fn language_tag(text: &str) -> Result<String, Violation> {
    let mut groups = text.split(['-', '_']);
    let language = groups.next().unwrap_or_default();
    let is_group =
        |group: &str| (1..=8).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_language = (2..=8).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_alphabetic());
    if text.len() > LONGEST_LOCALE {
        return Err(Violation::new(
            format!("must be at most {LONGEST_LOCALE} characters"),
            "too_long",
        ));
    }
    if !is_language || !groups.all(is_group) {
        return Err(Violation::invalid("must be a language tag such as pl or pt-BR"));
    }
    Ok(text.to_owned())
}

/// Writes the time at which a device was last seen.
pub(super) async fn note_seen(tx: &mut Tx<'_>, id: Uuid, at: Option<Timestamp>) -> Result<()> {
    let own = devices::table.filter(devices::tenant_id.eq(tx.tenant()));
    update(own.filter(devices::id.eq(id)))
        .set(devices::last_seen_at.eq(at))
        .prepared()
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Returns whether the row has this token already.
pub(super) async fn has_token(tx: &mut Tx<'_>, id: Uuid, token: &str) -> Result<bool> {
    let tenant = tx.tenant();
    let hash = tx
        .context()
        .platform()
        .vault()
        .fingerprint(tenant, PUSH_TOKEN, token.as_bytes())?;
    let own = devices::table
        .filter(devices::tenant_id.eq(tenant))
        .filter(devices::id.eq(id));
    let same = own.filter(devices::push_token_hash.eq(hash.to_vec()));
    Ok(select(exists(same)).get_result(tx.conn()).await?)
}

/// Takes the token that the row has already from other devices, before the row is written with another provider.
///
/// # Errors
/// 400 if it can't be a token of that provider.
pub(super) async fn take_stored_token(tx: &mut Tx<'_>, row: &Device) -> Result<()> {
    let token = devices::table
        .filter(devices::tenant_id.eq(tx.tenant()))
        .filter(devices::id.eq(row.id))
        .select((devices::push_token_hash, devices::push_token));
    let stored: (Option<Vec<u8>>, Option<Vec<u8>>) = token.first(tx.conn()).await?;
    let (Some(hash), Some(sealed)) = stored else {
        return Ok(());
    };
    let vault = tx.context().platform().vault();
    let opened = vault.open(tx.tenant(), PUSH_TOKEN.of(row.id), &sealed)?;
    let token = String::from_utf8_lossy(opened.expose_secret()).into_owned();
    let providers = tx.context().call().provided::<Providers>()?;
    let provider = row.provider(&providers);
    if providers.broken_rule(provider, &token).is_some() {
        let text = "does not accept the stored token; send a token of this provider too";
        return Err(Rejection::invalid_field("pushProvider", text, "invalid_value").into());
    }
    take_token(tx, row, &providers, &hash).await?;
    own(tx, row.id, provider, &token).await?;
    Ok(())
}

/// Sets the provider of a device that gets a token and has no provider: the default of the platform.
pub(super) fn choose_provider(tx: &Tx<'_>, row: &mut Device) -> Result<()> {
    if row.push_provider.is_none() {
        let providers = tx.context().call().provided::<Providers>()?;
        row.push_provider = Some(providers.default_of(&row.platform).to_owned());
    }
    Ok(())
}

/// Removes a token of the row's provider from all other live devices of the tenant. A device without a provider has the default of its platform.
async fn take_token(tx: &mut Tx<'_>, row: &Device, providers: &Providers, hash: &[u8]) -> Result<()> {
    let none = None::<Vec<u8>>;
    let provider = row.provider(providers);
    let by_default = devices::platform.eq_any(providers.platforms_of(provider));
    let has_provider = devices::push_provider.eq(provider);
    let others = devices::table
        .filter(devices::tenant_id.eq(tx.tenant()))
        .filter(has_provider.or(devices::push_provider.is_null().and(by_default)))
        .filter(devices::push_token_hash.eq(hash))
        .filter(devices::deleted_at.is_null())
        .filter(devices::id.ne(row.id));
    update(others)
        .set((
            devices::push_token.eq(&none),
            devices::push_token_hash.eq(&none),
            devices::push_token_updated_at.eq(tx.now()),
        ))
        .prepared()
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Writes the token of a device, or removes it. A token belongs to one device: another live device of the tenant loses it.
pub(super) async fn write_token(tx: &mut Tx<'_>, row: &Device, token: Option<&str>) -> Result<()> {
    let Some(token) = token else {
        return store_token(tx, row.id, None, None).await;
    };
    let (tenant, providers) = (tx.tenant(), tx.context().call().provided::<Providers>()?);
    let provider = row.provider(&providers);
    providers.check(provider, token)?;
    let vault = tx.context().platform().vault();
    let sealed = vault.seal(tenant, PUSH_TOKEN.of(row.id), token.as_bytes())?;
    let hash = vault.fingerprint(tenant, PUSH_TOKEN, token.as_bytes())?.to_vec();
    let key = providers.webpush_key().filter(|_| provider == WEBPUSH);
    take_token(tx, row, &providers, &hash).await?;
    store_token(tx, row.id, Some((sealed, hash)), key).await?;
    own(tx, row.id, provider, token).await?;
    Ok(())
}

/// Stores a sealed token and its fingerprint, and the name of the key with which a browser subscribed.
async fn store_token(tx: &mut Tx<'_>, id: Uuid, token: Option<(Vec<u8>, Vec<u8>)>, key: Option<&str>) -> Result<()> {
    let (sealed, hash) = token.unzip();
    let now = tx.now();
    let own = devices::table.filter(devices::tenant_id.eq(tx.tenant()));
    update(own.filter(devices::id.eq(id)))
        .set((
            devices::push_token.eq(sealed),
            devices::push_token_hash.eq(hash),
            devices::push_token_updated_at.eq(now),
            devices::push_key.eq(key),
        ))
        .prepared()
        .execute(tx.conn())
        .await?;
    Ok(())
}
