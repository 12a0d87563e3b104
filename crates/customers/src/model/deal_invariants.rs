//! What undo and redo restore of a deal: missing references are left out, references that the caller may not write are a conflict. Only the owner
//! need not be visible to the caller.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_core::command::{Snapshot, Tx};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Rejection, Result};
use diesel::{QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::deal::Deal;
use super::deal_sets::{COMPANIES, DealSet, PEOPLE};
use super::restored_owners::{self, while_restoring};
use super::{PIPELINE, STAGE};
use crate::schema::{customers_deals as deals, customers_pipeline_stages as stages, customers_pipelines as pipelines};
use crate::{Destination, query};

/// Clears owners, pipelines and stages that the rows would get back but that no longer exist, and returns them. The number of statements does not depend on the number of rows.
pub(super) async fn leave_out(tx: &mut Tx<'_>, rows: &mut [Deal]) -> Result<Vec<String>> {
    let tenant = tx.tenant();
    let stored: Vec<Deal> = query::deals::of_tenant(tenant)
        .filter(deals::id.one_of(rows.iter().map(|row| row.id).collect::<Vec<_>>()))
        .select(Deal::as_select())
        .load(tx.conn())
        .await?;
    let mut dropped = restored_owners::leave_out(tx, rows, &stored).await?;
    let stored: BTreeMap<Uuid, Deal> = stored.into_iter().map(|row| (row.id, row)).collect();
    let returning =
        |row: &Deal, of: fn(&Deal) -> Option<Uuid>| of(row).filter(|id| stored.get(&row.id).and_then(of) != Some(*id));
    let all = |of: fn(&Deal) -> Option<Uuid>| -> Vec<Uuid> {
        let ids: BTreeSet<Uuid> = rows.iter().filter_map(|row| returning(row, of)).collect();
        ids.into_iter().collect()
    };
    let pipeline = |row: &Deal| row.pipeline_id;
    let stage = |row: &Deal| row.pipeline_stage_id;
    let (in_pipelines, in_stages) = (all(pipeline), all(stage));
    let pipelines: BTreeSet<Uuid> = lock_existing(tx, &in_pipelines, Table::Pipelines).await?;
    let stages: BTreeSet<Uuid> = lock_existing(tx, &in_stages, Table::Stages).await?;
    for row in rows {
        if let Some(id) = returning(row, stage).filter(|id| !stages.contains(id)) {
            dropped.insert(format!("{STAGE}:{id}"));
            row.pipeline_stage_id = None;
        }
        if let Some(id) = returning(row, pipeline).filter(|id| !pipelines.contains(id)) {
            dropped.insert(format!("{PIPELINE}:{id}"));
            row.pipeline_id = None;
        }
    }
    Ok(dropped.into_iter().collect())
}

#[derive(Clone, Copy)]
enum Table {
    Pipelines,
    Stages,
}

/// Returns the ids of existing rows and locks the rows against deletion until the end of the transaction.
async fn lock_existing(tx: &mut Tx<'_>, ids: &[Uuid], table: Table) -> Result<BTreeSet<Uuid>> {
    if ids.is_empty() {
        return Ok(BTreeSet::new());
    }
    let tenant = tx.tenant();
    let found: Vec<Uuid> = match table {
        Table::Pipelines => {
            query::pipelines::of_tenant(tenant)
                .filter(pipelines::id.one_of(ids))
                .select(pipelines::id)
                .for_key_share()
                .load(tx.conn())
                .await?
        }
        Table::Stages => {
            query::stages::of_tenant(tenant)
                .filter(stages::id.one_of(ids))
                .select(stages::id)
                .for_key_share()
                .load(tx.conn())
                .await?
        }
    };
    Ok(found.into_iter().collect())
}

/// Rejects a restored deal with references that the caller could not write, or an owner who may not own it: `undo_conflict` that names the field.
pub(super) async fn validate(tx: &mut Tx<'_>, from: Option<&Snapshot>, to: &Snapshot) -> Result<()> {
    let row: Deal = to.row()?;
    let before: Option<Deal> = from.map(Snapshot::row).transpose()?;
    restored_owners::validate(tx, from, to).await?;
    if let Some(pipeline) = row
        .pipeline_id
        .filter(|id| before.as_ref().and_then(|row| row.pipeline_id) != Some(*id))
    {
        let verdict = Destination::of_pipeline(tx, pipeline, row.organization_id).await;
        verdict.map_err(|error| while_restoring(error, "pipelineId"))?;
    }
    for set in [PEOPLE, COMPANIES] {
        let known = ids(from, &set)?;
        let added: Vec<Uuid> = ids(Some(to), &set)?.difference(&known).copied().collect();
        if !added.is_empty() && set.seen(tx, &added).await?.len() < added.len() {
            return Err(Rejection::undo_conflict(&[set.field]).into());
        }
    }
    Ok(())
}

fn ids(snapshot: Option<&Snapshot>, set: &DealSet) -> Result<BTreeSet<Uuid>> {
    let ids = snapshot.and_then(|snapshot| snapshot.get(set.field)).cloned();
    Ok(ids.map(serde_json::from_value).transpose()?.unwrap_or_default())
}
