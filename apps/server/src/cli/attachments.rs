//! `attachments`.

use std::process::ExitCode;

use backoffice_attachments::check::{Checked, check};
use backoffice_attachments::commands::SetQuota;
use backoffice_attachments::enqueue_move;
use backoffice_core::http::Json;
use backoffice_core::{Call, Scope};
use serde_json::{Value, json};
use uuid::Uuid;

use super::arguments::AttachmentsCommand;
use super::modules::not_enabled;
use super::output::Output;
use super::tenant::find_tenant;
use crate::host::Host;
use crate::{Error, Result};

/// Runs the command.
pub(super) async fn run(host: &Host, command: AttachmentsCommand, output: Output) -> Result<ExitCode> {
    match command {
        AttachmentsCommand::Check { repair } => {
            let checked = check(&Call::internal(&host.runtime()), repair).await?;
            output.print(&text(&checked, repair), &json!(checked))?;
            let is_sound = checked.is_sound();
            Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        AttachmentsCommand::Move { partition, tenant } => {
            let tenant = match tenant {
                Some(tenant) => Some(named_tenant(host, &tenant).await?),
                None => None,
            };
            let job = enqueue_move(&Call::internal(&host.runtime()), tenant, &partition).await;
            let job = job.map_err(|error| match tenant {
                None if is_unknown_partition(&error) => Error::other(format!(
                    "no partition that every tenant has is named `{partition}`; name the tenant of a partition of its own with --tenant"
                )),
                _ => error.into(),
            })?;
            output.print(
                &format!("job {job} moves the files; `backoffice jobs list` shows whether it is done"),
                &json!({"jobId": job}),
            )?;
            Ok(ExitCode::SUCCESS)
        }
        AttachmentsCommand::Quota { tenant, size } => {
            let tenant = named_tenant(host, &tenant).await?;
            let bytes = size.0;
            let context = host.context().with_scope(Scope::tenant(tenant));
            let command = SetQuota { tenant, bytes };
            context.execute(&command, |()| Json(Value::Null)).await?;
            let shown = bytes.map_or_else(|| "the default quota".to_owned(), |bytes| format!("{bytes} bytes"));
            output.print(
                &format!("tenant {tenant} has {shown}"),
                &json!({"tenantId": tenant, "quotaBytes": bytes}),
            )?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Returns the tenant with this id or name, which only the directory knows.
async fn named_tenant(host: &Host, named: &str) -> Result<Uuid> {
    if !host.has("directory") {
        return Err(not_enabled("directory"));
    }
    find_tenant(&host.context(), Some(named)).await
}

fn is_unknown_partition(error: &backoffice_core::Error) -> bool {
    matches!(error, backoffice_core::Error::Rejected(rejection) if rejection.code.as_deref() == Some("unknown_partition"))
}

fn text(checked: &Checked, repair: bool) -> String {
    let mut lines = vec![format!("{} files compared", checked.files)];
    for file in &checked.damaged.first {
        let found = file
            .object_size
            .map_or_else(|| "is missing".to_owned(), |bytes| format!("has {bytes} bytes"));
        lines.push(format!(
            "file {} of tenant {}: its object of {} bytes {found}",
            file.id, file.tenant_id, file.file_size
        ));
    }
    let removed = if repair { ", removed" } else { "" };
    for path in &checked.unknown_objects.first {
        // Both lists begin with the first thousand of the same paths.
        let is_foreign = checked.foreign_objects.first.contains(path);
        let removed = if is_foreign {
            "; it stays, because the server did not store it"
        } else {
            removed
        };
        lines.push(format!("no file refers to {path}{removed}"));
    }
    for store in &checked.unreadable_stores.first {
        lines.push(format!("store {store} can't be read"));
    }
    let corrected = if repair { ", corrected" } else { "" };
    for tenant in &checked.wrong_counters.first {
        lines.push(format!("the counters of tenant {tenant} are wrong{corrected}"));
    }
    lines.push(format!(
        "{} files without their object, {} objects without a file, {} stores that can't be read, {} tenants with wrong counters",
        checked.damaged.number,
        checked.unknown_objects.number,
        checked.unreadable_stores.number,
        checked.wrong_counters.number
    ));
    lines.join("\n")
}
