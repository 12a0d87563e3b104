//! pgbench, which runs statements without the server.

use std::path::Path;
use std::process::Command;

use backoffice_core::db::PLANNER_OPTIONS;
use backoffice_local_postgres::LocalPostgres;
use uuid::Uuid;

use super::database::NAME;
use crate::Result;
use crate::process::output;

/// One run of a script.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) postgres: &'a LocalPostgres,
    /// The role that runs the statements.
    pub(super) role: &'a str,
    /// The tenant whose rows row-level security lets the role see.
    pub(super) tenant: Uuid,
    pub(super) clients: u32,
    pub(super) seconds: u64,
}

impl Run<'_> {
    /// Runs a script with its variables and returns transactions per second.
    pub(super) fn rate(&self, script: &Path, variables: &[(String, String)]) -> Result<f64> {
        let mut command = Command::new(self.postgres.bin_dir().join("pgbench"));
        command
            .env(
                "PGOPTIONS",
                format!(
                    "{PLANNER_OPTIONS} -c app.tenant_id={} -c statement_timeout=30s",
                    self.tenant
                ),
            )
            .args(["--no-vacuum", "--protocol=prepared"])
            .args([
                format!("--jobs={}", self.clients.min(2)),
                format!("--client={}", self.clients),
                format!("--time={}", self.seconds),
            ])
            .arg("--host")
            .arg(self.postgres.socket_dir())
            .args(["--username", self.role])
            .arg("--file")
            .arg(script);
        for (name, value) in variables {
            command.arg("--define").arg(format!("{name}={value}"));
        }
        rate(&output(command.arg(NAME))?)
    }
}

/// Parses the rate of a report.
fn rate(report: &str) -> Result<f64> {
    let found = |start: &str| {
        let line = report.lines().find_map(|line| line.strip_prefix(start))?;
        line.split([' ', '/']).next()?.parse().ok()
    };
    // A client whose statement fails ends, and the others go on.
    if let Some(failed) = found("number of failed transactions: ").filter(|failed: &f64| *failed > 0.0) {
        return Err(format!("pgbench: {failed} transactions failed").into());
    }
    found("tps = ").ok_or_else(|| format!("pgbench reported no rate: {report}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_counts_only_without_failed_transactions() {
        let report = "number of failed transactions: 0 (0.000%)\ntps = 123.5 (without initial connection time)\n";

        assert!(rate(report).is_ok_and(|rate| (rate - 123.5).abs() < f64::EPSILON));
        assert!(rate(&report.replace("transactions: 0 ", "transactions: 2 ")).is_err());
        assert!(rate("").is_err());
    }
}
