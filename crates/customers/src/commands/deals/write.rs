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
use crate::model::Deal;
use crate::model::deal_sets::{COMPANIES, DealSet, PEOPLE};
use crate::schema::customers_deals as deals;
use crate::{Destination, Error, owners, query};

/// The sets of a deal that a request replaces.
pub(super) struct Sets {
    people: Option<BTreeSet<Uuid>>,
    companies: Option<BTreeSet<Uuid>>,
}

/// Returns the deal with these fields applied, and its new sets. New references must be visible to the caller.
///
/// # Errors
/// 400 for a violated rule.
pub(super) async fn changed(tx: &mut Tx<'_>, fields: &DealFields, before: &Deal) -> Result<(Deal, Sets)> {
    let mut row = before.clone();
    fields.change(&mut row, tx.now())?;
    set_stage(tx, fields, &mut row).await?;
    fields.owner_user_id.apply_to(&mut row.owner_user_id);
    owners::check(tx, before.owner_user_id, row.owner_user_id, row.organization_id).await?;
    let sets = Sets {
        people: requested(tx, &PEOPLE, &fields.person_ids, row.id).await?,
        companies: requested(tx, &COMPANIES, &fields.company_ids, row.id).await?,
    };
    Ok((row, sets))
}

/// Sets pipeline and stage. Naming the pipeline or stage that the deal already has changes nothing.
async fn set_stage(tx: &mut Tx<'_>, fields: &DealFields, row: &mut Deal) -> Result<()> {
    let organization = row.organization_id;
    let pipeline = fields.pipeline_id.into_change();
    match pipeline.filter(|pipeline| *pipeline != row.pipeline_id) {
        Some(Some(pipeline)) => {
            row.pipeline_stage_id = Destination::of_pipeline(tx, pipeline, organization).await?;
            row.pipeline_id = Some(pipeline);
        }
        Some(None) => (row.pipeline_id, row.pipeline_stage_id) = (None, None),
        None => {}
    }
    let stage = fields.pipeline_stage_id.into_change();
    match stage.filter(|stage| *stage != row.pipeline_stage_id) {
        Some(Some(stage)) => {
            let to = Destination::find(tx, stage).await?;
            if row.pipeline_id.is_none() && fields.pipeline_id.is_clear() {
                // The request clears the pipeline but names a stage.
                return Err(Error::StageInOtherPipeline.into());
            }
            to.accepts(row.pipeline_id, organization)?;
            (row.pipeline_id, row.pipeline_stage_id) = (Some(to.pipeline), Some(stage));
        }
        Some(None) => row.pipeline_stage_id = None,
        None => {}
    }
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
