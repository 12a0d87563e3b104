//! Parameters that the lists of companies and of people share.

use backoffice_core::Violations;
use backoffice_core::list::{IdsOrNone, References};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::query::parties::PartyFilter;

/// Filters of the lists of companies and of people.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct PartyQuery {
    /// Only records of these owners: user ids joined by commas, `none` for records without an owner.
    #[param(value_type = Option<IdsOrNone>, inline)]
    owner_user_id: Option<String>,
    /// Only active records, or only inactive ones.
    is_active: Option<bool>,
}

impl PartyQuery {
    /// Validates the filters and records invalid ones.
    pub(super) fn filter(&self, violations: &mut Violations) -> PartyFilter {
        let owners = self.owner_user_id.as_deref();
        let owners = owners.map(|text| References::parse("ownerUserId", text));
        PartyFilter {
            owners: violations.keep(owners.transpose()),
            companies: None,
            is_active: self.is_active,
        }
    }
}
