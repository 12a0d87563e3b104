use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Prepared;
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::error::on_violation;
use crate::model::Role;
use crate::query::roles::in_scope;
use crate::schema::auth_roles as roles;
use crate::{Error, acl, grants, seed};

/// Renames a role.
#[derive(Debug, Clone)]
pub struct UpdateRole {
    /// The role.
    pub id: Uuid,
    /// The new name; `None` keeps the present one.
    pub name: Option<String>,
}

impl Command for UpdateRole {
    const ID: &'static str = "auth.role.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update role";
    const FEATURES: &'static [Feature] = &[acl::ROLES_MANAGE];
    type Entity = Role;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        grants::may_change_role(tx, self.id).await?;
        let Some(name) = &self.name else { return Ok(()) };
        let (now, tenant, scope) = (tx.now(), tx.tenant(), tx.scope());
        let own = || {
            let of_tenant = in_scope(scope).filter(roles::tenant_id.eq(tenant));
            of_tenant.filter(roles::id.eq(self.id))
        };
        let present: String = own().select(roles::name).first(tx.conn()).await?;
        for name in [&present, name] {
            seed::check_reserved(tx, name, false)?;
        }
        let statement = diesel::update(own()).set((
            roles::name.eq(name),
            roles::name_norm.eq(name.to_lowercase()),
            roles::updated_at.eq(now),
        ));
        Prepared(statement).execute(tx.conn()).await.map_err(|error| {
            on_violation("auth_roles_tenant_id_name_norm_key", Error::DuplicateRoleName)(error.into())
        })?;
        Ok(())
    }
}
