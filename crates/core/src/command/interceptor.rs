//! Interceptors: callbacks with which modules check or forbid other modules' commands, in the same transaction.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use actix_web::http::StatusCode;
use diesel::sql_types::{Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Command;
use super::snapshot::Snapshot;
use super::tx::Tx;
use crate::db::Prepared;
use crate::error::{Error, ErrorShape, Rejection, Result};
use crate::time::Timestamp;

/// The time at which a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Before the change; receives the snapshot before.
    BeforeExecute,
    /// After the change; receives both snapshots, may still reject.
    AfterExecute,
    /// Before an undo restores the snapshot before.
    BeforeUndo,
    /// Before a redo restores the snapshot after.
    BeforeRedo,
}

/// The log entry to undo or redo, as a hook sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedAction<'a> {
    /// The id.
    pub id: Uuid,
    /// Kind of its actor: `user`, `api_key` or `system`.
    pub actor_kind: &'a str,
    /// Id of its actor.
    pub actor_id: Option<Uuid>,
    /// The organization.
    pub organization_id: Option<Uuid>,
    /// Time of the action.
    pub created_at: Timestamp,
}

/// The input of a hook. The principal and scope are in the transaction's context.
#[derive(Debug)]
pub struct InterceptorContext<'a> {
    /// The hook.
    pub hook: Hook,
    /// The command, also on undo and redo.
    pub command: &'static str,
    /// Kind of the resource.
    pub kind: &'static str,
    /// Id of the resource.
    pub id: Uuid,
    /// Whether the command changes the resource besides its own: such hooks run after those for the command's own resource, except
    /// [`Hook::BeforeExecute`], which runs for that one alone.
    pub is_affected: bool,
    /// The command with its validated input, read by its type ([`InterceptorContext::command_as`]); none on undo and redo, which restore
    /// snapshots.
    pub input: Option<&'a (dyn Any + Send + Sync)>,
    /// The log entry, on undo and redo.
    pub entry: Option<LoggedAction<'a>>,
    /// The present snapshot; on undo and redo the snapshot before the restore.
    pub before: Option<&'a Snapshot>,
    /// The snapshot that the change created, or that the restore will create.
    pub after: Option<&'a Snapshot>,
    /// `{field: {from, to}}` between the two snapshots, once both exist.
    pub changes: Option<&'a BTreeMap<String, Value>>,
}

impl InterceptorContext<'_> {
    /// Returns the command with its validated input, if it is of this type.
    #[must_use]
    pub fn command_as<C: Command>(&self) -> Option<&C> {
        self.input?.downcast_ref()
    }

    /// Whether the resource exists and is about to be deleted: by this command, or by an undo or redo.
    #[must_use]
    pub fn removes(&self, command: &str) -> bool {
        match self.hook {
            Hook::BeforeExecute => self.command == command,
            Hook::BeforeUndo | Hook::BeforeRedo => self.after.is_none(),
            Hook::AfterExecute => false,
        }
    }

    /// Rejects the deletion of the resource because resources of this kind depend on it: a client's deletion with `rejection`, an undo or redo
    /// as a conflict with later changes.
    #[must_use]
    pub fn keep(&self, rejection: Rejection, kind: &str) -> Verdict {
        let (rejection, body) = match self.hook {
            Hook::BeforeExecute | Hook::AfterExecute => (rejection, None),
            Hook::BeforeUndo | Hook::BeforeRedo => {
                let conflict = Rejection::undo_conflict(&[kind]);
                let body = conflict.to_body(ErrorShape::Error, "");
                (conflict, body.as_object().cloned())
            }
        };
        Verdict::Reject {
            status: Some(rejection.status.as_u16()),
            message: rejection.message.into_owned(),
            code: rejection.code.map(std::borrow::Cow::into_owned),
            body,
        }
    }

    /// Rejects the deletion of an organization in which a module has records, for an interceptor on `directory.organization.*`: a deletion with
    /// 409 `organization_in_use`, an undo or redo as a conflict with later changes. `find_kind` is a statement about the tenant `$1` and the
    /// organization `$2`; it returns one row, whose column `kind` has the kind of a record, or null if there is none. The statement runs only
    /// if the organization is about to be deleted.
    ///
    /// # Errors
    /// When the statement fails.
    pub async fn keep_organization(&self, tx: &mut Tx<'_>, find_kind: &'static str) -> Result<Verdict> {
        if !self.removes("directory.organization.delete") {
            return Ok(Verdict::Continue);
        }
        let statement = sql_query(find_kind)
            .bind::<SqlUuid, _>(tx.tenant())
            .bind::<SqlUuid, _>(self.id);
        let found: InUse = Prepared(statement).get_result(tx.conn()).await?;
        Ok(match found.kind {
            Some(kind) => self.keep(Rejection::organization_in_use(), &kind),
            None => Verdict::Continue,
        })
    }
}

#[derive(QueryableByName)]
struct InUse {
    #[diesel(sql_type = Nullable<Text>)]
    kind: Option<String>,
}

/// The decision of a hook.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Verdict {
    /// Lets the command continue.
    #[default]
    Continue,
    /// Rejects the command; the transaction is rolled back.
    Reject {
        /// English text.
        message: String,
        /// Machine-readable code.
        code: Option<String>,
        /// Status 400 to 599; 422 for any other or none.
        status: Option<u16>,
        /// Replaces the body.
        body: Option<Map<String, Value>>,
    },
}

type HookFn = for<'a> fn(&'a mut Tx<'_>, &'a InterceptorContext<'a>) -> BoxFuture<'a, Result<Verdict>>;

/// A registered interceptor. It runs for the command's own resource, and for each affected resource that changes, whose kind may be another one.
#[derive(Debug, Clone, Copy)]
pub struct Interceptor {
    /// The id.
    pub id: &'static str,
    /// A command id, `prefix.*` or `*`.
    pub target: &'static str,
    /// Lower ones run first; 100 is usual.
    pub priority: i32,
    /// Called for every hook of a matching command; must not use the network or change the input.
    pub run: HookFn,
}

/// Runs the interceptors of a command. A hook that fails or panics ends the execution with 500: interceptors fail closed.
pub(super) async fn run(tx: &mut Tx<'_>, interception: &InterceptorContext<'_>) -> Result<()> {
    let registry = tx.context().platform().registry();
    for one in registry
        .interceptors()
        .iter()
        .filter(|one| crate::acl::matches(one.target, interception.command))
    {
        let verdict = AssertUnwindSafe((one.run)(tx, interception))
            .catch_unwind()
            .await
            .unwrap_or_else(|_panic| Err(Error::internal(format!("interceptor {} panicked", one.id))));
        match verdict {
            Ok(Verdict::Continue) => {}
            Ok(Verdict::Reject {
                message,
                code,
                status,
                body,
            }) => return Err(rejection(message, code, status, body).into()),
            // The database is unreachable or the transaction may be repeated: not a fault of the hook.
            Err(error @ (Error::Unavailable(_) | Error::Collision(_))) => return Err(error),
            Err(error) => {
                return Err(Error::internal(format!("interceptor {} failed: {error}", one.id)));
            }
        }
    }
    Ok(())
}

fn rejection(
    message: String,
    code: Option<String>,
    status: Option<u16>,
    body: Option<Map<String, Value>>,
) -> Rejection {
    let status = status
        .filter(|status| (400..600).contains(status))
        .and_then(|status| StatusCode::from_u16(status).ok())
        .unwrap_or(StatusCode::UNPROCESSABLE_ENTITY);
    Rejection {
        code: code.map(Into::into),
        by_interceptor: true,
        body,
        ..Rejection::new(status, message)
    }
}
