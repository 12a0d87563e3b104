//! Commands of modules, which may be left out of the program or disabled.

use std::process::ExitCode;

use super::arguments::{
    AlertsCommand, ApiKeyCommand, AttachmentsCommand, CalendarCommand, OnboardingCommand, OrganizationCommand,
    RolesCommand, TenantCommand, UserCommand, WebhooksCommand,
};
use super::output::Output;
use crate::config::Settings;
use crate::host::{Host, Purpose};
use crate::{Error, Result};

/// Opens the host for one command on a module's data, and closes it whether the command succeeds or fails.
#[cfg_attr(
    not(feature = "directory"),
    expect(dead_code, reason = "used by commands of modules that are not compiled in")
)]
async fn opened<T>(settings: Settings, module: &str, command: impl AsyncFnOnce(&Host) -> Result<T>) -> Result<T> {
    let host = Host::open(settings, Purpose::Command).await?;
    let outcome = if host.has(module) {
        command(&host).await
    } else {
        Err(not_enabled(module))
    };
    host.close().await.and(outcome)
}

pub(super) fn not_enabled(module: &str) -> Error {
    Error::other(format!(
        "the command needs the module `{module}`; add it to `modules` in the settings"
    ))
}

#[cfg(not(all(
    feature = "directory",
    feature = "auth",
    feature = "api-keys",
    feature = "alerts",
    feature = "attachments",
    feature = "business-rules",
    feature = "calendar",
    feature = "onboarding"
)))]
fn not_compiled(module: &str) -> Error {
    Error::other(format!(
        "the command needs the module `{module}`, which is not compiled in; build with `--features {module}`"
    ))
}

#[cfg(feature = "auth")]
pub(super) async fn user(settings: Settings, command: UserCommand, output: Output) -> Result<()> {
    opened(settings, "auth", async |host| {
        super::user::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "auth"))]
pub(super) async fn user(_settings: Settings, _command: UserCommand, _output: Output) -> Result<()> {
    Err(not_compiled("auth"))
}

#[cfg(all(feature = "attachments", feature = "directory"))]
pub(super) async fn attachments(settings: Settings, command: AttachmentsCommand, output: Output) -> Result<ExitCode> {
    opened(settings, "attachments", async |host| {
        super::attachments::run(host, command, output).await
    })
    .await
}

#[cfg(not(all(feature = "attachments", feature = "directory")))]
pub(super) async fn attachments(
    _settings: Settings,
    _command: AttachmentsCommand,
    _output: Output,
) -> Result<ExitCode> {
    Err(not_compiled(if cfg!(feature = "attachments") {
        "directory"
    } else {
        "attachments"
    }))
}

#[cfg(feature = "alerts")]
pub(super) async fn conflicts(settings: Settings, command: AlertsCommand, output: Output) -> Result<()> {
    opened(settings, "alerts", async |host| {
        super::alerts::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "alerts"))]
pub(super) async fn conflicts(_settings: Settings, _command: AlertsCommand, _output: Output) -> Result<()> {
    Err(not_compiled("alerts"))
}

#[cfg(feature = "calendar")]
pub(super) fn zones(settings: &Settings, command: &CalendarCommand, output: Output) -> Result<()> {
    super::calendar::run(settings, command, output)
}

#[cfg(not(feature = "calendar"))]
pub(super) fn zones(_settings: &Settings, _command: &CalendarCommand, _output: Output) -> Result<()> {
    Err(not_compiled("calendar"))
}

#[cfg(feature = "business-rules")]
pub(super) async fn webhooks(settings: Settings, command: WebhooksCommand, output: Output) -> Result<()> {
    opened(settings, "business-rules", async |host| {
        super::webhooks::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "business-rules"))]
pub(super) async fn webhooks(_settings: Settings, _command: WebhooksCommand, _output: Output) -> Result<()> {
    Err(not_compiled("business-rules"))
}

#[cfg(feature = "onboarding")]
pub(super) async fn sign_ups(settings: Settings, command: OnboardingCommand, output: Output) -> Result<()> {
    opened(settings, "onboarding", async |host| {
        super::onboarding::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "onboarding"))]
pub(super) async fn sign_ups(_settings: Settings, _command: OnboardingCommand, _output: Output) -> Result<()> {
    Err(not_compiled("onboarding"))
}

#[cfg(feature = "api-keys")]
pub(super) async fn api_keys(settings: Settings, command: ApiKeyCommand, output: Output) -> Result<()> {
    opened(settings, "api-keys", async |host| {
        super::api_key::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "api-keys"))]
pub(super) async fn api_keys(_settings: Settings, _command: ApiKeyCommand, _output: Output) -> Result<()> {
    Err(not_compiled("api-keys"))
}

#[cfg(feature = "auth")]
pub(super) async fn roles(settings: Settings, command: RolesCommand, output: Output) -> Result<()> {
    let RolesCommand::Sync { tenant } = command;
    opened(settings, "auth", async |host| {
        super::user::sync_roles(host, tenant, output).await
    })
    .await
}

#[cfg(not(feature = "auth"))]
pub(super) async fn roles(_settings: Settings, _command: RolesCommand, _output: Output) -> Result<()> {
    Err(not_compiled("auth"))
}

#[cfg(feature = "directory")]
pub(super) async fn tenants(settings: Settings, command: TenantCommand, output: Output) -> Result<()> {
    opened(settings, "directory", async |host| {
        super::tenant::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "directory"))]
pub(super) async fn tenants(_settings: Settings, _command: TenantCommand, _output: Output) -> Result<()> {
    Err(not_compiled("directory"))
}

#[cfg(feature = "directory")]
pub(super) async fn organizations(settings: Settings, command: OrganizationCommand, output: Output) -> Result<()> {
    opened(settings, "directory", async |host| {
        super::organization::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "directory"))]
pub(super) async fn organizations(_settings: Settings, _command: OrganizationCommand, _output: Output) -> Result<()> {
    Err(not_compiled("directory"))
}
