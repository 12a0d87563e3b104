//! Creates a tenant with everything that it needs to be used.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::http::given;
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Feature, RequestContext, Result};
use diesel::insert_into;
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::config::Settings;
use crate::model::{Organization, Tenant};
use crate::schema::{directory_organizations as organizations, directory_tenants as tenants};
use crate::values::{self, DirectoryName};
use crate::{SLUG, acl};

/// A new tenant.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewTenant {
    /// 1 to 200 characters, not counting surrounding white space; no control characters.
    #[schema(value_type = DirectoryName)]
    pub name: String,
    /// Name of the first organization; by default the tenant's.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<DirectoryName>, nullable = false)]
    pub organization_name: Option<String>,
    /// The locales of the tenant, 1 to 20 different ones of those that `i18n.locales` serves (by default `en`, `pl`, `es` and `de`);
    /// null or absent: all of them.
    #[schema(min_items = 1, pattern = "^[a-z]{2,3}$")]
    pub locales: Option<Vec<String>>,
}

impl NewTenant {
    /// Returns the names of the tenant and of its first organization.
    fn names(&self, validator: &mut Validator) -> (String, String) {
        let mut name = String::new();
        validator.text("name", &self.name.clone().into(), &mut name, values::name);
        let mut organization_name = name.clone();
        if let Some(named) = self.organization_name.clone() {
            validator.text("organizationName", &named.into(), &mut organization_name, values::name);
        }
        (name, organization_name)
    }
}

impl Input for NewTenant {
    fn validate(&self, validator: &mut Validator) {
        self.names(validator);
    }
}

/// The ids of a new tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantCreated {
    /// The tenant.
    pub id: Uuid,
    /// The first organization.
    pub organization_id: Uuid,
}

/// Creates a tenant and its root organization, and calls the seed hook of every enabled module (for roles, dictionaries), all in one
/// transaction. The scope of the context must include all tenants, since no scope of a single tenant includes the new one.
#[derive(Debug, Clone)]
pub struct CreateTenant {
    created: TenantCreated,
    name: String,
    organization_name: String,
    locales: Option<Vec<String>>,
}

impl CreateTenant {
    /// Validates the input.
    ///
    /// # Errors
    /// 400 for invalid fields.
    pub fn new(ctx: &RequestContext, input: NewTenant) -> Result<Self> {
        let settings = ctx.call().provided::<Settings>()?;
        let (mut validator, mut locales) = (Validator::default(), None);
        let (name, organization_name) = input.names(&mut validator);
        if let Some(named) = input.locales {
            let rule = values::locales(&settings.i18n.locales);
            validator.optional("locales", &named.into(), &mut locales, rule);
        }
        validator.check()?;
        let created = TenantCreated {
            id: ctx.new_id(),
            organization_id: ctx.new_id(),
        };
        Ok(Self {
            created,
            name,
            organization_name,
            locales,
        })
    }

    fn tenant(&self, tx: &Tx<'_>) -> Tenant {
        Tenant {
            tenant_id: self.created.id,
            id: self.created.id,
            name: self.name.clone(),
            is_active: true,
            locales: self.locales.clone(),
            created_at: tx.now(),
            updated_at: tx.now(),
        }
    }

    fn organization(&self, tx: &Tx<'_>) -> Organization {
        Organization {
            tenant_id: self.created.id,
            id: self.created.organization_id,
            name: self.organization_name.clone(),
            slug: SLUG.derive(&self.organization_name),
            parent_id: None,
            logo_url: None,
            is_active: true,
            created_at: tx.now(),
            updated_at: tx.now(),
        }
    }
}

impl Command for CreateTenant {
    const ID: &'static str = "directory.tenant.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create tenant";
    const FEATURES: &'static [Feature] = &[acl::TENANTS_MANAGE];
    const UNDOABLE: bool = false;
    type Entity = Tenant;
    type Output = TenantCreated;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.created.id,
            id: self.created.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<TenantCreated> {
        self.insert(tx).await
    }
}

impl CreateTenant {
    /// Returns the ids of the future tenant.
    #[must_use]
    pub const fn created(&self) -> TenantCreated {
        self.created
    }

    /// Inserts the tenant and its organization and calls the seed hooks, inside this command or another one of the same target.
    ///
    /// # Errors
    /// If a seed hook rejects the tenant, or the database can't be reached.
    pub async fn insert(&self, tx: &mut Tx<'_>) -> Result<TenantCreated> {
        insert_into(tenants::table)
            .values(&self.tenant(tx))
            .execute(tx.conn())
            .await?;
        insert_into(organizations::table)
            .values(&self.organization(tx))
            .execute(tx.conn())
            .await?;
        tx.changed(Organization::KIND);
        for module in tx.context().platform().modules() {
            (module.seed)(tx, self.created.id).await?;
        }
        Ok(self.created)
    }
}
