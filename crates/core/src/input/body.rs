//! The rules of a body.

use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::{Patch, Validator};

/// A body of a request. Its rules are here, so that the response to a body with values of wrong types reports the violated rules of the other
/// fields as well (section 3 of the conventions: all invalid fields at once).
pub trait Input: DeserializeOwned {
    /// Fields of the body itself whose texts may contain U+0000, because their own rule decides about them. In every other field the character is
    /// a violation: PostgreSQL can't store it. A text of these fields must not reach the database.
    const ACCEPTS_NUL: &'static [&'static str] = &[];

    /// Whether an update may name null as the organization, because a record without one belongs to the whole tenant.
    const MAY_HAVE_NO_ORGANIZATION: bool = false;

    /// Returns the organization that the request names for a record.
    fn organization(&self) -> Patch<Uuid> {
        Patch::Keep
    }

    /// Validates what only the body of a creation contains; rejects absent fields that a new record needs.
    fn require(&self, _validator: &mut Validator) {}

    /// Validates the given fields, as far as this is possible without the caller and the database.
    fn validate(&self, _validator: &mut Validator) {}

    /// Validates the body of a creation.
    fn validate_new(&self, validator: &mut Validator) {
        self.require(validator);
        self.validate(validator);
    }

    /// Validates the body of an update.
    fn validate_update(&self, validator: &mut Validator) {
        if !Self::MAY_HAVE_NO_ORGANIZATION && self.organization().is_clear() {
            validator.reject("organizationId", "must not be null", "required");
        }
        self.validate(validator);
    }
}
