//! Rules for the locations of files.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{Findings, Tree};
use crate::Result;

const ROOT: &[&str] = &[
    ".cargo",
    ".ci",
    ".git",
    ".github",
    ".gitignore",
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "apps",
    "clippy.toml",
    "crates",
    "deny.toml",
    "SECURITY.md",
    "docs",
    "migrations",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "tests",
    "xtask",
];
const LARGEST: u64 = 1024 * 1024;

pub(super) fn layout(tree: &Tree<'_>) -> Result<Findings> {
    let mut entries: Vec<String> = tree.files.iter().filter_map(|file| first(file)).collect();
    entries.dedup();
    entries.retain(|entry| !ROOT.contains(&entry.as_str()) && !entry.starts_with("LICENSE"));
    Ok(entries
        .iter()
        .map(|entry| {
            format!(
                "{entry}: is not a known entry of the root; move it, ignore it, or add it to xtask/src/tidy/files.rs"
            )
        })
        .collect())
}

fn first(file: &Path) -> Option<String> {
    file.components()
        .next()
        .map(|component| component.as_os_str().to_string_lossy().into_owned())
}

pub(super) fn sizes(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for file in &tree.files {
        let size = fs::symlink_metadata(tree.workspace.root().join(file))?.len();
        if size > LARGEST {
            findings.push(format!(
                "{}: has {size} bytes; keep data of that size out of the repository",
                file.display()
            ));
        }
    }
    Ok(findings)
}

pub(super) fn links(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for file in &tree.files {
        let path = tree.workspace.root().join(file);
        if !path.is_symlink() {
            continue;
        }
        let target = fs::read_link(&path)?;
        if !stays_inside(file, &target) {
            findings.push(format!(
                "{}: links to {}; link relatively, inside the tree",
                file.display(),
                target.display()
            ));
        } else if !path.exists() {
            findings.push(format!(
                "{}: links to {}, which does not exist; mend or delete the link",
                file.display(),
                target.display()
            ));
        }
    }
    Ok(findings)
}

/// Returns whether the target of a link stays below the root; `file` is the link, relative to the root.
fn stays_inside(file: &Path, target: &Path) -> bool {
    let mut reached: PathBuf = file.parent().unwrap_or(Path::new("")).to_path_buf();
    target.components().all(|component| match component {
        Component::ParentDir => reached.pop(),
        Component::Normal(name) => {
            reached.push(name);
            true
        }
        Component::CurDir => true,
        Component::RootDir | Component::Prefix(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_may_climb_to_the_root_but_not_above_it() {
        let file = Path::new("crates/auth/migrations");

        assert!(stays_inside(file, Path::new("../../migrations/auth")));
        assert!(!stays_inside(file, Path::new("../../../elsewhere")));
        assert!(!stays_inside(file, Path::new("/etc")));
    }
}
