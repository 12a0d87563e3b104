//! Creates, updates and deletes organizations.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Feature, Patch, Placement, Rejection, RequestContext, Result, Timestamp};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper, TextExpressionMethods, insert_into,
};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use crate::model::Organization;
use crate::schema::directory_organizations as organizations;
use crate::values::{self, DirectoryName, LogoUrl, OrganizationSlug};
use crate::{Error, SLUG, acl, query, tree};

/// Creates an organization. Without a slug it gets one derived from its name.
pub type CreateOrganization = Create<Organization>;
/// Updates an organization. The `updatedAt` of other rows stays.
pub type UpdateOrganization = Update<Organization>;
/// Deletes an organization that has no child and is not the last one of its tenant. Modules whose rows belong to organizations reject the
/// deletion with an interceptor.
pub type DeleteOrganization = Delete<Organization>;

/// The fields of an organization: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = NewOrganization)]
pub struct OrganizationInput {
    /// 1 to 200 characters, not counting surrounding white space; no control characters. Required for a new organization.
    #[schema(value_type = DirectoryName, required = true)]
    pub name: Patch<String>,
    /// Unique in the tenant. Absent in a new organization: derived from the name.
    #[schema(value_type = OrganizationSlug)]
    pub slug: Patch<String>,
    /// The parent organization: an existing one of the tenant, not the organization itself or a descendant, at a depth that the configuration
    /// allows. Null puts the organization at the top level.
    #[schema(value_type = Option<Uuid>)]
    pub parent_id: Patch<Uuid>,
    /// Address of the logo; null removes it.
    #[schema(value_type = Option<LogoUrl>)]
    pub logo_url: Patch<String>,
    /// Whether its users may sign in, as they may in a new organization by default.
    #[schema(value_type = bool)]
    pub is_active: Patch<bool>,
    /// By default the selected tenant, or the caller's own; required if all tenants are selected.
    #[schema(value_type = Option<Uuid>)]
    pub tenant_id: Patch<Uuid>,
}

/// The schema of an update: an organization stays in its tenant.
pub(crate) enum OrganizationPatch {}

impl PartialSchema for OrganizationPatch {
    fn schema() -> RefOr<Schema> {
        let mut schema = OrganizationInput::schema();
        if let RefOr::T(Schema::Object(body)) = &mut schema {
            body.properties.remove("tenantId");
        }
        schema
    }
}

impl ToSchema for OrganizationPatch {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        OrganizationInput::schemas(schemas);
    }
}

impl Input for OrganizationInput {
    fn require(&self, validator: &mut Validator) {
        validator.require("name", &self.name);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Organization>(self, validator);
    }
}

impl Record for Organization {
    type Input = OrganizationInput;
    const CREATE: CommandName = CommandName::new("directory.organization.create", "Create organization");
    const UPDATE: CommandName = CommandName::new("directory.organization.update", "Update organization");
    const DELETE: CommandName = CommandName::new("directory.organization.delete", "Delete organization");
    const MANAGE: &'static [Feature] = &[acl::ORGANIZATIONS_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            name: String::new(),
            slug: String::new(),
            parent_id: None,
            logo_url: None,
            is_active: true,
            created_at: now,
            updated_at: now,
        }
    }

    fn key(&self) -> (Uuid, Uuid) {
        (self.tenant_id, self.id)
    }

    fn organization(&self) -> Option<Uuid> {
        None
    }

    fn updated_at(&mut self) -> &mut Timestamp {
        &mut self.updated_at
    }

    fn fill(&mut self, input: &OrganizationInput, validator: &mut Validator) {
        validator.text("name", &input.name, &mut self.name, values::name);
        validator.value("slug", &input.slug, &mut self.slug, |text| values::slug(text));
        validator.optional("parentId", &input.parent_id, &mut self.parent_id, rules::any);
        validator.optional("logoUrl", &input.logo_url, &mut self.logo_url, |text: &String| {
            values::logo_url(text)
        });
        validator.value("isActive", &input.is_active, &mut self.is_active, rules::any);
    }

    /// An organization belongs to the named tenant, and to no other organization than its parent.
    async fn placement(ctx: &RequestContext, input: &OrganizationInput) -> Result<Placement> {
        let tenant = match input.tenant_id {
            Patch::Set(tenant) if ctx.scope().sees_tenant(tenant) => tenant,
            Patch::Set(_) => return Err(Error::OtherTenant.into()),
            Patch::Keep | Patch::Clear => ctx.tenant()?,
        };
        Ok(Placement {
            tenant,
            ..Placement::UNKNOWN
        })
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &OrganizationInput) -> Result<()> {
        check_parent(tx, self.parent_id).await?;
        tree::lock(tx).await?;
        if self.slug.is_empty() {
            self.slug = free_slug(tx, &self.name).await?;
        }
        Ok(())
    }

    async fn check(&mut self, tx: &mut Tx<'_>, _input: &OrganizationInput, before: Option<&Self>) -> Result<bool> {
        if before.is_some_and(|before| before.parent_id != self.parent_id) {
            check_parent(tx, self.parent_id).await?;
        }
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = query::organizations_of(tx.tenant()).filter(organizations::id.one_of(ids));
        Ok(rows.select(Self::as_select()).load(tx.conn()).await?)
    }

    /// Inserts organizations, or replaces stored ones, also deleted ones.
    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(organizations::table)
            .values(rows)
            .on_conflict((organizations::tenant_id, organizations::id))
            .do_update()
            .set(ReplaceRow::<organizations::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: backoffice_core::Error) -> backoffice_core::Error {
        match error.violated_constraint() {
            Some("directory_organizations_tenant_id_slug_key") => Error::SlugInUse.into(),
            _ => error,
        }
    }
}

/// Rejects a parent that is not visible or not of the organization's tenant. Only callers of the whole tenant may choose the top level.
async fn check_parent(tx: &mut Tx<'_>, parent: Option<Uuid>) -> Result<()> {
    let scope = tx.scope();
    let Some(parent) = parent else {
        return if scope.allowed.is_none() {
            Ok(())
        } else {
            Err(Rejection::organization_out_of_scope().into())
        };
    };
    match query::find_organization(tx.conn(), scope, parent).await? {
        Some(row) if row.tenant_id == tx.tenant() => Ok(()),
        _ => Err(Error::ParentNotFound.into()),
    }
}

/// Derives a slug that no live organization of the tenant has.
async fn free_slug(tx: &mut Tx<'_>, name: &str) -> Result<String> {
    let base = SLUG.derive(name);
    let stem = SLUG.stem(&base);
    let taken: Vec<String> = query::organizations_of(tx.tenant())
        .filter(
            organizations::slug
                .eq(&base)
                .or(organizations::slug.like(format!("{stem}%"))),
        )
        .select(organizations::slug)
        .load(tx.conn())
        .await?;
    Ok(SLUG.first_free(&base, &taken.into_iter().collect()))
}
