//! The writes of one item, run by pgbench in transactions of a chunk's size.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use backoffice_local_postgres::LocalPostgres;
use uuid::Uuid;

use super::{CHUNK, DEALS, tenant_number};
use crate::Result;
use crate::bench::Options;
use crate::bench::database::{APPLICATION, Database, NAME};
use crate::process::output;

const ITEM: &str = include_str!("item.sql");

/// Returns the items per second of one client, which corresponds to one job.
pub(super) fn run(
    postgres: &LocalPostgres,
    database: &Database,
    work: &Path,
    tenant: Uuid,
    options: &Options,
) -> Result<f64> {
    let owner =
        database.text("select id from auth_users where tenant_id <> '00000000-0000-0000-0000-000000000000' limit 1")?;
    // As in a database in use, whose planner statistics do not cover the items of the last job.
    database.execute("analyze progress_job_items")?;
    let job = database.text(&format!(
        "select id from progress_jobs where tenant_id = '{tenant}' order by created_at desc, id desc limit 1"
    ))?;
    let mut script = String::from("begin;\n");
    for _ in 0..CHUNK {
        writeln!(script, "\\set deal random(1, {DEALS})")?;
        script.push_str(
            &ITEM
                .replace("{tenant}", &tenant.to_string())
                .replace("{number}", &format!("{:08x}", tenant_number(0)))
                .replace("{job}", &job)
                .replace("{owner}", &owner),
        );
    }
    script.push_str("commit;\n");
    let file = work.join("bulk.pgbench");
    std::fs::write(&file, script)?;
    let mut command = Command::new(postgres.bin_dir().join("pgbench"));
    command
        .env("PGOPTIONS", format!("-c app.tenant_id={tenant}"))
        .args(["--no-vacuum", "--protocol=prepared", "--client=1", "--jobs=1"])
        .arg(format!("--time={}", options.seconds()))
        .arg("--host")
        .arg(postgres.socket_dir())
        .args(["--username", APPLICATION])
        .arg("--file")
        .arg(&file);
    let report = output(command.arg(NAME))?;
    let rate: Option<f64> = report
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    let rate = rate.ok_or_else(|| format!("pgbench reported no rate: {report}"))?;
    Ok(rate * CHUNK as f64)
}
