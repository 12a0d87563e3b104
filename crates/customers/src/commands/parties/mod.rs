//! Commands that companies and people share.

mod create_party;
mod delete_party;
mod update_party;

pub use create_party::CreateParty;
pub use delete_party::DeleteParty;
pub use update_party::UpdateParty;

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::registry::Registry;
use uuid::Uuid;

use crate::model::deal_sets::COMPANIES;
use crate::model::{Party, PartyEntity};
use crate::{Error, owners};

pub(super) fn register<P: Party>(registry: &mut Registry) {
    registry
        .entity::<PartyEntity<P>>()
        .command::<CreateParty<P>>()
        .command::<UpdateParty<P>>()
        .command::<DeleteParty<P>>();
}

/// Rejects new references to records that are not visible to the caller. References that the row already holds may stay.
async fn check_references<P: Party>(tx: &mut Tx<'_>, from: Option<&P>, to: &P) -> Result<()> {
    let added = |of: fn(&P) -> Option<Uuid>| of(to).filter(|id| from.and_then(of) != Some(*id));
    if let Some(company) = added(P::company)
        && COMPANIES.seen(tx, &[company]).await?.is_empty()
    {
        return Err(unknown_company());
    }
    owners::check(tx, added(P::owner), to.place().organization).await
}

fn unknown_company() -> backoffice_core::Error {
    Error::UnknownReferences(vec!["companyId"]).into()
}

/// Maps a violated foreign key to the unknown reference: a company can be deleted while a person is assigned to it.
fn company_is_deleted(error: backoffice_core::Error) -> backoffice_core::Error {
    match error.violated_constraint() {
        Some("customers_people_tenant_id_company_id_fkey") => unknown_company(),
        _ => error,
    }
}

/// Overwrites `into` with the value, if there is one.
pub(super) fn put<T: Clone>(into: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        into.clone_from(value);
    }
}
