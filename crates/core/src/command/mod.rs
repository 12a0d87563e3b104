//! The command bus: one execution is one transaction that holds the change, its log entry with snapshots read back from the database, and its
//! events. Undo and redo restore snapshots; they never run the command again.

mod affected;
mod batch;
mod changes;
mod context;
mod deferred;
mod entity;
mod execute;
mod history;
mod idempotency;
mod interceptor;
mod log;
mod log_many;
mod logged;
mod registry;
mod response;
mod snapshot;
mod steps;
mod token;
mod tx;
mod versions;
mod write_turns;

use std::future::Future;

use time::Duration;
use uuid::Uuid;

use crate::acl::Feature;
use crate::error::Result;
use crate::time::Timestamp;

pub use crate::context::Operation;
pub use batch::{BatchCommand, BatchItem, ItemOutcome, execute_all};
pub use deferred::DeferredWork;
pub use entity::{AnyEntity, Depth, Entity, EntityOf, EntityRef, LockedRow, Locker, Tracking, Transition};
pub use history::{HistoryOutcome, fields_of_constraint};
pub use interceptor::{Hook, Interceptor, InterceptorContext, LoggedAction, Verdict};
pub use logged::{LoggedChange, logged};
pub use registry::CommandRegistry;
pub use response::CommandResponse;
pub use snapshot::{CHILDREN, LINKS, Snapshot, Snapshots};
pub use token::UndoToken;
pub use tx::Tx;
pub(crate) use write_turns::WriteTurns;

/// The effect of a command on its resource; the only source of `actionType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Creates a resource.
    Create,
    /// Changes fields.
    Edit,
    /// Deletes a resource.
    Delete,
    /// Changes to whom or to what a resource belongs.
    Assign,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Create, Self::Edit, Self::Delete, Self::Assign];

    /// Returns the name in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Assign => "assign",
        }
    }

    /// Parses the name of a class.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == word)
    }
}

/// The resource of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A resource that the command creates, with its future id.
    New {
        /// The tenant.
        tenant: Uuid,
        /// The id.
        id: Uuid,
    },
    /// A resource that must exist and be visible to the caller.
    Existing(Uuid),
}

/// A change that a client can request.
pub trait Command: Send + Sync + 'static {
    /// `module.entity.verb`.
    const ID: &'static str;
    /// The effect on its resource.
    const CLASS: Class;
    /// Constant English label, at most 120 characters.
    const LABEL: &'static str;
    /// Required features, checked by the route and again by the bus.
    const FEATURES: &'static [Feature];
    /// The features with which callers other than its actor may undo or redo it: those needed for the same change by hand.
    const FEATURES_OF_OTHERS: &'static [Feature] = Self::FEATURES;
    /// Whether the entry carries an undo token.
    const UNDOABLE: bool = true;
    /// Whether its resource is new although its class is not `Create`: a bulk edit creates a job.
    const CREATES_RESOURCE: bool = false;
    /// Whether it is carried out although no field of a resource differs, because its deferred work changes derived values.
    const CHANGES_DERIVED: bool = false;
    /// The entity of its resource.
    type Entity: Entity;
    /// The result that is returned to the caller.
    type Output: Send;

    /// Returns the resource.
    fn target(&self) -> Target;

    /// Returns further resources of the same tenant that the command changes, known before the change (swapping, reordering). They are locked,
    /// snapshotted, validated, logged and restored like the command's own resource.
    fn affects(&self) -> Vec<EntityRef> {
        Vec::new()
    }

    /// Whether [`Command::affects_behind_lock`] takes a lock.
    const LOCKS_FIRST: bool = false;

    /// Returns the affected resources of a command that can know them only under a lock, which it takes here, as the first statement of its
    /// transaction. Such a command sets [`Command::LOCKS_FIRST`].
    fn affects_behind_lock(&self, _tx: &mut Tx<'_>) -> impl Future<Output = Result<Vec<EntityRef>>> + Send {
        async { Ok(self.affects()) }
    }

    /// Returns further resources of the same tenant that the command creates, with their future ids (the first user of a workspace). They are
    /// snapshotted, validated, announced and logged like affected resources; an undo removes them, a redo restores them.
    fn also_creates(&self) -> Vec<EntityRef> {
        Vec::new()
    }

    /// Applies the change. The bus does the rest: locks, snapshots, guards, log, events.
    fn apply(&self, tx: &mut Tx<'_>) -> impl Future<Output = Result<Self::Output>> + Send;

    /// Completes the result with what the [deferred work](DeferredWork) of the transaction has found. Reads only: snapshots and events are
    /// complete by then. Not called for the items of a bulk job, whose results no caller reads.
    fn complete(&self, _tx: &mut Tx<'_>, output: Self::Output) -> impl Future<Output = Result<Self::Output>> + Send {
        async { Ok(output) }
    }
}

/// The registered properties of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandInfo {
    /// The id.
    pub id: &'static str,
    /// The class.
    pub class: Class,
    /// The label.
    pub label: &'static str,
    /// The features.
    pub features: &'static [Feature],
    /// The features with which callers other than its actor may undo or redo it.
    pub features_of_others: &'static [Feature],
    /// Whether it can be undone.
    pub undoable: bool,
    /// Whether its resource is new although its class is not `Create`.
    pub creates: bool,
    /// Whether only its actor may undo or redo it, because its resource belongs to them.
    pub is_personal: bool,
    /// Whether it is carried out although no field of a resource differs.
    changes_derived: bool,
    /// Whether it takes a lock before that of its resource.
    locks_first: bool,
    /// Kind of its entity.
    pub kind: &'static str,
}

impl CommandInfo {
    pub(crate) fn of<C: Command>() -> Self {
        Self {
            id: C::ID,
            class: C::CLASS,
            label: C::LABEL,
            features: C::FEATURES,
            features_of_others: C::FEATURES_OF_OTHERS,
            undoable: C::UNDOABLE,
            creates: C::CREATES_RESOURCE,
            is_personal: <C::Entity as Entity>::IS_PERSONAL,
            changes_derived: C::CHANGES_DERIVED,
            locks_first: C::LOCKS_FIRST,
            kind: <C::Entity as Entity>::KIND,
        }
    }

    /// Returns the features needed to undo or redo it, by its actor or by another caller.
    #[must_use]
    pub fn features_of(&self, is_actor: bool) -> &'static [Feature] {
        if is_actor {
            self.features
        } else {
            self.features_of_others
        }
    }

    /// Returns the depth of its snapshots: those of a create or delete include the resources that are created or deleted with the resource.
    pub(crate) fn depth(&self) -> Depth {
        match self.class {
            Class::Create | Class::Delete => Depth::Tree,
            Class::Edit | Class::Assign => Depth::Own,
        }
    }
}

/// Returns an instant after the present `updatedAt` of the resources, so that it always moves forward.
fn moved_forward(now: Timestamp, snapshots: &Snapshots) -> Timestamp {
    snapshots
        .values()
        .filter_map(Snapshot::updated_at)
        .map(|at| at.after(Duration::MILLISECOND))
        .fold(now, Timestamp::max)
}
