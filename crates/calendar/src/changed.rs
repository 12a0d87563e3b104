//! What a transaction has changed about plans, and the modules that react to it in the same transaction.

use std::collections::BTreeSet;

use backoffice_core::{Result, Tx};
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::derivation;
use crate::subject::{Subject, lock_subjects};

/// A change that observers react to at the end of its transaction. Entities defer it from `after_transition`
/// ([`Tx::defer`]): for a window or assignment that moves to another subject, one item for each of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Changed {
    /// The working calendar of an organization, its time zone included.
    WorkingCalendar {
        /// The organization.
        organization: Uuid,
    },
    /// A job site.
    JobSite {
        /// The organization.
        organization: Uuid,
        /// The job site.
        id: Uuid,
    },
    /// A resource, or any of its windows and assignments.
    Subject(Subject),
    /// One window, or the subject that it had before.
    Window {
        /// The resource.
        subject: Subject,
        /// The window.
        id: Uuid,
    },
    /// One assignment, or the subject that it had before.
    Assignment {
        /// The resource.
        subject: Subject,
        /// The assignment.
        id: Uuid,
        /// Whether this transaction has created it, so that nothing refers to it yet.
        is_new: bool,
    },
}

impl Changed {
    /// Returns the resource of the change; `None` for a change that may concern several.
    #[must_use]
    pub const fn subject(&self) -> Option<Subject> {
        match *self {
            Self::Subject(subject) | Self::Window { subject, .. } | Self::Assignment { subject, .. } => Some(subject),
            Self::WorkingCalendar { .. } | Self::JobSite { .. } => None,
        }
    }
}

/// Work that a module does in every transaction that changes plans. It runs once for each execution, undo, redo or chunk, with all changes
/// of the transaction, each once and in ascending order. All changed subjects are locked ([`lock_subjects`]) and the instants of windows are
/// up to date. Observers run in the order of their registration; an error rolls the transaction back.
#[derive(Clone, Copy)]
pub struct Observer {
    /// `<module>.<what>`.
    pub id: &'static str,
    /// The work.
    pub run: for<'a> fn(&'a mut Tx<'_>, &'a [Changed]) -> BoxFuture<'a, Result<()>>,
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The replacement of the time zone of an organization. Its handler runs before that of [`Changed`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct ZoneChanged {
    pub(crate) organization: Uuid,
}

/// Derives the instants of the windows of organizations whose zone was replaced.
pub(crate) fn handle_zones<'a>(tx: &'a mut Tx<'_>, items: Vec<ZoneChanged>) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        let organizations: BTreeSet<Uuid> = items.iter().map(|item| item.organization).collect();
        for organization in organizations {
            derivation::derive_windows_again(tx, organization).await?;
        }
        Ok(())
    })
}

/// Handles the changes of a transaction.
pub(crate) fn handle<'a>(tx: &'a mut Tx<'_>, items: Vec<Changed>) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        let changes: Vec<Changed> = BTreeSet::from_iter(items).into_iter().collect();
        let subjects: Vec<Subject> = changes.iter().filter_map(Changed::subject).collect();
        lock_subjects(tx, &subjects).await?;
        let platform = tx.context().platform();
        let observers: Vec<Observer> = platform.extensions::<Observer>().copied().collect();
        for observer in observers {
            (observer.run)(tx, &changes).await?;
        }
        Ok(())
    })
}
