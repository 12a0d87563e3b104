//! The commands on users.

mod change_role;
mod deactivate_user;
mod invite_user;
mod reactivate_user;
mod resend_invitation;

use backoffice_auth::{RoleToHold, find_roles, is_administrator, protect_user};
use backoffice_core::Result;
use backoffice_core::command::Tx;
use uuid::Uuid;

use crate::error::{Error, grantable};
use crate::values::TeamRole;

pub use change_role::ChangeRole;
pub use deactivate_user::DeactivateUser;
pub use invite_user::InviteUser;
pub use reactivate_user::ReactivateUser;
pub use resend_invitation::ResendInvitation;
pub(crate) use resend_invitation::check_invitable;

/// Finds the role of this name: the tenant's own before a global one.
async fn find_role(tx: &mut Tx<'_>, role: TeamRole) -> Result<RoleToHold> {
    let named = [role.as_str().to_owned()];
    let missing = backoffice_auth::Error::RolesNotFound(named.to_vec());
    match find_roles(tx, &named).await {
        Ok(found) => found.into_iter().next().ok_or_else(|| Error::RoleMissing.into()),
        Err(error) if missing.is(&error) => Err(Error::RoleMissing.into()),
        Err(error) => Err(error),
    }
}

/// Rejects a change of an administrator, and of a user who holds more than the caller.
async fn protect(tx: &mut Tx<'_>, user: Uuid) -> Result<()> {
    if is_administrator(tx, user).await? {
        return Err(Error::RoleNotAssignable.into());
    }
    grantable(protect_user(tx, user).await)
}
