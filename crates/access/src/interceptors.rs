//! What the module checks when its commands are undone and redone, which does not run them again.

use backoffice_core::command::{Command, Hook, Interceptor, InterceptorContext, Tx, Verdict};

use crate::commands::ChangeRole;
use crate::error::Error;

/// Rejects an undo or redo with which callers would change their own role.
pub(crate) const KEEP_OWN_ROLE: Interceptor = Interceptor {
    id: "access.own_role",
    target: ChangeRole::ID,
    priority: 100,
    run: |tx, context| Box::pin(std::future::ready(Ok(keep_own_role(tx, context)))),
};

fn keep_own_role(tx: &Tx<'_>, context: &InterceptorContext<'_>) -> Verdict {
    let is_restoring = matches!(context.hook, Hook::BeforeUndo | Hook::BeforeRedo);
    if !is_restoring || tx.context().identity().id != Some(context.id) {
        return Verdict::Continue;
    }
    context.keep(Error::CannotChangeOwnRole.rejection(), "roleIds")
}
