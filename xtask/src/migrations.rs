//! `cargo xtask migrations check`

use std::collections::BTreeSet;

use backoffice_core::Module;
use backoffice_core::module::in_order;
use tokio_postgres::Client;

use crate::Result;
use crate::process::{Outcome, explained, say};
use crate::scratch::{self, Scratch, block_on};
use crate::workspace::Workspace;

/// Query for all objects that a migration can create, one line each.
const SCHEMA: &str = include_str!("migrations/schema.sql");
/// diesel's table of applied migrations; no migration creates it, so none removes it.
const LEDGER: &str = "__diesel_schema_migrations";

/// The schema of a database, one line for each of its parts.
type Schema = BTreeSet<String>;

/// Applies, reverts and reapplies all migrations, one by one and together, and applies those of each module with only its requirements.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome> {
    let postgres = scratch::cluster(workspace)?;
    let modules = in_order(&backoffice_server::modules::compiled())?;
    let passed = block_on(async {
        let reversible = Scratch::with(&postgres, "reversed", async |scratch| {
            up_down_up(scratch, &modules).await
        })
        .await?;
        for set in sets(&modules) {
            Scratch::with(&postgres, "subset", async |scratch| up(scratch, &set).await).await?;
        }
        Ok(reversible)
    })?;
    postgres.stop()?;
    Ok(Outcome::of(passed))
}

async fn up_down_up(scratch: &Scratch<'_>, modules: &[&'static Module]) -> Result<bool> {
    let client = scratch.connect().await?;
    let empty = schema(&client).await?;
    let mut findings = one_by_one(scratch, modules, &client).await?;
    if findings.is_empty() {
        findings = together(scratch, modules, &client, &empty).await?;
    }
    for finding in &findings {
        say(finding);
    }
    Ok(findings.is_empty())
}

/// Applies each migration, reverts it and applies it again, before the next one is applied. Stops at the first difference, because the next script
/// may fail on it.
async fn one_by_one(scratch: &Scratch<'_>, modules: &[&'static Module], client: &Client) -> Result<Vec<String>> {
    let mut steps = scratch.steps(modules).await?;
    let names = steps.names();
    let mut before = schema(client).await?;
    for (index, name) in names.iter().enumerate() {
        let failed = |script: &str, error: &backoffice_core::Error| format!("{name}/{script}: {}", explained(error));
        let named = |found: Vec<String>| found.into_iter().map(|line| format!("{name}: {line}")).collect();
        steps.apply(index).map_err(|error| failed("up.sql", &error))?;
        let first = schema(client).await?;
        steps.revert(index).map_err(|error| failed("down.sql", &error))?;
        let reverted = schema(client).await?;
        let found = differences(
            "down.sql leaves behind",
            &reverted,
            "down.sql does not restore",
            &before,
        );
        if !found.is_empty() {
            return Ok(named(found));
        }
        steps
            .apply(index)
            .map_err(|error| failed("up.sql after down.sql", &error))?;
        let second = schema(client).await?;
        let found = differences(
            "only the second up creates",
            &second,
            "only the first up creates",
            &first,
        );
        if !found.is_empty() {
            return Ok(named(found));
        }
        before = second;
    }
    say(&format!(
        "{} migrations went up, down and up one by one; {} parts of the schema were compared",
        names.len(),
        before.len()
    ));
    Ok(Vec::new())
}

/// Reverts all migrations and applies them again, with the rights and months that `migrate` adds at the end.
async fn together(
    scratch: &Scratch<'_>,
    modules: &[&'static Module],
    client: &Client,
    empty: &Schema,
) -> Result<Vec<String>> {
    scratch.migrate(modules).await?;
    let first = schema(client).await?;
    scratch.revert(modules).await?;
    let left = schema(client).await?;
    let findings = differences(
        "a down.sql leaves behind",
        &left,
        "a down.sql removes what no up.sql created",
        empty,
    );
    if !findings.is_empty() {
        return Ok(findings);
    }
    let count = scratch.migrate(modules).await?;
    let second = schema(client).await?;
    say(&format!("{count} migrations went down and up together"));
    Ok(differences(
        "only the second up creates",
        &second,
        "only the first up creates",
        &first,
    ))
}

async fn up(scratch: &Scratch<'_>, modules: &[&'static Module]) -> Result<()> {
    let names: Vec<&str> = std::iter::once("core")
        .chain(modules.iter().map(|module| module.name))
        .collect();
    let names = names.join(" + ");
    let count = scratch
        .migrate(modules)
        .await
        .map_err(|error| format!("{names} alone: {}", explained(&*error)))?;
    say(&format!("{names} alone: {count} migrations went up"));
    Ok(())
}

/// Returns core alone, and each module with all its direct and indirect requirements.
fn sets(modules: &[&'static Module]) -> Vec<Vec<&'static Module>> {
    let needed = |requested: &'static Module| {
        let mut names = BTreeSet::from([requested.name]);
        // A module's requirements precede it.
        for module in modules.iter().rev() {
            if names.contains(module.name) {
                names.extend(module.requires);
            }
        }
        modules
            .iter()
            .copied()
            .filter(|module| names.contains(module.name))
            .collect::<Vec<_>>()
    };
    std::iter::once(Vec::new())
        .chain(modules.iter().map(|module| needed(module)))
        .collect()
}

/// Returns the schema, without diesel's table of applied migrations.
async fn schema(client: &Client) -> Result<Schema> {
    let rows = client.query(SCHEMA, &[]).await?;
    let mut lines: Schema = rows.iter().map(|row| row.get(0)).collect();
    lines.retain(|line| !line.contains(LEDGER));
    Ok(lines)
}

/// Returns the parts that only one of two schemas has, each after what that means.
fn differences(one_only: &str, one: &Schema, other_only: &str, other: &Schema) -> Vec<String> {
    let of_one = one.difference(other).map(|line| format!("{one_only}: {line}"));
    let of_other = other.difference(one).map(|line| format!("{other_only}: {line}"));
    of_one.chain(of_other).collect()
}

#[cfg(test)]
mod tests {
    use backoffice_test_support::TestDatabase;

    use super::*;

    static BASE: Module = Module {
        name: "base",
        ..Module::EMPTY
    };
    static MIDDLE: Module = Module {
        name: "middle",
        requires: &["base"],
        ..Module::EMPTY
    };
    static TOP: Module = Module {
        name: "top",
        requires: &["middle"],
        ..Module::EMPTY
    };

    #[test]
    fn a_set_holds_a_module_and_all_that_it_requires_indirectly() {
        let sets = sets(&[&BASE, &MIDDLE, &TOP]);

        let names: Vec<Vec<&str>> = sets
            .iter()
            .map(|set| set.iter().map(|module| module.name).collect())
            .collect();
        assert_eq!(
            names,
            [
                vec![],
                vec!["base"],
                vec!["base", "middle"],
                vec!["base", "middle", "top"]
            ]
        );
    }

    #[test]
    fn differences_of_both_schemas_are_found() {
        let [one, other]: [Schema; 2] =
            [["table a", "index b"], ["table a", "index c"]].map(|lines| lines.map(str::to_owned).into());

        let found = differences("left behind", &one, "not restored", &other);

        assert_eq!(found, ["left behind: index b", "not restored: index c"]);
    }

    #[tokio::test]
    async fn a_schema_shows_every_kind_of_change() {
        let database = TestDatabase::empty().await;
        database
            .sql(
                "create table things (id bigint not null, name text, other text); \
                 create sequence numbers; \
                 create function noted() returns trigger language plpgsql as $$ begin return null; end $$; \
                 create trigger noted after insert on things for each row execute function noted()",
            )
            .await;
        let mut before = schema(database.owner()).await.expect("a schema");

        for change in [
            "comment on column things.name is 'A name.'",
            "comment on trigger noted on things is 'Notes.'",
            "create statistics together on name, other from things",
            "alter statistics together set statistics 7",
            "alter sequence numbers cache 20",
            "alter sequence numbers owned by things.id",
            "alter table things disable trigger noted",
            "alter table things alter name set storage external",
            "alter table things alter name set (n_distinct = 5)",
            "alter table things alter id add generated always as identity",
            "grant update (name) on things to public",
        ] {
            database.sql(change).await;

            let after = schema(database.owner()).await.expect("a schema");
            assert_ne!(after, before, "{change}");
            before = after;
        }
    }
}
