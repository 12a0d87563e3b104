//! Migrated databases that tests copy: one per test program, set of modules and month.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use backoffice_core::Module;
use backoffice_core::db::migrate;
use backoffice_core::module::{in_order, migrations};
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use tokio_postgres::Client;

use crate::server::{APPLICATION_ROLE, Server, block_on};

const PREFIX: &str = "backoffice_template_";

/// Templates that this process knows to be complete.
static KNOWN: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// The name of a template: its kind, its build and its month.
struct Name {
    /// Identifies the program and the modules.
    kind: String,
    /// Identifies the build and the month as well; other names of the same kind are stale.
    full: String,
}

impl Name {
    /// Migrations are compiled into the program, so the program's build identifies them. They create the coming months of tables that are
    /// partitioned by month, so their outcome also depends on the month of the server's clock.
    fn of(modules: &[&'static Module], month: &str) -> Self {
        let names: Vec<&str> = modules.iter().map(|module| module.name).collect();
        let build = build();
        let kind = format!("{PREFIX}{}_", digest(&format!("{} {}", build.program, names.join(" "))));
        Self {
            full: format!("{kind}{}_{month}", build.mark),
            kind,
        }
    }
}

struct Build {
    program: String,
    mark: String,
}

/// Returns the program and its build at the time of the first call: the file may be replaced while it runs.
fn build() -> &'static Build {
    static BUILD: OnceLock<Build> = OnceLock::new();
    BUILD.get_or_init(|| {
        let path = std::env::current_exe().unwrap_or_default();
        let itself = Path::new("/proc/self/exe");
        let metadata = std::fs::metadata(if itself.exists() { itself } else { &path });
        let modified = metadata.as_ref().ok().and_then(|metadata| metadata.modified().ok());
        let age = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let mark = match (metadata, age) {
            (Ok(metadata), Some(age)) => format!("{} {}", metadata.len(), age.as_nanos()),
            _ => format!("process {}", std::process::id()),
        };
        Build {
            program: path.to_string_lossy().replace(" (deleted)", ""),
            mark: digest(&mark),
        }
    })
}

fn digest(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .take(6)
        .fold(String::new(), |mut hex, byte| {
            // Writing to a `String` does not fail.
            let _written = write!(hex, "{byte:02x}");
            hex
        })
}

/// Returns the name of the complete template for these modules in this month (`yyyymm`); creates the template if it is missing. Blocks.
pub(crate) fn ensure(server: &Server, modules: &[&'static Module], month: &str) -> String {
    let modules = in_order(modules).expect("the modules are complete");
    let name = Name::of(&modules, month);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_with(HashSet::new);
    if !known.contains(&name.full) {
        block_on(create(server, &name, &modules));
        known.insert(name.full.clone());
    }
    name.full
}

/// Forgets a template that is missing, so that the next [`ensure`] creates it again.
pub(crate) fn forget(name: &str) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_with(HashSet::new).remove(name);
}

async fn create(server: &Server, name: &Name, modules: &[&'static Module]) {
    let client = server.connect_locked().await;
    let names = existing(&client, &name.kind).await;
    if names.contains(&name.full) {
        return;
    }
    for stale in names {
        drop_database(&client, &stale).await;
    }
    // Under another name until it is complete, so that a killed process leaves no incomplete template.
    let (full, unfinished) = (&name.full, format!("{}unfinished", name.kind));
    run(&client, &format!("create database \"{unfinished}\"")).await;
    let url = SecretString::from(server.owner_url(&unfinished));
    migrate(&url, APPLICATION_ROLE, &migrations(modules))
        .await
        .unwrap_or_else(|error| panic!("the migrations fail: {error}"));
    run(
        &client,
        &format!("alter database \"{unfinished}\" allow_connections false"),
    )
    .await;
    run(
        &client,
        &format!("alter database \"{unfinished}\" rename to \"{full}\""),
    )
    .await;
}

async fn existing(client: &Client, prefix: &str) -> Vec<String> {
    let sql = "select datname::text from pg_database where starts_with(datname, $1)";
    let rows = client.query(sql, &[&prefix]).await.expect("the catalogue can be read");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Drops a database that other sessions may still use.
pub(crate) async fn drop_database(client: &Client, name: &str) {
    end_sessions(client, name).await;
    run(client, &format!("drop database if exists \"{name}\" with (force)")).await;
}

/// Ends the sessions of a database, and waits until they are gone, for half a second at most. `drop database … with (force)` would end them too, but it
/// looks again only after 100 ms.
async fn end_sessions(client: &Client, name: &str) {
    let sql = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1";
    for _ in 0..100 {
        let ended = client.query(sql, &[&name]).await.expect("sessions can be ended");
        if ended.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn run(client: &Client, sql: &str) {
    client
        .batch_execute(sql)
        .await
        .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_of_the_last_month_is_stale() {
        let [last, present] = ["202611", "202612"].map(|month| Name::of(&[], month));

        assert_ne!(last.full, present.full);
        assert!(
            last.full.starts_with(&present.kind),
            "it is dropped with those of other builds"
        );
        assert!(present.full.len() <= 63, "PostgreSQL cuts longer names");
    }
}
