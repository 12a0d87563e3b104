//! What every package of the workspace has.

use super::{Findings, Tree};
use crate::Result;

pub(super) fn readmes(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for package in tree.workspace.packages() {
        let readme = package.dir.join("README.md");
        if !tree.files.contains(&readme) {
            findings.push(format!("{}: is missing; say what the package is for", readme.display()));
        }
        let source = tree.workspace.read(&package.main_source)?;
        if !source
            .lines()
            .any(|line| line.starts_with("#![doc = include_str!(") && line.contains("README.md"))
        {
            findings.push(format!(
                "{}: does not begin with the README; add #![doc = include_str!(...)] with its path",
                package.main_source.display()
            ));
        }
    }
    Ok(findings)
}

pub(super) fn lints(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for package in tree.workspace.packages() {
        let file = package.dir.join("Cargo.toml");
        let manifest = tree.workspace.read(&file)?;
        let inherits = manifest
            .lines()
            .map(str::trim)
            .skip_while(|line| *line != "[lints]")
            .nth(1)
            .is_some_and(|line| line == "workspace = true");
        if !inherits {
            findings.push(format!(
                "{}: has its own lints; write `[lints]` and `workspace = true`",
                file.display()
            ));
        }
    }
    Ok(findings)
}

pub(super) fn names(tree: &Tree<'_>) -> Result<Findings> {
    let crates = tree
        .workspace
        .packages()
        .iter()
        .filter(|package| package.dir.starts_with("crates"));
    Ok(crates
        .filter_map(|package| {
            let expected = format!("backoffice-{}", package.dir.file_name()?.to_string_lossy());
            (package.name != expected).then(|| {
                format!(
                    "{}/Cargo.toml: holds {}; name it {expected}",
                    package.dir.display(),
                    package.name
                )
            })
        })
        .collect())
}
