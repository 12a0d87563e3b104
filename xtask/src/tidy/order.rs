//! The order of core's modules.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Findings, Tree};
use crate::Result;

const SOURCES: &str = "crates/core/src";

/// Core's top-level modules. Each names only modules before it, so that none depends on itself through others.
const ORDER: &[&str] = &[
    // Values.
    "time",
    "ids",
    "backoff",
    "bounded_cache",
    "poll",
    "error",
    "batches",
    "turns",
    "shares",
    "text",
    "decimal",
    "slug",
    "document",
    "input",
    "fingerprint",
    "acl",
    "scope",
    "blocking",
    // The process: configuration, connections, and the platform that every later module adds its services to.
    "shutdown",
    "config",
    "mail",
    "db",
    "platform",
    "organization_zone",
    "collections",
    "cache",
    // The caller.
    "identity",
    "context",
    "records",
    "selection",
    // Changes and work.
    "events",
    "command",
    "placement",
    "examples",
    "jobs",
    "vault",
    // Further modules that requests and maintenance use.
    "rate_limit",
    "access_log",
    "months",
    "retention",
    "erasure",
    // The interface.
    "http",
    "list",
    "crud",
    // Composition.
    "registry",
    "module",
    "composition",
];

/// Checks that every module of core names only modules before it, outside of its tests.
pub(super) fn core(tree: &Tree<'_>) -> Result<Findings> {
    let root = tree.workspace.read(Path::new(SOURCES).join("lib.rs"))?;
    let exports = exports(&root);
    let mut findings = unlisted(&root, ORDER);
    for (file, text) in tree.texts(SOURCES, &["rs"])? {
        let path = file.strip_prefix(SOURCES)?;
        let Some((module, depth)) = module_of(path) else {
            continue;
        };
        findings.extend(
            violations(&text, &module, depth, &exports, ORDER)
                .into_iter()
                .map(|(line, other)| {
                    let file = file.display();
                    format!(
                        "{file}:{line}: names `{other}`, which is not before `{module}` in the order of core's modules; move the item, or invert \
                         the dependency with a trait (docs/ARCHITECTURE.md)"
                    )
                }),
        );
    }
    Ok(findings)
}

/// Returns the differences between the list and the modules that core declares.
fn unlisted(root: &str, order: &[&str]) -> Findings {
    let declared: Vec<&str> = root.lines().filter_map(declared_module).collect();
    let missing = declared.iter().filter(|module| !order.contains(module));
    let retired = order.iter().filter(|module| !declared.contains(module));
    let missing = missing.map(|module| format!("{SOURCES}/lib.rs: `{module}` is not in the order of core's modules"));
    let retired =
        retired.map(|module| format!("{SOURCES}/lib.rs: `{module}` is missing, but in the order of core's modules"));
    missing.chain(retired).collect()
}

fn declared_module(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    line.strip_prefix("mod ")?.strip_suffix(';')
}

/// Returns the modules that define the names which the root exports again.
fn exports(root: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in root.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        if let Some((module, names)) = statement.split_once("::") {
            let names = first_names(names).into_iter();
            exports.extend(names.map(|name| (name.to_owned(), module.to_owned())));
        }
    }
    exports
}

/// Returns the top-level module of a file and the length of its path; `None` for the root.
fn module_of(path: &Path) -> Option<(String, usize)> {
    let names = path.with_extension("");
    let mut names: Vec<&str> = names.iter().filter_map(|name| name.to_str()).collect();
    if names.len() > 1 && names.last() == Some(&"mod") {
        names.pop();
    }
    let module = *names.first()?;
    (module != "lib").then(|| (module.to_owned(), names.len()))
}

/// Returns the lines on which the file of a module names a module that is not before it, and these modules.
fn violations(
    text: &str,
    module: &str,
    depth: usize,
    exports: &BTreeMap<String, String>,
    order: &[&str],
) -> Vec<(usize, String)> {
    let position = |name: &str| order.iter().position(|one| *one == name);
    let mut found = Vec::new();
    for (line, name) in names_below_root(&code(text), depth) {
        let name = exports.get(name).map_or(name, String::as_str);
        if name != module && position(name).is_some() && position(name) >= position(module) {
            found.push((line, name.to_owned()));
        }
    }
    found
}

/// Returns the code before the tests, with empty lines in place of comments. Tests may use every module.
fn code(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    let lines = text[..tests].lines();
    lines
        .map(|line| match line.trim_start().starts_with("//") {
            true => "\n".to_owned(),
            false => format!("{line}\n"),
        })
        .collect()
}

/// Returns the first names of all paths that begin at the root, with their lines: after `crate::`, and after as many `super::` as the module's
/// path is long.
fn names_below_root(code: &str, depth: usize) -> Vec<(usize, &str)> {
    let up = "super::".repeat(depth);
    let mut found = Vec::new();
    for root in ["crate::", &up] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let names = first_names(&code[at + root.len()..]);
            found.extend(names.into_iter().map(|name| (line, name)));
        }
    }
    found.sort_unstable();
    found
}

/// Returns the name at the beginning of a path, or the first names of all paths of a group in braces.
fn first_names(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else {
        return vec![name(path)];
    };
    let (mut depth, mut start, mut names) = (0_usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns the identifier at the beginning.
fn name(path: &str) -> &str {
    let path = path.trim_start();
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_');
    &path[..end.unwrap_or(path.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULES: &[&str] = &["time", "db", "context", "http"];

    fn named(text: &str, module: &str, depth: usize) -> Vec<(usize, String)> {
        let exports = exports("pub use http::{Json, Page};\npub use time::Timestamp;\n");
        violations(text, module, depth, &exports, MODULES)
    }

    #[test]
    fn a_module_names_only_modules_before_it() {
        let text = "use crate::time::Timestamp;\nuse crate::context::Call;\nuse crate::http::{Json, Page};\n";

        assert_eq!(named(text, "http", 1), []);
        assert_eq!(named(text, "context", 1), [(3, "http".to_owned())]);
        assert_eq!(
            named(text, "db", 1),
            [(2, "context".to_owned()), (3, "http".to_owned())]
        );
    }

    #[test]
    fn every_form_of_a_path_is_found() {
        for text in [
            "use crate::{\n    http::{Json, Page},\n    time,\n};",
            "use crate::{time::{Clock, Timestamp}, http};",
            "fn a() -> crate::http::Json {}",
            "#[serde(with = \"crate::http::given\")]",
            "use crate::Json;",
            "use crate::{Page, Timestamp};",
            "use super::super::http::Json;",
        ] {
            let found = named(text, "context", 2);
            assert_eq!(found, [(1, "http".to_owned())], "{text}");
        }
    }

    #[test]
    fn own_paths_comments_and_tests_do_not_count() {
        for text in [
            "use super::http;",
            "use crate::context::http;",
            "/// Uses [`Json`](crate::http::Json).",
            "use other_crate::http;",
            "#[cfg(test)]\nmod tests {\n    use crate::http::Json;\n}",
        ] {
            assert_eq!(named(text, "context", 2), [], "{text}");
        }
    }

    #[test]
    fn files_belong_to_the_module_of_their_first_name() {
        let of = |path: &str| module_of(Path::new(path));

        assert_eq!(of("lib.rs"), None);
        assert_eq!(of("time.rs"), Some(("time".to_owned(), 1)));
        assert_eq!(of("http/mod.rs"), Some(("http".to_owned(), 1)));
        assert_eq!(of("context/call.rs"), Some(("context".to_owned(), 2)));
        assert_eq!(of("command/history/mod.rs"), Some(("command".to_owned(), 2)));
    }

    #[test]
    fn the_list_has_the_modules_that_core_declares() {
        let root = "pub mod time;\nmod db;\npub mod http;\npub mod more;\n";

        let found = unlisted(root, MODULES);

        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains("`more`") && found[1].contains("`context`"),
            "{found:?}"
        );
        assert_eq!(
            unlisted("mod time;\nmod db;\nmod context;\nmod http;\n", MODULES),
            Findings::new()
        );
    }
}
