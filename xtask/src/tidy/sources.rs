//! Rules for the sources.

use super::{Findings, Tree};
use crate::Result;

/// Macros for unfinished code. Split in two, so that this file does not contain them.
const UNFINISHED: &[&str] = &[
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("db", "g!("),
];

/// Split like the macros above.
const ID_LISTS: &[&str] = &[concat!("eq_any", "(ids"), concat!("eq_any", "(&ids")];

pub(super) fn unfinished(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for (file, text) in tree.texts("", &["rs"])? {
        for (number, line) in code(&text) {
            for word in UNFINISHED.iter().filter(|word| line.contains(**word)) {
                findings.push(format!(
                    "{}:{number}: has {word}..); finish it, or leave it out",
                    file.display()
                ));
            }
        }
    }
    Ok(findings)
}

/// A list of ids in sight of PostgreSQL makes it plan each execution (`KeyColumn` in core).
pub(super) fn planned_once(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for (file, text) in tree.texts("", &["rs", "in"])? {
        if !file.components().any(|part| part.as_os_str() == "src") {
            continue;
        }
        for (number, line) in code(&text) {
            if ID_LISTS.iter().any(|list| line.contains(list)) {
                findings.push(format!(
                    "{}:{number}: shows the number of ids to PostgreSQL, which plans each execution then; use one_of(ids)",
                    file.display()
                ));
            }
        }
    }
    Ok(findings)
}

/// Row-level security would still hide the rows of other tenants; but a statement that relies on it alone is slow, and a mistake.
pub(super) fn scoped(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for module in &tree.modules {
        for (file, text) in tree.texts(&format!("crates/{}/src", module.name), &["rs"])? {
            findings.extend(unscoped(&text).into_iter().map(|number| {
                let file = file.display();
                format!("{file}:{number}: names no tenant; begin with .filter(scope.owns(<table>::tenant_id))")
            }));
        }
    }
    Ok(findings)
}

/// Returns the lines on which functions begin a statement on a table without mentioning the tenant before the function ends.
fn unscoped(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut pending = None;
    for (number, line) in code(text) {
        if is_function(line) {
            found.extend(pending.take());
        }
        if line.contains("tenant_id") || line.contains("in_scope(") {
            // One mention is enough: the statements of a function apply to the same rows.
            pending = Some(0);
        } else if has_table(line) && !line.contains("insert_into(") && !line.contains("use ") {
            pending = pending.or(Some(number));
        }
    }
    found.extend(pending);
    found.retain(|number| *number > 0);
    found
}

/// Returns whether the line names a table as a value; `of::<items::table>(query)` names its type.
fn has_table(line: &str) -> bool {
    line.match_indices("::table").any(|(at, _)| {
        let name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        !line[..at].trim_end_matches(name).ends_with('<')
    })
}

fn is_function(line: &str) -> bool {
    let line = line.trim_start();
    ["fn ", "async fn ", "pub fn ", "pub async fn ", "pub("]
        .iter()
        .any(|start| line.starts_with(start))
        && line.contains("fn ")
}

pub(super) fn self_contained(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for (file, text) in tree.texts("crates/api-docs", &["rs", "html", "js", "css"])? {
        for (number, _) in code(&text).filter(|(_, line)| names_address(line)) {
            findings.push(format!(
                "{}:{number}: names an address outside; serve it from the crate",
                file.display()
            ));
        }
    }
    Ok(findings)
}

fn names_address(line: &str) -> bool {
    ["http://", "https://", "\"//"].iter().any(|scheme| {
        line.match_indices(scheme)
            .any(|(at, _)| line[at + scheme.len()..].starts_with(|c: char| c.is_ascii_alphanumeric()))
    })
}

/// Returns lines with their numbers, without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_without_a_word_about_the_tenant_is_found() {
        let scoped = "fn a() {\n  t::table\n  .filter(scope.owns(t::tenant_id))\n}\n";
        let bare = "pub(crate) fn b() {\n  t::table\n  .filter(t::id.eq(id))\n}\n";

        assert_eq!(unscoped(scoped), [0_usize; 0]);
        assert_eq!(unscoped(bare), [2]);
        let typed = "fn c() {\n  start.of::<t::table, _>(requested(scope));\n}\n";
        assert_eq!(unscoped(typed), [0_usize; 0]);
        assert_eq!(unscoped(&format!("{bare}{scoped}{bare}")), [2, 10]);
    }

    #[test]
    fn an_address_is_more_than_its_scheme() {
        assert!(names_address("<script src=\"//example.org/a.js\">"));
        assert!(names_address("https://example.org"));
        assert!(!names_address("text.contains(\"https://\")"));
    }

    #[test]
    fn comments_are_not_code() {
        assert_eq!(code("a\n  // b\nc").collect::<Vec<_>>(), [(1, "a"), (3, "c")]);
    }
}
