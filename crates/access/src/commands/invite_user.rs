use backoffice_auth::model::User;
use backoffice_auth::{InvitedUser, invitation};
use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::events::Event;
use backoffice_core::{Feature, Placement, RequestContext, Result};
use uuid::Uuid;

use super::find_role;
use crate::acl;
use crate::error::{Error, grantable};
use crate::values::TeamRole;

/// Creates an active user without a password, with a role of the team and the token of an invitation, which the caller mails after the commit.
#[derive(Debug, Clone)]
pub struct InviteUser {
    /// The id.
    pub id: Uuid,
    /// Tenant and organization of the user.
    pub placement: Placement,
    /// E-mail address, valid, trimmed, in lower case.
    pub email: String,
    /// Name, valid and trimmed.
    pub name: String,
    /// The role.
    pub role: TeamRole,
    /// The token of the link.
    pub token: invitation::NewToken,
}

impl InviteUser {
    /// Prepares an invitation into the organization in which the request writes.
    ///
    /// # Errors
    /// 400 `organization_required` if there is none.
    pub fn new(ctx: &RequestContext, email: String, name: String, role: TeamRole) -> Result<Self> {
        Ok(Self {
            id: ctx.new_id(),
            placement: Placement::for_new(ctx, None)?,
            email,
            name,
            role,
            token: invitation::mint(ctx)?,
        })
    }
}

impl Command for InviteUser {
    const ID: &'static str = "access.user.invite";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Invite user";
    const FEATURES: &'static [Feature] = &[acl::USERS_MANAGE];
    const UNDOABLE: bool = false;
    type Entity = User;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.placement.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        let organization = self.placement.organization;
        Placement::lock(tx, organization).await?;
        let role = find_role(tx, self.role).await?;
        let user = InvitedUser {
            id: self.id,
            organization,
            email: &self.email,
            name: &self.name,
            role: &role,
            token: &self.token,
        };
        grantable(user.insert(tx).await).map_err(|error| {
            if backoffice_auth::Error::DuplicateEmail.is(&error) {
                Error::EmailAlreadyExists.into()
            } else {
                error
            }
        })?;
        let event = Event::new("access.user.invited", self.id).with("role", self.role.as_str());
        tx.emit(event.shown_to(acl::USERS_VIEW));
        Ok(self.id)
    }
}
