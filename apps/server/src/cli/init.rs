//! `init`: secrets, first tenant, first administrator.

use std::path::{Path, PathBuf};

use backoffice_core::ids::Ids;
use clap::Args;
use serde_json::json;

use super::migrate;
use super::modules::not_enabled;
use super::output::Output;
use super::password::PasswordSource;
use crate::config::Settings;
use crate::first_start::{self, Requested};
use crate::host::{self, Host, Purpose};
use crate::{Result, secrets};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the first tenant
    #[arg(long, default_value = "Main")]
    tenant: String,
    /// Name of its root organization
    #[arg(long, default_value = "Main")]
    organization: String,
    /// E-mail address of the first administrator
    #[arg(long, default_value = "admin@example.com")]
    email: String,
    #[command(flatten)]
    password: PasswordSource,
    /// Also create an administrator and an employee of the tenant, for a demonstration
    #[arg(long)]
    demo: bool,
}

/// Creates what is missing. Does nothing if a tenant and an account exist.
pub(super) async fn init(settings: Settings, arguments: Arguments, output: Output) -> Result<()> {
    let requested = Requested {
        password: arguments.password.read()?,
        tenant: arguments.tenant,
        organization: arguments.organization,
        email: arguments.email,
        demo: arguments.demo,
    };
    let (settings, new_secrets) = with_secrets(settings)?;
    let mut migrations = 0;
    if let Some(url) = settings.database_url.clone()
        && settings.database.owner_url()?.is_some()
    {
        migrations = migrate::apply(&settings, &url).await?;
    }
    let host = Host::open(settings, Purpose::SetUp).await?;
    let created = if host.has("directory") {
        first_start::run(&host, &requested).await
    } else {
        Err(not_enabled("directory"))
    };
    let listen = host.office.platform().http().listen;
    match host.close().await.and(created)? {
        Some(welcome) => output.print(&welcome.text(listen), &welcome.to_json())?,
        None => output.print(&already(new_secrets.as_deref(), migrations), &json!({"tenant": null}))?,
    }
    Ok(())
}

/// Describes what was done where a tenant and an account existed.
fn already(new_secrets: Option<&Path>, migrations: usize) -> String {
    let mut done = Vec::new();
    if let Some(file) = new_secrets {
        done.push(format!("missing secrets were created in {}", file.display()));
    }
    if migrations > 0 {
        done.push(format!("{migrations} migrations were applied"));
    }
    if done.is_empty() {
        done.push("nothing was changed".to_owned());
    }
    format!("there is a tenant already; {}", done.join(", "))
}

/// Creates missing secrets. Returns the settings with them, and the file if it was written.
fn with_secrets(settings: Settings) -> Result<(Settings, Option<PathBuf>)> {
    if host::lacks_secrets(&settings)? {
        // Another process may have created them meanwhile.
        let file = secrets::create_missing(&settings, &Ids::default())?.then(|| secrets::path(&settings.data_dir));
        return Ok((settings.reread()?, file));
    }
    Ok((settings, None))
}
