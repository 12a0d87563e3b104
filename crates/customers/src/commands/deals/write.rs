//! Applies the fields of a request to a deal: the rules between fields and the checks of references.

use std::collections::BTreeSet;

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::db::Prepared;
use diesel::{ExpressionMethods, QueryDsl, insert_into, update};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::fields::DealFields;
use super::reference_is_deleted;
use crate::model::DealRow;
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
/// 400 for a broken rule.
pub(super) async fn changed(tx: &mut Tx<'_>, fields: &DealFields, present: &DealRow) -> Result<(DealRow, Sets)> {
    let mut row = present.clone();
    fields.change(&mut row, tx.now())?;
    place(tx, fields, &mut row).await?;
    if let Some(owner) = fields.owner_user_id.filter(|owner| *owner != row.owner_user_id) {
        owners::check(tx, owner, row.organization_id).await?;
        row.owner_user_id = owner;
    }
    let sets = Sets {
        people: requested(tx, &PEOPLE, fields.person_ids.as_ref(), row.id).await?,
        companies: requested(tx, &COMPANIES, fields.company_ids.as_ref(), row.id).await?,
    };
    Ok((row, sets))
}

/// Sets pipeline and stage. Naming the pipeline or stage that the deal already has changes nothing.
async fn place(tx: &mut Tx<'_>, fields: &DealFields, row: &mut DealRow) -> Result<()> {
    let organization = row.organization_id;
    let pipeline = fields.pipeline_id.filter(|pipeline| *pipeline != row.pipeline_id);
    match pipeline {
        Some(Some(pipeline)) => {
            row.pipeline_stage_id = Destination::of_pipeline(tx, pipeline, organization).await?;
            row.pipeline_id = Some(pipeline);
        }
        Some(None) => (row.pipeline_id, row.pipeline_stage_id) = (None, None),
        None => {}
    }
    match fields.pipeline_stage_id.filter(|stage| *stage != row.pipeline_stage_id) {
        Some(Some(stage)) => {
            let to = Destination::find(tx, stage).await?;
            if row.pipeline_id.is_none() && fields.pipeline_id.is_some() {
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
    ids: Option<&Option<Vec<Uuid>>>,
    deal: Uuid,
) -> Result<Option<BTreeSet<Uuid>>> {
    let Some(ids) = ids else { return Ok(None) };
    let requested: BTreeSet<Uuid> = ids.iter().flatten().copied().collect();
    let links = set.links_of(tx, &[deal]).await?;
    let present: BTreeSet<Uuid> = links.iter().map(|link| link.party_id).collect();
    let added: Vec<Uuid> = requested.difference(&present).copied().collect();
    if !added.is_empty() && set.seen(tx, &added).await?.len() < added.len() {
        return Err(Error::UnknownReferences(vec![set.field]).into());
    }
    Ok((requested != present).then_some(requested))
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
pub(super) async fn insert(tx: &mut Tx<'_>, row: &DealRow, sets: &Sets) -> Result<()> {
    let inserted = insert_into(deals::table).values(row).execute(tx.conn()).await;
    inserted.map_err(|error| reference_is_deleted(error.into()))?;
    sets.write(tx, row.id).await
}

/// Writes a changed deal.
pub(super) async fn replace(tx: &mut Tx<'_>, row: &DealRow, sets: &Sets) -> Result<()> {
    let target = query::deals::of_tenant(row.tenant_id).filter(deals::id.eq(row.id));
    let updated = Prepared(update(target).set(row)).execute(tx.conn()).await;
    updated.map_err(|error| reference_is_deleted(error.into()))?;
    sets.write(tx, row.id).await
}
