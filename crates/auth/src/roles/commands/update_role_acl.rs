use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Feature, Rejection, Result, Timestamp};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::acl;
use crate::roles::grants::{self, Acl, AclInput};
use crate::roles::model::RoleAcl;
use crate::schema::auth_role_acls as acls;

/// Sets the ACL of a role.
#[derive(Debug, Clone)]
pub struct UpdateRoleAcl {
    /// The role.
    pub role: Uuid,
    /// The new values; absent ones stay.
    pub input: AclInput,
}

/// Result of writing an ACL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AclWritten {
    /// Whether a part of the input was dropped.
    pub sanitized: bool,
    /// The ACL's `updatedAt`.
    pub updated_at: Option<Timestamp>,
}

impl Command for UpdateRoleAcl {
    const ID: &'static str = "auth.role_acl.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update role permissions";
    const FEATURES: &'static [Feature] = &[acl::ACL_MANAGE];
    type Entity = RoleAcl;
    type Output = AclWritten;

    fn target(&self) -> Target {
        Target::Existing(self.role)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<AclWritten> {
        let (tenant, now) = (tx.tenant(), tx.now());
        grants::may_write_role(tx)?;
        let stored: Option<RoleAcl> = acls::table
            .filter(acls::tenant_id.eq(tenant))
            .filter(acls::role_id.eq(self.role))
            .select(RoleAcl::as_select())
            .first(tx.conn())
            .await
            .optional()?;
        let before = stored.as_ref().map(Acl::from);
        grants::may_touch_acl(tx, before.as_ref())?;
        let (after, sanitized) = self.input.apply(tx.context(), before.as_ref());
        if tenant == PLATFORM_TENANT && after.organizations.is_some() {
            let message = "must be null for a global role";
            return Err(Rejection::invalid_field("organizations", message, "invalid_value").into());
        }
        grants::organizations_exist(tx, before.as_ref(), &after).await?;
        if stored.is_some() && before.as_ref() == Some(&after) {
            return Ok(AclWritten {
                sanitized,
                updated_at: stored.map(|row| row.updated_at),
            });
        }
        let row = RoleAcl {
            tenant_id: tenant,
            id: self.role,
            role_id: self.role,
            is_super_admin: after.is_super_admin,
            features: after.features,
            organizations: after.organizations,
            created_at: stored.map_or(now, |row| row.created_at),
            updated_at: now,
        };
        RoleAcl::write(tx, &[row]).await?;
        Ok(AclWritten {
            sanitized,
            updated_at: Some(now),
        })
    }
}
