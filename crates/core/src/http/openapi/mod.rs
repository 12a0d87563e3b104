//! The API document (OpenAPI 3.1) of exactly the enabled modules, built from the declarations.

mod headers;
mod rejections;
mod required;
mod schemas;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use utoipa::openapi::path::OperationBuilder;

pub(crate) use self::headers::{DAY, TIME};
pub use self::schemas::Schemas;
use super::cookies::AUTH_COOKIE;
use super::routes::{Access, Declared, EndpointInfo, Routes};
use crate::config::ConfigError;
use crate::platform::{API_PREFIX, INTERFACE_VERSION};

/// Returns the document of these endpoints and their modules.
///
/// # Errors
/// When a schema name belongs to two types, two operations have one name, a reference leads nowhere, or a body has no content type.
pub(crate) fn document(routes: &Routes) -> Result<Value, ConfigError> {
    let Draft { document, problems } = Draft::of(routes);
    match problems.into_iter().next() {
        None => Ok(document),
        Some(problem) => Err(ConfigError::new("modules", format!("the API document: {problem}"))),
    }
}

struct Draft {
    document: Value,
    problems: BTreeSet<String>,
}

impl Draft {
    fn of(routes: &Routes) -> Self {
        let mut schemas = Schemas::default();
        let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
        let mut problems = BTreeSet::new();
        let mut names = BTreeSet::new();
        let mut request_headers = BTreeSet::new();
        for one in routes.declared() {
            let info = &one.info;
            if !names.insert(info.operation) {
                problems.insert(format!("two endpoints have a handler `{}`", info.operation));
            }
            request_headers.extend(headers::of_request(info));
            let operation = operation(one, &mut schemas, &mut problems);
            let methods = paths.entry(info.path).or_default();
            methods.insert(info.method.as_str().to_lowercase(), operation);
        }
        let (mut known, wrong) = schemas.finish();
        problems.extend(wrong);
        required::of_responses(paths.values().flat_map(Map::values), &mut known);
        for (name, schema) in rejections::schemas() {
            if known.insert(name.clone(), schema).is_some() {
                problems.insert(format!("the schema name `{name}` is core's: give the type another one"));
            }
        }
        let mut document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Backoffice",
                "version": INTERFACE_VERSION,
                "description": "Multi-tenant back-office platform. The document covers exactly the enabled modules.",
                "license": {"name": "Apache-2.0"},
            },
            "servers": [{"url": API_PREFIX}],
            "tags": routes.modules().iter().map(|module| json!({"name": module.title})).collect::<Vec<_>>(),
            "paths": paths,
            "components": {
                "securitySchemes": security_schemes(),
                "parameters": headers::request_components(request_headers),
                "responses": rejections::responses(),
                "schemas": known,
            },
        });
        remove_null_defaults(&mut document);
        put_null_first(&mut document);
        open_objects(&mut document);
        let named = references(&document);
        let headers = named
            .iter()
            .filter_map(|name| name.strip_prefix("#/components/headers/"));
        document["components"]["headers"] = json!(headers::response_components(headers.map(str::to_owned)));
        let dangling = named.iter().filter(|name| {
            name.strip_prefix('#')
                .and_then(|pointer| document.pointer(pointer))
                .is_none()
        });
        problems.extend(dangling.map(|name| format!("`{name}` leads nowhere: refer to types by `Schemas::reference`")));
        Self { document, problems }
    }
}

/// Removes defaults of null: the fields of a partial update keep their values by default, which a schema cannot say.
fn remove_null_defaults(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            fields.values_mut().for_each(remove_null_defaults);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_null_defaults),
        _ => {}
    }
}

/// Lists `null` as the first of several types. The order means nothing to JSON Schema; some request generators consider the formats and
/// patterns of a text only after `null`.
fn put_null_first(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.sort_by_key(|one| one != "null");
            }
            fields.values_mut().for_each(put_null_first);
        }
        Value::Array(items) => items.iter_mut().for_each(put_null_first),
        _ => {}
    }
}

/// States that objects without declared fields may have any fields. This is the default of JSON Schema, but some generators of clients take such objects for
/// empty ones.
fn open_objects(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_object = match fields.get("type") {
                Some(Value::String(name)) => name == "object",
                Some(Value::Array(types)) => types.iter().any(|one| one == "object"),
                _ => false,
            };
            let closing = ["properties", "additionalProperties", "allOf", "anyOf", "oneOf", "$ref"];
            if is_object && !closing.iter().any(|name| fields.contains_key(*name)) {
                fields.insert("additionalProperties".to_owned(), json!(true));
            }
            fields.values_mut().for_each(open_objects);
        }
        Value::Array(items) => items.iter_mut().for_each(open_objects),
        _ => {}
    }
}

/// Returns every `$ref` of the document.
fn references(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                rest.extend(fields.values());
            }
            Value::Array(items) => rest.extend(items),
            _ => {}
        }
    }
    found
}

impl EndpointInfo {
    /// Returns what identifies the form of the endpoint's responses: a digest of the version of the program, and of what the document says about the
    /// endpoint. A process of another release may show the same rows in another form.
    pub(super) fn form(&self) -> &[u8; 32] {
        self.form.get_or_init(|| {
            let mut schemas = Schemas::default();
            let operation = json!((self.describe)(OperationBuilder::new(), &mut schemas).build());
            let body = self.json.map(|schema| json!(schema(&mut schemas)));
            let (known, _problems) = schemas.finish();
            let described = json!([env!("CARGO_PKG_VERSION"), operation, body, known]);
            Sha256::digest(described.to_string()).into()
        })
    }
}

fn security_schemes() -> Value {
    json!({
        "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        "cookie": {
            "type": "apiKey", "in": "cookie", "name": AUTH_COOKIE,
            "description": "Writes must come from the same site.",
        },
        "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
        "apiKeyInAuthorization": {
            "type": "apiKey", "in": "header", "name": "Authorization",
            "description": "`ApiKey <key>`",
        },
    })
}

fn security(access: Access) -> Value {
    match access {
        Access::Public => json!([]),
        // The empty requirement: without a credential, too.
        Access::Optional => {
            json!([{}, {"bearer": []}, {"cookie": []}, {"apiKey": []}, {"apiKeyInAuthorization": []}])
        }
        Access::Authenticated | Access::Features(_) => {
            json!([{"bearer": []}, {"cookie": []}, {"apiKey": []}, {"apiKeyInAuthorization": []}])
        }
    }
}

fn operation(one: &Declared, schemas: &mut Schemas, problems: &mut BTreeSet<String>) -> Value {
    let info = &one.info;
    let described = OperationBuilder::new()
        .operation_id(Some(info.operation))
        .summary(Some(info.summary))
        .tag(info.tag);
    let mut operation = json!((info.describe)(described, schemas).build());
    operation["security"] = security(info.access);
    if let Access::Features(features) = info.access {
        let required: Vec<&str> = features.iter().map(|feature| feature.id).collect();
        operation["description"] = json!(format!("Requires {}.", required.join(", ")));
    }
    let has_input = !operation["requestBody"].is_null() || !operation["parameters"].is_null();
    let mut parameters = operation["parameters"].take().as_array().cloned().unwrap_or_default();
    let header = |name| json!({"$ref": format!("#/components/parameters/{name}")});
    parameters.extend(headers::of_request(info).into_iter().map(header));
    operation["parameters"] = Value::Array(parameters);

    let mut responses = operation["responses"].take().as_object().cloned().unwrap_or_default();
    for (status, response) in &mut responses {
        complete(response, info, schemas);
        if status != "204" && status.starts_with('2') && response["content"].is_null() {
            problems.insert(format!(
                "{} {} does not say its content type: `.produces(&[...])`",
                info.method, info.path
            ));
        }
    }
    for status in info.responses {
        let description = if *status == 304 { "Not Modified" } else { "Success" };
        let mut response = json!({"description": description, "headers": headers::of_success(info)});
        if *status == 206 || responds_with_page(info) {
            complete(&mut response, info, schemas);
        }
        responses.insert(status.to_string(), response);
    }
    for status in rejections::statuses(info, has_input) {
        responses.insert(status.to_string(), rejections::response(status, info, schemas));
    }
    operation["responses"] = Value::Object(responses);
    if let Value::Object(fields) = &mut operation {
        fields.retain(|_, value| !value.is_null());
    }
    operation
}

/// Adds the declared headers and content types to a success that its type describes.
fn complete(response: &mut Value, info: &EndpointInfo, schemas: &mut Schemas) {
    let own = response["headers"].take();
    let own: Vec<&str> = own
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    let mut all = headers::of_success(info);
    all.extend(headers::references(&own));
    response["headers"] = Value::Object(all);
    let mut content: Map<String, Value> = info.media.iter().map(|media| media_type(media)).collect();
    if let Some(json) = info.json {
        content.insert("application/json".to_owned(), json!({"schema": json(schemas)}));
    }
    if !content.is_empty() {
        response["content"] = Value::Object(content);
    }
    if responds_with_page(info) {
        add_page(response);
    }
    if let Value::Object(fields) = response {
        fields.retain(|_, value| !value.is_null());
    }
}

/// Returns whether a success may be a page.
fn responds_with_page(info: &EndpointInfo) -> bool {
    info.page.is_some() && !info.only_rejections_as_page
}

/// Adds the page to a response, with its headers.
pub(super) fn add_page(response: &mut Value) {
    let (media, page) = media_type("text/html; charset=utf-8");
    response["content"][media.as_str()] = page;
    for (name, header) in headers::references(&["Content-Language", "Content-Security-Policy", "Vary"]) {
        response["headers"][name.as_str()] = header;
    }
}

fn media_type(media: &str) -> (String, Value) {
    let schema = if media.starts_with("text/") {
        json!({"type": "string"})
    } else {
        json!({"type": "string", "format": "binary"})
    };
    (media.to_owned(), json!({"schema": schema}))
}

#[cfg(test)]
mod tests {
    use actix_web::http::StatusCode;

    use super::*;
    use crate::context::{RequestContext, Visitor};
    use crate::error::{Error, Result};
    use crate::http::{Attempt, Conditions, Done, FileResponse, Id, Json, Query, Raw, Redirect};

    async fn delete_note(_context: RequestContext) -> Result<Json<Done>> {
        Ok(Json(Done::OK))
    }

    async fn send_note(_visitor: Visitor) -> Result<Json<Done>> {
        Ok(Json(Done::OK))
    }

    async fn read_file(_visitor: Visitor, _conditions: Conditions) -> Result<FileResponse> {
        Err(Error::internal("the file is only described"))
    }

    async fn go_on(_visitor: Visitor, _query: Attempt<Query<Id>>) -> Result<Redirect> {
        let location = "/".to_owned();
        Ok(Redirect { location })
    }

    async fn read_text(_visitor: Visitor) -> Result<Raw> {
        Ok(Raw {
            status: StatusCode::OK,
            content_type: "application/json",
            bytes: r#""text""#.into(),
            headers: Vec::new(),
        })
    }

    /// Returns the description of the only endpoint.
    fn described(declare: impl FnOnce(&mut Routes)) -> Value {
        let mut routes = Routes::default();
        declare(&mut routes);
        let document = document(&routes).expect("a sound document");
        let methods = document["paths"].as_object().into_iter().flat_map(Map::values);
        let mut operations = methods.filter_map(Value::as_object).flat_map(Map::values);
        operations.next().cloned().expect("an endpoint")
    }

    /// Returns the names of the parameters that are headers, of the headers of a success, and of the statuses, as far as `names` has them.
    fn found(operation: &Value, names: &[&str]) -> Vec<String> {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.filter_map(|parameter| parameter["$ref"].as_str()?.rsplit('/').next());
        let responses = operation["responses"].as_object().into_iter().flatten();
        let headers = responses.clone().filter(|(status, _)| status.starts_with('2'));
        let headers = headers.filter_map(|(_, response)| response["headers"].as_object());
        let all = parameters
            .chain(headers.flat_map(|headers| headers.keys().map(String::as_str)))
            .chain(responses.map(|(status, _)| status.as_str()));
        let mut found: Vec<String> = all.filter(|name| names.contains(name)).map(str::to_owned).collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn what_only_commands_have_is_not_described_without_one() {
        let of_commands = [
            "409",
            "422",
            "If-Match",
            "X-Expected-Updated-At",
            "X-Operation",
            "X-Rule-Messages",
        ];
        let with = described(|routes| {
            routes.delete("/note", Access::Authenticated, delete_note);
        });
        let without = described(|routes| {
            routes
                .delete("/note", Access::Authenticated, delete_note)
                .without_command();
        });
        let posted = described(|routes| {
            routes
                .post("/note", Access::Authenticated, delete_note)
                .without_command();
        });

        assert_eq!(found(&with, &of_commands), of_commands);
        assert_eq!(found(&without, &of_commands), [""; 0]);
        assert_eq!(found(&posted, &["Idempotency-Key", "X-Operation"]), [""; 0]);
    }

    #[test]
    fn the_conditions_of_a_file_are_described() {
        let tags = ["ETag", "If-Match-Tag", "If-None-Match"];
        let tagged = described(|routes| {
            routes.get("/file", Access::Public, read_file).downloads(&["*/*"]);
        });
        let untagged = described(|routes| {
            routes
                .get("/file", Access::Public, read_file)
                .downloads(&["*/*"])
                .without_tag();
        });

        assert_eq!(found(&tagged, &tags), tags);
        assert_eq!(found(&untagged, &tags), [""; 0]);
        assert_eq!(
            found(&untagged, &["304", "412", "Last-Modified"]),
            ["304", "412", "Last-Modified"]
        );
    }

    #[test]
    fn an_endpoint_that_takes_any_input_has_no_400() {
        let any = described(|routes| {
            routes.get("/next", Access::Public, go_on).takes_any_input();
        });
        let valid = described(|routes| {
            routes.get("/next", Access::Public, go_on);
        });
        let none = described(|routes| {
            routes.get("/note", Access::Public, send_note);
        });

        assert_eq!(found(&valid, &["400"]), ["400"]);
        assert_eq!(found(&any, &["400"]), [""; 0]);
        assert_eq!(found(&none, &["400"]), [""; 0]);
    }

    #[test]
    fn a_raw_body_may_be_json_with_a_schema() {
        let operation = described(|routes| {
            routes
                .get("/text", Access::Public, read_text)
                .produces(&["application/json", "text/plain; charset=utf-8"])
                .produces_json::<Id>();
        });

        let content = &operation["responses"]["200"]["content"];
        assert_eq!(content["application/json"]["schema"]["required"], json!(["id"]));
        assert_eq!(
            content["text/plain; charset=utf-8"]["schema"],
            json!({"type": "string"})
        );
    }
}
