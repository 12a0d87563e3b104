//! Rules for the declarations of endpoints.

use std::collections::BTreeMap;

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
