//! Columns of the directory's tables that this module reads.

use backoffice_core::db::Prepared;
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use backoffice_directory::query::{InLiveTenant, in_live_tenant};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, Queryable, dsl, table};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

table! {
    directory_organizations (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        name -> Text,
        logo_url -> Nullable<Text>,
        deleted_at -> Nullable<Timestamptz>,
    }
}

table! {
    directory_tenants (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        name -> Text,
        locales -> Nullable<Array<Text>>,
        deleted_at -> Nullable<Timestamptz>,
    }
}

use directory_organizations as organizations;
use directory_tenants as tenants;

/// An organization as shown in the navigation.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct ShownOrganization {
    pub(crate) id: Uuid,
    pub(crate) name: String,
    pub(crate) logo_url: Option<String>,
}

/// Returns the tenant of a live organization of a live tenant visible to the caller.
#[dsl::auto_type(no_type_alias)]
fn reached(context: &RequestContext, id: Uuid) -> _ {
    let owned: Owned<organizations::tenant_id> = context.scope().owns(organizations::tenant_id);
    let within: Within<organizations::id> = context.scope().within(organizations::id);
    let live: InLiveTenant<organizations::tenant_id> = in_live_tenant(context, organizations::tenant_id);
    organizations::table
        .filter(owned)
        .filter(within)
        .filter(live)
        .filter(organizations::id.eq(id))
        .filter(organizations::deleted_at.is_null())
        .select(organizations::tenant_id)
}

/// Returns the tenant of a live organization of a live tenant visible to the caller.
pub(crate) async fn tenant_of_organization(
    connection: &mut AsyncPgConnection,
    context: &RequestContext,
    id: Uuid,
) -> Result<Option<Uuid>> {
    Ok(reached(context, id).first(connection).await.optional()?)
}

/// Like [`tenant_of_organization`]; locks the organization, so that it is not changed until the end of the transaction.
pub(crate) async fn lock_organization(
    connection: &mut AsyncPgConnection,
    context: &RequestContext,
    id: Uuid,
) -> Result<Option<Uuid>> {
    Ok(reached(context, id).for_share().first(connection).await.optional()?)
}

/// Returns a live organization of the scope.
pub(crate) async fn shown_organization(
    connection: &AsyncPgConnection,
    scope: &Scope,
    id: Uuid,
) -> Result<Option<ShownOrganization>> {
    let statement = organizations::table
        .filter(scope.owns(organizations::tenant_id))
        .filter(organizations::id.eq(id))
        .filter(organizations::deleted_at.is_null())
        .select((organizations::id, organizations::name, organizations::logo_url));
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

/// The data of a tenant used in mails to its users.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct AddressingTenant {
    pub(crate) name: String,
    pub(crate) locales: Option<Vec<String>>,
}

/// Returns the data of a live tenant for mails; `None` for the platform and for deleted tenants.
pub(crate) async fn addressing_tenant(
    connection: &AsyncPgConnection,
    tenant: Uuid,
) -> Result<Option<AddressingTenant>> {
    let statement = tenants::table
        .filter(tenants::tenant_id.eq(tenant))
        .filter(tenants::id.eq(tenant))
        .filter(tenants::deleted_at.is_null())
        .select((tenants::name, tenants::locales));
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

/// Returns the locales chosen for a tenant; `None` if none were chosen, and for the platform.
pub(crate) async fn locales_of_tenant(connection: &AsyncPgConnection, tenant: Uuid) -> Result<Option<Vec<String>>> {
    let statement = tenants::table
        .filter(tenants::tenant_id.eq(tenant))
        .filter(tenants::id.eq(tenant))
        .select(tenants::locales);
    let locales: Option<Option<Vec<String>>> = Prepared(statement).get_result(&mut &*connection).await.optional()?;
    Ok(locales.flatten().filter(|locales| !locales.is_empty()))
}
