//! Changes an organization.

use backoffice_core::command::{Class, Command, Target};
use backoffice_core::db::Tx;
use backoffice_core::http::{given, present};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::{AsChangeset, ExpressionMethods, QueryDsl, update};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{check_parent, slug_conflict};
use crate::model::Organization;
use crate::schema::directory_organizations as organizations;
use crate::values::{DirectoryName, LogoUrl, Rules};
use crate::{acl, query};

/// Changes of an organization; absent fields stay.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationPatch {
    /// The organization.
    pub id: Uuid,
    /// 1 to 200 characters, not counting surrounding white space; no control characters.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<DirectoryName>, nullable = false)]
    pub name: Option<String>,
    /// Unique in the tenant.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_length = 100, pattern = "^[a-z0-9]+(-[a-z0-9]+)*$")]
    pub slug: Option<String>,
    /// The parent organization: an existing one of the tenant, not the organization itself or a descendant, at a depth that the configuration
    /// allows. Null moves the organization to the top level.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub parent_id: Option<Option<Uuid>>,
    /// Address of the logo; null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<LogoUrl>)]
    pub logo_url: Option<Option<String>>,
    /// Whether its users may sign in.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    pub is_active: Option<bool>,
}

/// Changes an organization. The `updatedAt` of other rows stays.
#[derive(Debug, Clone)]
pub struct UpdateOrganization(OrganizationPatch);

impl UpdateOrganization {
    /// Validates the input.
    ///
    /// # Errors
    /// 400 for invalid fields.
    pub fn new(mut patch: OrganizationPatch) -> Result<Self> {
        let mut rules = Rules::default();
        if let Some(name) = &mut patch.name {
            *name = rules.name("name", name);
        }
        if let Some(slug) = &patch.slug {
            rules.slug("slug", slug);
        }
        if let Some(Some(url)) = &patch.logo_url {
            rules.logo_url("logoUrl", url);
        }
        rules.check()?;
        Ok(Self(patch))
    }
}

#[derive(AsChangeset)]
#[diesel(table_name = organizations)]
struct Changes<'a> {
    name: Option<&'a str>,
    slug: Option<&'a str>,
    parent_id: Option<Option<Uuid>>,
    logo_url: Option<Option<&'a str>>,
    is_active: Option<bool>,
    updated_at: Timestamp,
}

impl Command for UpdateOrganization {
    const ID: &'static str = "directory.organization.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update organization";
    const FEATURES: &'static [Feature] = &[acl::ORGANIZATIONS_MANAGE];
    type Entity = Organization;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.0.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let patch = &self.0;
        let own = query::organizations_of(tx.tenant()).filter(organizations::id.eq(patch.id));
        if let Some(parent) = patch.parent_id {
            let present: Option<Uuid> = own.select(organizations::parent_id).first(tx.conn()).await?;
            if present != parent {
                check_parent(tx, parent).await?;
            }
        }
        let changes = Changes {
            name: patch.name.as_deref(),
            slug: patch.slug.as_deref(),
            parent_id: patch.parent_id,
            logo_url: patch.logo_url.as_ref().map(Option::as_deref),
            is_active: patch.is_active,
            updated_at: tx.now(),
        };
        update(own)
            .set(changes)
            .execute(tx.conn())
            .await
            .map_err(slug_conflict)?;
        Ok(())
    }
}
