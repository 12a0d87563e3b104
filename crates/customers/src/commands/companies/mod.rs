//! Commands on companies.

mod fields;

pub use fields::CompanyFields;

use backoffice_core::registry::Registry;

use super::parties::{self, CreateParty, DeleteParty, UpdateParty};
use crate::model::CompanyRow;

/// Command `customers.company.create`.
pub type CreateCompany = CreateParty<CompanyRow>;
/// Command `customers.company.update`.
pub type UpdateCompany = UpdateParty<CompanyRow>;
/// Command `customers.company.delete`.
pub type DeleteCompany = DeleteParty<CompanyRow>;

pub(crate) fn register(registry: &mut Registry) {
    parties::register::<CompanyRow>(registry);
}
