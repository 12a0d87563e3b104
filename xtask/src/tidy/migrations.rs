//! Rules for the folders of migrations.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Findings, Tree};
use crate::Result;

/// Reserved numbers, whether the module has migrations yet or not.
const NUMBERS: &[(&str, &str)] = &[
    ("core", "0000"),
    ("directory", "0100"),
    ("auth", "0200"),
    ("audit-logs", "0300"),
    ("api-keys", "0400"),
    ("progress", "0450"),
    ("customers", "0500"),
    ("catalog", "0600"),
    ("devices", "0900"),
    ("notifications", "0800"),
    ("onboarding", "1100"),
];

/// One migration: `migrations/<module>/<version>_<name>`.
struct Migration {
    module: String,
    dir: PathBuf,
    /// For example `2026-11-20-100000-0100`.
    version: String,
}

impl Migration {
    fn number(&self) -> &str {
        self.version.rsplit('-').next().unwrap_or_default()
    }
}

impl Tree<'_> {
    fn migrations(&self) -> Vec<Migration> {
        let mut dirs: Vec<&Path> = self
            .files
            .iter()
            .filter(|file| file.starts_with("migrations"))
            .filter_map(|file| file.parent())
            .collect();
        dirs.dedup();
        dirs.into_iter().filter_map(migration).collect()
    }
}

fn migration(dir: &Path) -> Option<Migration> {
    let module = dir
        .parent()
        .filter(|parent| parent.parent() == Some(Path::new("migrations")))?
        .file_name()?;
    let (version, _name) = dir.file_name()?.to_str()?.split_once('_')?;
    Some(Migration {
        module: module.to_str()?.to_owned(),
        dir: dir.to_path_buf(),
        version: version.to_owned(),
    })
}

pub(super) fn versions(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    let mut numbers: BTreeMap<String, String> = NUMBERS
        .iter()
        .map(|(module, number)| ((*number).to_owned(), (*module).to_owned()))
        .collect();
    let mut of_module: BTreeMap<String, String> = NUMBERS
        .iter()
        .map(|(module, number)| ((*module).to_owned(), (*number).to_owned()))
        .collect();
    let mut versions = BTreeMap::new();
    for one in tree.migrations() {
        let (dir, number) = (one.dir.display().to_string(), one.number().to_owned());
        if !is_version(&one.version) {
            findings.push(format!(
                "{dir}: name it <yyyy-mm-dd-hhmmss>-<number of the module>_<what_it_does>"
            ));
            continue;
        }
        if let Some(other) = versions.insert(one.version.clone(), dir.clone()) {
            findings.push(format!(
                "{dir}: has the version of {other}; diesel would apply one of them only"
            ));
        }
        let owner = numbers.entry(number.clone()).or_insert_with(|| one.module.clone());
        if *owner != one.module {
            findings.push(format!(
                "{dir}: {number} is the number of {owner}; each module has its own"
            ));
        }
        let own = of_module.entry(one.module).or_insert_with(|| number.clone());
        if *own != number {
            findings.push(format!(
                "{dir}: the version must end in {own}, the number of its module"
            ));
        }
    }
    Ok(findings)
}

fn is_version(version: &str) -> bool {
    let lengths: Vec<usize> = version.split('-').map(str::len).collect();
    lengths == [4, 2, 2, 6, 4] && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

pub(super) fn scripts(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for one in tree.migrations() {
        for script in ["up.sql", "down.sql"] {
            let file = one.dir.join(script);
            let text = tree.workspace.read(&file).unwrap_or_default();
            if !text
                .lines()
                .any(|line| !line.trim().is_empty() && !line.trim_start().starts_with("--"))
            {
                findings.push(format!("{}: is missing or empty", file.display()));
            }
        }
    }
    Ok(findings)
}

pub(super) fn links(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    let mut modules: Vec<String> = tree.migrations().into_iter().map(|one| one.module).collect();
    modules.dedup();
    for module in &modules {
        let (link, target) = (
            format!("crates/{module}/migrations"),
            format!("../../migrations/{module}"),
        );
        if fs::read_link(tree.workspace.root().join(&link)).ok().as_deref() != Some(Path::new(&target)) {
            findings.push(format!(
                "{link}: must be a symbolic link to {target}: ln -s {target} {link}"
            ));
        }
        let script = format!("crates/{module}/build.rs");
        if !tree
            .workspace
            .read(&script)
            .is_ok_and(|text| text.contains("cargo:rerun-if-changed=migrations"))
        {
            findings.push(format!(
                "{script}: must print cargo:rerun-if-changed=migrations; Cargo does not look behind links"
            ));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_is_read_from_its_folder() {
        let one = migration(Path::new("migrations/auth/2026-11-21-100000-0200_create_auth")).expect("a migration");

        assert_eq!((one.module.as_str(), one.number()), ("auth", "0200"));
        assert!(is_version(&one.version));
        assert!(!is_version("2026-11-21-100000"));
    }
}
