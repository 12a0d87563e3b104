//! What this module has to say when others change organizations: one with users stays, and who loses an organization is signed out.

use backoffice_core::Result;
use backoffice_core::command::{Attempt, Hook, Interceptor, Snapshot, Verdict};
use backoffice_core::db::Tx;
use diesel::dsl::exists;
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::revocation::{self, Subject};
use crate::schema::auth_users as users;
use crate::session;

/// Refuses to remove an organization that has live users, by whatever way.
pub(crate) const KEEP_ORGANIZATIONS_WITH_USERS: Interceptor = Interceptor {
    id: "auth.organization_users",
    target: "directory.organization.*",
    priority: 100,
    run: keep,
};

/// Drops cached identities of the tenant, and ends the sessions of those whose organization went away.
pub(crate) const SIGN_OUT_OF_ORGANIZATIONS: Interceptor = Interceptor {
    id: "auth.organization_sessions",
    target: "directory.organization.*",
    priority: 200,
    run: sign_out,
};

fn keep<'a>(tx: &'a mut Tx<'_>, attempt: &'a Attempt<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        let removes = match attempt.hook {
            Hook::BeforeExecute => attempt.command == "directory.organization.delete",
            Hook::BeforeUndo | Hook::BeforeRedo => attempt.after.is_none(),
            Hook::AfterExecute => false,
        };
        if !removes || !has_users(tx, attempt.id).await? {
            return Ok(Verdict::Continue);
        }
        let restoring = attempt.hook != Hook::BeforeExecute;
        Ok(if restoring { changed_since() } else { in_use() })
    })
}

fn in_use() -> Verdict {
    let code = Some("organization_in_use".to_owned());
    Verdict::Refuse {
        message: "Organization is in use".to_owned(),
        code,
        status: Some(409),
        body: None,
    }
}

fn changed_since() -> Verdict {
    let message = "The record has changed since this action";
    let body = Map::from_iter([
        ("error".to_owned(), json!(message)),
        ("code".to_owned(), json!("undo_conflict")),
        ("fields".to_owned(), json!(["auth.user"])),
    ]);
    Verdict::Refuse {
        message: message.to_owned(),
        code: None,
        status: Some(400),
        body: Some(body),
    }
}

fn sign_out<'a>(tx: &'a mut Tx<'_>, attempt: &'a Attempt<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        if attempt.hook == Hook::BeforeExecute {
            return Ok(Verdict::Continue);
        }
        let active = |image: Option<&Snapshot>| image.and_then(|image| image.get("isActive")).and_then(Value::as_bool);
        if active(attempt.before) == Some(true) && active(attempt.after) != Some(true) {
            session::end_of_organization(tx, attempt.id).await?;
        }
        let tenant = tx.tenant();
        revocation::revoke(tx, Subject::Tenant(tenant)).await?;
        Ok(Verdict::Continue)
    })
}

async fn has_users(tx: &mut Tx<'_>, organization: Uuid) -> Result<bool> {
    let tenant = tx.tenant();
    let found = diesel::select(exists(
        users::table
            .filter(users::tenant_id.eq(tenant))
            .filter(users::organization_id.eq(organization))
            .filter(users::deleted_at.is_null()),
    ))
    .get_result(tx.conn())
    .await?;
    Ok(found)
}
