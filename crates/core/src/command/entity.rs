//! Entities: the operations with which the bus locks, reads, restores and removes a kind of resource.

use std::any::Any;
use std::future::Future;
use std::marker::PhantomData;

use diesel::pg::Pg;
use diesel::sql_types::Uuid as SqlUuid;
use diesel::{Queryable, deserialize};
use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::snapshot::{CHILDREN, LINKS, Snapshot, Snapshots};
use super::tx::Tx;
use crate::acl::Feature;
use crate::context::RequestContext;
use crate::db::Connection;
use crate::error::Result;
use crate::scope::Scope;

/// Fields that never count as a change, in every entity.
const UNCOUNTED: &[&str] = &["id", "tenantId", "createdAt"];

/// How the fields of an entity's snapshots are compared: every field is tracked, with these exceptions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tracking {
    /// Fields of snapshots that are not compared.
    pub volatile: &'static [&'static str],
    /// Columns that are in no snapshot and in no change.
    pub secret: &'static [&'static str],
}

impl Tracking {
    /// Whether snapshots are compared by this field.
    #[must_use]
    pub fn is_tracked(&self, field: &str) -> bool {
        !self.volatile.contains(&field) && !self.secret.contains(&field) && field != CHILDREN && field != LINKS
    }

    /// Whether another value of this field is a change.
    pub(super) fn is_counted(&self, field: &str) -> bool {
        self.is_tracked(field) && !UNCOUNTED.contains(&field)
    }
}

/// The extent of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The resource itself.
    Own,
    /// The resource and all rows that are created and deleted with it.
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

/// A row of any table.
pub(crate) type AnyRow = Box<dyn Any + Send + Sync>;

/// A locked resource. Loaded by `select((table::id, table::tenant_id))`, in this order, or created from whole rows
/// ([`crud::locked`](crate::crud::locked)), which then need not be loaded again.
pub struct LockedRow {
    /// The id.
    pub id: Uuid,
    /// The tenant.
    pub tenant: Uuid,
    pub(crate) row: Option<AnyRow>,
}

impl LockedRow {
    /// Creates the result of a lock that did not read the row.
    #[must_use]
    pub const fn new(id: Uuid, tenant: Uuid) -> Self {
        Self { id, tenant, row: None }
    }
}

impl std::fmt::Debug for LockedRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("LockedRow");
        shown
            .field("id", &self.id)
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

impl Queryable<(SqlUuid, SqlUuid), Pg> for LockedRow {
    type Row = (Uuid, Uuid);

    fn build((id, tenant): Self::Row) -> deserialize::Result<Self> {
        Ok(Self::new(id, tenant))
    }
}

/// The part of a transaction that locks rows. The first lock is sent together with the begin of the transaction, in one round trip.
#[derive(Debug, Clone, Copy)]
pub struct Locker<'a> {
    pub(super) connection: &'a Connection,
    pub(super) context: &'a RequestContext,
    pub(super) tenant: Uuid,
}

impl<'a> Locker<'a> {
    /// Returns the connection, for any number of pipelined statements.
    #[must_use]
    pub fn connection(&self) -> &'a AsyncPgConnection {
        self.connection
    }

    /// Returns the context: principal, scope and instant.
    #[must_use]
    pub const fn context(&self) -> &'a RequestContext {
        self.context
    }

    /// Returns the caller's scope.
    #[must_use]
    pub fn scope(&self) -> &'a Scope {
        self.context.scope()
    }

    /// Returns the tenant of the transaction: the selected tenant, or the caller's own, unless another lock has already found a resource.
    #[must_use]
    pub const fn tenant(&self) -> Uuid {
        self.tenant
    }
}

/// The transition that a guard validates: a normal write, or a restore by undo or redo.
#[derive(Debug)]
pub struct Transition<'a> {
    /// The id of the resource.
    pub id: Uuid,
    /// Snapshot before; `None` = absent.
    pub from: Option<&'a Snapshot>,
    /// Snapshot after; `None` = absent.
    pub to: Option<&'a Snapshot>,
    /// Whether undo or redo causes the transition.
    pub restoring: bool,
}

/// A kind of resource. Invariants: after `store(x)`, `load` returns `x`; after `remove`, it returns nothing; `load` is complete except for
/// volatile and secret fields; each operation costs a number of statements that does not depend on the number of ids.
pub trait Entity: Send + Sync + 'static {
    /// `module.entity`, the entity in the singular.
    const KIND: &'static str;
    /// Fields of snapshots that are never compared: `updatedAt`, and counters. Every other field is tracked.
    const VOLATILE: &'static [&'static str] = &["updatedAt"];
    /// Columns that are in no snapshot, log entry or event: hashes, tokens.
    const SECRET: &'static [&'static str] = &[];
    /// Fields that have other names in snapshots of earlier releases: pairs of the former name and the present one. Undo and redo read both.
    const FORMER_NAMES: &'static [(&'static str, &'static str)] = &[];
    /// Text of a 404.
    const NOT_FOUND: &'static str;
    /// Whether each resource belongs to one user, whose commands alone change it. No other caller may undo or redo them, so `lock` may lock the
    /// caller.
    const IS_PERSONAL: bool = false;
    /// Whether a resource is itself an organization, with the organization above it as its parent. A deleted organization is in no scope;
    /// restoring one is authorized against its parent.
    const IS_ORGANIZATION: bool = false;
    /// The table that keeps deleted rows, marked by `deleted_at`. They are purged together with the log entries about them.
    const TOMBSTONES: Option<&'static str> = None;
    /// The right with which browsers may receive its events; without one, events stay inside the process.
    const VIEW: Option<Feature> = None;

    /// Locks the rows that exist and that the caller may see, in ascending order of ids.
    fn lock(locker: Locker<'_>, ids: &[Uuid]) -> impl Future<Output = Result<Vec<LockedRow>>> + Send;

    /// Loads snapshots in the transaction's tenant. If no row is found, as after a deletion, it sends no statement for the parts of rows.
    fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> impl Future<Output = Result<Snapshots>> + Send;

    /// Inserts or updates rows so that `load` returns these snapshots; keeps ids and `createdAt`, sets `updatedAt` to the transaction's
    /// instant. Optional references to deleted rows are left out; returns the names of these fields.
    fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> impl Future<Output = Result<Vec<String>>> + Send;

    /// Deletes the rows, with all rows that are deleted with them.
    fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> impl Future<Output = Result<()>> + Send;

    /// Validates the rules of every transition, including undo and redo.
    fn guard(_tx: &mut Tx<'_>, _step: &Transition<'_>) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// Runs after every transition that its guard accepted: revokes rights, ends sessions.
    fn after_transition(_tx: &mut Tx<'_>, _step: &Transition<'_>) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// Returns the resource that this one is a part of.
    #[must_use]
    fn parent(_snapshot: &Snapshot) -> Option<EntityRef> {
        None
    }

    /// Returns a principal that always receives this entity's events, regardless of the principal's features.
    #[must_use]
    fn audience(_snapshot: &Snapshot) -> Option<Uuid> {
        None
    }

    /// Returns other resources by which the log finds this one, at most 100.
    #[must_use]
    fn related(_snapshot: &Snapshot) -> Vec<EntityRef> {
        Vec::new()
    }

    /// Returns the fields of the payload of its events `created`, `updated` and `deleted`, besides `id`, `tenantId` and `organizationId`. The
    /// snapshot is the one after the change, or before a deletion.
    #[must_use]
    fn event_fields(_snapshot: &Snapshot) -> Map<String, Value> {
        Map::new()
    }

    /// Returns the fields of a constraint whose name does not list their columns (a name has at most 63 characters). Undo and redo report a
    /// violation by the fields that they change; they know those of `<table>_tenant_id_<columns>_key`, `_idx` and `_fkey` without it.
    #[must_use]
    fn fields_of_constraint(_constraint: &str) -> &'static [&'static str] {
        &[]
    }
}

/// An entity without its type, for the registry.
pub trait AnyEntity: Send + Sync {
    /// Returns the kind.
    fn kind(&self) -> &'static str;
    /// See [`Entity::VOLATILE`] and [`Entity::SECRET`].
    fn tracking(&self) -> Tracking;
    /// Parses a snapshot of the log, with the present names of its fields ([`Entity::FORMER_NAMES`]).
    ///
    /// # Errors
    /// When the snapshot is not an object.
    fn logged_snapshot(&self, snapshot: Option<&Value>) -> Result<Option<Snapshot>>;
    /// Returns the text of a 404.
    fn not_found(&self) -> &'static str;
    /// See [`Entity::IS_ORGANIZATION`].
    fn is_organization(&self) -> bool;
    /// See [`Entity::TOMBSTONES`].
    fn tombstones(&self) -> Option<&'static str>;
    /// See [`Entity::VIEW`].
    fn view(&self) -> Option<Feature>;
    /// See [`Entity::lock`].
    fn lock<'a>(&self, locker: Locker<'a>, ids: &'a [Uuid]) -> BoxFuture<'a, Result<Vec<LockedRow>>>;
    /// See [`Entity::load`].
    fn snapshots<'a>(&self, tx: &'a mut Tx<'_>, ids: &'a [Uuid], depth: Depth) -> BoxFuture<'a, Result<Snapshots>>;
    /// See [`Entity::store`].
    fn store<'a>(&self, tx: &'a mut Tx<'_>, snapshots: &'a [Snapshot]) -> BoxFuture<'a, Result<Vec<String>>>;
    /// See [`Entity::remove`].
    fn remove<'a>(&self, tx: &'a mut Tx<'_>, ids: &'a [Uuid]) -> BoxFuture<'a, Result<()>>;
    /// See [`Entity::guard`].
    fn guard<'a>(&self, tx: &'a mut Tx<'_>, step: &'a Transition<'a>) -> BoxFuture<'a, Result<()>>;
    /// See [`Entity::after_transition`].
    fn after_transition<'a>(&self, tx: &'a mut Tx<'_>, step: &'a Transition<'a>) -> BoxFuture<'a, Result<()>>;
    /// See [`Entity::parent`].
    fn parent(&self, snapshot: &Snapshot) -> Option<EntityRef>;
    /// See [`Entity::audience`].
    fn audience(&self, snapshot: &Snapshot) -> Option<Uuid>;
    /// See [`Entity::related`].
    fn related(&self, snapshot: &Snapshot) -> Vec<EntityRef>;
    /// See [`Entity::event_fields`].
    fn event_fields(&self, snapshot: &Snapshot) -> Map<String, Value>;
    /// See [`Entity::fields_of_constraint`].
    fn fields_of_constraint(&self, constraint: &str) -> &'static [&'static str];
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

    fn tracking(&self) -> Tracking {
        Tracking {
            volatile: E::VOLATILE,
            secret: E::SECRET,
        }
    }

    fn logged_snapshot(&self, snapshot: Option<&Value>) -> Result<Option<Snapshot>> {
        let snapshot = snapshot.cloned().map(Snapshot::from_value).transpose()?;
        Ok(snapshot.map(|snapshot| snapshot.renamed(E::FORMER_NAMES)))
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

    fn lock<'a>(&self, locker: Locker<'a>, ids: &'a [Uuid]) -> BoxFuture<'a, Result<Vec<LockedRow>>> {
        Box::pin(E::lock(locker, ids))
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

    fn event_fields(&self, snapshot: &Snapshot) -> Map<String, Value> {
        E::event_fields(snapshot)
    }

    fn fields_of_constraint(&self, constraint: &str) -> &'static [&'static str] {
        E::fields_of_constraint(constraint)
    }
}
