//! Applies the fields of a request to a deal: the rules between fields and the checks of references.

use std::collections::BTreeSet;

use backoffice_core::command::Tx;
use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::{Patch, Result};
use diesel::{ExpressionMethods, QueryDsl, insert_into, update};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::fields::DealFields;
use super::reference_is_deleted;
use crate::error::Rejections;
use crate::model::Deal;
use crate::model::deal_sets::{COMPANIES, DealSet, PEOPLE};
use crate::schema::customers_deals as deals;
use crate::values::keep_organization;
use crate::{Destination, Error, owners, query};

/// The sets of a deal that a request replaces.
pub(super) struct Sets {
    people: Option<BTreeSet<Uuid>>,
    companies: Option<BTreeSet<Uuid>>,
}

/// Returns the deal with these fields applied, and its new sets. New references must be visible to the caller.
///
/// # Errors
/// 400 that names the violated rules.
pub(super) async fn changed(tx: &mut Tx<'_>, fields: &DealFields, before: &Deal) -> Result<(Deal, Sets)> {
    let (mut row, mut rejections) = (before.clone(), Rejections::default());
    rejections.keep(keep_organization(fields.organization_id, row.organization_id))?;
    rejections.keep(fields.change(&mut row, tx.now()))?;
    let has_pipeline = set_pipeline(tx, fields, &mut row).await.map(|()| true);
    let has_pipeline = rejections.keep(has_pipeline)?;
    let to = rejections.keep(requested_stage(tx, fields, &row).await)?;
    if has_pipeline {
        rejections.keep(set_stage(fields, &mut row, to.as_ref()))?;
    }
    fields.owner_user_id.apply_to(&mut row.owner_user_id);
    let owner = owners::check(tx, before.owner_user_id, row.owner_user_id, row.organization_id).await;
    rejections.keep(owner)?;
    let sets = Sets {
        people: rejections.keep(requested(tx, &PEOPLE, &fields.person_ids, row.id).await)?,
        companies: rejections.keep(requested(tx, &COMPANIES, &fields.company_ids, row.id).await)?,
    };
    rejections.check()?;
    Ok((row, sets))
}

/// Sets the pipeline, and the stage to its first one. A deal that is in the pipeline already keeps its stage, if it has one.
async fn set_pipeline(tx: &mut Tx<'_>, fields: &DealFields, row: &mut Deal) -> Result<()> {
    match fields.pipeline_id {
        Patch::Set(pipeline) if row.pipeline_id != Some(pipeline) => {
            row.pipeline_stage_id = Destination::of_pipeline(tx, pipeline, row.organization_id).await?;
            row.pipeline_id = Some(pipeline);
        }
        Patch::Set(pipeline) if row.pipeline_stage_id.is_none() => {
            row.pipeline_stage_id = Destination::first_stage(tx, pipeline).await?;
        }
        Patch::Clear => (row.pipeline_id, row.pipeline_stage_id) = (None, None),
        Patch::Set(_) | Patch::Keep => {}
    }
    Ok(())
}

/// Returns the stage into which the request moves the deal; `None` if it names none, or the stage that the deal already has.
async fn requested_stage(tx: &mut Tx<'_>, fields: &DealFields, row: &Deal) -> Result<Option<Destination>> {
    match fields.pipeline_stage_id {
        Patch::Set(stage) if row.pipeline_stage_id != Some(stage) => Destination::find(tx, stage).await.map(Some),
        _ => Ok(None),
    }
}

/// Sets the stage, and the pipeline of a deal that has none.
fn set_stage(fields: &DealFields, row: &mut Deal, to: Option<&Destination>) -> Result<()> {
    if fields.pipeline_stage_id.is_clear() {
        row.pipeline_stage_id = None;
    }
    let Some(to) = to else { return Ok(()) };
    if fields.pipeline_id.is_clear() {
        // The request clears the pipeline but names a stage.
        return Err(Error::StageInOtherPipeline.into());
    }
    to.accepts(row.pipeline_id, row.organization_id)?;
    (row.pipeline_id, row.pipeline_stage_id) = (Some(to.pipeline), Some(to.stage));
    Ok(())
}

/// Returns the requested set, or `None` if it is absent or unchanged. Added records must be visible to the caller.
async fn requested(
    tx: &mut Tx<'_>,
    set: &DealSet,
    ids: &Patch<Vec<Uuid>>,
    deal: Uuid,
) -> Result<Option<BTreeSet<Uuid>>> {
    if ids.is_keep() {
        return Ok(None);
    }
    let requested: BTreeSet<Uuid> = ids.as_ref().value().into_iter().flatten().copied().collect();
    let links = set.links_of(tx, &[deal]).await?;
    let stored: BTreeSet<Uuid> = links.iter().map(|link| link.party_id).collect();
    let added: Vec<Uuid> = requested.difference(&stored).copied().collect();
    if !added.is_empty() && set.seen(tx, &added).await?.len() < added.len() {
        return Err(Error::UnknownReference(set.field).into());
    }
    Ok((requested != stored).then_some(requested))
}

impl Sets {
    /// Returns true if neither set changes.
    pub(super) fn are_unchanged(&self) -> bool {
        self.people.is_none() && self.companies.is_none()
    }

    async fn write(&self, tx: &mut Tx<'_>, deal: Uuid) -> Result<()> {
        for (set, requested) in [(PEOPLE, &self.people), (COMPANIES, &self.companies)] {
            if let Some(requested) = requested {
                set.set(tx, deal, requested).await.map_err(reference_is_deleted)?;
            }
        }
        Ok(())
    }
}

/// Writes a new deal.
pub(super) async fn insert(tx: &mut Tx<'_>, row: &Deal, sets: &Sets) -> Result<()> {
    let inserted = insert_into(deals::table)
        .values(row)
        .prepared()
        .execute(tx.conn())
        .await;
    inserted.map_err(|error| reference_is_deleted(error.into()))?;
    sets.write(tx, row.id).await
}

/// Writes a changed deal.
pub(super) async fn replace(tx: &mut Tx<'_>, row: &Deal, sets: &Sets) -> Result<()> {
    let target = query::deals::of_tenant(row.tenant_id).filter(deals::id.eq(row.id));
    let updated = Prepared(update(target).set(row)).execute(tx.conn()).await;
    updated.map_err(|error| reference_is_deleted(error.into()))?;
    sets.write(tx, row.id).await
}
