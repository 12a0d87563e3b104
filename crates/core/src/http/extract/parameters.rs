//! Parameters of the query and of the path.

use serde::de::DeserializeOwned;
use serde::de::value::{Error as ValueError, MapDeserializer};
use utoipa::IntoParams;
use utoipa::openapi::path::{OperationBuilder, ParameterIn};

use super::{Describe, Extract, Incoming, complete, nul, with_known};
use crate::error::{Detail, Result, Violations};
use crate::http::faults;
use crate::http::openapi::Schemas;

/// Query parameters. If a handler validates them further, [`CheckedQuery`] reports these rules together with other faults of the request.
#[derive(Debug, Clone)]
pub struct Query<T>(pub T);

/// Query parameters with rules, as [`Input`](crate::input::Input) is a body with rules.
pub trait QueryInput: DeserializeOwned {
    /// Parameters whose texts may contain the character U+0000, because a rule of their own decides about it.
    const ACCEPTS_NUL: &'static [&'static str] = &[];

    /// Validates the parameters, as far as this is possible without the caller and the database.
    fn validate(&self, violations: &mut Violations);
}

/// Query parameters with rules. Like a body, they are validated here only if the request is invalid anyway, so that the response reports
/// everything that is wrong; otherwise the handler validates them.
#[derive(Debug, Clone)]
pub struct CheckedQuery<T>(pub T);

/// Parameters of the path (`/docs/{file}`), by name.
#[derive(Debug, Clone)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned> Extract for Query<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        query_with_rules(incoming, |_, _| {}).map(Self)
    }
}

impl<T: IntoParams> Describe for Query<T> {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation.parameters(Some(T::into_params(|| Some(ParameterIn::Query))))
    }
}

impl<T: QueryInput> Extract for CheckedQuery<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        query_accepting(incoming, T::ACCEPTS_NUL, T::validate).map(Self)
    }

    fn report(&self, _incoming: &Incoming<'_>, violations: &mut Violations) {
        self.0.validate(violations);
    }
}

impl<T: IntoParams> Describe for CheckedQuery<T> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        Query::<T>::describe(operation, schemas)
    }
}

/// Extracts query parameters. If the query has a fault, `rules` validates the other parameters.
pub(crate) fn query_with_rules<T: DeserializeOwned>(
    incoming: &Incoming<'_>,
    rules: impl Fn(&T, &mut Violations),
) -> Result<T> {
    query_accepting(incoming, &[], rules)
}

/// Like [`query_with_rules`]; texts of the `accepted` parameters may contain U+0000.
fn query_accepting<T: DeserializeOwned>(
    incoming: &Incoming<'_>,
    accepted: &[&str],
    rules: impl Fn(&T, &mut Violations),
) -> Result<T> {
    let text = incoming.request.query_string();
    let mut known = nul::in_form(text.as_bytes(), accepted);
    let empty = empty_page_parameter(text);
    known.extend(empty.map(|name| Detail::new(name, "must be a whole number", "invalid_type")));
    let read = faults::from_form(text.as_bytes(), &rules);
    let read = with_known(known, read, |parameters| {
        let mut violations = Violations::default();
        rules(parameters, &mut violations);
        violations.into_details()
    });
    complete(read, incoming)
}

/// Returns a page parameter without a value, which is not a number; the form deserializer would treat it as absent.
fn empty_page_parameter(query: &str) -> Option<&str> {
    query
        .split('&')
        .map(|pair| pair.strip_suffix('=').unwrap_or(pair))
        .find(|name| matches!(*name, "page" | "pageSize"))
}

impl<T: DeserializeOwned> Extract for Path<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let parameters = incoming.request.match_info();
        let read = match incoming.request.path().contains("%00") {
            true => without_nul(parameters.iter()).map_err(|error| error.to_string()),
            false => parameters.load::<T>().map_err(|error| error.to_string()),
        };
        let read = read.map_err(|error| {
            let name = parameters.iter().next().map_or("", |(name, _)| name);
            vec![faults::plain_wording(name.to_owned(), &error)]
        });
        complete(read, incoming).map(Self)
    }
}

/// Extracts the parameters of a path with U+0000. The character is replaced in the same way as bytes that are not UTF-8, so that each endpoint treats the
/// value like any other malformed one, and no statement receives it.
fn without_nul<'a, T: DeserializeOwned>(parameters: impl Iterator<Item = (&'a str, &'a str)>) -> Result<T, ValueError> {
    // The router decodes most characters of a path.
    let replaced = |value: &str| value.replace("%00", "\0").replace('\0', "\u{fffd}");
    T::deserialize(MapDeserializer::new(
        parameters.map(|(name, value)| (name, replaced(value))),
    ))
}

impl<T: IntoParams> Describe for Path<T> {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation.parameters(Some(T::into_params(|| Some(ParameterIn::Path))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_parameter_needs_a_value() {
        assert_eq!(empty_page_parameter("search=x&page="), Some("page"));
        assert_eq!(empty_page_parameter("pageSize"), Some("pageSize"));
        assert_eq!(empty_page_parameter("page=1&pageSize=2&search="), None);
    }

    #[test]
    fn a_value_with_nul_is_malformed() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Named {
            id: uuid::Uuid,
            name: String,
        }
        let id = uuid::Uuid::from_u128(7);
        let read = |id: &str| without_nul::<Named>([("id", id), ("name", "a\0b%00")].into_iter());

        let name = "a\u{fffd}b\u{fffd}".to_owned();
        assert_eq!(read(&id.to_string()), Ok(Named { id, name }));
        let malformed = read(&format!("{id}\0")).expect_err("malformed").to_string();
        assert_eq!(
            faults::plain_wording("id".to_owned(), &malformed),
            Detail::new("id", "must be a UUID", "invalid_value")
        );
    }
}
