//! The commands.

pub(crate) mod limits;
mod member;
pub(crate) mod platform_calls;
mod record_run;
mod retry_webhook;
mod rule;
mod set;
mod webhook_secret;

pub use member::{CreateMember, DeleteMember, MemberInput, UpdateMember};
pub(crate) use record_run::{RecordRun, record_id};
pub use retry_webhook::RetryWebhookDelivery;
pub(crate) use rule::validate_new;
pub use rule::{CreateRule, DeleteRule, RuleInput, UpdateRule};
pub use set::{CreateSet, DeleteSet, SetInput, UpdateSet};
pub use webhook_secret::{CreateWebhookSecret, DeleteWebhookSecret};

use backoffice_core::{Patch, Placement, Rejection, RequestContext, Result};
use uuid::Uuid;

/// Returns the placement of a rule or set: the named organization, else the one in which the request writes, else the whole tenant. The whole
/// tenant has the nil UUID as its organization.
fn placement(ctx: &RequestContext, named: Patch<Uuid>) -> Result<Placement> {
    let is_whole = match named {
        Patch::Set(_) => false,
        Patch::Clear => true,
        Patch::Keep => ctx.scope().write_organization.is_none() && ctx.scope().organizations.is_none(),
    };
    if !is_whole {
        return Placement::for_new(ctx, named.value());
    }
    let tenant = ctx.tenant()?;
    if tenant.is_nil() {
        return Err(Rejection::tenant_required().into());
    }
    if ctx.scope().organizations.is_some() {
        return Err(Rejection::organization_out_of_scope().into());
    }
    Ok(Placement {
        tenant,
        organization: Uuid::nil(),
    })
}

/// Returns the organization of a placement; `None` for the whole tenant.
fn organization(placement: Placement) -> Option<Uuid> {
    (!placement.organization.is_nil()).then_some(placement.organization)
}
