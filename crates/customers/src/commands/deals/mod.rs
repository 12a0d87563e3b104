//! Commands on deals. They are written by hand: a deal owns sets of links that can only be inserted after its row, and its values depend on each
//! other and on the time of the change.

mod assign_owner;
mod change_stage;
mod create_deal;
mod delete_deal;
mod fields;
mod update_deal;
mod write;

use backoffice_core::command::Tx;
use backoffice_core::db::KeyColumn;
use backoffice_core::registry::Registry;
use backoffice_core::{Error as CoreError, Result};
use diesel::{QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

pub use assign_owner::{AssignOwner, assign_owner_to};
pub use change_stage::{ChangeStage, move_to};
pub use create_deal::CreateDeal;
pub use delete_deal::DeleteDeal;
pub use fields::DealFields;
pub use update_deal::UpdateDeal;

use crate::model::Deal;
use crate::schema::customers_deals as deals;
use crate::{Error, query};

pub(crate) fn register(registry: &mut Registry) {
    registry
        .entity::<Deal>()
        .command::<CreateDeal>()
        .command::<UpdateDeal>()
        .command::<DeleteDeal>()
        .command::<AssignOwner>()
        .command::<ChangeStage>();
}

/// Loads deals of the transaction's tenant, ordered by id; the bus has locked them.
pub(crate) async fn locked(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Deal>> {
    let tenant = tx.tenant();
    Ok(query::deals::of_tenant(tenant)
        .filter(deals::id.one_of(ids))
        .order(deals::id)
        .select(Deal::as_select())
        .load(tx.conn())
        .await?)
}

/// Loads the deal of a command.
async fn locked_one(tx: &mut Tx<'_>, id: Uuid) -> Result<Deal> {
    let found = locked(tx, &[id]).await?.pop();
    found.ok_or_else(|| CoreError::internal("locked deal missing"))
}

/// Maps a violated foreign key to the unknown reference: the referenced row can be deleted while the deal is being written.
fn reference_is_deleted(error: CoreError) -> CoreError {
    let field = match error.violated_constraint() {
        Some("customers_deals_tenant_id_pipeline_id_fkey") => "pipelineId",
        Some("customers_deals_tenant_id_pipeline_id_pipeline_stage_id_fkey") => "pipelineStageId",
        Some("customers_deal_people_tenant_id_person_id_fkey") => "personIds",
        Some("customers_deal_companies_tenant_id_company_id_fkey") => "companyIds",
        _ => return error,
    };
    Error::UnknownReference(field).into()
}
