//! Devices as clients read them.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue, LINK};
use backoffice_core::http::{Json, Response, Schemas};
use backoffice_core::list::Page;
use backoffice_core::{Result, Timestamp};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::path::OperationBuilder;
use uuid::Uuid;

use crate::documented::DevicePlatform;
use crate::model::Device;

/// The headers of responses with deprecated fields (RFC 9745).
pub(super) const HEADERS: &[&str] = &["Deprecation", "Link"];
/// The time since which the fields with an underscore are deprecated.
const DEPRECATED_SINCE: &str = "@1795132800";
const ABOUT: &str = "</docs#device-aliases>; rel=\"deprecation\"";

/// A device. Fields with an underscore are deprecated: they repeat the others and will be removed after one minor version.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeviceItem {
    /// The id.
    id: Uuid,
    /// The tenant.
    tenant_id: Uuid,
    /// The owner.
    user_id: Uuid,
    /// The owner's organization at the last registration.
    organization_id: Option<Uuid>,
    /// The name that the client gives to the device.
    device_id: String,
    /// `ios`, `android` or `web`.
    #[schema(value_type = DevicePlatform)]
    platform: String,
    /// Version of the client.
    client_app_version: Option<String>,
    /// Version of the operating system.
    os_version: Option<String>,
    /// Language tag.
    locale: Option<String>,
    /// Name of the provider of push messages; the set is open.
    push_provider: Option<String>,
    /// Whether the device has a token for push messages.
    push_enabled: bool,
    /// Time of the last change of the token.
    push_token_updated_at: Option<Timestamp>,
    /// Time at which the device was last seen.
    last_seen_at: Option<Timestamp>,
    /// Time of the first registration.
    created_at: Timestamp,
    /// Time of the last change.
    updated_at: Timestamp,
    /// Deprecated: `tenantId`.
    #[serde(rename = "tenant_id")]
    #[schema(deprecated)]
    old_tenant_id: Uuid,
    /// Deprecated: `organizationId`.
    #[serde(rename = "organization_id")]
    #[schema(deprecated)]
    old_organization_id: Option<Uuid>,
    /// Deprecated: `userId`.
    #[serde(rename = "user_id")]
    #[schema(deprecated)]
    old_user_id: Uuid,
    /// Deprecated: `deviceId`.
    #[serde(rename = "device_id")]
    #[schema(deprecated)]
    old_device_id: String,
    /// Deprecated: `clientAppVersion`.
    #[serde(rename = "client_app_version")]
    #[schema(deprecated)]
    old_client_app_version: Option<String>,
    /// Deprecated: `osVersion`.
    #[serde(rename = "os_version")]
    #[schema(deprecated)]
    old_os_version: Option<String>,
    /// Deprecated: `pushProvider`.
    #[serde(rename = "push_provider")]
    #[schema(deprecated)]
    old_push_provider: Option<String>,
    /// Deprecated: `pushTokenUpdatedAt`.
    #[serde(rename = "push_token_updated_at")]
    #[schema(deprecated, value_type = Option<String>, format = DateTime)]
    old_push_token_updated_at: Option<Timestamp>,
    /// Deprecated: `lastSeenAt`.
    #[serde(rename = "last_seen_at")]
    #[schema(deprecated, value_type = Option<String>, format = DateTime)]
    old_last_seen_at: Option<Timestamp>,
    /// Deprecated: `createdAt`.
    #[serde(rename = "created_at")]
    #[schema(deprecated, value_type = String, format = DateTime)]
    old_created_at: Timestamp,
    /// Deprecated: `updatedAt`.
    #[serde(rename = "updated_at")]
    #[schema(deprecated, value_type = String, format = DateTime)]
    old_updated_at: Timestamp,
}

impl DeviceItem {
    pub(super) const fn id(&self) -> Uuid {
        self.id
    }

    pub(super) const fn tenant(&self) -> Uuid {
        self.tenant_id
    }

    pub(super) const fn organization(&self) -> Option<Uuid> {
        self.organization_id
    }
}

impl From<(Device, bool)> for DeviceItem {
    fn from((row, push_enabled): (Device, bool)) -> Self {
        Self {
            id: row.id,
            tenant_id: row.tenant_id,
            user_id: row.user_id,
            organization_id: row.organization_id,
            device_id: row.device_id.clone(),
            platform: row.platform,
            client_app_version: row.client_app_version.clone(),
            os_version: row.os_version.clone(),
            locale: row.locale,
            push_provider: row.push_provider.clone(),
            push_enabled,
            push_token_updated_at: row.push_token_updated_at,
            last_seen_at: row.last_seen_at,
            created_at: row.created_at,
            updated_at: row.updated_at,
            old_tenant_id: row.tenant_id,
            old_organization_id: row.organization_id,
            old_user_id: row.user_id,
            old_device_id: row.device_id,
            old_client_app_version: row.client_app_version,
            old_os_version: row.os_version,
            old_push_provider: row.push_provider,
            old_push_token_updated_at: row.push_token_updated_at,
            old_last_seen_at: row.last_seen_at,
            old_created_at: row.created_at,
            old_updated_at: row.updated_at,
        }
    }
}

/// A page of devices, whose headers announce the deprecated fields.
pub(super) struct DevicePage(pub(super) Json<Page<DeviceItem>>);

impl Response for DevicePage {
    fn status(&self) -> StatusCode {
        self.0.status()
    }

    fn to_value(&self) -> Result<Value> {
        self.0.to_value()
    }

    fn into_response(self) -> HttpResponse {
        let mut response = self.0.into_response();
        let headers = response.headers_mut();
        headers.insert(
            HeaderName::from_static("deprecation"),
            HeaderValue::from_static(DEPRECATED_SINCE),
        );
        headers.insert(LINK, HeaderValue::from_static(ABOUT));
        response
    }

    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        Json::<Page<DeviceItem>>::describe(operation, schemas)
    }
}
