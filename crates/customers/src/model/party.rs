//! The entity that companies and people share: a row of an organization, to which deals link.

use std::future::Future;
use std::marker::PhantomData;

use backoffice_core::command::{Depth, Entity, EntityRef, LINKS, LockedRow, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::{Feature, Result, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use uuid::Uuid;

use super::cleared::ClearedReference;
use super::deal_sets::{COMPANIES, DealSet, End, Link};
use crate::Placement;
use crate::error::undo_conflict;

/// Ids and labels of the commands on a kind.
#[derive(Debug, Clone, Copy)]
pub struct Verbs {
    /// Id and label of the command that creates.
    pub create: (&'static str, &'static str),
    /// Id and label of the command that updates.
    pub update: (&'static str, &'static str),
    /// Id and label of the command that deletes.
    pub delete: (&'static str, &'static str),
}

/// A row of a company or a person.
pub trait Party: Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// `module.entity`.
    const KIND: &'static str;
    /// The message of a 404.
    const NOT_FOUND: &'static str;
    /// The commands on the entity.
    const VERBS: Verbs;
    /// The feature that allows reading the records and receiving their events.
    const VIEW: Feature;
    /// The features that the commands require.
    const MANAGE: &'static [Feature];
    /// The table with the links of deals to the records.
    const DEALS: DealSet;
    /// The fields of a request.
    type Fields: Fields<Self>;

    /// Creates a row without content.
    fn blank(id: Uuid, place: Placement, now: Timestamp) -> Self;

    /// Returns the id.
    fn id(&self) -> Uuid;

    /// Returns tenant and organization.
    fn place(&self) -> Placement;

    /// Returns the time of the last change.
    fn updated_at(&self) -> Timestamp;

    /// Returns the user who owns the record.
    fn owner(&self) -> Option<Uuid>;

    /// Returns the company that the record belongs to.
    fn company(&self) -> Option<Uuid> {
        None
    }

    /// Locks the rows that are visible to the caller, ordered by id.
    fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> impl Future<Output = Result<Vec<LockedRow>>> + Send;

    /// Loads rows of the transaction's tenant.
    fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> impl Future<Output = Result<Vec<Self>>> + Send;

    /// Inserts or updates rows, with the transaction's time as `updatedAt`.
    fn write(tx: &mut Tx<'_>, rows: &[Self]) -> impl Future<Output = Result<()>> + Send;

    /// Deletes rows and the links of deals to them.
    fn delete(tx: &mut Tx<'_>, ids: &[Uuid]) -> impl Future<Output = Result<()>> + Send;

    /// Clears optional references to missing records and returns these.
    fn without_deleted(_tx: &mut Tx<'_>, _rows: &mut [Self]) -> impl Future<Output = Result<Vec<String>>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Returns the references of other rows that a deletion clears.
    fn inbound(_tx: &mut Tx<'_>, _ids: &[Uuid]) -> impl Future<Output = Result<Vec<ClearedReference>>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Sets the references again, unless the other row is missing or refers to another record now; returns the rows that are left out.
    fn refer_again(
        _tx: &mut Tx<'_>,
        _references: &[ClearedReference],
    ) -> impl Future<Output = Result<Vec<String>>> + Send {
        async { Ok(Vec::new()) }
    }
}

/// Fields of a request: absent fields keep their values, null clears.
pub trait Fields<P>: Clone + Send + Sync {
    /// Sets absent fields that a new row requires to null, which `checked` rejects.
    #[must_use]
    fn of_new(self) -> Self;

    /// Normalizes and checks the fields.
    ///
    /// # Errors
    /// 400 that names the invalid fields.
    fn checked(self) -> Result<Self>;

    /// Applies the fields to the row.
    fn change(&self, row: &mut P);

    /// Returns the requested organization.
    fn organization(&self) -> Option<Option<Uuid>>;
}

/// The entity of a [`Party`].
#[derive(Debug)]
pub struct PartyEntity<P>(PhantomData<fn() -> P>);

impl<P: Party> Entity for PartyEntity<P> {
    const KIND: &'static str = P::KIND;
    const NOT_FOUND: &'static str = P::NOT_FOUND;
    const VIEW: Option<Feature> = Some(P::VIEW);

    async fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        P::lock(tx, ids).await
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let rows = P::read(tx, ids).await?;
        let tree = match depth {
            Depth::Own => None,
            Depth::Tree => Some((P::DEALS.links(tx, End::Party, ids).await?, P::inbound(tx, ids).await?)),
        };
        let mut snapshots = Snapshots::new();
        for row in rows {
            let id = row.id();
            let mut snapshot = Snapshot::of(&row)?;
            if let Some((links, inbound)) = &tree {
                let inbound: Vec<_> = inbound.iter().filter(|one| one.value == id).collect();
                let links: Vec<&Link> = links.iter().filter(|link| link.party_id == id).collect();
                snapshot = snapshot
                    .with_children(P::DEALS.kind, &links)?
                    .with_field(LINKS, json!(inbound));
            }
            snapshots.insert(id, snapshot);
        }
        Ok(snapshots)
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<P>>>()?;
        let mut dropped = P::without_deleted(tx, &mut rows).await?;
        P::write(tx, &rows).await?;
        let (mut trees, mut links, mut references) = (Vec::new(), Vec::new(), Vec::new());
        for (row, snapshot) in rows.iter().zip(snapshots) {
            if let Some(own) = snapshot.children::<Link>(P::DEALS.kind)? {
                trees.push(row.id());
                links.extend(own);
            }
            references.extend(ClearedReference::of(snapshot)?);
        }
        if !trees.is_empty() {
            dropped.extend(P::DEALS.restore(tx, End::Party, &trees, &links).await?);
            P::DEALS.touch_deals(tx, &trees).await?;
        }
        if !references.is_empty() {
            dropped.extend(P::refer_again(tx, &references).await?);
        }
        Ok(dropped)
    }

    /// Rejects restoring a reference to a company that is not visible to the caller.
    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let (true, Some(to)) = (step.restoring, step.to) else {
            return Ok(());
        };
        let before: Option<P> = step.from.map(Snapshot::row).transpose()?;
        let named = to.row::<P>()?.company();
        let Some(company) = named.filter(|_| before.as_ref().and_then(P::company) != named) else {
            return Ok(());
        };
        if COMPANIES.seen(tx, &[company]).await?.is_empty() {
            return Err(undo_conflict(&["companyId"]));
        }
        Ok(())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        P::DEALS.touch_deals(tx, ids).await?;
        P::delete(tx, ids).await
    }

    /// Returns the company, and the deals and people whose links or references a deletion removes.
    fn related(snapshot: &Snapshot) -> Vec<EntityRef> {
        let company = snapshot.row::<P>().ok().and_then(|row| row.company());
        let company = company.map(|id| EntityRef {
            kind: super::COMPANY,
            id,
        });
        let deals = snapshot.children::<Link>(P::DEALS.kind).ok().flatten();
        let deals = deals.into_iter().flatten().map(|link| EntityRef {
            kind: super::DEAL,
            id: link.deal_id,
        });
        let people = ClearedReference::of(snapshot).unwrap_or_default();
        let people = people.into_iter().map(|one| EntityRef {
            kind: super::PERSON,
            id: one.id,
        });
        company.into_iter().chain(deals).chain(people).take(100).collect()
    }
}
