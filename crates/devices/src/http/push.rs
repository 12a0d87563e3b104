//! The providers of push messages, and test messages.

use backoffice_core::http::{Id, Json, Path, Routes, requires};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{RequestContext, Result};
use serde::Serialize;
use utoipa::ToSchema;

use super::own::check_owner;
use crate::acl;
use crate::push::{Providers, test};

/// Test messages, counted for each device.
pub(super) const TEST_BY_DEVICE: RateLimit = RateLimit::new("devices.test_push.device", 5, 60);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/devices/push-options", requires(&[acl::VIEW]), get_push_options)
        .about("Get the configured providers of push messages");
    routes
        .post("/devices/{id}/test-push", requires(&[acl::MANAGE]), test_push)
        .about("Send a test message to a device of the caller")
        .without_command()
        .rejects(&[404, 429]);
}

/// The configured providers of push messages.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PushOptions {
    /// Names of the providers; the set is open.
    providers: Vec<&'static str>,
    /// The providers of devices that are registered without one.
    default_provider: DefaultProviders,
    /// The key with which browsers subscribe: a public key of P-256 in base64url. Null if browsers get no messages.
    vapid_public_key: Option<String>,
}

/// The provider of each platform.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct DefaultProviders {
    /// For devices of platform `ios`.
    ios: String,
    /// For devices of platform `android`.
    android: String,
    /// For devices of platform `web`.
    web: String,
}

async fn get_push_options(ctx: RequestContext) -> Result<Json<PushOptions>> {
    let providers = ctx.call().provided::<Providers>()?;
    let default = |platform: &str| providers.default_of(platform).to_owned();
    Ok(Json(PushOptions {
        providers: providers.names(),
        default_provider: DefaultProviders {
            ios: default("ios"),
            android: default("android"),
            web: default("web"),
        },
        vapid_public_key: providers.vapid_public_key().map(str::to_owned),
    }))
}

/// What became of a test message.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum PushTestStatus {
    Sent,
    Failed,
}

/// The outcome of a test message.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct PushTest {
    /// `sent` or `failed`.
    status: PushTestStatus,
    /// Code of the reason why the message was not sent, such as `no_token`, `unregistered` or `not_accepted`; the set is open.
    error: Option<&'static str>,
}

async fn test_push(ctx: RequestContext, path: Path<Id>) -> Result<Json<PushTest>> {
    let id = path.0.id;
    check_owner(&ctx, id).await?;
    let subject = format!("{} {id}", ctx.tenant()?);
    let limits = ctx.platform().rate_limits();
    limits.count(ctx.call(), TEST_BY_DEVICE, &subject).await?;
    let tested = test(&ctx, id).await?;
    Ok(Json(PushTest {
        status: match tested.is_sent {
            true => PushTestStatus::Sent,
            false => PushTestStatus::Failed,
        },
        error: tested.error,
    }))
}
