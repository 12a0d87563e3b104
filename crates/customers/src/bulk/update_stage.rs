//! Moves many deals to a stage.

use std::collections::BTreeMap;

use backoffice_core::command::{BatchCommand, BatchItem, Class, Tx};
use backoffice_core::{Feature, Rejection, Result};
use backoffice_progress::bulk::BulkOperation;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{all_rejected, rejected};
use crate::commands::deals::{ChangeStage, move_to};
use crate::model::Deal;
use crate::{Destination, acl};

/// Moves deals to a stage of their pipeline; deals without a pipeline take the pipeline of the stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BulkUpdateStage {
    /// The stage into which the deals are moved.
    pub pipeline_stage_id: Uuid,
}

impl BulkOperation for BulkUpdateStage {
    const ID: &'static str = "customers.deal.bulk_update_stage";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Change stage of deals";
    const NAME: &'static str = "Update stage of deals";
    const FEATURES: &'static [Feature] = &[acl::DEALS_MANAGE];
    type Item = ChangeStage;

    fn item(&self, id: Uuid) -> ChangeStage {
        ChangeStage {
            deal: id,
            stage: self.pipeline_stage_id,
        }
    }

    fn message(total: usize) -> String {
        format!("Bulk stage update started ({total} deals).")
    }

    async fn meta(&self, tx: &mut Tx<'_>) -> Result<Value> {
        let to = Destination::find(tx, self.pipeline_stage_id).await?;
        Ok(json!({"pipelineStageId": to.stage, "pipelineId": to.pipeline}))
    }

    async fn check(&self, tx: &mut Tx<'_>) -> Result<()> {
        Destination::find(tx, self.pipeline_stage_id).await?;
        Ok(())
    }
}

impl BatchCommand for ChangeStage {
    async fn apply_all(tx: &mut Tx<'_>, items: &[BatchItem<'_, Self>]) -> Result<Vec<(Uuid, Rejection)>> {
        let mut by_stage: BTreeMap<Uuid, Vec<&BatchItem<'_, Self>>> = BTreeMap::new();
        for item in items {
            by_stage.entry(item.command.stage).or_default().push(item);
        }
        let mut failed = Vec::new();
        for (stage, items) in by_stage {
            failed.extend(change(tx, stage, &items).await?);
        }
        Ok(failed)
    }
}

async fn change(tx: &mut Tx<'_>, stage: Uuid, items: &[&BatchItem<'_, ChangeStage>]) -> Result<Vec<(Uuid, Rejection)>> {
    let mut deals = items
        .iter()
        .map(|item| item.before.row())
        .collect::<Result<Vec<Deal>>>()?;
    // Deals in the stage are skipped, even if the requester no longer sees it.
    deals.retain(|deal| deal.pipeline_stage_id != Some(stage));
    if deals.is_empty() {
        return Ok(Vec::new());
    }
    let to = match rejected(Destination::find(tx, stage).await)? {
        Ok(to) => to,
        Err(rejection) => return Ok(all_rejected(&deals, &rejection)),
    };
    let (mut failed, mut moving) = (Vec::new(), Vec::new());
    for deal in &deals {
        let accepted = to.accepts(deal.pipeline_id, deal.organization_id);
        match rejected(accepted.map_err(backoffice_core::Error::from))? {
            Ok(()) => moving.push(deal.id),
            Err(rejection) => failed.push((deal.id, *rejection)),
        }
    }
    if !moving.is_empty() {
        move_to(tx, &moving, &to).await?;
    }
    Ok(failed)
}
