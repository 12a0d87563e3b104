//! The schema as PostgreSQL reports it after all migrations.

use super::{Findings, Tree};
use crate::Result;
use crate::scratch::{self, Scratch, block_on};

/// Query for violations of the rules.
const RULES: &str = include_str!("catalogue.sql");

/// Tables that belong to no tenant, with the reason.
const TABLES: &[(&str, &str)] = &[
    (
        "audit_counted_partitions",
        "the months of the log are those of all tenants; what was counted has a tenant",
    ),
    (
        "core_monthly_tables",
        "lists the tables that are partitioned by month; their rows have tenants",
    ),
    (
        "core_rate_limits",
        "a window belongs to an address or an account, of which it knows a hash",
    ),
    ("__diesel_schema_migrations", "diesel's ledger of the migrations"),
];

/// Tables that only the owner reads and writes, through functions, with the reason.
const OF_OWNER: &[(&str, &str)] = &[(
    "core_search_texts",
    "row-level security would keep its index from being used; app_find_texts compares the tenant",
)];

/// Columns other than `tenant_id` with which a foreign key may begin, with the reason.
const TENANT_COLUMNS: &[(&str, &str)] = &[
    (
        "role_tenant_id",
        "a tenant's user may hold a global role, whose row belongs to the platform tenant",
    ),
    (
        "partition_tenant_id",
        "a tenant's file may be in a default partition, whose row belongs to the platform tenant",
    ),
];

pub(super) fn check(tree: &Tree<'_>) -> Result<Findings> {
    let postgres = scratch::cluster(tree.workspace)?;
    let findings = block_on(Scratch::with(&postgres, "tidy", async |scratch| {
        scratch.migrate(&tree.modules).await?;
        let client = scratch.connect().await?;
        let rows = client
            .query(RULES, &[&names(TABLES), &names(TENANT_COLUMNS), &names(OF_OWNER)])
            .await?;
        Ok(rows
            .iter()
            .map(|row| format!("table {}: {}", row.get::<_, &str>(0), row.get::<_, &str>(1)))
            .collect())
    }))?;
    postgres.stop()?;
    Ok(findings)
}

fn names(reasoned: &[(&'static str, &str)]) -> Vec<&'static str> {
    reasoned.iter().map(|(name, _reason)| *name).collect()
}
