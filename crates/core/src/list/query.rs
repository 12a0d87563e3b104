//! The parameters of a list.

use std::marker::PhantomData;

use actix_web::http::Method;
use diesel_async::AsyncPgConnection;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;
use utoipa::openapi::path::{OperationBuilder, ParameterIn};
use utoipa::openapi::{RefOr, Schema};
use uuid::Uuid;

use super::{ById, DEFAULT_PAGE_SIZE, IdList, MAX_PAGE_SIZE, Order, PageQuery, Window, find_texts, search_pattern};
use crate::context::RequestContext;
use crate::error::{Detail, Rejection, Result, Violations};
use crate::http::{Describe, DescribeArguments, Extract, Incoming, Query, Schemas, given, query_with_rules};
use crate::input::schema;

/// Page and ids.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct Parameters {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows per page.
    #[param(minimum = 1, maximum = 100, default = 50)]
    page_size: Option<u32>,
    /// Only the row with this id.
    #[serde(default, deserialize_with = "given")]
    id: Option<Uuid>,
    /// Only the rows with these ids, joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    ids: Option<String>,
}

/// The search, which only some lists have.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Searching {
    /// Part of a text, regardless of case.
    #[param(max_length = 200)]
    search: Option<String>,
}

/// The order, which is read by itself so that its violations are reported beside faults of other parameters.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct Sorting {
    /// The field by which the list is sorted, by default the first one.
    sort_field: Option<String>,
    /// `asc` or `desc`.
    sort_dir: Option<String>,
}

/// A field by which a list can be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortField {
    /// Name of the parameter's value: `createdAt`.
    pub name: &'static str,
    /// The column, with its table.
    pub column: &'static str,
    /// Whether the column can be null; such rows come last.
    pub nullable: bool,
    /// Whether the largest values come first, if the request has no direction.
    pub descending: bool,
}

impl SortField {
    /// Declares a column without nulls, ascending by default.
    #[must_use]
    pub const fn new(name: &'static str, column: &'static str) -> Self {
        Self {
            name,
            column,
            nullable: false,
            descending: false,
        }
    }

    /// Declares a time without nulls: by default the latest comes first.
    #[must_use]
    pub const fn time(name: &'static str, column: &'static str) -> Self {
        Self {
            descending: true,
            ..Self::new(name, column)
        }
    }

    /// Declares a time with nulls: by default the latest comes first.
    #[must_use]
    pub const fn nullable_time(name: &'static str, column: &'static str) -> Self {
        Self {
            nullable: true,
            ..Self::time(name, column)
        }
    }

    /// Declares a column with nulls, ascending by default.
    #[must_use]
    pub const fn nullable(name: &'static str, column: &'static str) -> Self {
        Self {
            nullable: true,
            ..Self::new(name, column)
        }
    }
}

/// The rows of a list.
pub trait Sortable {
    /// The fields by which the list can be sorted, the first one by default.
    const SORT_FIELDS: &'static [SortField];
    /// Rows of a page, if the request has no `pageSize`.
    const PAGE_SIZE: u32 = DEFAULT_PAGE_SIZE;
    /// Whether the list has the parameter `search`. If not, it is ignored, as every unknown parameter is.
    const SEARCHES: bool = true;
}

/// The parameters `page`, `pageSize`, `id`, `ids`, `search`, `sortField` and `sortDir` of a list of `R`. Values of wrong types are reported when the
/// handler validates them, together with its other parameters.
#[derive(Debug)]
pub struct ListQuery<R> {
    parameters: Parameters,
    searching: Searching,
    order: Order,
    /// What is wrong with the parameters that could not be read.
    faults: Vec<Detail>,
    /// Text of the 400 for an invalid input.
    invalid: &'static str,
    rows: PhantomData<fn() -> R>,
}

/// The validated parameters of a list.
#[derive(Debug, Clone)]
pub struct ListRequest {
    /// The requested page.
    pub window: Window,
    /// Pattern of the search for `ilike`; `None` without a search.
    pub pattern: Option<String>,
    /// The requested ids; `None` for all rows.
    pub ids: Option<Vec<Uuid>>,
    /// The rows that may match the pattern, once [`ListRequest::find_texts`] has found them; `None` when every row must be compared.
    pub found: Option<Vec<Uuid>>,
    /// The order.
    pub order: Order,
}

impl ListRequest {
    /// Returns the request with the rows of this kind that may match its pattern; see [`find_texts`].
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn find_texts(&self, ctx: &RequestContext, connection: &AsyncPgConnection, kind: &str) -> Result<Self> {
        let found = find_texts(ctx, connection, kind, self.pattern.as_deref()).await?;
        Ok(Self { found, ..self.clone() })
    }
}

impl<R: Sortable> ListQuery<R> {
    /// Validates the parameters.
    ///
    /// # Errors
    /// 400 that names every invalid parameter.
    pub fn validate(&self) -> Result<ListRequest> {
        let mut violations = Violations::default();
        let request = self.validate_with(&mut violations);
        violations.check().map(|()| request)
    }

    /// Validates the parameters and records invalid ones beside those of the endpoint's other parameters. The request must not be used if there
    /// are any.
    pub fn validate_with(&self, violations: &mut Violations) -> ListRequest {
        if !self.faults.is_empty() {
            let rejection = Rejection::bad_request(self.invalid);
            let details = self.faults.clone();
            violations.note(Rejection { details, ..rejection }.into());
        }
        let (window, ids) = self.parameters.checked(R::PAGE_SIZE, violations);
        let pattern = self.searching.pattern(violations);
        ListRequest {
            window,
            pattern,
            ids,
            found: None,
            order: self.order,
        }
    }
}

impl Parameters {
    fn checked(&self, page_size: u32, violations: &mut Violations) -> (Window, Option<Vec<Uuid>>) {
        let by_id = ById {
            id: self.id,
            ids: self.ids.clone(),
        };
        let window = violations.keep(PageQuery::new(self.page, self.page_size.or(Some(page_size))).window());
        (window, violations.keep(by_id.requested()))
    }
}

impl Searching {
    fn pattern(&self, violations: &mut Violations) -> Option<String> {
        violations.keep(search_pattern("search", self.search.as_deref()))
    }
}

impl Sorting {
    fn order(&self, fields: &[SortField], violations: &mut Violations) -> Order {
        let requested = self.sort_field.as_deref();
        let field = match requested {
            None => fields.first(),
            Some(name) => fields.iter().find(|field| field.name == name),
        };
        if field.is_none() {
            let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
            let message = format!("must be one of {}", names.join(", "));
            violations.add(Detail::new("sortField", message, "invalid_value"));
        }
        let descending = match self.sort_dir.as_deref() {
            None => field.is_some_and(|field| field.descending),
            Some("asc") => false,
            Some("desc") => true,
            Some(_) => {
                violations.add(Detail::new("sortDir", "must be one of asc, desc", "invalid_value"));
                false
            }
        };
        Order {
            column: field.map_or("", |field| field.column),
            nullable: field.is_some_and(|field| field.nullable),
            descending,
        }
    }
}

impl<R: Sortable> Extract for ListQuery<R> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let mut violations = Violations::default();
        let sorting: Option<Query<Sorting>> = violations.keep(Extract::extract(incoming).map(Some));
        let sorting = sorting.map(|Query(sorting)| sorting).unwrap_or_default();
        let order = sorting.order(R::SORT_FIELDS, &mut violations);
        let searching: Searching = match R::SEARCHES {
            true => violations.keep(query_with_rules(incoming, |_, _| {})),
            false => Searching::default(),
        };
        let rules = |parameters: &Parameters, violations: &mut Violations| {
            parameters.checked(R::PAGE_SIZE, violations);
        };
        let parameters: Parameters = violations.keep(query_with_rules(incoming, rules));
        let rows = PhantomData;
        Ok(Self {
            parameters,
            searching,
            order,
            faults: violations.into_details(),
            invalid: incoming.invalid,
            rows,
        })
    }

    fn report(&self, _incoming: &Incoming<'_>, violations: &mut Violations) {
        self.validate_with(violations);
    }
}

impl<R: Sortable> Describe for ListQuery<R> {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        let mut parameters = Parameters::into_params(|| Some(ParameterIn::Query));
        if R::SEARCHES {
            parameters.extend(Searching::into_params(|| Some(ParameterIn::Query)));
        }
        parameters.extend(Sorting::into_params(|| Some(ParameterIn::Query)));
        for parameter in &mut parameters {
            let words = match parameter.name.as_str() {
                "sortField" => R::SORT_FIELDS.iter().map(|field| field.name).collect(),
                "sortDir" => {
                    parameter.description = Some(default_directions(R::SORT_FIELDS));
                    vec!["asc", "desc"]
                }
                "pageSize" => {
                    if let Some(RefOr::T(Schema::Object(object))) = &mut parameter.schema {
                        object.default = Some(R::PAGE_SIZE.into());
                    }
                    continue;
                }
                _ => continue,
            };
            parameter.schema = Some(schema::words(words).into());
        }
        operation.parameters(Some(parameters))
    }
}

/// Records violated rules of the parameters that lists have in common, of a list that does not take a [`ListQuery`]: its handler validates them,
/// and is not called because another part of the request is invalid. `describe` describes the arguments of the endpoint.
pub(crate) fn report_common(incoming: &Incoming<'_>, describe: DescribeArguments, violations: &mut Violations) {
    if incoming.request.method() != Method::GET || incoming.request.query_string().is_empty() {
        return;
    }
    let operation = json!(describe(OperationBuilder::new(), &mut Schemas::default()).build());
    let Some(page_size) = declared(&operation, "pageSize") else {
        return;
    };
    let most = page_size["schema"]["maximum"].as_f64();
    let has_usual_size = most.is_some_and(|most| most <= f64::from(MAX_PAGE_SIZE));
    let mut found = Violations::default();
    let rules = |parameters: &Parameters, violations: &mut Violations| {
        parameters.checked(DEFAULT_PAGE_SIZE, violations);
    };
    let parameters: Parameters = found.keep(query_with_rules(incoming, rules));
    parameters.checked(DEFAULT_PAGE_SIZE, &mut found);
    let searching: Searching = found.keep(query_with_rules(incoming, |_, _| {}));
    searching.pattern(&mut found);
    for detail in found.into_details() {
        let is_of_other_bound = detail.path == "pageSize" && detail.code == "out_of_range" && !has_usual_size;
        if declared(&operation, &detail.path).is_some() && !is_of_other_bound {
            violations.add_unless_known(detail);
        }
    }
}

/// Returns the query parameter of this name that an operation of the API document declares.
fn declared<'o>(operation: &'o Value, name: &str) -> Option<&'o Value> {
    let mut parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.find(|parameter| parameter["in"] == "query" && parameter["name"] == name)
}

/// Describes the direction of a list whose request has none.
fn default_directions(fields: &[SortField]) -> String {
    let names = |descending| {
        let names = fields.iter().filter(move |field| field.descending == descending);
        names
            .map(|field| format!("`{}`", field.name))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (names(true).as_str(), names(false).as_str()) {
        ("", _) => "By default `asc`.".to_owned(),
        (_, "") => "By default `desc`.".to_owned(),
        (descending, _) => format!("By default `desc` for {descending}, else `asc`."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Row;

    impl Sortable for Row {
        const SORT_FIELDS: &'static [SortField] = &[
            SortField::time("createdAt", "rows.created_at"),
            SortField::nullable("title", "rows.title"),
        ];
    }

    struct Unsearched;

    impl Sortable for Unsearched {
        const SORT_FIELDS: &'static [SortField] = Row::SORT_FIELDS;
        const SEARCHES: bool = false;
    }

    fn described<R: Sortable>() -> Vec<String> {
        let operation = ListQuery::<R>::describe(OperationBuilder::new(), &mut Schemas::default()).build();
        let operation = json!(operation);
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        parameters.map(|parameter| parameter["name"].to_string()).collect()
    }

    #[test]
    fn a_list_without_a_search_does_not_describe_one() {
        let mut names = described::<Row>();

        assert!(names.contains(&r#""search""#.to_owned()), "{names:?}");
        names.retain(|name| name != r#""search""#);
        assert_eq!(described::<Unsearched>(), names);
    }

    #[test]
    fn only_declared_fields_sort_and_times_begin_with_the_latest() {
        let by = |field: Option<&str>, dir: Option<&str>| {
            let sorting = Sorting {
                sort_field: field.map(str::to_owned),
                sort_dir: dir.map(str::to_owned),
            };
            let mut violations = Violations::default();
            let order = sorting.order(Row::SORT_FIELDS, &mut violations);
            violations.check().ok()?;
            Some((order.column, order.nullable, order.descending))
        };

        assert_eq!(by(None, None), Some(("rows.created_at", false, true)));
        assert_eq!(by(Some("title"), None), Some(("rows.title", true, false)));
        assert_eq!(by(None, Some("asc")), Some(("rows.created_at", false, false)));
        assert_eq!(by(Some("id"), None), None);
        assert_eq!(by(None, Some("up")), None);
    }
}
