//! Changes a tenant.

use backoffice_core::command::{Class, Command, Target};
use backoffice_core::db::Tx;
use backoffice_core::http::{given, present};
use backoffice_core::{Feature, RequestContext, Result, Timestamp};
use diesel::{AsChangeset, ExpressionMethods, QueryDsl, update};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::config::Settings;
use crate::model::Tenant;
use crate::schema::directory_tenants as tenants;
use crate::values::{DirectoryName, Rules};
use crate::{Error, acl, query};

/// Changes of a tenant; absent fields stay.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantPatch {
    /// The tenant.
    pub id: Uuid,
    /// 1 to 200 characters, not counting surrounding white space; no control characters.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<DirectoryName>, nullable = false)]
    pub name: Option<String>,
    /// The locales of the tenant, 1 to 20 different ones of those that `i18n.locales` serves (by default `en`, `pl`, `es` and `de`);
    /// null: all of them.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1, pattern = "^[a-z]{2,3}$")]
    pub locales: Option<Option<Vec<String>>>,
    /// Whether users may sign in; only for super administrators, who cannot deactivate their own tenant.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    pub is_active: Option<bool>,
}

/// Changes a tenant.
#[derive(Debug, Clone)]
pub struct UpdateTenant(TenantPatch);

impl UpdateTenant {
    /// Validates the input.
    ///
    /// # Errors
    /// 403 if a caller who is not a super administrator sets `is_active`; 400 for invalid fields.
    pub fn new(ctx: &RequestContext, mut patch: TenantPatch) -> Result<Self> {
        if patch.is_active.is_some() && !ctx.rights().is_super_admin {
            return Err(Error::SuperAdministratorsOnly.into());
        }
        let settings = ctx.call().provided::<Settings>()?;
        let mut rules = Rules::default();
        if let Some(name) = &mut patch.name {
            *name = rules.name("name", name);
        }
        if let Some(Some(locales)) = &mut patch.locales {
            *locales = rules.locales("locales", locales, &settings.i18n.locales);
        }
        rules.check()?;
        Ok(Self(patch))
    }
}

#[derive(AsChangeset)]
#[diesel(table_name = tenants)]
struct Changes<'a> {
    name: Option<&'a str>,
    locales: Option<Option<&'a [String]>>,
    is_active: Option<bool>,
    updated_at: Timestamp,
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
        Target::Existing(self.0.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let patch = &self.0;
        if patch.is_active == Some(false) && tx.context().identity().tenant == patch.id {
            return Err(Error::OwnTenant { deleting: false }.into());
        }
        let changes = Changes {
            name: patch.name.as_deref(),
            locales: patch.locales.as_ref().map(Option::as_deref),
            is_active: patch.is_active,
            updated_at: tx.now(),
        };
        update(query::tenants_in_scope(tx.scope()).filter(tenants::id.eq(patch.id)))
            .set(changes)
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}
