//! Filters, order and paging of the action log (audit specification, section 11.2).

use backoffice_core::command::Class;
use backoffice_core::list::MOST_VALUES;
use backoffice_core::{Rejection, Result, Timestamp};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::parameters::Parameters;

/// Message of the 400.
pub(crate) const INVALID: &str = "Invalid filters";
const DEFAULT_SIZE: i64 = 50;
const FARTHEST: i64 = 1_000_000;

/// The order of the list; entries that are equal in it are ordered from the newest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) enum SortField {
    #[default]
    CreatedAt,
    User,
    Action,
    Field,
    Source,
}

/// A window of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paging {
    pub(crate) start: i64,
    pub(crate) size: i64,
}

impl Paging {
    /// Returns the page that contains the start of the window.
    pub(crate) fn page(self) -> i64 {
        self.start / self.size + 1
    }

    /// Returns the number of pages for this number of rows.
    pub(crate) fn pages(self, total: i64) -> i64 {
        ((total + self.size - 1) / self.size).max(1)
    }
}

/// The requested entries of the action log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ActionFilter {
    /// A single entry, which is returned with complete documents.
    pub(crate) id: Option<Uuid>,
    pub(crate) ids: Option<Vec<Uuid>>,
    pub(crate) organization: Option<Uuid>,
    pub(crate) actors: Option<Vec<Uuid>>,
    pub(crate) resource_kind: Option<String>,
    pub(crate) resource_id: Option<String>,
    pub(crate) action_types: Option<Vec<&'static str>>,
    pub(crate) fields: Option<Vec<String>>,
    pub(crate) include_related: bool,
    pub(crate) undoable_only: bool,
    pub(crate) before: Option<Timestamp>,
    pub(crate) after: Option<Timestamp>,
    pub(crate) sort: SortField,
    pub(crate) descending: bool,
    pub(crate) include_total: bool,
    pub(crate) paging: Paging,
}

/// The requested entries of the access log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AccessFilter {
    pub(crate) id: Option<Uuid>,
    pub(crate) ids: Option<Vec<Uuid>>,
    pub(crate) organization: Option<Uuid>,
    pub(crate) actor: Option<Uuid>,
    pub(crate) resource_kind: Option<String>,
    pub(crate) access_type: Option<String>,
    pub(crate) before: Option<Timestamp>,
    pub(crate) after: Option<Timestamp>,
    pub(crate) paging: Paging,
}

impl AccessFilter {
    /// Parses the parameters of a query.
    ///
    /// # Errors
    /// 400 `Invalid filters` with all violations.
    pub(crate) fn read(pairs: &[(String, String)]) -> Result<Self> {
        let mut parameters = Parameters::new(pairs);
        let filter = Self {
            id: parameters.uuid("id"),
            ids: ids(&mut parameters),
            organization: parameters.uuid("organizationId"),
            actor: parameters.uuid("actorUserId"),
            resource_kind: parameters.text("resourceKind", 100),
            access_type: parameters.text("accessType", 100),
            before: parameters.instant("before"),
            after: parameters.instant("after"),
            paging: {
                let page = parameters.integer("page", 1, FARTHEST).unwrap_or(1);
                let page_size = parameters.integer("pageSize", 1, 200);
                let limit = parameters.integer("limit", 1, 200);
                let size = page_size.or(limit).unwrap_or(DEFAULT_SIZE);
                Paging {
                    start: (page - 1) * size,
                    size,
                }
            },
        };
        checked(filter, parameters)
    }
}

fn checked<T>(filter: T, parameters: Parameters<'_>) -> Result<T> {
    match parameters.into_details() {
        details if details.is_empty() => Ok(filter),
        details => Err(Rejection {
            details,
            ..Rejection::bad_request(INVALID)
        }
        .into()),
    }
}

impl ActionFilter {
    /// Returns whether only an organization is requested.
    pub(crate) fn is_by_place(&self) -> bool {
        let is_filtered = self.id.is_some()
            || self.ids.is_some()
            || self.actors.is_some()
            || self.resource_kind.is_some()
            || self.resource_id.is_some()
            || self.action_types.is_some()
            || self.fields.is_some()
            || self.undoable_only
            || self.before.is_some()
            || self.after.is_some();
        !is_filtered
    }

    /// Parses the parameters of a list.
    ///
    /// # Errors
    /// 400 `Invalid filters` with all violations.
    pub(crate) fn read(pairs: &[(String, String)]) -> Result<Self> {
        Self::read_with(pairs, |parameters| {
            let include_total = parameters.boolean("includeTotal").unwrap_or(true);
            (include_total, paging(parameters))
        })
    }

    /// Parses the parameters of an export: those of a list without pages.
    ///
    /// # Errors
    /// As [`ActionFilter::read`].
    pub(crate) fn read_export(pairs: &[(String, String)]) -> Result<Self> {
        Self::read_with(pairs, |parameters| {
            let size = parameters.at_least("limit", 1).unwrap_or(1000).min(1000);
            (false, Paging { start: 0, size })
        })
    }

    /// Parses the parameters. `extent` reads whether a total is requested, and the window: the part that a list and an export do not share.
    fn read_with(pairs: &[(String, String)], extent: fn(&mut Parameters<'_>) -> (bool, Paging)) -> Result<Self> {
        let mut parameters = Parameters::new(pairs);
        let (include_total, paging) = extent(&mut parameters);
        let filter = Self {
            id: parameters.uuid("id"),
            ids: ids(&mut parameters),
            organization: parameters.uuid("organizationId"),
            actors: parameters.parsed_list("actorUserId", 100, "must be UUIDs", |value| value.parse().ok()),
            resource_kind: parameters.text("resourceKind", 100),
            resource_id: parameters.text("resourceId", 200),
            action_types: parameters.parsed_list("actionType", 4, "must be create, edit, delete or assign", |value| {
                Class::parse(value).map(Class::as_str)
            }),
            fields: parameters.parsed_list("fieldName", 50, "must be names", |value| Some(value.to_owned())),
            include_related: parameters.boolean("includeRelated").unwrap_or(false),
            undoable_only: parameters.boolean("undoableOnly").unwrap_or(false),
            before: parameters.instant("before"),
            after: parameters.instant("after"),
            sort: parameters
                .parsed("sortField", "must be createdAt, user, action, field or source", sort)
                .unwrap_or_default(),
            descending: parameters
                .parsed("sortDir", "must be asc or desc", descending)
                .unwrap_or(true),
            include_total,
            paging,
        };
        checked(filter, parameters)
    }
}

fn ids(parameters: &mut Parameters<'_>) -> Option<Vec<Uuid>> {
    parameters.parsed_list("ids", MOST_VALUES, "must be UUIDs joined by commas", |value| {
        value.parse().ok()
    })
}

fn sort(word: &str) -> Option<SortField> {
    Some(match word {
        "createdAt" => SortField::CreatedAt,
        "user" => SortField::User,
        "action" => SortField::Action,
        "field" => SortField::Field,
        "source" => SortField::Source,
        _ => return None,
    })
}

fn descending(word: &str) -> Option<bool> {
    match word {
        "asc" => Some(false),
        "desc" => Some(true),
        _ => None,
    }
}

/// Parses the window. `page` and `pageSize` take precedence over the older `offset` and `limit`; all of them are checked, used or not.
fn paging(parameters: &mut Parameters<'_>) -> Paging {
    let page = parameters.integer("page", 1, FARTHEST);
    let page_size = parameters.integer("pageSize", 1, 200);
    let limit = parameters.integer("limit", 1, 1000);
    let offset = parameters.integer("offset", 0, FARTHEST);
    let size = page_size.or(limit).unwrap_or(DEFAULT_SIZE);
    let start = page.map(|page| (page - 1) * size).or(offset).unwrap_or(0);
    Paging { start, size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(requested: &[(&str, &str)]) -> Result<ActionFilter> {
        let pairs: Vec<_> = requested
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        ActionFilter::read(&pairs)
    }

    #[test]
    fn without_parameters_the_newest_fifty_are_requested() {
        let filter = read(&[("unknown", "ignored")]).expect("defaults");

        assert_eq!(filter.paging, Paging { start: 0, size: 50 });
        assert!(filter.descending && filter.include_total && filter.sort == SortField::CreatedAt);
    }

    #[test]
    fn page_and_page_size_win_over_offset_and_limit() {
        for (requested, start, size, page) in [
            (vec![("page", "2")], 50, 50, 2),
            (vec![("offset", "50")], 50, 50, 2),
            (vec![("limit", "1000")], 0, 1000, 1),
            (
                vec![("limit", "1000"), ("pageSize", "20"), ("page", "3"), ("offset", "7")],
                40,
                20,
                3,
            ),
            (vec![("offset", "75"), ("limit", "50")], 75, 50, 2),
        ] {
            let paging = read(&requested).expect("in range").paging;

            assert_eq!(
                (paging.start, paging.size, paging.page()),
                (start, size, page),
                "{requested:?}"
            );
        }
    }

    #[test]
    fn values_out_of_range_are_rejected_even_when_they_are_not_used() {
        for requested in [
            ("pageSize", "201"),
            ("pageSize", "0"),
            ("limit", "0"),
            ("limit", "1001"),
            ("offset", "-1"),
            ("page", "x"),
            ("page", "0"),
            ("actionType", "change"),
            ("actorUserId", "x"),
            ("organizationId", ""),
            ("sortDir", "up"),
            ("undoableOnly", "maybe"),
            ("before", "yesterday"),
        ] {
            let rejection = read(&[("page", "1"), requested])
                .expect_err("out of range")
                .to_rejection();

            assert_eq!(rejection.message, INVALID);
            assert_eq!(rejection.details[0].path, requested.0);
        }
    }

    #[test]
    fn an_export_knows_no_pages_and_caps_its_limit() {
        let read = |name: &str, value: &str| ActionFilter::read_export(&[(name.to_owned(), value.to_owned())]);
        for (name, value, size) in [
            ("limit", "7", 7),
            ("limit", "5000", 1000),
            ("limit", "99999999999999999999999999999999999999999999", 1000),
            ("includeTotal", "maybe", 1000),
            ("page", "x", 1000),
            ("pageSize", "0", 1000),
            ("offset", "-1", 1000),
        ] {
            let filter = read(name, value).expect("ignored or capped");
            assert_eq!(filter.paging, Paging { start: 0, size }, "{name}={value}");
        }
        for value in ["0", "-1", "-99999999999999999999999999", "1.5", "x", "+"] {
            assert!(read("limit", value).is_err(), "{value}");
        }
    }

    #[test]
    fn an_empty_list_is_kept_as_matching_nothing() {
        let filter = read(&[("actorUserId", ""), ("actionType", "edit,edit")]).expect("lists");

        assert_eq!(filter.actors, Some(Vec::new()));
        assert_eq!(filter.action_types, Some(vec!["edit"]));
    }

    #[test]
    fn an_empty_log_has_one_page() {
        let paging = Paging { start: 0, size: 50 };

        assert_eq!((paging.pages(0), paging.pages(50), paging.pages(51)), (1, 1, 2));
    }
}
