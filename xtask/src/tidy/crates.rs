//! Rules for every package of the workspace.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, Tree};
use crate::Result;
use crate::process::{cargo, output};

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

/// Dependencies that are needed without being named in a source, each with its reason.
const UNNAMED: &[(&str, &str, &str)] = &[
    (
        "backoffice-audit-logs",
        "backoffice-auth",
        "the module requires it, and its migrations run before",
    ),
    ("xtask", "aes-gcm", FEATURES),
    ("xtask", "hyper-util", FEATURES),
    ("xtask", "p256", FEATURES),
    ("xtask", "s3s-fs", FEATURES),
];

/// See [`compiled_once`].
const FEATURES: &str = "gives libraries the features that the tests need";

/// Libraries with features that only the tests and this program ask for. None of these features changes what the host does.
const MORE_IN_TESTS: [&str; 14] = [
    "cipher",
    "crypto-common",
    "ctutils",
    "email_address",
    "futures-util",
    "hashbrown",
    "hybrid-array",
    "hyper",
    "hyper-util",
    "num-bigint",
    "num-integer",
    "regex-automata",
    "simdutf8",
    "subtle",
];

/// Every dependency is named in the sources of its package.
pub(super) fn used(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for package in tree.workspace.packages() {
        let file = package.dir.join("Cargo.toml");
        let manifest = tree.workspace.read(&file)?;
        let sources = tree.texts(&package.dir.to_string_lossy(), &["rs"])?;
        let is_kept = |name: &str| {
            UNNAMED
                .iter()
                .any(|(one, kept, _)| *one == package.name && *kept == name)
        };
        for name in dependencies(&manifest).filter(|name| !is_kept(name)) {
            let identifier = name.replace('-', "_");
            if !sources.iter().any(|(_, text)| names_crate(text, &identifier)) {
                let file = file.display();
                findings.push(format!("{file}: `{name}` is in no source of the package; remove it"));
            }
        }
    }
    Ok(findings)
}

/// Libraries have the same features in this program, in the host that the fuzzer runs, and in the tests. Otherwise Cargo compiles each of them, and
/// all crates that depend on it, a second time.
pub(super) fn compiled_once(tree: &Tree<'_>) -> Result<Findings> {
    let tests = libraries(tree, &["--workspace", "--edges", "normal,build,dev"])?;
    let mut findings = Findings::new();
    for (programs, packages) in [("xtask", &["--package", "xtask"][..]), ("the host", &["--workspace"])] {
        let programs_have = libraries(tree, &[packages, &["--edges", "normal,build"]].concat())?;
        findings.extend(programs_have.difference(&tests).map(|library| {
            format!(
                "xtask/Cargo.toml: the tests give {library} more features than {programs}; depend on what adds them"
            )
        }));
    }
    Ok(findings)
}

/// Returns the libraries of a selection of packages, each with its version and features.
fn libraries(tree: &Tree<'_>, selection: &[&str]) -> Result<BTreeSet<String>> {
    let mut command = cargo(tree.workspace);
    command.args(["tree", "--prefix", "none", "--format", "{p} {f}"]);
    let listed = output(command.args(selection))?;
    // The mark of a library that was listed before.
    Ok(listed
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect())
}

/// The host as it is shipped has the features of libraries that the tests run with: a feature that only a dependency of the tests asks for would change
/// the host in tests alone. An exact parser of numbers was one.
pub(super) fn shipped_as_tested(tree: &Tree<'_>) -> Result<Findings> {
    let host = ["--package", "backoffice-server", "--edges", "normal,build"];
    let shipped = features(&libraries(tree, &host)?);
    let tested = features(&libraries(tree, &["--workspace", "--edges", "normal,build,dev"])?);
    let mut findings = Findings::new();
    for (library, own) in shipped {
        let missing: Vec<&str> = tested
            .get(&library)
            .into_iter()
            .flat_map(|features| features.difference(&own))
            .map(String::as_str)
            .collect();
        let name = library.split(' ').next().unwrap_or_default();
        if !missing.is_empty() && !MORE_IN_TESTS.contains(&name) {
            findings.push(format!(
                "Cargo.toml: only the tests give {library} the features {}; the host asks for those that it needs, and `MORE_IN_TESTS` lists the others",
                missing.join(", ")
            ));
        }
    }
    Ok(findings)
}

/// Returns the features of libraries, by their names and versions.
fn features(libraries: &BTreeSet<String>) -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    for line in libraries {
        let mut words = line.split(' ');
        let library: Vec<&str> = words.by_ref().take(2).collect();
        let listed = words.find(|word| !word.is_empty() && !word.starts_with('('));
        let features = listed.into_iter().flat_map(|listed| listed.split(','));
        found
            .entry(library.join(" "))
            .or_default()
            .extend(features.map(str::to_owned));
    }
    found
}

/// Names of the dependencies in all sections of a manifest.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    manifest.lines().filter_map(move |line| {
        if line.starts_with('[') {
            is_inside = line.trim_end_matches(']').ends_with("dependencies");
            return None;
        }
        let name = line.split(['=', '.']).next()?.trim();
        (is_inside && !name.is_empty() && !name.starts_with(['#', '"', ']', '{'])).then_some(name)
    })
}

fn names_crate(text: &str, identifier: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == identifier)
}

/// Handlers, interceptors and jobs are isolated by catching their panics, which requires that panics unwind.
pub(super) fn panics(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for (file, text) in tree.texts("", &["toml"])? {
        findings.extend(aborts(&text).map(|number| {
            let file = file.display();
            format!("{file}:{number}: a panic would end the process with all its requests; let it unwind")
        }));
    }
    Ok(findings)
}

/// Returns the lines of a manifest or of Cargo's configuration that make a panic abort.
fn aborts(text: &str) -> impl Iterator<Item = usize> {
    let aborts = |line: &str| {
        let code: String = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        code.contains("panic=\"abort\"") || code.contains("panic='abort'") || code.contains("panic=abort")
    };
    text.lines()
        .enumerate()
        .filter(move |(_, line)| aborts(line))
        .map(|(index, _)| index + 1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_all_sections_are_found() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\nb-c = \"1\"\n[lints]\nworkspace = true\n\
                        [target.'cfg(unix)'.dev-dependencies]\nd = { version = \"1\" }\n";

        assert_eq!(dependencies(manifest).collect::<Vec<_>>(), ["a", "b-c", "d"]);
        assert!(names_crate("use b_c::x;", "b_c") && !names_crate("use b_cd::x;", "b_c"));
    }

    #[test]
    fn a_panic_that_aborts_is_found_in_every_spelling() {
        let manifest = "[profile.dist]\npanic = \"abort\"\n# panic = \"abort\"\npanic='abort' # small\npanic = \"unwind\"\n\
                        rustflags = [\"-Cpanic=abort\"]\n";

        assert_eq!(aborts(manifest).collect::<Vec<_>>(), [2, 4, 6]);
    }
}
