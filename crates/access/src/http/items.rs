//! Users as clients read them.

use backoffice_core::access_log::Record;
use backoffice_core::{RequestContext, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::query::{BesideUser, Invitation, TeamUser};
use crate::values::{AccessRole, AccessStatus, UserStatus};

/// A user of the tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccessUser {
    /// The id.
    id: Uuid,
    /// The name; the e-mail address of a user without a name.
    name: String,
    /// E-mail address.
    email: String,
    /// `dispatcher` or `viewer`, if the user holds that role; `dispatcher` if they hold both.
    #[schema(value_type = Option<AccessRole>, required = true)]
    role: Option<&'static str>,
    /// `invited`: has no password yet; `active`: may sign in; `disabled`: deactivated.
    #[schema(value_type = AccessStatus)]
    status: &'static str,
    /// The invitation of an invited user; null for others, and if no invitation was issued.
    #[schema(required = true)]
    invite: Option<AccessInvite>,
    /// The organization.
    #[schema(required = true)]
    organization_id: Option<Uuid>,
    /// Time of creation.
    created_at: Timestamp,
    /// Time of the last change.
    updated_at: Timestamp,
    #[serde(skip)]
    tenant_id: Uuid,
}

/// An invitation, without its link.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AccessInvite {
    /// When the mail was sent; null if it was not.
    #[schema(required = true)]
    sent_at: Option<Timestamp>,
    /// When the link stops working.
    expires_at: Timestamp,
    /// Whether the link has stopped working.
    expired: bool,
    /// Whether the mail was sent.
    email_sent: bool,
}

impl AccessInvite {
    fn new(invitation: Invitation, now: Timestamp) -> Self {
        Self {
            sent_at: invitation.sent_at,
            expires_at: invitation.expires_at,
            expired: invitation.expires_at <= now,
            email_sent: invitation.sent_at.is_some(),
        }
    }
}

impl AccessUser {
    /// Creates the item. While the invitation can still expire, the response has no entity tag: `expired` changes without a change of the user.
    pub(super) fn new(ctx: &RequestContext, user: TeamUser, beside: BesideUser) -> Self {
        let status = user.status();
        let invitation = beside.invitation.filter(|_| status == UserStatus::Invited);
        let invite = invitation.map(|invitation| AccessInvite::new(invitation, ctx.now()));
        if invite.is_some_and(|invite| !invite.expired) {
            ctx.omit_entity_tag();
        }
        Self {
            id: user.id,
            name: user.name.unwrap_or_else(|| user.email.clone()),
            email: user.email,
            role: beside.role.map(crate::TeamRole::as_str),
            status: status.as_str(),
            invite,
            organization_id: user.organization_id,
            created_at: user.created_at,
            updated_at: user.updated_at,
            tenant_id: user.tenant_id,
        }
    }

    /// Returns the record of the access log.
    pub(super) fn record(&self) -> Record {
        Record::new(self.id, Some(self.tenant_id)).of(self.organization_id)
    }
}
