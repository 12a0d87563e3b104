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

/// Applies, reverts and reapplies all migrations, and applies those of each module with only its requirements.
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
    let count = scratch.migrate(modules).await?;
    let first = schema(&client).await?;
    scratch.revert(modules).await?;
    let mut left = schema(&client).await?;
    left.retain(|line| !line.contains(LEDGER));
    if !same(
        "a down.sql leaves behind",
        &left,
        "a down.sql removes what no up.sql made",
        &empty,
    ) {
        return Ok(false);
    }
    scratch.migrate(modules).await?;
    let second = schema(&client).await?;
    say(&format!(
        "{count} migrations went up, down and up; {} parts of the schema were compared",
        first.len()
    ));
    Ok(same(
        "only the second up makes",
        &second,
        "only the first up makes",
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

async fn schema(client: &Client) -> Result<BTreeSet<String>> {
    let rows = client.query(SCHEMA, &[]).await?;
    Ok(rows.iter().map(|row| row.get::<_, String>(0)).collect())
}

fn same(one_only: &str, one: &BTreeSet<String>, other_only: &str, other: &BTreeSet<String>) -> bool {
    for line in one.difference(other) {
        say(&format!("{one_only}: {line}"));
    }
    for line in other.difference(one) {
        say(&format!("{other_only}: {line}"));
    }
    one == other
}

#[cfg(test)]
mod tests {
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
}
