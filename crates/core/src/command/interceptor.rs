//! Interceptors: what modules check or forbid before other modules' commands, in the same transaction.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use actix_web::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Command;
use super::snapshot::Snapshot;
use crate::db::Tx;
use crate::error::{Error, ErrorShape, Rejection, Result};
use crate::time::Timestamp;

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Before the change; sees the image before.
    BeforeExecute,
    /// After the change; sees both images, may still refuse.
    AfterExecute,
    /// Before an undo restores the image before.
    BeforeUndo,
    /// Before a redo restores the image after.
    BeforeRedo,
}

/// The entry that is to be undone or redone, as a hook sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedAction<'a> {
    /// Its id.
    pub id: Uuid,
    /// What did it: `user`, `api_key` or `system`.
    pub actor_kind: &'a str,
    /// Who did it.
    pub actor_id: Option<Uuid>,
    /// Its organization.
    pub organization_id: Option<Uuid>,
    /// When it was done.
    pub created_at: Timestamp,
}

/// What a hook sees. The principal and scope are in the transaction's context.
#[derive(Debug)]
pub struct InterceptorContext<'a> {
    /// Which hook.
    pub hook: Hook,
    /// The command, also on undo and redo.
    pub command: &'static str,
    /// Kind of the resource.
    pub kind: &'static str,
    /// Its id.
    pub id: Uuid,
    /// The command itself with its checked input, to be asked for by its type ([`InterceptorContext::command_as`]); none on undo and redo, which
    /// restore images.
    pub input: Option<&'a (dyn Any + Send + Sync)>,
    /// The entry, on undo and redo.
    pub entry: Option<LoggedAction<'a>>,
    /// The present image; on undo and redo what is there before the restore.
    pub before: Option<&'a Snapshot>,
    /// The image that the change made, or that the restore will make.
    pub after: Option<&'a Snapshot>,
    /// `{field: {from, to}}` of the two images, once there are two.
    pub changes: Option<&'a BTreeMap<String, Value>>,
}

impl InterceptorContext<'_> {
    /// The command with its checked input, if it is of this type.
    #[must_use]
    pub fn command_as<C: Command>(&self) -> Option<&C> {
        self.input?.downcast_ref()
    }

    /// Whether the resource is there and about to go: by this command, or by an undo or redo.
    #[must_use]
    pub fn removes(&self, command: &str) -> bool {
        match self.hook {
            Hook::BeforeExecute => self.command == command,
            Hook::BeforeUndo | Hook::BeforeRedo => self.after.is_none(),
            Hook::AfterExecute => false,
        }
    }

    /// Refuses that it goes, because resources of this kind depend on it: a client's deletion by `refusal`, an undo or redo as a
    /// conflict with what was made since.
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
}

/// What a hook decides.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Verdict {
    /// Nothing against it.
    #[default]
    Continue,
    /// The transaction is rolled back.
    Reject {
        /// English text.
        message: String,
        /// Word for programs.
        code: Option<String>,
        /// 400 to 599; anything else, or none: 422.
        status: Option<u16>,
        /// Replaces the body.
        body: Option<Map<String, Value>>,
    },
}

type HookFn = for<'a> fn(&'a mut Tx<'_>, &'a InterceptorContext<'a>) -> BoxFuture<'a, Result<Verdict>>;

/// A registered interceptor.
#[derive(Debug, Clone, Copy)]
pub struct Interceptor {
    /// Its id.
    pub id: &'static str,
    /// A command id, `prefix.*` or `*`.
    pub target: &'static str,
    /// Lower runs first; 100 is usual.
    pub priority: i32,
    /// Called for every hook of a matching command; no network, no change of the input.
    pub run: HookFn,
}

/// Runs the interceptors of a command. A hook that fails or panics ends the execution with 500: closed, not open.
pub(super) async fn run(tx: &mut Tx<'_>, attempt: &InterceptorContext<'_>) -> Result<()> {
    let interceptors = tx.context().call().runtime.platform.registry().interceptors().to_vec();
    for one in interceptors
        .iter()
        .filter(|one| crate::acl::matches(one.target, attempt.command))
    {
        let verdict = AssertUnwindSafe((one.run)(tx, attempt))
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
            // The database went away, or the transaction may be repeated: nothing is wrong with the hook.
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
