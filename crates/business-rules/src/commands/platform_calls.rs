//! Checks the endpoints and keys that actions name, when a rule is saved.

use backoffice_core::command::Tx;
use backoffice_core::input::Validator;
use backoffice_core::{Detail, Rejection, Result};
use uuid::Uuid;

use crate::action::{Action, PlatformCall};
use crate::model::Rule;
use crate::platform_calls::{CallableEndpoints, CallableKey, common_organization, keys};

/// Rejects actions that name an endpoint that rules may not call, or a key that is not available to the caller and the rule.
pub(super) async fn check(tx: &mut Tx<'_>, rule: &Rule, branches: &[Vec<Action>; 2]) -> Result<()> {
    let calls = calls(branches);
    if calls.is_empty() {
        return Ok(());
    }
    let ctx = tx.context().for_features(&[backoffice_api_keys::acl::CREATE])?;
    let tenant = rule.tenant_id;
    let ids: Vec<Uuid> = calls.iter().map(|one| one.call.key).collect();
    let known = keys(tx.conn(), &ctx, tenant, Some(&ids)).await?;
    let endpoints = ctx.call().provided::<CallableEndpoints>()?;
    let mut details = Vec::new();
    for one in calls {
        if !endpoints.contains(ctx.platform(), one.call.method, &one.call.path) {
            details.push(one.detail("endpoint", "must be an endpoint that rules may call"));
        }
        let key = known.iter().find(|key| key.id == one.call.key);
        let is_usable = match key {
            None => false,
            Some(CallableKey { organization, .. }) => {
                let common = common_organization(ctx.call(), tenant, *organization, rule.organization_id);
                common.await?.is_some()
            }
        };
        if !is_usable {
            let message = "must be a live API key of the rule's organization, with roles that you could grant";
            details.push(one.detail("apiKeyId", message));
        }
    }
    let Some(first) = details.first() else { return Ok(()) };
    let message = first.message.clone();
    Err(Rejection {
        details,
        ..Rejection::bad_request(message)
    }
    .into())
}

/// Rejects an undo or redo after which a rule would call the platform in a way that its caller could not save.
pub(crate) async fn check_restored(tx: &mut Tx<'_>, rule: &Rule) -> Result<()> {
    // Actions that are no longer valid do not run.
    let actions = rule.actions(tx.context().platform(), None, &mut Validator::default());
    check(tx, rule, &actions).await
}

/// A call among the actions of its branch.
struct LocatedCall<'a> {
    branch: &'static str,
    index: usize,
    call: &'a PlatformCall,
}

impl LocatedCall<'_> {
    fn detail(&self, field: &str, message: &str) -> Detail {
        let path = format!("{}[{}].config.{field}", self.branch, self.index);
        let message = format!("Action {}: {field} {message}", self.index + 1);
        Detail::new(path, message, "unknown_reference")
    }
}

fn calls(branches: &[Vec<Action>; 2]) -> Vec<LocatedCall<'_>> {
    let branches = ["successActions", "failureActions"].into_iter().zip(branches);
    let located = branches.flat_map(|(branch, actions)| {
        actions
            .iter()
            .enumerate()
            .filter_map(move |(index, action)| match action {
                Action::CallPlatform(call) => Some(LocatedCall { branch, index, call }),
                _ => None,
            })
    });
    located.collect()
}
