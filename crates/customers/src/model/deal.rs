//! Deals.

use std::collections::BTreeSet;

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, Recurring, ReplaceRow};
use backoffice_core::events::Event;
use backoffice_core::{Feature, Placement, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{AsChangeset, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::DEAL;
use super::amount::Amount;
use super::day::Day;
use super::deal_invariants;
use super::deal_sets::{COMPANIES, DealSet, End, Link, PEOPLE};
use super::restored_owners::HasOwner;
use super::status::DealStatus;
use crate::schema::customers_deals as deals;
use crate::{acl, query};

/// A deal. Its people and companies are part of it.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset, Serialize, Deserialize)]
#[diesel(
    table_name = deals,
    primary_key(tenant_id, id),
    treat_none_as_null = true,
    treat_none_as_default_value = false,
    check_for_backend(Pg)
)]
#[serde(rename_all = "camelCase")]
pub struct Deal {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// 1 to 200 characters.
    pub title: String,
    /// At most 4000 characters.
    pub description: Option<String>,
    /// The status.
    pub status: DealStatus,
    /// The pipeline of the deal.
    pub pipeline_id: Option<Uuid>,
    /// The stage in the pipeline.
    pub pipeline_stage_id: Option<Uuid>,
    /// The value of the deal.
    pub value_amount: Option<Amount>,
    /// The currency of the value: three capital letters.
    pub value_currency: Option<String>,
    /// The probability that the deal is won, in percent.
    pub probability: Option<i16>,
    /// The day on which the deal is expected to be won.
    pub expected_close_on: Option<Day>,
    /// Time at which the deal was won or lost.
    pub closed_at: Option<Timestamp>,
    /// The reason for the loss.
    pub lost_reason: Option<String>,
    /// The user who owns the deal.
    pub owner_user_id: Option<Uuid>,
    /// The source of the deal.
    pub source: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Deal {
    /// Creates an open deal without content.
    pub(crate) fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            title: String::new(),
            description: None,
            status: DealStatus::Open,
            pipeline_id: None,
            pipeline_stage_id: None,
            value_amount: None,
            value_currency: None,
            probability: None,
            expected_close_on: None,
            closed_at: None,
            lost_reason: None,
            owner_user_id: None,
            source: None,
            created_at: now,
            updated_at: now,
        }
    }
}

impl HasOwner for Deal {
    fn owner(&self) -> (Uuid, Option<Uuid>) {
        (self.id, self.owner_user_id)
    }

    fn clear_owner(&mut self) {
        self.owner_user_id = None;
    }
}

impl Entity for Deal {
    const KIND: &'static str = DEAL;
    const NOT_FOUND: &'static str = "Deal not found";
    const VIEW: Option<Feature> = Some(acl::DEALS_VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::deals::in_scope(locker.scope()).filter(deals::id.one_of(ids));
        let visible = visible.select((deals::id, deals::tenant_id));
        Ok(visible
            .order(deals::id)
            .for_update()
            .load(&mut locker.connection())
            .await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows: Vec<Deal> = query::deals::of_tenant(tenant)
            .filter(deals::id.one_of(ids))
            .select(Deal::as_select())
            .load(tx.conn())
            .await?;
        if rows.is_empty() {
            return Ok(Snapshots::new());
        }
        let sets = [
            (PEOPLE, PEOPLE.links_of(tx, ids).await?),
            (COMPANIES, COMPANIES.links_of(tx, ids).await?),
        ];
        let snapshot = |row: &Deal| {
            let mut snapshot = Snapshot::of(row)?;
            for (set, links) in &sets {
                let own: Vec<&Link> = links.iter().filter(|link| link.deal_id == row.id).collect();
                let parties: BTreeSet<Uuid> = own.iter().map(|link| link.party_id).collect();
                snapshot = snapshot
                    .with_field(set.field, json!(parties))
                    .with_children(set.kind, &own)?;
            }
            Ok((row.id, snapshot))
        };
        rows.iter().map(snapshot).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Deal>>>()?;
        let mut dropped = deal_invariants::leave_out(tx, &mut rows).await?;
        for row in &mut rows {
            row.updated_at = tx.now();
        }
        upsert(tx, &rows).await?;
        let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
        for set in [PEOPLE, COMPANIES] {
            dropped.extend(set.restore(tx, End::Deal, &ids, &links(snapshots, &set)?).await?);
        }
        Ok(dropped)
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let tenant = tx.tenant();
        delete(query::deals::of_tenant(tenant).filter(deals::id.one_of(ids)))
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        match step.to {
            Some(to) if step.restoring => deal_invariants::validate(tx, step.from, to).await,
            _ => Ok(()),
        }
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let Some(to) = step.to else { return Ok(()) };
        let value = |name: &str| {
            let of = |snapshot: Option<&Snapshot>| snapshot.and_then(|snapshot| snapshot.get(name)).cloned();
            (
                of(step.from).unwrap_or(Value::Null),
                of(Some(to)).unwrap_or(Value::Null),
            )
        };
        let (from, to) = value("ownerUserId");
        if from != to {
            let event = Event::new("customers.deal.owner_assigned", step.id).shown_to(acl::DEALS_VIEW);
            tx.emit(event.with("fromUserId", from).with("toUserId", to));
        }
        let (from, to) = value("pipelineStageId");
        if from != to {
            let event = Event::new("customers.deal.stage_changed", step.id).shown_to(acl::DEALS_VIEW);
            let event = event.with("pipelineId", value("pipelineId").1);
            tx.emit(event.with("fromStageId", from).with("toStageId", to));
        }
        Ok(())
    }

    fn related(snapshot: &Snapshot) -> Vec<EntityRef> {
        let of = |set: &DealSet| -> Vec<Uuid> {
            let ids = snapshot.get(set.field).cloned().unwrap_or_default();
            serde_json::from_value(ids).unwrap_or_default()
        };
        let refs = [PEOPLE, COMPANIES].into_iter().flat_map(|set| {
            let ids = of(&set).into_iter();
            ids.map(move |id| EntityRef { kind: set.party, id })
        });
        refs.take(100).collect()
    }
}

fn links(snapshots: &[Snapshot], set: &DealSet) -> Result<Vec<Link>> {
    let mut all = Vec::new();
    for snapshot in snapshots {
        all.extend(snapshot.children::<Link>(set.kind)?.unwrap_or_default());
    }
    Ok(all)
}

async fn upsert(tx: &mut Tx<'_>, rows: &[Deal]) -> Result<()> {
    insert_into(deals::table)
        .values(rows)
        .on_conflict((deals::tenant_id, deals::id))
        .do_update()
        .set(ReplaceRow::<deals::table>::default())
        .prepared_if(rows.len() == 1)
        .execute(tx.conn())
        .await?;
    Ok(())
}
