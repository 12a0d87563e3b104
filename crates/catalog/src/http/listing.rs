//! The parameters of every list.

use std::marker::PhantomData;

use backoffice_core::http::{Describe, Extract, Incoming, Query, Schemas, given};
use backoffice_core::list::{ById, CommaList, IdList, PageQuery, Window, search_pattern};
use backoffice_core::{Detail, Result, Violations};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::path::{OperationBuilder, ParameterIn};
use uuid::Uuid;

use crate::documented;
use crate::query::Sort;

/// Page, order and search.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct Listing {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows per page.
    #[param(minimum = 1, maximum = 100, default = 50)]
    page_size: Option<u32>,
    /// Part of the text fields.
    #[param(max_length = 200)]
    search: Option<String>,
    /// Only the row with this id.
    #[serde(default, deserialize_with = "given")]
    id: Option<Uuid>,
    /// Only the rows with these ids, joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    ids: Option<String>,
    /// The field by which the list is sorted, by default the first one.
    sort_field: Option<String>,
    /// `asc` or `desc`; by default times are descending, everything else is ascending.
    sort_dir: Option<String>,
}

/// Rows of a list.
pub(super) trait Sorted {
    /// The fields by which the list can be sorted, the first one by default.
    const BY: &'static [&'static str];
}

/// The [`Listing`] of these rows.
#[derive(Debug)]
pub(super) struct ListOf<R> {
    listing: Listing,
    rows: PhantomData<R>,
}

impl<R: Sorted> ListOf<R> {
    /// Checks the parameters.
    pub(super) fn checked(&self) -> Result<Listed> {
        self.listing.checked(R::BY)
    }
}

impl<R> Extract for ListOf<R> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let Query(listing) = Extract::extract(incoming)?;
        Ok(Self {
            listing,
            rows: PhantomData,
        })
    }
}

impl<R: Sorted> Describe for ListOf<R> {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        let mut parameters = Listing::into_params(|| Some(ParameterIn::Query));
        for parameter in &mut parameters {
            let words: &'static [&'static str] = match parameter.name.as_str() {
                "sortField" => R::BY,
                "sortDir" => &["asc", "desc"],
                _ => continue,
            };
            parameter.schema = Some(documented::words(words).into());
        }
        operation.parameters(Some(parameters))
    }
}

/// The checked parameters.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) window: Window,
    /// Pattern for the text fields that the search covers.
    pub(super) pattern: Option<String>,
    pub(super) ids: Option<Vec<Uuid>>,
    pub(super) sort: Sort,
}

impl Listing {
    /// Checks the parameters. The list may be sorted by these fields, the first one by default.
    pub(super) fn checked(&self, sorted_by: &[&'static str]) -> Result<Listed> {
        let by_id = ById {
            id: self.id,
            ids: self.ids.clone(),
        };
        let mut violations = Violations::default();
        let listed = Listed {
            window: violations.keep(PageQuery::new(self.page, self.page_size).window()),
            pattern: violations.keep(search_pattern(self.search.as_deref())),
            ids: violations.keep(by_id.requested()),
            sort: self.sort(sorted_by, &mut violations),
        };
        violations.check().map(|()| listed)
    }

    fn sort(&self, allowed: &[&'static str], violations: &mut Violations) -> Sort {
        let requested = self.sort_field.as_deref().or(allowed.first().copied());
        let field = allowed.iter().copied().find(|one| requested == Some(one));
        if field.is_none() {
            let rule = format!("must be one of {}", allowed.join(", "));
            violations.add(Detail::new("sortField", rule, "invalid_value"));
        }
        let field = field.unwrap_or_default();
        let descending = match self.sort_dir.as_deref() {
            None => field.ends_with("At"),
            Some("asc") => false,
            Some("desc") => true,
            Some(_) => {
                violations.add(Detail::new("sortDir", "must be asc or desc", "invalid_value"));
                false
            }
        };
        Sort { field, descending }
    }
}

/// Parses the texts of a comma list.
pub(super) fn words(path: &str, list: Option<&str>) -> Result<Option<Vec<String>>, Detail> {
    list.map(|text| CommaList::new(path).texts([text])).transpose()
}

/// Parses the ids of a comma list.
pub(super) fn uuids(path: &str, list: Option<&str>) -> Result<Option<Vec<Uuid>>, Detail> {
    list.map(|text| CommaList::new(path).ids([text])).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_trimmed_and_an_empty_one_stays_empty() {
        assert_eq!(words("tags", None), Ok(None));
        assert_eq!(words("tags", Some(" , ")), Ok(Some(Vec::new())));
        assert_eq!(
            words("tags", Some("b, a,b")),
            Ok(Some(vec!["b".to_owned(), "a".to_owned()]))
        );
        assert!(uuids("ids", Some("x")).is_err());
        assert!(uuids("ids", Some(&vec![Uuid::nil().to_string(); 201].join(","))).is_ok());
    }

    #[test]
    fn only_allowed_fields_sort_and_times_begin_with_the_latest() {
        let by = |field: Option<&str>, dir: Option<&str>| {
            let listing = Listing {
                sort_field: field.map(str::to_owned),
                sort_dir: dir.map(str::to_owned),
                ..Listing::default()
            };
            let listed = listing.checked(&["createdAt", "title"]).ok()?;
            Some((listed.sort.field, listed.sort.descending))
        };

        assert_eq!(by(None, None), Some(("createdAt", true)));
        assert_eq!(by(Some("title"), None), Some(("title", false)));
        assert_eq!(by(None, Some("asc")), Some(("createdAt", false)));
        assert_eq!(by(Some("id"), None), None);
        assert_eq!(by(None, Some("up")), None);
    }
}
