//! pgbench, which runs the statements of a request without the server.

use std::process::Command;

use backoffice_local_postgres::LocalPostgres;
use uuid::Uuid;

use super::Options;
use super::database::NAME;
use super::script::Script;
use crate::Result;
use crate::process::output;

/// Runs one round and returns transactions per second.
pub(super) fn run(
    postgres: &LocalPostgres,
    role: &str,
    tenant: Uuid,
    script: &Script,
    options: &Options,
) -> Result<f64> {
    let mut command = Command::new(postgres.bin_dir().join("pgbench"));
    command
        .env("PGOPTIONS", format!("-c app.tenant_id={tenant}"))
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=2"])
        .args([
            format!("--client={}", options.clients),
            format!("--time={}", options.seconds),
        ])
        .arg("--host")
        .arg(postgres.socket_dir())
        .args(["--username", role])
        .arg("--file")
        .arg(&script.file);
    for (name, value) in &script.values {
        command.arg("--define").arg(format!("{name}={value}"));
    }
    let report = output(command.arg(NAME))?;
    let rate = report
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.ok_or_else(|| format!("pgbench reported no rate: {report}").into())
}
