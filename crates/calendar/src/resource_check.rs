//! Whether the resources of windows must exist.

use backoffice_core::{Result, Tx};
use futures_util::future::BoxFuture;

use crate::error;
use crate::subject::Subject;

/// A rule about the resources for which windows may be created. The module that owns resources registers it with
/// [`Registry::extend`](backoffice_core::registry::Registry::extend). Without a rule, a resource need not exist.
#[derive(Clone, Copy)]
pub struct ResourceCheck {
    /// Returns whether a window may be created for this resource.
    pub accepts: for<'a> fn(&'a mut Tx<'_>, Subject) -> BoxFuture<'a, Result<bool>>,
}

impl std::fmt::Debug for ResourceCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResourceCheck").finish_non_exhaustive()
    }
}

/// Rejects a resource that a rule does not accept.
pub(crate) async fn check(tx: &mut Tx<'_>, subject: Subject) -> Result<()> {
    let platform = tx.context().platform();
    let rules: Vec<ResourceCheck> = platform.extensions::<ResourceCheck>().copied().collect();
    for rule in rules {
        if !(rule.accepts)(tx, subject).await? {
            return Err(error::resource_not_found());
        }
    }
    Ok(())
}
