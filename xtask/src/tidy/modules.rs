//! Rules for dependencies between packages.

use std::collections::BTreeSet;

use backoffice_core::Module;

use super::{Findings, Tree};
use crate::Result;
use crate::workspace::Package;

const CORE: &str = "backoffice-core";
const HOST: &str = "backoffice-server";
const TEST_SUPPORT: &str = "backoffice-test-support";

fn package_of(module: &str) -> String {
    format!("backoffice-{module}")
}

impl Tree<'_> {
    fn package(&self, name: &str) -> Result<&Package> {
        self.workspace
            .package(name)
            .ok_or_else(|| format!("the workspace has no package {name}").into())
    }

    /// Returns the names of the modules on which a package depends outside of its tests.
    fn modules_below(&self, package: &Package) -> BTreeSet<&'static str> {
        let is_dependency = |module: &&&Module| {
            package
                .dependencies
                .iter()
                .any(|one| !one.is_dev && one.name == package_of(module.name))
        };
        self.modules
            .iter()
            .filter(is_dependency)
            .map(|module| module.name)
            .collect()
    }
}

pub(super) fn direction(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for module in tree.modules_below(tree.package(CORE)?) {
        findings.push(format!(
            "crates/core/Cargo.toml: depends on the module {module}; let the module implement a trait of core"
        ));
    }
    for (file, text) in tree.texts("crates/core/src", &["rs"])? {
        for module in &tree.modules {
            let name = package_of(module.name).replace('-', "_");
            if text.contains(&name) {
                findings.push(format!("{}: names {name}; core names no module", file.display()));
            }
        }
    }
    for module in &tree.modules {
        let package = tree.package(&package_of(module.name))?;
        for dependency in package.dependencies.iter().filter(|one| !one.is_dev) {
            if dependency.name == HOST || dependency.name == TEST_SUPPORT {
                let (file, name) = (package.dir.join("Cargo.toml"), &dependency.name);
                findings.push(format!(
                    "{}: depends on {name}; only [dev-dependencies] may",
                    file.display()
                ));
            }
        }
    }
    Ok(findings)
}

pub(super) fn requires(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for module in &tree.modules {
        let package = tree.package(&package_of(module.name))?;
        let (declared, depended) = (module.requires.iter().copied().collect(), tree.modules_below(package));
        for name in depended.difference(&declared) {
            let file = package.dir.join("src/lib.rs");
            findings.push(format!(
                "{}: MODULE.requires lacks \"{name}\", on which the manifest depends",
                file.display()
            ));
        }
        for name in declared.difference(&depended) {
            let file = package.dir.join("Cargo.toml");
            findings.push(format!(
                "{}: lacks {}, which MODULE.requires names",
                file.display(),
                package_of(name)
            ));
        }
    }
    Ok(findings)
}

pub(super) fn features(tree: &Tree<'_>) -> Result<Findings> {
    let host = tree.package(HOST)?;
    let file = host.dir.join("Cargo.toml");
    let on = |feature: &str| -> BTreeSet<String> {
        let found = host.features.iter().find(|(name, _)| name == feature);
        found.map(|(_, on)| on.iter().cloned().collect()).unwrap_or_default()
    };
    let mut findings = Findings::new();
    for module in &tree.modules {
        let required = module.requires.iter().map(|name| (*name).to_owned());
        let requested: BTreeSet<String> = required.chain([format!("dep:{}", package_of(module.name))]).collect();
        if on(module.name) != requested {
            let list: Vec<String> = requested.iter().map(|one| format!("\"{one}\"")).collect();
            findings.push(format!(
                "{}: write `{} = [{}]`",
                file.display(),
                module.name,
                list.join(", ")
            ));
        }
    }
    let (compiled, listed) = (
        tree.modules.iter().map(|module| module.name.to_owned()).collect(),
        on("default"),
    );
    for name in listed.symmetric_difference(&compiled) {
        findings.push(format!(
            "{}: `{name}` is either in `default` or in src/modules.rs, not in both; a module is in both",
            file.display()
        ));
    }
    Ok(findings)
}
