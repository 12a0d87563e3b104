//! Parameters of the query and of the path.

use serde::de::DeserializeOwned;
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
        query_with_rules(incoming, T::validate).map(Self)
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
    let text = incoming.request.query_string();
    let mut known = nul::in_form(text.as_bytes(), &[]);
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
        if incoming.request.path().contains("%00") {
            // The router decodes most characters of a path.
            let has_nul = |value: &str| value.contains('\0') || value.contains("%00");
            let with_nul = parameters.iter().filter(|(_, value)| has_nul(value));
            return Err(incoming.reject(with_nul.map(|(name, _)| nul::detail(name)).collect()));
        }
        let read = parameters.load::<T>().map_err(|error| {
            let name = parameters.iter().next().map_or("", |(name, _)| name);
            vec![faults::plain_wording(name.to_owned(), &error.to_string())]
        });
        complete(read, incoming).map(Self)
    }
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
}
