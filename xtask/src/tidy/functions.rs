//! The rule for functions and procedures of the schema. Processes of an earlier release call them until they restart: another result is an error for their
//! prepared statements, and other arguments are another function.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use super::sql::{Token, tokens};
use super::{Findings, Tree};
use crate::Result;

/// Migrations that changed the arguments or the result of a function, with the reason.
const EXEMPT: &[(&str, &str)] = &[
    (
        "migrations/core/2026-11-27-160000-0000_erase_resources_together",
        "no process calls audit_without: only audit_erase does, which the migration replaces with it",
    ),
    (
        "migrations/core/2026-11-28-003000-0000_tell_new_owners_of_push_tokens",
        "applied migrations do not change; DEPLOYMENT says that processes of earlier releases must be stopped before it",
    ),
];

/// First words of what follows the arguments and the result in a definition.
const ATTRIBUTES: &[&str] = &[
    "as",
    "begin",
    "called",
    "cost",
    "external",
    "immutable",
    "language",
    "leakproof",
    "not",
    "parallel",
    "return",
    "rows",
    "security",
    "set",
    "stable",
    "strict",
    "support",
    "transform",
    "volatile",
    "window",
];

/// The arguments and the result of each function, by its name.
type Signatures<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// Checks that no migration creates a function again with other arguments or another result. It does not see definitions that are texts
/// (`execute format(...)`).
pub(super) fn kept(tree: &Tree<'_>) -> Result<Findings> {
    let mut scripts = tree.texts("migrations", &["sql"])?;
    scripts.retain(|(file, _)| file.ends_with("up.sql"));
    // Migrations run in the order of their versions, whatever their module.
    scripts.sort_by_key(|&(file, _)| folder(file));
    let (mut known, mut findings) = (Signatures::new(), Findings::new());
    for (file, text) in &scripts {
        let changed = changed(text, &mut known);
        if EXEMPT.iter().any(|(folder, _reason)| file.starts_with(folder)) {
            continue;
        }
        findings.extend(changed.into_iter().map(|(line, name)| {
            format!(
                "{}:{line}: changes the arguments or the result of {name}, which processes of the earlier release still call; give the new \
                 function another name, and drop the former one in a later release",
                file.display()
            )
        }));
    }
    Ok(findings)
}

fn folder(file: &Path) -> Option<&OsStr> {
    file.parent()?.file_name()
}

/// Notes the functions that a script defines. Returns those that earlier definitions give other arguments or another result, with their lines.
fn changed<'a>(script: &'a str, known: &mut Signatures<'a>) -> Vec<(usize, &'a str)> {
    let tokens = tokens(script, 1);
    let definitions = tokens.split(|token| token.text == ";").filter_map(definition);
    let changes = definitions.filter_map(|(name, signature)| {
        let texts: Vec<&str> = signature.iter().map(|token| token.text).collect();
        let earlier = known.insert(name.text, texts);
        let is_change = earlier.is_some_and(|earlier| known.get(name.text) != Some(&earlier));
        is_change.then_some((name.line, name.text))
    });
    changes.collect()
}

/// Returns the name of the function or procedure that a statement defines, and the tokens of its arguments and its result.
fn definition<'s, 'a>(statement: &'s [Token<'a>]) -> Option<(Token<'a>, &'s [Token<'a>])> {
    let create = statement.iter().position(|token| token.text == "create")?;
    let defined = statement.get(create + 1..)?;
    let defined = match defined {
        [or, replace, rest @ ..] if or.text == "or" && replace.text == "replace" => rest,
        _ => defined,
    };
    let [kind, name, rest @ ..] = defined else { return None };
    if !matches!(kind.text, "function" | "procedure") {
        return None;
    }
    let mut depth = 0_usize;
    let end = rest.iter().position(|token| {
        match token.text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && ATTRIBUTES.contains(&token.text)
    });
    Some((*name, rest.get(..end.unwrap_or(rest.len()))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMER: &str = "create function app_note(tenant uuid, language text) returns void language sql return null;";

    /// Returns the findings in the last of several scripts.
    fn found<'a>(scripts: &[&'a str]) -> Vec<(usize, &'a str)> {
        let (mut known, mut found) = (Signatures::new(), Vec::new());
        for script in scripts {
            found = changed(script, &mut known);
        }
        found
    }

    #[test]
    fn another_result_or_other_arguments_are_changes() {
        for change in [
            "drop function app_note; create function app_note(tenant uuid, language text) returns boolean language sql return true;",
            "create function app_note(tenant uuid) returns void language sql return null;",
            "create or replace function app_note(tenant uuid, language text[]) returns void language sql return null;",
            "create function app_note(tenant uuid, language text, out is_new boolean) language sql return true;",
            "create procedure app_note(tenant uuid) language sql begin atomic select 1; end;",
            "do $$ begin create function app_note() returns void language sql return null; end $$;",
        ] {
            assert_eq!(found(&[FORMER, change]), [(1, "app_note")], "{change}");
        }
        let dropped = "drop function app_note;";
        let again = "-- Returns a number.\ncreate function app_note(tenant uuid, language text) returns bigint language sql return 1;";
        assert_eq!(found(&[FORMER, dropped, again]), [(2, "app_note")]);
        let in_one = format!("{FORMER}\ndrop function app_note;\n{again}");
        assert_eq!(found(&[&in_one]), [(4, "app_note")]);
    }

    #[test]
    fn other_bodies_and_other_names_are_not_changes() {
        for script in [
            "create or replace function app_note(\n    tenant uuid, language text) returns void\nlanguage plpgsql\nset work_mem = '1MB'\nas $$ begin end $$;",
            "drop function app_note; create function app_note(tenant uuid, language text) returns void stable language sql return null;",
            "drop function app_note; create function app_note_new(tenant uuid) returns boolean language sql return true;",
            "create trigger app_note after insert on rows for each row execute function app_note();",
            "create table app_note (tenant_id uuid not null);",
            "-- create function app_note() returns boolean",
        ] {
            assert_eq!(found(&[FORMER, script]), [], "{script}");
        }
    }
}
