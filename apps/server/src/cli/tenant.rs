//! `tenant`, and the lookup of the tenant that other commands name.

use backoffice_core::RequestContext;
use backoffice_core::http::Json;
use backoffice_core::list::Window;
use backoffice_directory::commands::{CreateTenant, NewTenant, TenantCreated};
use backoffice_directory::model::Tenant;
use backoffice_directory::query::{TenantFilter, TenantSort, page_of_tenants};
use serde_json::json;
use uuid::Uuid;

use super::arguments::TenantCommand;
use super::output::{Output, table};
use crate::host::Host;
use crate::{Error, Result};

/// Runs the command.
pub(super) async fn run(host: &Host, command: TenantCommand, output: Output) -> Result<()> {
    let context = host.context();
    match command {
        TenantCommand::Create { name, organization } => {
            let created = create_tenant(&context, &name, organization).await?;
            let text = format!(
                "tenant {name}: {}, organization {}",
                created.id, created.organization_id
            );
            output.print(&text, &json!(created))?;
        }
        TenantCommand::List => {
            let tenants = list_tenants(&context, u32::MAX).await?;
            let row = |tenant: &Tenant| vec![tenant.id.to_string(), state(tenant).to_owned(), tenant.name.clone()];
            let rows: Vec<Vec<String>> = tenants.iter().map(row).collect();
            output.print(&table(&rows), &json!(tenants))?;
        }
    }
    Ok(())
}

fn state(tenant: &Tenant) -> &'static str {
    if tenant.is_active { "active" } else { "inactive" }
}

/// Creates a tenant with its root organization and the records that modules seed.
pub(crate) async fn create_tenant(
    context: &RequestContext,
    name: &str,
    organization: Option<String>,
) -> Result<TenantCreated> {
    let requested = NewTenant {
        name: name.to_owned(),
        organization_name: organization,
        locales: None,
    };
    let command = CreateTenant::new(context, requested)?;
    Ok(context.execute(&command, Json).await?.0)
}

/// Returns the first tenants by time of creation.
pub(crate) async fn list_tenants(context: &RequestContext, limit: u32) -> Result<Vec<Tenant>> {
    let filter = TenantFilter {
        sort: TenantSort::CreatedAt,
        ..TenantFilter::default()
    };
    let window = Window { page: 1, size: limit };
    let connection = context.read().await?;
    let page = page_of_tenants(&connection, context, &filter, window).await?;
    Ok(page.items.into_iter().map(|tenant| tenant.row).collect())
}

/// Returns the tenant with this id or name, if one is named.
pub(crate) async fn tenant_if_named(context: &RequestContext, named: Option<&str>) -> Result<Option<Uuid>> {
    match named {
        Some(named) => find_tenant(context, Some(named)).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the tenant with this id or name; without either, the only tenant.
pub(crate) async fn find_tenant(context: &RequestContext, named: Option<&str>) -> Result<Uuid> {
    let tenants = list_tenants(context, u32::MAX).await?;
    let mut found = tenants
        .iter()
        .filter(|tenant| named.is_none_or(|named| tenant.name == named || tenant.id.to_string() == named));
    match (found.next(), found.next()) {
        (Some(tenant), None) => Ok(tenant.id),
        (None, _) => match named {
            Some(named) => Err(Error::other(format!(
                "tenant `{named}` does not exist; `backoffice tenant list` shows all tenants"
            ))),
            None => Err(Error::other(
                "no tenant exists yet; `backoffice init` creates the first one",
            )),
        },
        (Some(_), Some(_)) => Err(Error::other(
            "more than one tenant fits; name one by its id with --tenant (`backoffice tenant list`)",
        )),
    }
}
