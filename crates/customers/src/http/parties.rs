//! Parameters that the lists of companies and of people share.

use backoffice_core::list::{IdsOrNone, Window};
use backoffice_core::{Result, Violations};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::bodies::ListQuery;
use crate::query::parties::PartyFilter;
use crate::{Order, lists};

/// Parameters of the lists of companies and of people, in addition to those of every list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct PartyQuery {
    /// Only records of these owners: user ids joined by commas, `none` for records without an owner.
    #[param(value_type = Option<IdsOrNone>, inline)]
    owner_user_id: Option<String>,
    /// Only active records, or only inactive ones.
    is_active: Option<bool>,
    /// `createdAt` (default), `updatedAt` or `displayName`.
    #[param(inline)]
    sort_field: Option<PartySort>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum PartySort {
    CreatedAt,
    UpdatedAt,
    DisplayName,
}

/// The columns to sort by, qualified with their table.
pub(super) struct SortColumns {
    pub(super) created_at: &'static str,
    pub(super) updated_at: &'static str,
    pub(super) display_name: &'static str,
}

impl PartyQuery {
    /// Checks the parameters and returns the filter and the window.
    pub(super) fn filter(&self, list: &ListQuery, columns: &SortColumns) -> Result<(PartyFilter, Window)> {
        let mut violations = Violations::default();
        let requested = violations.keep(list.checked());
        let owners = self.owner_user_id.as_deref();
        let owners = owners.map(|text| lists::references("ownerUserId", text));
        let owners = violations.keep(owners.transpose());
        violations.check()?;
        let sort = self.sort_field.unwrap_or(PartySort::CreatedAt);
        let column = match sort {
            PartySort::CreatedAt => columns.created_at,
            PartySort::UpdatedAt => columns.updated_at,
            PartySort::DisplayName => columns.display_name,
        };
        let order = Order {
            column,
            nullable: false,
            descending: requested.is_descending(sort == PartySort::CreatedAt),
        };
        let filter = PartyFilter {
            ids: requested.ids,
            owners,
            companies: None,
            is_active: self.is_active,
            pattern: requested.pattern,
            order,
        };
        Ok((filter, requested.window))
    }
}
