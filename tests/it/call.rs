//! Requests as data, so that tests can derive one from another.

use actix_web::http::Method;
use backoffice_test_support::{TestApp, TestRequest, TestResponse};
use serde_json::{Map, Value};
use url::form_urlencoded;

/// A request without a caller.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: Option<Value>,
    /// Whether the fields of the body are sent as parts, and `file` as a file.
    pub(crate) has_parts: bool,
    /// The value of the header `Accept`, if the endpoint responds with a page without it.
    pub(crate) accept: Option<&'static str>,
}

/// The place of an id in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A query parameter.
    Query(&'static str),
    /// A query parameter that takes a comma-separated list.
    QueryList(&'static str),
    /// A field of the body, or of an object in it: `scope.roleId`, `prices[].variantId`.
    Body(&'static str),
    /// A field of the body that takes a list, or one of an object in it.
    BodyList(&'static str),
    /// The last segment of the path.
    Path,
    /// The second last segment of the path.
    Inner,
}

impl Call {
    pub(crate) fn new(method: Method, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            query: Vec::new(),
            body: None,
            has_parts: false,
            accept: None,
        }
    }

    /// Creates an upload: the fields are sent as parts, and `file` as a file.
    pub(crate) fn upload(path: &str, fields: Value) -> Self {
        Self {
            has_parts: true,
            ..Self::post(path, fields)
        }
    }

    pub(crate) fn patch(path: &str, body: Value) -> Self {
        Self::new(Method::PATCH, path).with_body(body)
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn post(path: &str, body: Value) -> Self {
        Self::new(Method::POST, path).with_body(body)
    }

    pub(crate) fn put(path: &str, body: Value) -> Self {
        Self::new(Method::PUT, path).with_body(body)
    }

    pub(crate) fn delete(path: &str, id: impl ToString) -> Self {
        Self::new(Method::DELETE, path).with_query("id", &id.to_string())
    }

    pub(crate) const fn accepting(mut self, media: &'static str) -> Self {
        self.accept = Some(media);
        self
    }

    pub(crate) fn with_body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Sets a parameter; replaces an earlier one of that name.
    pub(crate) fn with_query(mut self, name: &str, value: &str) -> Self {
        self.query.retain(|(known, _)| known != name);
        self.and_query(name, value)
    }

    /// Adds a parameter to others of that name.
    pub(crate) fn and_query(mut self, name: &str, value: &str) -> Self {
        self.query.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Whether `whole` reads up to 100 rows of the list of which this call reads a page.
    pub(crate) fn is_page_of(&self, whole: &Self) -> bool {
        let filters = |call: &Self| -> Vec<(String, String)> {
            let kept = call
                .query
                .iter()
                .filter(|(name, _)| name != "page" && name != "pageSize");
            kept.cloned().collect()
        };
        let is_whole = whole
            .query
            .iter()
            .any(|(name, value)| name == "pageSize" && value == "100");
        is_whole && self.path == whole.path && filters(self) == filters(whole)
    }

    /// Sets a field of the body.
    pub(crate) fn with_field(mut self, name: &str, value: Value) -> Self {
        let body = self.body.get_or_insert_with(|| Value::Object(Map::new()));
        body.as_object_mut()
            .expect("the body is an object")
            .insert(name.to_owned(), value);
        self
    }

    /// Sets a field by its path: `scope.roleId` in an object, `prices[].variantId` in the first item of a list. Adds missing objects and items.
    fn with_inner_field(mut self, path: &str, value: Value) -> Self {
        let mut inner = self.body.get_or_insert_with(|| Value::Object(Map::new()));
        for step in path.split('.') {
            let name = step.trim_end_matches("[]");
            inner = &mut inner[name];
            if name != step {
                if !inner.is_array() {
                    *inner = Value::Array(vec![Value::Null]);
                }
                inner = &mut inner[0];
            }
        }
        *inner = value;
        self
    }

    pub(crate) fn with(self, place: Place, value: &str) -> Self {
        match place {
            Place::Query(name) | Place::QueryList(name) => self.with_query(name, value),
            Place::Body(name) => self.with_inner_field(name, value.into()),
            Place::BodyList(name) => self.with_inner_field(name, Value::Array(vec![value.into()])),
            Place::Path => {
                let parent = self.path.rsplit_once('/').expect("the path has segments").0.to_owned();
                let path = format!("{parent}/{value}");
                Self { path, ..self }
            }
            Place::Inner => {
                let mut segments: Vec<&str> = self.path.split('/').collect();
                let inner = segments.len() - 2;
                segments[inner] = value;
                let path = segments.join("/");
                Self { path, ..self }
            }
        }
    }

    /// Returns path and query.
    pub(crate) fn target(&self) -> String {
        if self.query.is_empty() {
            return self.path.clone();
        }
        let query: String = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&self.query)
            .finish();
        format!("{}?{query}", self.path)
    }

    /// Returns the request with the query but without the body.
    pub(crate) fn bare<'a>(&self, app: &'a TestApp, token: &str) -> TestRequest<'a> {
        let request = app.request(self.method.clone(), &self.target());
        let request = match self.accept {
            Some(media) => request.header("accept", media),
            None => request,
        };
        if token.is_empty() {
            request
        } else {
            request.bearer(token)
        }
    }

    pub(crate) fn request<'a>(&self, app: &'a TestApp, token: &str) -> TestRequest<'a> {
        let request = self.bare(app, token);
        match &self.body {
            Some(body) if self.has_parts => request.body(parts(body), "multipart/form-data; boundary=limit"),
            Some(body) => request.json(body),
            None => request,
        }
    }

    pub(crate) async fn send(&self, app: &TestApp, token: &str) -> TestResponse {
        self.request(app, token).send().await
    }
}

/// Returns the fields of an object as parts.
fn parts(fields: &Value) -> String {
    let mut body = String::new();
    for (name, value) in fields.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let file = if name == "file" { "; filename=\"a.txt\"" } else { "" };
        body += &format!("--limit\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{text}\r\n");
    }
    body + "--limit--\r\n"
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.target())?;
        match &self.body {
            Some(body) => write!(f, " {body}"),
            None => Ok(()),
        }
    }
}
