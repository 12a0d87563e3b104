//! What this module has to say when roles and organizations are removed, by a command or by undo and redo: what keys depend on stays.

use backoffice_core::Result;
use backoffice_core::command::{Attempt, Hook, Interceptor, Verdict};
use backoffice_core::db::Tx;
use diesel::dsl::exists;
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use serde_json::{Map, json};
use uuid::Uuid;

use crate::schema::{api_keys_key_roles as links, api_keys_keys as keys};

/// Refuses to remove a role that a key holds.
pub(crate) const KEEP_ROLES_OF_KEYS: Interceptor = Interceptor {
    id: "api_keys.role_keys",
    target: "auth.role.*",
    priority: 100,
    run: keep_role,
};

/// Refuses to remove an organization that has live keys.
pub(crate) const KEEP_ORGANIZATIONS_WITH_KEYS: Interceptor = Interceptor {
    id: "api_keys.organization_keys",
    target: "directory.organization.*",
    priority: 100,
    run: keep_organization,
};

/// Whether this hook sees the resource before it is removed.
fn removes(attempt: &Attempt<'_>, command: &str) -> bool {
    match attempt.hook {
        Hook::BeforeExecute => attempt.command == command,
        Hook::BeforeUndo | Hook::BeforeRedo => attempt.after.is_none(),
        Hook::AfterExecute => false,
    }
}

fn keep_role<'a>(tx: &'a mut Tx<'_>, attempt: &'a Attempt<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        if !removes(attempt, "auth.role.delete") || !is_held(tx, attempt.id).await? {
            return Ok(Verdict::Continue);
        }
        Ok(refuse(attempt, "Role has assigned users", "role_in_use", 400))
    })
}

fn keep_organization<'a>(tx: &'a mut Tx<'_>, attempt: &'a Attempt<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        if !removes(attempt, "directory.organization.delete") || !has_keys(tx, attempt.id).await? {
            return Ok(Verdict::Continue);
        }
        Ok(refuse(attempt, "Organization is in use", "organization_in_use", 409))
    })
}

fn refuse(attempt: &Attempt<'_>, message: &str, code: &str, status: u16) -> Verdict {
    if attempt.hook != Hook::BeforeExecute {
        return changed_since();
    }
    Verdict::Refuse {
        message: message.to_owned(),
        code: Some(code.to_owned()),
        status: Some(status),
        body: None,
    }
}

/// A key was made since the action that undo or redo would reverse.
fn changed_since() -> Verdict {
    let message = "The record has changed since this action";
    let body = Map::from_iter([
        ("error".to_owned(), json!(message)),
        ("code".to_owned(), json!("undo_conflict")),
        ("fields".to_owned(), json!(["api_keys.key"])),
    ]);
    Verdict::Refuse {
        message: message.to_owned(),
        code: None,
        status: Some(400),
        body: Some(body),
    }
}

/// A global role may be held by keys of any tenant.
async fn is_held(tx: &mut Tx<'_>, role: Uuid) -> Result<bool> {
    let tenant = tx.tenant();
    tx.across_tenants(move |connection| {
        Box::pin(async move {
            let held = diesel::select(exists(
                links::table
                    .filter(links::role_tenant_id.eq(tenant))
                    .filter(links::role_id.eq(role)),
            ))
            .get_result(connection)
            .await?;
            Ok(held)
        })
    })
    .await
}

async fn has_keys(tx: &mut Tx<'_>, organization: Uuid) -> Result<bool> {
    let tenant = tx.tenant();
    let found = diesel::select(exists(
        keys::table
            .filter(keys::tenant_id.eq(tenant))
            .filter(keys::organization_id.eq(organization))
            .filter(keys::deleted_at.is_null()),
    ))
    .get_result(tx.conn())
    .await?;
    Ok(found)
}
