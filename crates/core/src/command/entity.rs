//! Entities: how the bus locks, reads, restores and removes a kind of resource.

use std::future::Future;
use std::marker::PhantomData;

use futures_util::future::BoxFuture;
use uuid::Uuid;

use super::snapshot::{Snapshot, Snapshots};
use crate::acl::Feature;
use crate::db::Tx;
use crate::error::Result;

/// How a field takes part in images and changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// In images and changes.
    Tracked,
    /// In images, never compared; `updatedAt` and counters.
    Volatile,
    /// In neither: hashes, tokens.
    Secret,
}

/// A field of an entity, by its API name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Name on the wire and in images.
    pub name: &'static str,
    /// How it takes part.
    pub kind: FieldKind,
}

impl Field {
    /// A tracked field.
    #[must_use]
    pub const fn tracked(name: &'static str) -> Self {
        Self {
            name,
            kind: FieldKind::Tracked,
        }
    }

    /// A volatile field.
    #[must_use]
    pub const fn volatile(name: &'static str) -> Self {
        Self {
            name,
            kind: FieldKind::Volatile,
        }
    }

    /// A secret field.
    #[must_use]
    pub const fn secret(name: &'static str) -> Self {
        Self {
            name,
            kind: FieldKind::Secret,
        }
    }
}

/// How much an image covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The resource itself.
    Own,
    /// The resource and all rows that come and go with it.
    Tree,
}

/// A kind and an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityRef {
    /// `module.entity`.
    pub kind: &'static str,
    /// The id.
    pub id: Uuid,
}

/// A locked resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockedRow {
    /// Its id.
    pub id: Uuid,
    /// Its tenant.
    pub tenant: Uuid,
}

/// The step that a guard judges: a normal write, or one that undo or redo restores.
#[derive(Debug)]
pub struct Transition<'a> {
    /// The id of the resource.
    pub id: Uuid,
    /// Before; `None` = absent.
    pub from: Option<&'a Snapshot>,
    /// After; `None` = absent.
    pub to: Option<&'a Snapshot>,
    /// Whether undo or redo makes the step.
    pub restoring: bool,
}

/// A kind of resource. Laws: after `store(x)` `load` gives `x`; after `remove` it gives nothing; `load` is complete but for volatile and
/// secret fields; each costs a number of statements that does not depend on the number of ids.
pub trait Entity: Send + Sync + 'static {
    /// `module.entity`, the entity in the singular.
    const KIND: &'static str;
    /// Its fields.
    const FIELDS: &'static [Field];
    /// What a 404 says.
    const NOT_FOUND: &'static str;
    /// Whether a resource is itself an organization, its parent the one above. No scope has one that is gone, so whoever brings it back
    /// must be allowed the place where it will stand.
    const IS_ORGANIZATION: bool = false;
    /// The table in which removed ones stay, marked by `deleted_at`. They go when the log's entries about them do.
    const TOMBSTONES: Option<&'static str> = None;
    /// The right that shows its events to browsers; without one they stay inside the process.
    const VIEW: Option<Feature> = None;

    /// Locks the rows that exist and that the caller may see, by id ascending.
    fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> impl Future<Output = Result<Vec<LockedRow>>> + Send;

    /// Reads images in the transaction's tenant.
    fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> impl Future<Output = Result<Snapshots>> + Send;

    /// Inserts or updates so that `load` gives these images; keeps ids and `createdAt`, sets `updatedAt` to the transaction's instant.
    /// References to rows that are gone are left out and returned by name when they are optional.
    fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> impl Future<Output = Result<Vec<String>>> + Send;

    /// Removes, with all that goes with it.
    fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> impl Future<Output = Result<()>> + Send;

    /// The rules that hold for every step, also for the ones that undo and redo make.
    fn guard(_tx: &mut Tx<'_>, _step: &Transition<'_>) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// What follows from every step, once its guard has let it pass: revocations, ended sessions.
    fn after_transition(_tx: &mut Tx<'_>, _step: &Transition<'_>) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// The resource that this one is a part of.
    #[must_use]
    fn parent(_snapshot: &Snapshot) -> Option<EntityRef> {
        None
    }

    /// A principal that sees the events of this one whatever rights it holds.
    #[must_use]
    fn audience(_snapshot: &Snapshot) -> Option<Uuid> {
        None
    }

    /// Other resources that the log finds this one by, at most 100.
    #[must_use]
    fn related(_snapshot: &Snapshot) -> Vec<EntityRef> {
        Vec::new()
    }
}

/// An entity without its type, as the registry keeps it.
pub trait AnyEntity: Send + Sync {
    /// Its kind.
    fn kind(&self) -> &'static str;
    /// Its fields.
    fn fields(&self) -> &'static [Field];
    /// What a 404 says.
    fn not_found(&self) -> &'static str;
    /// See [`Entity::IS_ORGANIZATION`].
    fn is_organization(&self) -> bool;
    /// See [`Entity::TOMBSTONES`].
    fn tombstones(&self) -> Option<&'static str>;
    /// See [`Entity::VIEW`].
    fn view(&self) -> Option<Feature>;
    /// See [`Entity::lock`].
    fn lock<'a>(&self, tx: &'a mut Tx<'_>, ids: &'a [Uuid]) -> BoxFuture<'a, Result<Vec<LockedRow>>>;
    /// See [`Entity::load`].
    fn snapshots<'a>(&self, tx: &'a mut Tx<'_>, ids: &'a [Uuid], depth: Depth) -> BoxFuture<'a, Result<Snapshots>>;
    /// See [`Entity::store`].
    fn store<'a>(&self, tx: &'a mut Tx<'_>, snapshots: &'a [Snapshot]) -> BoxFuture<'a, Result<Vec<String>>>;
    /// See [`Entity::remove`].
    fn remove<'a>(&self, tx: &'a mut Tx<'_>, ids: &'a [Uuid]) -> BoxFuture<'a, Result<()>>;
    /// See [`Entity::guard`].
    fn guard<'a>(&self, tx: &'a mut Tx<'_>, step: &'a Transition<'a>) -> BoxFuture<'a, Result<()>>;
    /// See [`Entity::settled`].
    fn after_transition<'a>(&self, tx: &'a mut Tx<'_>, step: &'a Transition<'a>) -> BoxFuture<'a, Result<()>>;
    /// See [`Entity::parent`].
    fn parent(&self, snapshot: &Snapshot) -> Option<EntityRef>;
    /// See [`Entity::audience`].
    fn audience(&self, snapshot: &Snapshot) -> Option<Uuid>;
    /// See [`Entity::related`].
    fn related(&self, snapshot: &Snapshot) -> Vec<EntityRef>;
}

/// The [`AnyEntity`] of an [`Entity`].
#[derive(Debug)]
pub struct EntityOf<E>(PhantomData<E>);

impl<E> EntityOf<E> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<E: Entity> AnyEntity for EntityOf<E> {
    fn kind(&self) -> &'static str {
        E::KIND
    }

    fn fields(&self) -> &'static [Field] {
        E::FIELDS
    }

    fn not_found(&self) -> &'static str {
        E::NOT_FOUND
    }

    fn is_organization(&self) -> bool {
        E::IS_ORGANIZATION
    }

    fn tombstones(&self) -> Option<&'static str> {
        E::TOMBSTONES
    }

    fn view(&self) -> Option<Feature> {
        E::VIEW
    }

    fn lock<'a>(&self, tx: &'a mut Tx<'_>, ids: &'a [Uuid]) -> BoxFuture<'a, Result<Vec<LockedRow>>> {
        Box::pin(E::lock(tx, ids))
    }

    fn snapshots<'a>(&self, tx: &'a mut Tx<'_>, ids: &'a [Uuid], depth: Depth) -> BoxFuture<'a, Result<Snapshots>> {
        Box::pin(E::load(tx, ids, depth))
    }

    fn store<'a>(&self, tx: &'a mut Tx<'_>, snapshots: &'a [Snapshot]) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(E::store(tx, snapshots))
    }

    fn remove<'a>(&self, tx: &'a mut Tx<'_>, ids: &'a [Uuid]) -> BoxFuture<'a, Result<()>> {
        Box::pin(E::remove(tx, ids))
    }

    fn guard<'a>(&self, tx: &'a mut Tx<'_>, step: &'a Transition<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(E::guard(tx, step))
    }

    fn after_transition<'a>(&self, tx: &'a mut Tx<'_>, step: &'a Transition<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(E::after_transition(tx, step))
    }

    fn parent(&self, snapshot: &Snapshot) -> Option<EntityRef> {
        E::parent(snapshot)
    }

    fn audience(&self, snapshot: &Snapshot) -> Option<Uuid> {
        E::audience(snapshot)
    }

    fn related(&self, snapshot: &Snapshot) -> Vec<EntityRef> {
        E::related(snapshot)
    }
}
