//! `organization`.

use backoffice_core::http::Json;
use backoffice_core::list::Window;
use backoffice_core::{Patch, RequestContext};
use backoffice_directory::commands::{CreateOrganization, OrganizationInput};
use backoffice_directory::model::Organization;
use backoffice_directory::query::{OrganizationFilter, page_of_organizations};
use serde_json::json;
use uuid::Uuid;

use super::arguments::OrganizationCommand;
use super::output::{Output, table};
use super::tenant::{find_tenant, tenant_if_named};
use crate::Result;
use crate::host::Host;

/// Runs the command.
pub(super) async fn run(host: &Host, command: OrganizationCommand, output: Output) -> Result<()> {
    let context = host.context();
    match command {
        OrganizationCommand::Create { name, tenant, parent } => {
            let requested = OrganizationInput {
                name: name.clone().into(),
                parent_id: parent.map_or(Patch::Keep, Patch::Set),
                tenant_id: find_tenant(&context, tenant.as_deref()).await?.into(),
                ..OrganizationInput::default()
            };
            let command = CreateOrganization::new(&context, requested).await?;
            let id = context.execute(&command, |id| Json(json!(id))).await?.0;
            output.print(
                &format!("organization {name}: {}", id.as_str().unwrap_or_default()),
                &json!({"id": id}),
            )?;
        }
        OrganizationCommand::List { tenant } => {
            let tenant = tenant_if_named(&context, tenant.as_deref()).await?;
            let organizations = list(&context, tenant).await?;
            let rows: Vec<Vec<String>> = organizations
                .iter()
                .map(|one| {
                    vec![
                        one.id.to_string(),
                        one.tenant_id.to_string(),
                        one.slug.clone(),
                        one.name.clone(),
                    ]
                })
                .collect();
            output.print(&table(&rows), &json!(organizations))?;
        }
    }
    Ok(())
}

async fn list(context: &RequestContext, tenant_id: Option<Uuid>) -> Result<Vec<Organization>> {
    let filter = OrganizationFilter {
        tenant_id,
        ..OrganizationFilter::default()
    };
    let window = Window {
        page: 1,
        size: u32::MAX,
    };
    let mut connection = context.read().await?;
    let page = page_of_organizations(&mut connection, context, &filter, window).await?;
    Ok(page.items.into_iter().map(|organization| organization.row).collect())
}

/// Returns the tenant's first organization.
#[cfg(feature = "auth")]
pub(crate) async fn root_organization(context: &RequestContext, tenant: Uuid) -> Result<Uuid> {
    let organizations = list(context, Some(tenant)).await?;
    let roots = organizations
        .iter()
        .filter(|organization| organization.parent_id.is_none());
    let first = roots.min_by_key(|organization| (organization.created_at, organization.id));
    first.map(|organization| organization.id).ok_or_else(|| {
        crate::Error::other("the tenant has no organization; create one with `backoffice organization create`")
    })
}
