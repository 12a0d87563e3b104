//! `migrate`: the schema, the application's role, new default grants.

use backoffice_core::config::ConfigError;
use backoffice_core::module::{in_order, monthly_tables};
use backoffice_core::months;
use secrecy::SecretString;
use serde_json::json;

use super::output::Output;
use crate::config::Settings;
use crate::host::{Host, Purpose};
use crate::{Result, database, modules};

/// Migrates the configured database; the private one is migrated at every start.
pub(super) async fn migrate(settings: Settings, output: Output) -> Result<()> {
    let applied = match settings.database_url.clone() {
        Some(url) => apply(&settings, &url).await?,
        None => 0,
    };
    let host = Host::open(settings, Purpose::SetUp).await?;
    let granted = sync_roles(&host).await;
    let granted = host.close().await.and(granted)?;
    let text = match granted {
        Some(granted) => format!("schema is current ({applied} migrations applied); {granted} default grants added"),
        None => format!("schema is current ({applied} migrations applied)"),
    };
    output.print(&text, &json!({"applied": applied, "granted": granted}))
}

/// Applies pending migrations as the schema owner. Returns their number.
pub(super) async fn apply(settings: &Settings, url: &SecretString) -> Result<usize> {
    let Some(owner_url) = settings.database.owner_url()? else {
        let message =
            "is not set: put the URL of the role that owns the schema there (only `migrate` and `init` read it)";
        return Err(ConfigError::new("database.owner_url", message).into());
    };
    let modules = in_order(&modules::enabled(settings.modules.as_deref())?)?;
    let tls = &settings.database.tls;
    let application = database::parse("database.url", url, tls)?;
    let owner = database::parse("database.owner_url", &owner_url, tls)?;
    let applied = database::migrate(&application, &owner, &modules).await?;
    months::keep(&owner, &monthly_tables(&modules, &settings.to_core())?).await?;
    Ok(applied)
}

#[cfg(feature = "auth")]
async fn sync_roles(host: &Host) -> Result<Option<usize>> {
    if !host.has("auth") {
        return Ok(None);
    }
    Ok(Some(backoffice_auth::sync_roles(&host.context(), None).await?))
}

#[cfg(not(feature = "auth"))]
async fn sync_roles(_host: &Host) -> Result<Option<usize>> {
    Ok(None)
}
