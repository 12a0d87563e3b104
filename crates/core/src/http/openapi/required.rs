//! The fields that every response has.
//!
//! A derived schema requires no `Option` and no field with a default, because requests may leave them out. In a response a nullable field is present
//! as null (conventions, section 1), and a default fills in what was stored without the field. A field that a response may leave out
//! (`skip_serializing_if`) therefore is declared with `#[schema(nullable = false)]`, so that the document distinguishes the two: a response without a
//! required field, or with null for such a field, contradicts the document, and the test that receives it fails.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Requires the nullable fields and those with a default in the schemas that only responses of these operations use.
pub(super) fn of_responses<'a>(operations: impl Iterator<Item = &'a Value>, schemas: &mut Map<String, Value>) {
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for operation in operations {
        sent.extend(operation.get("responses"));
        received.extend(
            ["requestBody", "parameters"]
                .iter()
                .filter_map(|part| operation.get(part)),
        );
    }
    let received = reachable(received, schemas);
    for name in reachable(sent, schemas).difference(&received) {
        if let Some(schema) = schemas.get_mut(name) {
            require(schema);
        }
    }
}

/// Returns the names of the schemas to which these parts of the document lead.
fn reachable(parts: Vec<&Value>, schemas: &Map<String, Value>) -> BTreeSet<String> {
    let (mut found, mut rest) = (BTreeSet::new(), parts);
    while let Some(value) = rest.pop() {
        match value {
            Value::Object(fields) => {
                let reference = fields.get("$ref").and_then(Value::as_str);
                let name = reference.and_then(|reference| reference.strip_prefix("#/components/schemas/"));
                if let Some((name, schema)) = name.and_then(|name| schemas.get_key_value(name))
                    && found.insert(name.clone())
                {
                    rest.push(schema);
                }
                rest.extend(fields.values());
            }
            Value::Array(items) => rest.extend(items),
            _ => {}
        }
    }
    found
}

/// Requires the fields of a schema, and of the schemas inside of it.
fn require(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    let mut present = Vec::new();
    for (keyword, value) in keywords.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                fields.values_mut().for_each(require);
                let always = fields.iter().filter(|(_, field)| is_present(field));
                present.extend(always.map(|(name, _)| json!(name)));
            }
            ("items" | "additionalProperties", value) => require(value),
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => parts.iter_mut().for_each(require),
            _ => {}
        }
    }
    if present.is_empty() {
        return;
    }
    if let Value::Array(required) = keywords.entry("required").or_insert_with(|| json!([])) {
        present.retain(|name| !required.contains(name));
        required.append(&mut present);
    }
}

/// Returns whether every response has the field: it may be null, or it has a default.
fn is_present(field: &Value) -> bool {
    may_be_null(field) || field.get("default").is_some_and(|default| !default.is_null())
}

fn may_be_null(schema: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null";
    let kind = &schema["type"];
    let parts = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|keyword| schema[*keyword].as_array());
    is_null(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_null)) || parts.flatten().any(may_be_null)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the fields that the schema `name` requires, where an operation takes `Input` and responds with `Output`, which is the given schema.
    fn required(schema: Value, name: &str) -> Value {
        let reference = |name: &str| json!({"schema": {"$ref": format!("#/components/schemas/{name}")}});
        let operation = json!({
            "requestBody": {"content": {"application/json": reference("Input")}},
            "responses": {"200": {"content": {"application/json": reference("Output")}}},
        });
        let shared = json!({"$ref": "#/components/schemas/Shared"});
        let schemas = json!({
            "Input": {"type": "object", "properties": {"shared": shared}},
            "Shared": {"type": "object", "properties": {"note": {"type": ["null", "string"]}}},
            "Output": schema,
        });
        let Value::Object(mut schemas) = schemas else {
            panic!("an object")
        };
        of_responses([&operation].into_iter(), &mut schemas);
        schemas[name]["required"].clone()
    }

    #[test]
    fn responses_have_all_fields_but_those_that_are_optional_and_not_null() {
        let schema = json!({
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "note": {"type": ["null", "string"]},
                "owner": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Shared"}]},
                "tags": {"type": "array", "items": {"type": "string"}, "default": []},
                "truncated": {"type": "boolean"},
            },
            "required": ["id"],
        });

        assert_eq!(required(schema, "Output"), json!(["id", "note", "owner", "tags"]));
    }

    #[test]
    fn parts_of_a_response_are_included() {
        let part = json!({"type": "object", "properties": {"note": {"type": ["null", "string"]}}});
        let schema = json!({
            "type": "object",
            "properties": {"lines": {"type": "array", "items": {"allOf": [part]}}},
        });
        let Value::Object(mut schemas) = json!({"Output": schema}) else {
            panic!("an object")
        };
        let operation = json!({"responses": {"200": {"$ref": "#/components/schemas/Output"}}});

        of_responses([&operation].into_iter(), &mut schemas);

        let line = &schemas["Output"]["properties"]["lines"]["items"]["allOf"][0];
        assert_eq!(line["required"], json!(["note"]));
    }

    #[test]
    fn requests_may_leave_out_the_fields_of_schemas_that_responses_share() {
        let schema = json!({"type": "object", "properties": {"shared": {"$ref": "#/components/schemas/Shared"}}});

        assert_eq!(required(schema, "Shared"), Value::Null);
    }
}
