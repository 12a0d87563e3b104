//! `api-key`.

use backoffice_api_keys::commands::{CreateKey, DeleteKey, NewKeyInput};
use backoffice_core::RequestContext;
use backoffice_core::http::Json;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use uuid::Uuid;

use super::arguments::{ApiKeyCommand, NewApiKey};
use super::output::Output;
use super::tenant::find_tenant;
use crate::Result;
use crate::host::Host;

/// Runs the command.
pub(super) async fn run(host: &Host, command: ApiKeyCommand, output: Output) -> Result<()> {
    let context = host.context();
    match command {
        ApiKeyCommand::Create(requested) => create(&context, requested, output).await,
        ApiKeyCommand::Revoke { id } => revoke(&context, id, output).await,
    }
}

async fn create(context: &RequestContext, requested: NewApiKey, output: Output) -> Result<()> {
    let requested = NewKeyInput {
        tenant: find_tenant(context, requested.tenant.as_deref()).await?,
        name: requested.name,
        description: None,
        organization: requested.organization,
        roles: requested.roles,
        expires_at: requested.expires,
    };
    let command = CreateKey::new(context, requested)?;
    context.execute(&command, |_| Json(Value::Null)).await?;
    let secret = command.secret.text.expose_secret();
    output.print(
        &format!(
            "API key {}: {}\nkey, shown this once: {secret}",
            command.name, command.id
        ),
        &json!({"id": command.id, "name": command.name, "secret": secret}),
    )
}

async fn revoke(context: &RequestContext, id: Uuid, output: Output) -> Result<()> {
    context.execute(&DeleteKey { id }, |()| Json(Value::Null)).await?;
    output.print(&format!("API key {id} is revoked"), &json!({"id": id}))
}
