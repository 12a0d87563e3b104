//! The rule for migrations that change rows. Row-level security is forced, for the owner too: without the scope of all tenants a statement finds no row and
//! reports no error.

use std::collections::BTreeSet;

use super::sql::{Token, tokens};
use super::{Findings, Tree};
use crate::Result;

/// Migrations without the scope, with the reason.
const EXEMPT: &[(&str, &str)] = &[
    (
        "migrations/alerts/2026-11-25-160000-1500_count_open_alerts",
        "applied migrations do not change; repeat_updates_of_rows counts the alerts in the scope of all tenants",
    ),
    (
        "migrations/alerts/2026-11-25-170000-1500_store_time_of_single_site",
        "applied migrations do not change; repeat_updates_of_rows stores the times in the scope of all tenants",
    ),
];

/// First words of the statements that change rows.
const CHANGES: &[&str] = &["insert", "update", "delete", "merge", "with"];

/// Words of PL/pgSQL that a statement follows.
const LEADING: &[&str] = &["begin", "loop", "then", "else"];

/// Checks that every statement of a migration that changes rows, and names a table under row-level security, runs in the scope of all tenants. It does not
/// see statements that are texts (`execute format(...)`).
pub(super) fn scoped(tree: &Tree<'_>) -> Result<Findings> {
    let scripts = tree.texts("migrations", &["sql"])?;
    let tables: BTreeSet<&str> = scripts.iter().flat_map(|(_, text)| secured(text)).collect();
    let mut findings = Findings::new();
    for (file, text) in &scripts {
        if EXEMPT.iter().any(|(folder, _reason)| file.starts_with(folder)) {
            continue;
        }
        findings.extend(unscoped(text, &tables).into_iter().map(|(line, table)| {
            format!(
                "{}:{line}: finds no row of {table}, which row-level security hides from the owner too; write the statement between \
                 `set local app.scope = 'system';` and `set local app.scope = '';`",
                file.display()
            )
        }));
    }
    Ok(findings)
}

/// Returns the tables that a script puts under row-level security.
fn secured(script: &str) -> impl Iterator<Item = &str> {
    let names = script.split("app_secure_table('").skip(1);
    names.filter_map(|rest| rest.split('\'').next())
}

/// Returns the lines on which statements begin that change rows outside of the scope of all tenants, each with a secured table that it names.
fn unscoped(script: &str, tables: &BTreeSet<&str>) -> Vec<(usize, String)> {
    let tokens = tokens(script, 1);
    let mut found = Vec::new();
    let mut is_scoped = false;
    for statement in tokens.split(|token| token.text == ";") {
        is_scoped = scope(statement).unwrap_or(is_scoped);
        let Some(change) = change(statement).filter(|_| !is_scoped) else {
            continue;
        };
        let mut names = change.iter().flat_map(|token| token.text.split('.'));
        let table = names.find(|name| tables.contains(name));
        found.extend(table.map(|table| (change[0].line, table.to_owned())));
    }
    found
}

/// Returns whether a statement sets the scope of all tenants, or another one; `None` if it sets no scope.
fn scope(statement: &[Token<'_>]) -> Option<bool> {
    let has = |text: &str| statement.iter().any(|token| token.text == text);
    let sets = (has("set") && has("app.scope")) || (has("set_config") && has("'app.scope'"));
    sets.then(|| has("'system'"))
}

/// Returns the part of a statement that changes rows, from its first word on; `None` if there is none.
fn change<'a, 't>(statement: &'a [Token<'t>]) -> Option<&'a [Token<'t>]> {
    let begins = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| statement.get(before));
        before.is_none_or(|before| LEADING.contains(&before.text))
    };
    let at = (0..statement.len()).find(|&at| CHANGES.contains(&statement[at].text) && begins(at))?;
    statement.get(at..)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the findings in a script that secures two tables.
    fn found(statements: &str) -> Vec<(usize, String)> {
        let script = format!("call app_secure_table('a_rows'); call app_secure_table('a_counts');\n{statements}");
        unscoped(&script, &secured(&script).collect())
    }

    #[test]
    fn statements_on_secured_tables_need_the_scope() {
        for statement in [
            "update a_rows set x = 1;",
            "delete from public.a_rows;",
            "insert into b_rows select * from a_rows;",
            "with r as (select * from a_rows) update b_rows b set x = r.x from r;",
            "do $$ begin if true then delete from a_rows; end if; end $$;",
        ] {
            assert_eq!(found(statement), [(2, "a_rows".to_owned())], "{statement}");
            let scoped = format!("set local app.scope = 'system';\n{statement}\nset local app.scope = '';\n");
            assert_eq!(found(&scoped), [], "{statement}");
            let configured = format!("select set_config('app.scope', 'system', true);\n{statement}");
            assert_eq!(found(&configured), [], "{statement}");
            let late = format!("set local app.scope = 'system';\nset local app.scope = '';\n{statement}");
            assert_eq!(found(&late), [(4, "a_rows".to_owned())], "{statement}");
        }
        assert_eq!(
            found("\n-- Counts.\ninsert into a_counts\nvalues (1); delete from a_rows"),
            [(4, "a_counts".to_owned()), (5, "a_rows".to_owned())]
        );
    }

    #[test]
    fn a_block_sets_the_scope_for_itself() {
        let scoped = "do $body$\nbegin\n    perform set_config('app.scope', 'system', true);\n    update a_rows set x = 1;\nend\n$body$;";

        assert_eq!(found(scoped), []);
    }

    #[test]
    fn definitions_comments_and_other_tables_do_not_count() {
        for statement in [
            "update b_rows set x = 'a_rows';",
            "-- update a_rows set x = 1;",
            "create function f() returns trigger language plpgsql as $$ begin update a_rows set x = $1; end $$;",
            "create trigger t after update on a_rows for each row execute function f();",
            "create policy p on a_rows for update using (true);",
            "alter table a_rows add foreign key (x) references b_rows on delete cascade;",
            "create index i on a_rows (x);",
        ] {
            assert_eq!(found(statement), [], "{statement}");
        }
    }
}
