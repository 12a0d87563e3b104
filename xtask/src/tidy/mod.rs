//! `cargo xtask tidy`: the rules of the architecture, each checked by a small function that names the file and the fix.

mod catalogue;
mod crates;
mod documents;
mod endpoints;
mod files;
mod functions;
mod migrations;
mod modules;
mod order;
mod row_security;
mod sources;
mod sql;
mod words;

use std::path::{Path, PathBuf};

use backoffice_core::Module;
use backoffice_core::module::in_order;

use crate::Result;
use crate::process::{Outcome, explained, say};
use crate::workspace::Workspace;

/// The input of the checks.
struct Tree<'a> {
    workspace: &'a Workspace,
    /// Every file that is or may be committed, relative to the root.
    files: Vec<PathBuf>,
    /// Every module of the host, each after its requirements.
    modules: Vec<&'static Module>,
}

/// The violations, one line each: file, fact, fix.
type Findings = Vec<String>;

type Check = fn(&Tree<'_>) -> Result<Findings>;

/// The rules, and the checks that find violations.
const CHECKS: &[(&str, Check)] = &[
    ("the root holds known entries only", files::layout),
    ("no file is larger than 1 MiB", files::sizes),
    ("no symbolic link leaves the tree", files::links),
    ("every package has a README that is its documentation", crates::readmes),
    ("every package inherits the lints", crates::lints),
    ("every dependency is used", crates::used),
    (
        "libraries are compiled once for programs and tests",
        crates::compiled_once,
    ),
    (
        "the host has the features of libraries that the tests run with",
        crates::shipped_as_tested,
    ),
    ("a panic ends one request, in no profile the process", crates::panics),
    ("every folder of crates/ holds the package of its name", crates::names),
    (
        "core names no module, modules name neither host nor test support",
        modules::direction,
    ),
    ("core's modules depend on each other in one order", order::core),
    (
        "what a module requires is what its manifest and its foreign.rs name",
        modules::requires,
    ),
    ("the host's Cargo features mirror the requirements", modules::features),
    (
        "every migration has a version of its own, in the number of its module",
        migrations::versions,
    ),
    ("every migration goes up and down", migrations::scripts),
    (
        "crates reach their migrations through a symbolic link",
        migrations::links,
    ),
    (
        "migrations change the rows of all tenants in their scope",
        row_security::scoped,
    ),
    (
        "functions of the schema keep their arguments and results",
        functions::kept,
    ),
    ("no unfinished code", sources::unfinished),
    ("no retired word in identifiers and comments", words::retired),
    ("every statement on a table names the tenant", sources::scoped),
    ("look-ups by ids are planned once", sources::planned_once),
    ("the API browser needs no address outside", sources::self_contained),
    (
        "every endpoint has a summary, an operation of its own and known features",
        endpoints::declared,
    ),
    ("no two paths serve the same requests", endpoints::routed),
    ("every endpoint is in docs/openapi.json", endpoints::documented),
    (
        "fields that a response may leave out say when they are absent",
        endpoints::explained,
    ),
    ("every package is in the codemap", documents::codemap),
    (
        "the README of a module names its features, commands, entities and tables",
        documents::modules,
    ),
    ("every setting is in the table of settings", documents::settings),
    ("every subcommand and every metric is documented", documents::operations),
    ("tables, keys and policies lead with the tenant", catalogue::check),
];

/// Runs every check and prints the findings.
pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let tree = Tree {
        workspace,
        files: workspace.files()?,
        modules: in_order(&backoffice_server::modules::compiled())?,
    };
    let mut found = 0;
    for (promise, check) in CHECKS {
        let findings =
            check(&tree).unwrap_or_else(|error| vec![format!("could not be checked: {}", explained(&*error))]);
        say(&format!(
            "{} {}",
            if findings.is_empty() { "ok  " } else { "FAIL" },
            promise
        ));
        for finding in &findings {
            say(&format!("       {finding}"));
        }
        found += findings.len();
    }
    say(&format!("{} checks, {found} findings", CHECKS.len()));
    Ok(Outcome::of(found == 0))
}

impl Tree<'_> {
    /// Returns the files below a folder with one of these extensions, with their text.
    fn texts(&self, below: &str, extensions: &[&str]) -> Result<Vec<(&Path, String)>> {
        let requested = |file: &&PathBuf| {
            file.starts_with(below)
                && file
                    .extension()
                    .is_some_and(|extension| extensions.iter().any(|one| extension == *one))
                && !self.workspace.root().join(file).is_symlink()
        };
        self.files
            .iter()
            .filter(requested)
            .map(|file| Ok((file.as_path(), self.workspace.read(file)?)))
            .collect()
    }
}
