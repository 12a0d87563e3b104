//! Filters of the lists of companies and of people.

use backoffice_core::list::{Fragment, ListRequest, References};
use diesel::BoolExpressionMethods;
use diesel::dsl::sql;
use diesel::sql_types::Bool;
use uuid::Uuid;

/// Filters of a list.
#[derive(Debug, Clone, Default)]
pub struct PartyFilter {
    /// Only records of these owners.
    pub owners: Option<References>,
    /// Only people of these companies.
    pub companies: Option<References>,
    /// Only active records, or only inactive ones.
    pub is_active: Option<bool>,
}

/// Columns to filter by, qualified with their table.
pub(crate) struct Columns {
    pub(crate) id: &'static str,
    pub(crate) owner: &'static str,
    pub(crate) company: Option<&'static str>,
    pub(crate) is_active: &'static str,
}

impl PartyFilter {
    /// Returns the conditions of a list except for the search.
    pub(crate) fn condition<T: 'static>(&self, request: &ListRequest, columns: &Columns) -> Fragment<T, Bool> {
        let of_ids = |ids: &Option<Vec<Uuid>>| {
            ids.as_ref().map(|ids| References {
                ids: ids.clone(),
                or_none: false,
            })
        };
        let (ids, found) = (of_ids(&request.ids), of_ids(&request.found));
        let references = [
            (ids.as_ref(), Some(columns.id)),
            (found.as_ref(), Some(columns.id)),
            (self.owners.as_ref(), Some(columns.owner)),
            (self.companies.as_ref(), columns.company),
        ];
        let mut all: Fragment<T, Bool> = match self.is_active {
            Some(is_active) => Box::new(sql::<Bool>(&format!("{} = ", columns.is_active)).bind::<Bool, _>(is_active)),
            None => Box::new(sql::<Bool>("true")),
        };
        for (requested, column) in references {
            if let (Some(requested), Some(column)) = (requested, column) {
                all = Box::new(all.and(requested.condition(column)));
            }
        }
        all
    }
}
