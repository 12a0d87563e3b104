//! Creates an organization.

use backoffice_core::command::{Class, Command, Target};
use backoffice_core::db::Tx;
use backoffice_core::http::given;
use backoffice_core::{Feature, RequestContext, Result};
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, TextExpressionMethods, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{check_parent, slug_conflict};
use crate::model::{Organization, OrganizationRow};
use crate::schema::directory_organizations as organizations;
use crate::values::{DirectoryName, LogoUrl, Rules};
use crate::{Error, SLUG, acl, query, tree};

/// A new organization.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewOrganization {
    /// 1 to 200 characters, not counting surrounding white space; no control characters.
    #[schema(value_type = DirectoryName)]
    pub name: String,
    /// Unique in the tenant; by default derived from the name.
    #[serde(default, deserialize_with = "given")]
    #[schema(
        example = "acme-north",
        nullable = false,
        max_length = 100,
        pattern = "^[a-z0-9]+(-[a-z0-9]+)*$"
    )]
    pub slug: Option<String>,
    /// The parent organization: an existing one of the tenant, at a depth that the configuration allows.
    pub parent_id: Option<Uuid>,
    /// Address of the logo.
    #[schema(value_type = Option<LogoUrl>)]
    pub logo_url: Option<String>,
    /// By default true.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    pub is_active: Option<bool>,
    /// By default the selected tenant, or the caller's own; required if all tenants are selected.
    pub tenant_id: Option<Uuid>,
}

/// Creates an organization; returns its id.
#[derive(Debug, Clone)]
pub struct CreateOrganization {
    tenant: Uuid,
    id: Uuid,
    input: NewOrganization,
}

impl CreateOrganization {
    /// Validates the input.
    ///
    /// # Errors
    /// 400 for invalid fields, or if no single tenant is selected; 403 for a tenant that is not visible.
    pub fn new(ctx: &RequestContext, input: NewOrganization) -> Result<Self> {
        let mut rules = Rules::default();
        let name = rules.name("name", &input.name);
        if let Some(slug) = &input.slug {
            rules.slug("slug", slug);
        }
        if let Some(url) = &input.logo_url {
            rules.logo_url("logoUrl", url);
        }
        rules.check()?;
        let tenant = match input.tenant_id {
            Some(tenant) if ctx.scope().sees_tenant(tenant) => tenant,
            Some(_) => return Err(Error::OtherTenant.into()),
            None => ctx.tenant()?,
        };
        Ok(Self {
            tenant,
            id: ctx.new_id(),
            input: NewOrganization { name, ..input },
        })
    }

    async fn slug(&self, tx: &mut Tx<'_>) -> Result<String> {
        if let Some(slug) = &self.input.slug {
            return Ok(slug.clone());
        }
        let base = SLUG.derive(&self.input.name);
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
}

impl Command for CreateOrganization {
    const ID: &'static str = "directory.organization.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create organization";
    const FEATURES: &'static [Feature] = &[acl::ORGANIZATIONS_MANAGE];
    type Entity = Organization;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        check_parent(tx, self.input.parent_id).await?;
        tree::lock(tx).await?;
        let row = OrganizationRow {
            tenant_id: self.tenant,
            id: self.id,
            name: self.input.name.clone(),
            slug: self.slug(tx).await?,
            parent_id: self.input.parent_id,
            logo_url: self.input.logo_url.clone(),
            is_active: self.input.is_active.unwrap_or(true),
            created_at: tx.now(),
            updated_at: tx.now(),
        };
        insert_into(organizations::table)
            .values(&row)
            .execute(tx.conn())
            .await
            .map_err(slug_conflict)?;
        Ok(self.id)
    }
}
