//! Commands on people.

mod fields;

pub use fields::PersonFields;

use backoffice_core::registry::Registry;

use super::parties::{self, CreateParty, DeleteParty, UpdateParty};
use crate::model::PersonRow;

/// Command `customers.person.create`.
pub type CreatePerson = CreateParty<PersonRow>;
/// Command `customers.person.update`.
pub type UpdatePerson = UpdateParty<PersonRow>;
/// Command `customers.person.delete`.
pub type DeletePerson = DeleteParty<PersonRow>;

pub(crate) fn register(registry: &mut Registry) {
    parties::register::<PersonRow>(registry);
}
