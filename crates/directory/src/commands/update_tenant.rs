//! Updates a tenant.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Feature, Patch, RequestContext, Result};
use diesel::{AsChangeset, ExpressionMethods, QueryDsl, update};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::config::Settings;
use crate::model::Tenant;
use crate::schema::directory_tenants as tenants;
use crate::values::{self, DirectoryName};
use crate::{Error, acl, query};

/// The fields of a tenant to update: absent fields keep their values.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantPatch {
    /// The tenant.
    pub id: Uuid,
    /// 1 to 200 characters, not counting surrounding white space; no control characters.
    #[serde(default)]
    #[schema(value_type = DirectoryName)]
    pub name: Patch<String>,
    /// The locales of the tenant, 1 to 20 different ones of those that `i18n.locales` serves (by default `en`, `pl`, `es` and `de`);
    /// null: all of them.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>, min_items = 1, pattern = "^[a-z]{2,3}$")]
    pub locales: Patch<Vec<String>>,
    /// Whether users may sign in; only for super administrators, who cannot deactivate their own tenant.
    #[serde(default)]
    #[schema(value_type = bool)]
    pub is_active: Patch<bool>,
}

impl TenantPatch {
    /// Validates the fields whose rules do not depend on the configuration, and returns the name.
    fn name_and_flag(&self, validator: &mut Validator) -> String {
        let (mut name, mut is_active) = (String::new(), true);
        validator.text("name", &self.name, &mut name, values::name);
        validator.value("isActive", &self.is_active, &mut is_active, rules::any);
        name
    }
}

impl Input for TenantPatch {
    fn validate(&self, validator: &mut Validator) {
        self.name_and_flag(validator);
    }
}

/// Updates a tenant.
#[derive(Debug, Clone)]
pub struct UpdateTenant {
    id: Uuid,
    changes: Changes,
}

#[derive(Debug, Clone, AsChangeset)]
#[diesel(table_name = tenants)]
struct Changes {
    name: Option<String>,
    locales: Option<Option<Vec<String>>>,
    is_active: Option<bool>,
}

impl UpdateTenant {
    /// Validates the input.
    ///
    /// # Errors
    /// 403 if a caller who is not a super administrator sets `is_active`; 400 for invalid fields.
    pub fn new(ctx: &RequestContext, patch: TenantPatch) -> Result<Self> {
        if patch.is_active.value().is_some() && !ctx.rights().is_super_admin {
            return Err(Error::SuperAdministratorsOnly.into());
        }
        let settings = ctx.call().provided::<Settings>()?;
        let (mut validator, mut locales) = (Validator::default(), None);
        let name = patch.name_and_flag(&mut validator);
        let rule = values::locales(&settings.i18n.locales);
        validator.optional("locales", &patch.locales, &mut locales, rule);
        validator.check()?;
        let changes = Changes {
            name: (!patch.name.is_keep()).then_some(name),
            locales: (!patch.locales.is_keep()).then_some(locales),
            is_active: patch.is_active.value(),
        };
        Ok(Self { id: patch.id, changes })
    }
}

impl Command for UpdateTenant {
    const ID: &'static str = "directory.tenant.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update tenant";
    const FEATURES: &'static [Feature] = &[acl::TENANTS_MANAGE];
    const UNDOABLE: bool = false;
    type Entity = Tenant;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        if self.changes.is_active == Some(false) && tx.context().identity().tenant == self.id {
            return Err(Error::OwnTenant { deleting: false }.into());
        }
        update(query::tenants_in_scope(tx.scope()).filter(tenants::id.eq(self.id)))
            .set((&self.changes, tenants::updated_at.eq(tx.now())))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}
