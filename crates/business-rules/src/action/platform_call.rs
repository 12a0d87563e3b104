//! The action `CALL_PLATFORM`: the endpoint, its query and its body.

use serde_json::Value;
use uuid::Uuid;

use super::Template;
use super::template::{Exceeded, Part};
use crate::condition::Facts;
use crate::platform_calls::METHODS;

/// Longest path and query, in characters.
pub(super) const LONGEST_ENDPOINT: usize = 2000;

/// A request to an endpoint of the platform.
#[derive(Debug, Clone)]
pub(crate) struct PlatformCall {
    pub(crate) method: &'static str,
    /// The path below the API prefix.
    pub(crate) path: String,
    /// The query, without the question mark.
    query: Option<Template>,
    /// The id of the key with whose roles the request is sent.
    pub(crate) key: Uuid,
    /// The body; texts in it may refer to values.
    pub(crate) body: Option<Value>,
}

/// An endpoint as the rule names it: `/customers/deals`, or `POST /customers/deals`.
#[derive(Debug)]
pub(super) struct NamedEndpoint {
    pub(super) method: Option<&'static str>,
    path: String,
    query: Option<Template>,
}

impl NamedEndpoint {
    /// Parses an endpoint; `None` if it is not a path with references in its query only.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (method, target) = match text.split_once(' ') {
            Some((method, target)) => (Some(method_of(method)?), target),
            None => (None, text),
        };
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(Template::parse(query))),
            None => (target, None),
        };
        let sample = query.iter().flat_map(|query| &query.0).map(|part| match part {
            Part::Text(own) => own.as_str(),
            Part::Reference(_) => "x",
        });
        let sample: String = [path, "?"].into_iter().chain(sample).collect();
        let is_path = path.starts_with('/') && !path.contains("{{") && !sample.contains('#');
        (is_path && sample.parse::<http::Uri>().is_ok()).then(|| Self {
            method,
            path: path.to_owned(),
            query,
        })
    }

    /// Returns the call of this endpoint.
    pub(super) fn call(self, method: &'static str, key: Uuid, body: Option<Value>) -> PlatformCall {
        PlatformCall {
            method,
            path: self.path,
            query: self.query,
            key,
            body,
        }
    }
}

/// Returns a known method.
pub(super) fn method_of(text: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|known| *known == text)
}

impl PlatformCall {
    /// Returns the path with the query, with percent-encoded values in place of references; `None` if it is not valid.
    ///
    /// # Errors
    /// If it is too long, or the budget of the run is used up.
    pub(crate) fn target(&self, facts: &Facts<'_>) -> Result<Option<String>, Exceeded> {
        let target = match &self.query {
            Some(query) => format!("{}?{}", self.path, query.encoded(facts, 2 * LONGEST_ENDPOINT)?),
            None => self.path.clone(),
        };
        if target.len() > 2 * LONGEST_ENDPOINT {
            return Err(Exceeded::Length);
        }
        Ok(target.parse::<http::Uri>().is_ok().then_some(target))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_stand_in_the_query_only_and_are_encoded() {
        let data = json!({"a": "x&id=1 ü#"});
        let target = |text: &str| {
            let call = NamedEndpoint::parse(text)?.call("GET", Uuid::nil(), None);
            call.target(&Facts::for_test(&data)).ok().flatten()
        };

        assert_eq!(target("/a/b"), Some("/a/b".to_owned()));
        assert_eq!(
            target("GET /a?id={{a}}&b=1"),
            Some("/a?id=x%26id%3D1%20%C3%BC%23&b=1".to_owned())
        );
        for text in [
            "a",
            "/a/{{a}}",
            "GET  /a",
            "TRACE /a",
            "/a?b c",
            "/a#b",
            "https://a/b",
            "",
            "/a/{{b}}?c",
        ] {
            assert_eq!(target(text), None, "{text}");
        }
        assert_eq!(target(&format!("/a?{}", "{{a}}".repeat(300))), None);
    }
}
