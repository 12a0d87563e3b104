//! Assigns many deals to a user.

use std::collections::BTreeMap;

use backoffice_core::command::{BatchCommand, BatchItem, Class, Tx};
use backoffice_core::{Feature, Rejection, Result};
use backoffice_progress::bulk::BulkOperation;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{all_rejected, rejected};
use crate::commands::deals::{AssignOwner, assign_owner_to};
use crate::model::Deal;
use crate::{Owner, acl};

/// Assigns deals to a user, or removes their owner.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BulkUpdateOwner {
    /// The new owner; `None` removes the owner.
    pub owner_user_id: Option<Uuid>,
}

impl BulkOperation for BulkUpdateOwner {
    const ID: &'static str = "customers.deal.bulk_update_owner";
    const CLASS: Class = Class::Assign;
    const LABEL: &'static str = "Assign owner of deals";
    const NAME: &'static str = "Update owner of deals";
    const FEATURES: &'static [Feature] = &[acl::DEALS_MANAGE];
    type Item = AssignOwner;

    fn item(&self, id: Uuid) -> AssignOwner {
        AssignOwner {
            deal: id,
            owner: self.owner_user_id,
        }
    }

    fn message(total: usize) -> String {
        format!("Bulk owner update started ({total} deals).")
    }

    async fn meta(&self, _tx: &mut Tx<'_>) -> Result<Value> {
        Ok(json!({"ownerUserId": self.owner_user_id}))
    }

    async fn check(&self, tx: &mut Tx<'_>) -> Result<()> {
        if let Some(owner) = self.owner_user_id {
            Owner::find(tx, owner).await?;
        }
        Ok(())
    }
}

impl BatchCommand for AssignOwner {
    async fn apply_all(tx: &mut Tx<'_>, items: &[BatchItem<'_, Self>]) -> Result<Vec<(Uuid, Rejection)>> {
        let mut by_owner: BTreeMap<Option<Uuid>, Vec<&BatchItem<'_, Self>>> = BTreeMap::new();
        for item in items {
            by_owner.entry(item.command.owner).or_default().push(item);
        }
        let mut failed = Vec::new();
        for (owner, items) in by_owner {
            failed.extend(assign(tx, owner, &items).await?);
        }
        Ok(failed)
    }
}

async fn assign(
    tx: &mut Tx<'_>,
    owner: Option<Uuid>,
    items: &[&BatchItem<'_, AssignOwner>],
) -> Result<Vec<(Uuid, Rejection)>> {
    let mut deals = items
        .iter()
        .map(|item| item.before.row())
        .collect::<Result<Vec<Deal>>>()?;
    // Deals that have the owner are skipped, even if the user may no longer own others.
    deals.retain(|deal| deal.owner_user_id != owner);
    if deals.is_empty() {
        return Ok(Vec::new());
    }
    let found = match owner {
        Some(owner) => match rejected(Owner::find(tx, owner).await)? {
            Ok(found) => Some(found),
            Err(rejection) => return Ok(all_rejected(&deals, &rejection)),
        },
        None => None,
    };
    let (mut failed, mut changing) = (Vec::new(), Vec::new());
    for deal in &deals {
        let allowed = found
            .as_ref()
            .map_or(Ok(()), |owner| owner.may_own_in(deal.organization_id));
        match rejected(allowed.map_err(backoffice_core::Error::from))? {
            Ok(()) => changing.push(deal.id),
            Err(rejection) => failed.push((deal.id, *rejection)),
        }
    }
    if !changing.is_empty() {
        assign_owner_to(tx, &changing, owner).await?;
    }
    Ok(failed)
}
