//! The devices of the caller.

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::ACCEPT_LANGUAGE;
use backoffice_core::http::{
    CheckedQuery, Created, Done, Id, Json, Path, QueryInput, Routes, accepted_ranges, requires,
};
use backoffice_core::list::ListQuery;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Detail, Error, Patch, Rejection, RequestContext, Result, Violations};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::items::{DeviceItem, DevicePage, HEADERS};
use crate::acl;
use crate::commands::{
    DeactivateDevice, DeviceFields, MEANWHILE, NewDevice, RegisterDevice, UpdateDevice, language_tag,
};
use crate::documented::DevicePlatform;
use crate::model::{Device, PLATFORMS};
use crate::query::{self, DeviceFilter, Owners};

/// Registrations of devices, counted for each user who sends them.
pub(super) const REGISTER_BY_USER: RateLimit = RateLimit::new("devices.register.user", 60, 60);

const LIST: &str = "/devices";
const ONE: &str = "/devices/{id}";
/// Further attempts of a registration or update that meets other ones of the same device or token.
const TRIES: usize = 5;
/// The unique key of registrations.
const ONE_ROW: &str = "devices_devices_tenant_id_user_id_device_id_key";
/// The unique key of tokens.
const ONE_TOKEN: &str = "devices_devices_tenant_id_push_provider_push_token_hash_key";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, requires(&[acl::VIEW]), list_devices)
        .shows(&["devices.device"])
        .about("List the caller's devices")
        .sends_headers(HEADERS);
    routes
        .post(LIST, requires(&[acl::MANAGE]), register_device)
        .about("Register a device of the caller, or update its registration")
        .rejects(&[422]);
    routes
        .put(ONE, requires(&[acl::MANAGE]), update_device)
        .about("Change a device of the caller")
        .rejects(&[404, 422]);
    routes
        .delete(ONE, requires(&[acl::MANAGE]), deactivate_device)
        .about("Deactivate a device of the caller")
        .rejects(&[404, 422]);
}

/// Additional parameters of the lists of devices.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct DeviceQuery {
    /// Only devices of this platform.
    #[param(value_type = Option<DevicePlatform>, inline)]
    platform: Option<String>,
    /// Only devices of this user.
    user_id: Option<Uuid>,
}

impl DeviceQuery {
    pub(super) fn filter(&self, owners: Owners, violations: &mut Violations) -> DeviceFilter {
        if let Some(platform) = &self.platform
            && !PLATFORMS.contains(&platform.as_str())
        {
            let text = "must be one of ios, android, web";
            violations.add(Detail::new("platform", text, "invalid_value"));
        }
        DeviceFilter {
            owners,
            user: self.user_id,
            platform: self.platform.clone(),
        }
    }
}

impl QueryInput for DeviceQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(Owners::None, violations);
    }
}

async fn list_devices(
    ctx: RequestContext,
    list: ListQuery<Device>,
    query: CheckedQuery<DeviceQuery>,
) -> Result<DevicePage> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let owners = ctx.user_id().map_or(Owners::None, Owners::One);
    let filter = query.0.filter(owners, &mut violations);
    violations.check()?;
    let connection = ctx.read().await?;
    let page = query::list(&connection, &ctx, &filter, &request).await?;
    Ok(DevicePage(Json(page.map(DeviceItem::from))))
}

/// A registered device.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeviceRegistered {
    /// The id.
    id: Uuid,
    /// The name that the client gives to the device.
    device_id: String,
    /// Whether the device had been deactivated.
    revived: bool,
    /// Whether the command has written the row.
    #[serde(skip)]
    changed: bool,
}

async fn register_device(
    ctx: RequestContext,
    request: HttpRequest,
    body: Json<NewDevice>,
) -> Result<Created<DeviceRegistered>> {
    let user = ctx.user_id()?;
    if let Patch::Set(other) = &body.0.user_id
        && *other != user
    {
        let text = "Devices of other users are registered by administrators";
        return Err(Rejection::forbidden(text).into());
    }
    if ctx.identity().tenant != ctx.tenant()? {
        let text = "Devices are registered in the tenant of their user";
        return Err(Rejection::bad_request(text).into());
    }
    let organization = ctx.identity().organization;
    register(&ctx, &request, (user, organization), &body.0).await
}

/// Registers a device, or updates its registration. Repeats when another request registers the same device at the same time.
pub(super) async fn register(
    ctx: &RequestContext,
    request: &HttpRequest,
    owner: (Uuid, Option<Uuid>),
    input: &NewDevice,
) -> Result<Created<DeviceRegistered>> {
    let name = input.name()?;
    let by = format!("{} {}", ctx.tenant()?, ctx.user_id()?);
    let limits = ctx.platform().rate_limits();
    limits.count(ctx.call(), REGISTER_BY_USER, &by).await?;
    let accepted = accepted_language(request);
    let mut left = TRIES;
    loop {
        let found = {
            let connection = ctx.read().await?;
            query::registered(&connection, ctx.tenant()?, owner.0, &name).await?
        };
        let registered = |id, revived, changed| DeviceRegistered {
            id,
            device_id: name.clone(),
            revived,
            changed,
        };
        let outcome = match found {
            Some(found) if found.is_live => {
                let command = UpdateDevice::registered(found.id, owner.1, input)?;
                ctx.execute(&command, |changed| Created(registered(found.id, false, changed)))
                    .await
            }
            found => {
                let revived = found.map(|found| found.id);
                let command = RegisterDevice::new(ctx, owner, input, revived, accepted.clone())?;
                let id = command.id();
                ctx.execute(&command, |()| Created(registered(id, revived.is_some(), true)))
                    .await
            }
        };
        match outcome {
            Err(error) if left > 0 && lost_race(&error) => left -= 1,
            Err(error) => return Err(error),
            Ok(response) => {
                if !response.0.changed {
                    query::note_seen(ctx, response.0.id, Some(ctx.now())).await?;
                }
                return Ok(response);
            }
        }
    }
}

/// Returns the language that the client prefers, for a device that names none.
fn accepted_language(request: &HttpRequest) -> Option<String> {
    let ranges = accepted_ranges(request.headers(), ACCEPT_LANGUAGE);
    let tag = ranges.into_iter().find(|range| language_tag(range).is_ok())?;
    Some(tag.to_owned())
}

/// Returns whether another request registered, deactivated or revived the device first, or registered its token.
fn lost_race(error: &Error) -> bool {
    let rejection = error.to_rejection();
    let key = error.violated_constraint();
    key == Some(ONE_ROW)
        || key == Some(ONE_TOKEN)
        || rejection.code.as_deref() == Some(MEANWHILE)
        || rejection.status == StatusCode::NOT_FOUND
}

/// A changed device.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct DeviceUpdated {
    /// Always true.
    ok: bool,
    /// The id.
    id: Uuid,
    /// Whether the command has written the row.
    #[serde(skip)]
    changed: bool,
}

async fn update_device(ctx: RequestContext, path: Path<Id>, body: Json<DeviceFields>) -> Result<Json<DeviceUpdated>> {
    let id = path.0.id;
    let seen = body.0.last_seen_at;
    let command = UpdateDevice::new(id, body.0)?;
    check_owner(&ctx, id).await?;
    let updated = |changed| {
        let ok = true;
        Json(DeviceUpdated { ok, id, changed })
    };
    let mut left = TRIES;
    let response = loop {
        match ctx.execute(&command, updated).await {
            // Another device got the token at the same time; the next attempt takes it from that device.
            Err(error) if left > 0 && error.violated_constraint() == Some(ONE_TOKEN) => left -= 1,
            outcome => break outcome?,
        }
    };
    if !response.0.changed
        && let Some(at) = seen.into_change()
    {
        query::note_seen(&ctx, id, at).await?;
    }
    Ok(response)
}

async fn deactivate_device(ctx: RequestContext, path: Path<Id>) -> Result<Json<Done>> {
    check_owner(&ctx, path.0.id).await?;
    let command = DeactivateDevice { id: path.0.id };
    ctx.execute(&command, |()| Json(Done::OK)).await
}

/// Rejects a device that belongs to another user (403), or is not visible to the caller (404).
pub(super) async fn check_owner(ctx: &RequestContext, id: Uuid) -> Result<()> {
    let user = ctx.user_id()?;
    let connection = ctx.read().await?;
    match query::owner(&connection, ctx, id).await? {
        Some(owner) if owner == user => Ok(()),
        Some(_) => Err(Rejection::forbidden("The device belongs to another user")
            .code("not_owner")
            .into()),
        None => Err(Rejection::not_found("Device not found").into()),
    }
}
