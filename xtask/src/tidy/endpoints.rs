//! Rules for the declarations of endpoints.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_core::http::{Access, Routes, literal_segments};
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

/// The router enters the scope with the longest literal beginning of a request, and leaves it only with a response.
pub(super) fn routed(tree: &Tree<'_>) -> Result<Findings> {
    let paths: BTreeSet<&str> = Routes::of(&tree.modules)
        .into_infos()
        .iter()
        .map(|one| one.path)
        .collect();
    let scopes: BTreeSet<&str> = paths
        .iter()
        .filter_map(|path| Some(literal_segments(path)?.0))
        .collect();
    Ok(hidden(&paths, &scopes)
        .map(|(path, scope)| {
            format!("{path}: a request for it may begin with {scope}, whose paths are the only ones that serve it then; rename a segment")
        })
        .collect())
}

/// Returns the paths with a parameter in the place of a literal segment of another path's scope.
fn hidden<'a>(paths: &'a BTreeSet<&str>, scopes: &'a BTreeSet<&str>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let fits = |path: &str, scope: &str| {
        let mut segments = path.split('/');
        let mut is_other = false;
        let all = scope.split('/').all(|literal| {
            let segment = segments.next().unwrap_or_default();
            is_other |= segment.starts_with('{');
            segment == literal || segment.starts_with('{')
        });
        all && is_other
    };
    paths.iter().flat_map(move |path| {
        let fitting = scopes.iter().filter(move |scope| fits(path, scope));
        fitting.map(move |scope| (*path, *scope))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_in_the_place_of_a_literal_segment_is_found() {
        let scopes = BTreeSet::from(["/files", "/files/image"]);
        for (path, expected) in [
            ("/files/{id}", 1),
            ("/files/{id}/tags", 1),
            ("/files/image/{id}", 0),
            ("/files/image", 0),
            ("/notes/{id}", 0),
        ] {
            assert_eq!(hidden(&BTreeSet::from([path]), &scopes).count(), expected, "{path}");
        }
    }
}
