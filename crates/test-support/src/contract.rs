//! Compares every response with the API document.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use actix_web::http::Method;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use backoffice_core::http::{Paths, Routes};
use backoffice_core::module::document;
use backoffice_core::{API_PREFIX, Module};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// Headers that need no declaration because they belong to HTTP itself.
const UNDECLARED: &[&str] = &[
    "content-type",
    "content-length",
    "transfer-encoding",
    "date",
    "connection",
];

/// Contracts by the addresses of their modules, because tests reuse the same modules; addresses distinguish modules of the same name.
type Known = HashMap<Vec<usize>, Arc<Contract>>;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// The document of some modules, in which every object is closed unless it is declared open.
pub(crate) struct Contract {
    document: Value,
    paths: Paths,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// An endpoint whose response is expected.
#[derive(Clone)]
pub(crate) struct Expected {
    contract: Arc<Contract>,
    /// The declared path, below the prefix.
    path: String,
    method: Method,
    /// Whether the request was HEAD, whose response is that of GET without a body.
    is_head: bool,
}

impl Contract {
    pub(crate) fn of(modules: &[&'static Module]) -> Arc<Self> {
        let key: Vec<usize> = modules
            .iter()
            .map(|module| std::ptr::from_ref(*module).addr())
            .collect();
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(key).or_insert_with(|| {
            let mut document = document(modules).expect("a sound document");
            close_all(&mut document);
            Arc::new(Self {
                document,
                paths: Paths::of(&Routes::of(modules)).expect("paths of their own"),
                validators: Mutex::default(),
            })
        }))
    }

    /// Returns the endpoint that a request for this path has reached.
    pub(crate) fn endpoint(self: &Arc<Self>, path: &str, method: &Method) -> Option<Expected> {
        let path = self.paths.find(path.strip_prefix(API_PREFIX)?)?;
        let is_head = method == Method::HEAD;
        let method = if is_head { Method::GET } else { method.clone() };
        let is_declared = !self.document["paths"][path][method.as_str().to_lowercase()].is_null();
        is_declared.then(|| Expected {
            contract: Arc::clone(self),
            path: path.to_owned(),
            method,
            is_head,
        })
    }

    /// Returns the target of a reference, or the value itself.
    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        pointer.map_or(value, |pointer| self.document.pointer(pointer).unwrap_or(value))
    }

    /// Returns the component schemas to which a schema leads. A validator reads every schema that it is given, so it gets no others.
    fn needed(&self, schema: &Value) -> Map<String, Value> {
        let known = &self.document["components"]["schemas"];
        let (mut needed, mut rest) = (Map::new(), vec![schema]);
        while let Some(value) = rest.pop() {
            match value {
                Value::Object(fields) => {
                    let reference = fields.get("$ref").and_then(Value::as_str);
                    let name = reference.and_then(|reference| reference.strip_prefix("#/components/schemas/"));
                    if let Some((name, target)) = name.and_then(|name| Some((name, known.get(name)?)))
                        && needed.insert(name.to_owned(), target.clone()).is_none()
                    {
                        rest.push(target);
                    }
                    rest.extend(fields.values());
                }
                Value::Array(items) => rest.extend(items),
                _ => {}
            }
        }
        needed
    }

    fn validator(&self, schema: &Value) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        let validator = validators.entry(schema.to_string()).or_insert_with(|| {
            let mut whole = json!({"components": {"schemas": self.needed(schema)}});
            let closing = Closing {
                known: &self.document["components"]["schemas"],
            };
            whole["allOf"] = json!([closing.whole(schema.clone())]);
            let validator = jsonschema::options()
                .should_validate_formats(true)
                .build(&whole)
                .unwrap_or_else(|error| panic!("the schema {schema} can't be used: {error}"));
            Arc::new(validator)
        });
        Arc::clone(validator)
    }
}

impl Expected {
    /// Checks status and headers.
    pub(crate) fn check_head(&self, status: u16, headers: &HeaderMap) {
        let Some(response) = self.response(status) else {
            panic!("{self} responded {status}, which the API document does not declare");
        };
        let declared = response["headers"].as_object();
        for name in headers.keys() {
            let is_declared =
                declared.is_some_and(|declared| declared.keys().any(|one| one.eq_ignore_ascii_case(name.as_str())));
            assert!(
                is_declared || UNDECLARED.contains(&name.as_str()),
                "{self} responded {status} with the header {name}, which the API document does not declare"
            );
        }
        let media = media_type(headers);
        let content = response["content"].as_object();
        let is_declared = match (&media, content) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(media), Some(content)) => content.keys().any(|one| one == media || one == "*/*"),
        };
        let media = media.unwrap_or_default();
        assert!(
            is_declared,
            "{self} responded {status} as `{media}`, which the API document does not declare"
        );
    }

    /// Checks a whole body.
    pub(crate) fn check_body(&self, status: u16, headers: &HeaderMap, body: &[u8]) {
        let Some(response) = self.response(status) else { return };
        if self.is_head {
            assert!(body.is_empty(), "{self} responded to HEAD with a body");
            return;
        }
        let Some(content) = response["content"].as_object() else {
            assert!(
                body.is_empty(),
                "{self} responded {status} with a body, which the API document does not declare"
            );
            return;
        };
        let Some(media) = media_type(headers) else {
            panic!("{self} responded {status} without a content type");
        };
        let schema = content.get(&media).map(|content| &content["schema"]);
        let Some(schema) = schema.filter(|_| media.starts_with("application/json")) else {
            return;
        };
        let body: Value = serde_json::from_slice(body)
            .unwrap_or_else(|error| panic!("{self} responded {status} with no JSON: {error}"));
        let validator = self.contract.validator(schema);
        let wrong: Vec<String> = validator
            .iter_errors(&body)
            .map(|error| format!("{error} at `{}`", error.instance_path()))
            .collect();
        assert!(
            wrong.is_empty(),
            "{self} responded {status}, and the body is not what the API document says: {}\n{body:#}",
            wrong.join("; ")
        );
    }

    fn response(&self, status: u16) -> Option<&Value> {
        let operation = &self.contract.document["paths"][&self.path][self.method.as_str().to_lowercase()];
        let response = operation["responses"].get(status.to_string())?;
        Some(self.contract.resolved(response))
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// Checks that a response outside of all endpoints is that to unknown paths and methods.
pub(crate) fn check_unknown(method: &Method, path: &str, status: u16, body: &[u8]) {
    if path.starts_with(&format!("{API_PREFIX}/")) {
        assert!(
            status == 404 && (body == br#"{"error":"Not Found"}"# || (*method == Method::HEAD && body.is_empty())),
            "{method} {path} is not an endpoint and responded {status}: {}",
            String::from_utf8_lossy(body)
        );
    }
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Closes the schemas nested inside the components. The components themselves are closed where they are used, because a schema may be a part of
/// another one.
fn close_all(document: &mut Value) {
    let known = document["components"]["schemas"].clone();
    let closing = Closing { known: &known };
    let schemas = document["components"]["schemas"].as_object_mut();
    for schema in schemas.into_iter().flat_map(|schemas| schemas.values_mut()) {
        closing.inside(schema);
    }
}

struct Closing<'a> {
    known: &'a Value,
}

impl Closing<'_> {
    /// Returns the schema, closed to fields that it does not name.
    fn whole(&self, mut schema: Value) -> Value {
        self.inside(&mut schema);
        if !self.is_open(&schema) {
            schema["unevaluatedProperties"] = json!(false);
        }
        schema
    }

    fn inside(&self, schema: &mut Value) {
        let Value::Object(keywords) = schema else { return };
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(fields)) => {
                    for field in fields.values_mut() {
                        *field = self.whole(field.take());
                    }
                }
                ("items" | "additionalProperties", value @ Value::Object(_)) => *value = self.whole(value.take()),
                // Parts of one object: closed together where they are used.
                ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                    for part in parts {
                        self.inside(part);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns whether a schema permits unnamed fields: because it says so, or because it names no field.
    fn is_open(&self, schema: &Value) -> bool {
        if schema.get("additionalProperties").is_some() {
            return true;
        }
        let name = schema["$ref"]
            .as_str()
            .and_then(|reference| reference.rsplit('/').next());
        if let Some(name) = name {
            return self.is_open(&self.known[name]);
        }
        let parts = ["allOf", "anyOf", "oneOf"]
            .iter()
            .filter_map(|keyword| schema[*keyword].as_array());
        let parts: Vec<&Value> = parts.flatten().collect();
        if parts.is_empty() {
            return schema.get("properties").is_none();
        }
        let is_object = |part: &&&Value| part["type"] != "null";
        parts.iter().filter(is_object).any(|part| self.is_open(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract() -> Contract {
        let mut document = json!({"components": {"schemas": {
            "Base": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "Whole": {"allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object", "properties": {"inner": {"$ref": "#/components/schemas/Base"}}}]},
            "Open": {"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": true},
            "Free": {"type": "object"},
        }}});
        close_all(&mut document);
        Contract {
            document,
            paths: Paths::of(&Routes::of(&[])).expect("no paths"),
            validators: Mutex::default(),
        }
    }

    fn fits(name: &str, body: &Value) -> bool {
        let schema = json!({"$ref": format!("#/components/schemas/{name}")});
        contract().validator(&schema).is_valid(body)
    }

    #[test]
    fn an_undeclared_field_is_found_at_any_depth() {
        assert!(fits("Whole", &json!({"id": "1", "inner": {"id": "2"}})));
        assert!(!fits("Whole", &json!({"id": "1", "more": 1})));
        assert!(!fits("Whole", &json!({"id": "1", "inner": {"id": "2", "more": 1}})));
        assert!(!fits("Base", &json!({})));
        assert!(!fits("Base", &json!({"id": 1})));
    }

    #[test]
    fn open_objects_may_hold_anything() {
        assert!(fits("Open", &json!({"id": "1", "more": 1})));
        assert!(fits("Free", &json!({"more": {"still": 1}})));
    }
}
