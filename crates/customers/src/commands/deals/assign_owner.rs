//! Assigns a deal to another user.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl, update};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::locked_one;
use crate::model::Deal;
use crate::schema::customers_deals as deals;
use crate::{acl, owners, query};

/// Assigns a deal to a user, or removes its owner.
#[derive(Debug, Clone, Copy)]
pub struct AssignOwner {
    /// The deal.
    pub deal: Uuid,
    /// The new owner; `None` removes the owner.
    pub owner: Option<Uuid>,
}

impl Command for AssignOwner {
    const ID: &'static str = "customers.deal.assign_owner";
    const CLASS: Class = Class::Assign;
    const LABEL: &'static str = "Assign deal owner";
    const FEATURES: &'static [Feature] = &[acl::DEALS_MANAGE];
    type Entity = Deal;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.deal)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let deal = locked_one(tx, self.deal).await?;
        if deal.owner_user_id == self.owner {
            return Ok(());
        }
        owners::check(tx, deal.owner_user_id, self.owner, deal.organization_id).await?;
        assign_owner_to(tx, &[self.deal], self.owner).await
    }
}

/// Assigns locked deals to a user who may own them (see [`crate::Owner`]): one statement for any number of deals.
///
/// # Errors
/// When the database can't be reached.
pub async fn assign_owner_to(tx: &mut Tx<'_>, deals: &[Uuid], owner: Option<Uuid>) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.now());
    let statement = update(query::deals::of_tenant(tenant).filter(deals::id.one_of(deals)))
        .set((deals::owner_user_id.eq(owner), deals::updated_at.eq(now)));
    Prepared(statement).execute(tx.conn()).await?;
    Ok(())
}
