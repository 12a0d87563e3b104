//! Moves a deal to another stage.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl, update};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::{locked_one, reference_is_deleted};
use crate::model::Deal;
use crate::schema::customers_deals as deals;
use crate::{Destination, acl, query};

/// Moves a deal to a stage of its pipeline; a deal without a pipeline takes the pipeline of the stage.
#[derive(Debug, Clone, Copy)]
pub struct ChangeStage {
    /// The deal.
    pub deal: Uuid,
    /// The new stage.
    pub stage: Uuid,
}

impl Command for ChangeStage {
    const ID: &'static str = "customers.deal.change_stage";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Change deal stage";
    const FEATURES: &'static [Feature] = &[acl::DEALS_MANAGE];
    type Entity = Deal;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.deal)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let deal = locked_one(tx, self.deal).await?;
        if deal.pipeline_stage_id == Some(self.stage) {
            return Ok(());
        }
        let to = Destination::find(tx, self.stage).await?;
        to.accepts(deal.pipeline_id, deal.organization_id)?;
        move_to(tx, &[self.deal], &to).await
    }
}

/// Moves locked deals to a stage that accepts them: one statement for any number of deals.
///
/// # Errors
/// [`crate::Error::UnknownReference`] when the stage is deleted meanwhile.
pub async fn move_to(tx: &mut Tx<'_>, deals: &[Uuid], to: &Destination) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.now());
    let statement = update(query::deals::of_tenant(tenant).filter(deals::id.one_of(deals))).set((
        deals::pipeline_id.eq(to.pipeline),
        deals::pipeline_stage_id.eq(to.stage),
        deals::updated_at.eq(now),
    ));
    let moved = Prepared(statement).execute(tx.conn()).await;
    moved.map_err(|error| reference_is_deleted(error.into()))?;
    Ok(())
}
