//! Rules for the declarations of endpoints.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_core::http::{Access, Paths, Routes};
use serde_json::Value;

use super::{Findings, Tree};
use crate::{Result, openapi};

pub(super) fn declared(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    let mut operations = BTreeMap::new();
    let features: Vec<&str> = tree
        .modules
        .iter()
        .flat_map(|module| module.features)
        .map(|feature| feature.id)
        .collect();
    for one in Routes::of(&tree.modules).into_infos() {
        let endpoint = format!("crates/{}: {} {}", one.module, one.method, one.path);
        if one.summary.is_empty() {
            findings.push(format!("{endpoint}: has no summary; add .about(\"...\")"));
        }
        if let Some(other) = operations.insert(one.operation, endpoint.clone()) {
            findings.push(format!(
                "{endpoint}: shares the handler's name {} with {other}",
                one.operation
            ));
        }
        if let Access::Features(required) = one.access {
            for feature in required.iter().filter(|feature| !features.contains(&feature.id)) {
                findings.push(format!("{endpoint}: requires {}, which no module declares", feature.id));
            }
        }
    }
    Ok(findings)
}

pub(super) fn routed(tree: &Tree<'_>) -> Result<Findings> {
    Ok(Paths::of(&Routes::of(&tree.modules)).err().into_iter().collect())
}

pub(super) fn documented(tree: &Tree<'_>) -> Result<Findings> {
    let document: Value = serde_json::from_str(&tree.workspace.read(openapi::FILE)?)?;
    let documented = |path: &str, method: &str| document["paths"][path].get(method.to_ascii_lowercase()).is_some();
    Ok(Routes::of(&tree.modules)
        .into_infos()
        .iter()
        .filter(|one| !documented(one.path, one.method.as_str()))
        .map(|one| {
            format!(
                "{}: lacks {} {}; run `cargo xtask openapi`",
                openapi::FILE,
                one.method,
                one.path
            )
        })
        .collect())
}

pub(super) fn explained(tree: &Tree<'_>) -> Result<Findings> {
    let document: Value = serde_json::from_str(&tree.workspace.read(openapi::FILE)?)?;
    let finding = |field: String| {
        format!(
            "{}: a response may leave out {field}: require it (`#[schema(required = true)]`), or say in its description when it is absent",
            openapi::FILE
        )
    };
    Ok(unexplained(&document).into_iter().map(finding).collect())
}

/// Returns the fields that successes do not require, and whose descriptions do not say when they are absent.
fn unexplained(document: &Value) -> BTreeSet<String> {
    let (mut rest, mut read, mut found) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for (path, methods) in entries(&document["paths"]) {
        for (_, operation) in entries(methods) {
            let successes = entries(&operation["responses"]).filter(|(status, _)| status.starts_with('2'));
            rest.extend(successes.map(|(_, response)| (path, response)));
        }
    }
    while let Some((place, value)) = rest.pop() {
        let reference = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        if let Some(pointer) = reference.filter(|pointer| read.insert(*pointer)) {
            rest.extend(document.pointer(pointer).map(|target| (pointer, target)));
        }
        let required: Vec<&Value> = value["required"].as_array().into_iter().flatten().collect();
        for (field, schema) in entries(&value["properties"]) {
            if !required.iter().any(|one| *one == field) && !schema.to_string().contains("absent") {
                found.insert(format!("`{field}` of {place}"));
            }
        }
        rest.extend(entries(value).map(|(_, part)| (place, part)));
        rest.extend(value.as_array().into_iter().flatten().map(|part| (place, part)));
    }
    found
}

fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_optional_field_of_a_response_says_when_it_is_absent() {
        let item = json!({
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": {"type": "string"},
                "note": {"type": "string", "description": "A note."},
                "truncated": {"type": "boolean", "description": "`true` if it is not whole, otherwise absent."},
            },
        });
        let body = json!({"schema": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}}});
        let document = json!({
            "paths": {"/items": {"get": {"responses": {
                "200": {"content": {"application/json": body}},
                "400": {"content": {"application/json": {"schema": {"properties": {"code": {"type": "string"}}}}}},
            }}}},
            "components": {"schemas": {"Item": item}},
        });

        let found: Vec<String> = unexplained(&document).into_iter().collect();

        assert_eq!(found, ["`note` of /components/schemas/Item"]);
    }
}
