//! The devices of all users, for administrators.

use actix_web::HttpRequest;
use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::http::{CheckedQuery, Created, Json, Routes, requires};
use backoffice_core::input::{Input, Validator};
use backoffice_core::list::ListQuery;
use backoffice_core::{Patch, Rejection, RequestContext, Result, Violations};

use super::items::{DeviceItem, DevicePage, HEADERS};
use super::own::{DeviceQuery, DeviceRegistered, register};
use crate::acl;
use crate::commands::NewDeviceOfUser;
use crate::model::Device;
use crate::query::{self, Owners};

const PATH: &str = "/devices/admin/devices";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(PATH, requires(&[acl::ADMIN]), list_devices_of_users)
        .shows(&["devices.device", "auth.user"])
        .about("List the devices of users")
        .sends_headers(HEADERS)
        .reads("devices.device");
    routes
        .post(PATH, requires(&[acl::ADMIN]), register_device_of_user)
        .about("Register a device of a user, or update its registration")
        .rejects(&[422]);
}

async fn list_devices_of_users(
    ctx: RequestContext,
    list: ListQuery<Device>,
    query: CheckedQuery<DeviceQuery>,
) -> Result<DevicePage> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let filter = query.0.filter(Owners::InScope, &mut violations);
    violations.check()?;
    let connection = ctx.read().await?;
    let page = query::list(&connection, &ctx, &filter, &request).await?;
    let page = page.map(DeviceItem::from);
    let record = |item: &DeviceItem| Record::new(item.id(), Some(item.tenant())).of(item.organization());
    ctx.log_reads(&connection, AccessType::List, &page.items, record)
        .await?;
    Ok(DevicePage(Json(page)))
}

async fn register_device_of_user(
    ctx: RequestContext,
    request: HttpRequest,
    body: Json<NewDeviceOfUser>,
) -> Result<Created<DeviceRegistered>> {
    ctx.user_id()?;
    let mut validator = Validator::default();
    body.0.validate_new(&mut validator);
    validator.check()?;
    let input = &body.0.0;
    let Patch::Set(user) = input.user_id else {
        return Err(Rejection::invalid_field("userId", "is required", "required").into());
    };
    let owner = {
        let connection = ctx.read().await?;
        query::owner_for_new(&connection, &ctx, user).await?
    };
    // Both rejections are the same for a caller of some organizations: a user of another organization, and one that does not exist or is not visible.
    let organization = owner.and_then(|(_, organization)| organization);
    if !ctx.scope().reads_organization(organization) {
        return Err(Rejection::organization_out_of_scope().into());
    }
    let Some(owner) = owner else {
        return Err(Rejection::bad_request("Target user not found").into());
    };
    register(&ctx, &request, owner, input).await
}
