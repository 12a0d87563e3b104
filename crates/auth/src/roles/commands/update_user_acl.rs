use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::AclWritten;
use crate::acl;
use crate::roles::grants::{self, Acl, AclInput};
use crate::roles::model::UserAcl;
use crate::schema::auth_user_acls as acls;

/// Sets the ACL that applies to a user instead of those of their roles, or removes it.
#[derive(Debug, Clone)]
pub struct UpdateUserAcl {
    /// The user.
    pub user: Uuid,
    /// The new values; absent ones stay. An input with an empty list of features that leaves no super-admin flag removes the ACL, so that
    /// the roles apply again.
    pub input: AclInput,
}

impl UpdateUserAcl {
    fn removes(&self, is_super_admin: bool) -> bool {
        self.input.features.as_ref().is_some_and(Vec::is_empty) && !is_super_admin
    }
}

impl Command for UpdateUserAcl {
    const ID: &'static str = "auth.user_acl.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update user permissions";
    const FEATURES: &'static [Feature] = &[acl::ACL_MANAGE];
    type Entity = UserAcl;
    type Output = AclWritten;

    fn target(&self) -> Target {
        Target::Existing(self.user)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<AclWritten> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let stored: Option<UserAcl> = acls::table
            .filter(acls::tenant_id.eq(tenant))
            .filter(acls::user_id.eq(self.user))
            .select(UserAcl::as_select())
            .first(tx.conn())
            .await
            .optional()?;
        let before = stored.as_ref().map(Acl::from);
        let (after, sanitized) = self.input.apply(tx.context(), before.as_ref());
        if self.removes(after.is_super_admin) {
            if stored.is_some() {
                UserAcl::remove(tx, &[self.user]).await?;
            }
            return Ok(AclWritten {
                sanitized,
                updated_at: None,
            });
        }
        grants::organizations_exist(tx, before.as_ref(), &after).await?;
        if stored.is_some() && before.as_ref() == Some(&after) {
            let updated_at = stored.map(|row| row.updated_at);
            return Ok(AclWritten { sanitized, updated_at });
        }
        let row = UserAcl {
            tenant_id: tenant,
            id: self.user,
            user_id: self.user,
            is_super_admin: after.is_super_admin,
            features: after.features,
            organizations: after.organizations,
            created_at: stored.map_or(now, |row| row.created_at),
            updated_at: now,
        };
        UserAcl::write(tx, &[row]).await?;
        Ok(AclWritten {
            sanitized,
            updated_at: Some(now),
        })
    }
}
