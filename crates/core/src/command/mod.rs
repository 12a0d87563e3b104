//! The command bus: one execution is one transaction that holds the change, its log entry with images read back from the database, and
//! its events. Undo and redo restore images; they never run the command again.

mod affected;
mod batch;
mod changes;
mod entity;
mod execute;
mod history;
mod idempotency;
mod interceptor;
mod log;
mod log_many;
mod snapshot;
mod token;
mod versions;

use std::future::Future;

use serde::Serialize;
use time::Duration;
use uuid::Uuid;

use crate::acl::Feature;
use crate::db::Tx;
use crate::error::Result;
use crate::time::Timestamp;

pub use crate::http::Response;
pub use batch::{BatchCommand, BatchItem, ItemOutcome, execute_all};
pub use entity::{AnyEntity, Depth, Entity, EntityOf, EntityRef, Field, FieldKind, LockedRow, Transition};
pub(crate) use execute::execute;
pub use history::HistoryOutcome;
pub(crate) use history::{redo, undo};
pub(crate) use idempotency::amend as amend_response;
pub use interceptor::{Hook, Interceptor, InterceptorContext, LoggedAction, Verdict};
pub use snapshot::{CHILDREN, LINKS, Snapshot, Snapshots};
pub use token::UndoToken;

/// What a command does to its resource; the only source of `actionType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Makes a resource.
    Create,
    /// Changes fields.
    Edit,
    /// Removes a resource.
    Delete,
    /// Changes who or what a resource belongs to.
    Assign,
}

impl Class {
    /// The word in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Assign => "assign",
        }
    }

    /// The class of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Create, Self::Edit, Self::Delete, Self::Assign]
            .into_iter()
            .find(|class| class.as_str() == word)
    }
}

/// The resource of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A resource that the command makes, with the id that it will have.
    New {
        /// Its tenant.
        tenant: Uuid,
        /// Its id.
        id: Uuid,
    },
    /// A resource that must exist and be visible to the caller.
    Existing(Uuid),
}

/// One change that a client can make.
pub trait Command: Send + Sync + 'static {
    /// `module.entity.verb`.
    const ID: &'static str;
    /// What it does to its resource.
    const CLASS: Class;
    /// Constant English label, at most 120 characters.
    const LABEL: &'static str;
    /// Checked by the route and again by the bus.
    const FEATURES: &'static [Feature];
    /// What others than its actor need to undo or redo it: the features with which such a change is made by hand.
    const FEATURES_OF_OTHERS: &'static [Feature] = Self::FEATURES;
    /// Whether the entry carries an undo token.
    const UNDOABLE: bool = true;
    /// Whether its resource is new although its class says something else: a bulk edit makes a job.
    const CREATES_RESOURCE: bool = false;
    /// The entity of its resource.
    type Entity: Entity;
    /// What it tells its caller.
    type Output: Send;

    /// The resource.
    fn target(&self) -> Target;

    /// Further resources of the same tenant that it changes, known before the change (swapping, reordering). They are locked, imaged,
    /// judged, logged and restored like the command's own.
    fn affects(&self) -> Vec<EntityRef> {
        Vec::new()
    }

    /// The same for a command that can know them only behind a lock: it takes that lock here, as the first thing of its transaction.
    fn affects_behind_lock(&self, _tx: &mut Tx<'_>) -> impl Future<Output = Result<Vec<EntityRef>>> + Send {
        async { Ok(self.affects()) }
    }

    /// Makes the change. The bus does the rest: locks, images, guards, log, events.
    fn apply(&self, tx: &mut Tx<'_>) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// What the registry knows of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandInfo {
    /// Its id.
    pub id: &'static str,
    /// Its class.
    pub class: Class,
    /// Its label.
    pub label: &'static str,
    /// Its features.
    pub features: &'static [Feature],
    /// What others than its actor need to undo or redo it.
    pub features_of_others: &'static [Feature],
    /// Whether it can be undone.
    pub undoable: bool,
    /// Whether its resource is new although its class says something else.
    pub creates: bool,
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
            kind: <C::Entity as Entity>::KIND,
        }
    }

    /// The features that its actor, or somebody else, needs to undo or redo it.
    #[must_use]
    pub fn features_of(&self, is_actor: bool) -> &'static [Feature] {
        if is_actor {
            self.features
        } else {
            self.features_of_others
        }
    }

    /// The images of a create or delete cover what comes and goes with the resource.
    pub(crate) fn depth(&self) -> Depth {
        match self.class {
            Class::Create | Class::Delete => Depth::Tree,
            Class::Edit | Class::Assign => Depth::Own,
        }
    }
}

/// The header `X-Operation` of an undoable write.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// Id of the log entry.
    pub id: Uuid,
    /// The token that undoes it.
    pub undo_token: String,
    /// The command.
    pub command_id: &'static str,
    /// Its label.
    pub action_label: String,
    /// Kind of the resource.
    pub resource_kind: &'static str,
    /// Id of the resource.
    pub resource_id: String,
    /// When.
    pub executed_at: Timestamp,
}

impl Operation {
    /// URL-encoded JSON.
    #[must_use]
    pub fn to_header(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        url::form_urlencoded::byte_serialize(json.as_bytes())
            .collect::<String>()
            .replace('+', "%20")
    }
}

/// An instant that lies behind what the resource already has, so that `updatedAt` always moves forward.
fn moved_forward(now: Timestamp, snapshots: &Snapshots) -> Timestamp {
    snapshots
        .values()
        .filter_map(Snapshot::updated_at)
        .map(|at| at.after(Duration::MILLISECOND))
        .fold(now, Timestamp::max)
}
