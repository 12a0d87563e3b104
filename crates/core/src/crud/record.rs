//! What the generic commands know of an entity.

use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::acl::Feature;
use crate::command::{Entity, LockedRow, Snapshot, Snapshots, Tx};
use crate::context::RequestContext;
use crate::error::{Error, Rejection, Result};
use crate::input::{Input, Validator};
use crate::placement::Placement;
use crate::time::Timestamp;

/// Id and label of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandName {
    /// `module.entity.verb`.
    pub id: &'static str,
    /// Constant English label, at most 120 characters.
    pub label: &'static str,
}

impl CommandName {
    /// Creates the name of a command.
    #[must_use]
    pub const fn new(id: &'static str, label: &'static str) -> Self {
        Self { id, label }
    }
}

/// A row of a plain entity, which [`Create`](super::Create), [`Update`](super::Update) and [`Delete`](super::Delete) change.
///
/// One body serves creation and update: [`fill`](Record::fill) writes its fields into a blank row, or into the stored one. Whatever needs the
/// database is checked in the transaction, by [`place`](Record::place) and [`check`](Record::check).
pub trait Record: Entity + Clone + PartialEq {
    /// The body of a creation and of an update, without the id.
    type Input: Input + Send + Sync + 'static;
    /// The command that creates.
    const CREATE: CommandName;
    /// The command that updates.
    const UPDATE: CommandName;
    /// The command that deletes.
    const DELETE: CommandName;
    /// The features that all three require.
    const MANAGE: &'static [Feature];

    /// Creates a row with the values of absent fields.
    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self;

    /// Returns the tenant and the id.
    fn key(&self) -> (Uuid, Uuid);

    /// Returns the id.
    fn id(&self) -> Uuid {
        self.key().1
    }

    /// Returns the organization of the row; `None` for entities that belong to the whole tenant.
    fn organization(&self) -> Option<Uuid>;

    /// Returns the time of the last change.
    fn updated_at(&mut self) -> &mut Timestamp;

    /// Validates the given fields and writes them into the row.
    fn fill(&mut self, input: &Self::Input, validator: &mut Validator);

    /// Returns where a new record belongs: by default to the named organization, or else to the one in which the request writes.
    fn placement(ctx: &RequestContext, input: &Self::Input) -> impl Future<Output = Result<Placement>> + Send {
        let placement = Placement::for_new(ctx, input.organization().value());
        async { placement }
    }

    /// Locks what a new row belongs to: its organization, with [`Placement::lock`], or the record that it is a part of, whose organization it
    /// takes over.
    fn place(&mut self, tx: &mut Tx<'_>, input: &Self::Input) -> impl Future<Output = Result<()>> + Send;

    /// Validates what depends on stored rows, derives fields, and writes rows that belong to this one. `before` is the stored row of an update.
    /// Returns whether it has written other rows.
    fn check(
        &mut self,
        _tx: &mut Tx<'_>,
        _input: &Self::Input,
        _before: Option<&Self>,
    ) -> impl Future<Output = Result<bool>> + Send {
        async { Ok(false) }
    }

    /// Loads rows of the transaction's tenant.
    fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> impl Future<Output = Result<Vec<Self>>> + Send;

    /// Inserts rows, or replaces the stored ones. Returns them as they are stored.
    fn write(tx: &mut Tx<'_>, rows: &[Self]) -> impl Future<Output = Result<Vec<Self>>> + Send;

    /// Converts a violated constraint to the error that the client receives.
    #[must_use]
    fn rejection(error: Error) -> Error {
        error
    }
}

/// Validates the given fields of a body, without a stored row: [`Input::validate`] of the body of a record.
pub fn validate<R: Record>(input: &R::Input, validator: &mut Validator) {
    R::blank(Placement::UNKNOWN, Uuid::nil(), Timestamp::UNIX_EPOCH).fill(input, validator);
}

/// Returns locked rows as the result of [`Entity::lock`]: the bus makes snapshots of them without loading them again.
#[must_use]
pub fn locked<R: Record>(rows: Vec<R>) -> Vec<LockedRow> {
    let locked = |row: R| {
        let (tenant, id) = row.key();
        LockedRow {
            row: Some(Box::new(row)),
            ..LockedRow::new(id, tenant)
        }
    };
    rows.into_iter().map(locked).collect()
}

/// Returns rows of the transaction's tenant: those that it has just locked or written, or else the stored ones.
///
/// # Errors
/// When the database can't be reached.
pub async fn read<R: Record>(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<R>> {
    match tx.take_fresh(ids) {
        Some(rows) => Ok(rows),
        None => R::read(tx, ids).await,
    }
}

/// Returns the stored row of the command's resource: the one that the bus has locked, or else a row that is read now. A locked row is returned
/// once.
///
/// # Errors
/// 404 without such a row in the transaction's tenant.
pub async fn stored<R: Record>(tx: &mut Tx<'_>, id: Uuid) -> Result<R> {
    let row = match tx.take_locked(id) {
        Some(row) => Some(row),
        None => R::read(tx, &[id]).await?.pop(),
    };
    row.ok_or_else(|| Rejection::not_found(R::NOT_FOUND).into())
}

/// Loads the snapshots of an entity whose resources are single rows: its [`Entity::load`].
///
/// # Errors
/// When the database can't be reached.
pub async fn load<R: Record + Serialize>(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Snapshots> {
    let rows = read::<R>(tx, ids).await?;
    rows.iter().map(|row| Ok((row.id(), Snapshot::of(row)?))).collect()
}

/// Restores the rows of snapshots, with the instant of the transaction as the time of their change: [`Entity::store`] of an entity whose
/// resources are single rows without optional references.
///
/// # Errors
/// When a field is missing, or a constraint is violated.
pub async fn store<R: Record + DeserializeOwned>(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
    let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<R>>>()?;
    for row in &mut rows {
        *row.updated_at() = tx.now();
    }
    R::write(tx, &rows).await?;
    Ok(Vec::new())
}
