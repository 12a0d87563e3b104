//! The devices that messages are sent to, with their opened tokens.

use backoffice_core::{Call, Result, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::Providers;
use super::owners::{fingerprint, owners};
use crate::model::PUSH_TOKEN;

/// The code of a device whose token another device has registered since, perhaps in another tenant. It is for the stored deliveries only.
pub(super) const NOT_OWNER: &str = "not_owner";

/// The columns of a device that a message needs. The token is sealed.
#[derive(Debug, Clone)]
pub(crate) struct DeviceRow {
    /// The id.
    pub(crate) id: Uuid,
    /// The platform.
    pub(crate) platform: String,
    /// The provider.
    pub(crate) provider: Option<String>,
    /// The language tag.
    pub(crate) locale: Option<String>,
    /// The sealed token.
    pub(crate) token: Option<Vec<u8>>,
    /// Its fingerprint in the tenant.
    pub(crate) token_hash: Option<Vec<u8>>,
    /// The time at which it was registered.
    pub(crate) token_updated_at: Option<Timestamp>,
    /// The name of the key with which the browser subscribed.
    pub(crate) push_key: Option<String>,
}

/// A device with its opened token.
#[derive(Debug)]
pub(crate) struct Recipient {
    /// The tenant.
    pub(crate) tenant: Uuid,
    /// The device.
    pub(crate) row: DeviceRow,
    /// The name of its provider.
    pub(crate) provider: String,
    /// The token, or the reason why there is none.
    pub(crate) token: std::result::Result<SecretString, &'static str>,
}

impl Recipient {
    /// Returns the last four characters of the token.
    pub(crate) fn last4(&self) -> Option<String> {
        let token = self.token.as_ref().ok()?.expose_secret();
        let end = token.char_indices().rev().nth(3)?.0;
        token.get(end..).map(str::to_owned)
    }

    /// Creates a recipient with a token.
    #[cfg(test)]
    pub(super) fn for_test(provider: &str, token: String) -> Self {
        Self {
            tenant: Uuid::nil(),
            row: DeviceRow {
                id: Uuid::nil(),
                platform: "web".to_owned(),
                provider: Some(provider.to_owned()),
                locale: None,
                token: None,
                token_hash: Some(token.clone().into_bytes()),
                token_updated_at: None,
                push_key: None,
            },
            provider: provider.to_owned(),
            token: Ok(token.into()),
        }
    }
}

/// Opens the tokens of devices of a tenant. A device has none if another device, of any tenant, registered it later. One statement.
pub(crate) async fn recipients(
    call: &Call,
    providers: &Providers,
    tenant: Uuid,
    rows: Vec<DeviceRow>,
) -> Result<Vec<Recipient>> {
    let mut all: Vec<Recipient> = rows
        .into_iter()
        .map(|row| Recipient {
            tenant,
            provider: providers.of_device(row.provider.as_deref(), &row.platform).to_owned(),
            token: open(call, tenant, &row),
            row,
        })
        .collect();
    let mut codes = Vec::with_capacity(all.len());
    for one in &all {
        let token = one.token.as_ref().map(ExposeSecret::expose_secret);
        codes.push(match token {
            Ok(token) => fingerprint(call.platform(), token)?,
            Err(_) => Vec::new(),
        });
    }
    let names = all.iter().map(|one| one.provider.as_str()).collect();
    let known = owners(call, names, codes.iter().map(Vec::as_slice).collect()).await?;
    for (one, code) in all.iter_mut().zip(&codes) {
        let owner = known
            .iter()
            .find(|owner| owner.provider == one.provider && owner.fingerprint == *code);
        let is_own = owner.is_none_or(|owner| (owner.owner_tenant_id, owner.device_row_id) == (tenant, one.row.id));
        if !is_own {
            one.token = Err(NOT_OWNER);
        }
    }
    Ok(all)
}

fn open(call: &Call, tenant: Uuid, row: &DeviceRow) -> std::result::Result<SecretString, &'static str> {
    let sealed = row.token.as_ref().ok_or("no_token")?;
    let opened = call.platform().vault().open(tenant, PUSH_TOKEN.of(row.id), sealed);
    let opened = opened.map_err(|error| {
        tracing::error!(%error, device.id = %row.id, "the token of a device can't be opened");
        "unreadable_token"
    })?;
    let text = String::from_utf8(opened.expose_secret().to_vec());
    text.map(SecretString::from).map_err(|_| "unreadable_token")
}
