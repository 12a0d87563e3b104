//! The schema as PostgreSQL reports it after all migrations.

use tokio_postgres::Client;

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

/// Policies beside that of `app_secure_table`, with the reason. Policies of one table add up: each of them shows more rows.
const POLICIES: &[(&str, &str)] = &[
    (
        "core_jobs.job_queue for all using SELECT app_is_queue AS app_is_queue",
        "workers claim jobs of all tenants",
    ),
    (
        "core_job_tenants.job_queue for all using SELECT app_is_queue AS app_is_queue",
        "workers record when the jobs of a tenant were claimed last",
    ),
    (
        "core_event_cursors.event_queue for all using SELECT app_is_queue AS app_is_queue",
        "the relay claims cursors of all tenants",
    ),
    (
        "core_event_streams.event_queue for select using SELECT app_is_queue AS app_is_queue",
        "the relay compares the cursors of all tenants with the ends of their streams",
    ),
    (
        "core_collections.platform_versions for select using tenant_id = '00000000-0000-0000-0000-000000000000'::uuid",
        "lists of a tenant also show rows of the platform, whose versions belong to their entity tags",
    ),
    (
        "auth_roles.global_rows for select using tenant_id = '00000000-0000-0000-0000-000000000000'::uuid",
        "global roles are visible in every tenant",
    ),
    (
        "auth_role_acls.global_rows for select using tenant_id = '00000000-0000-0000-0000-000000000000'::uuid",
        "the rights of global roles hold in every tenant",
    ),
    (
        "attachments_partitions.global_rows for select using tenant_id = '00000000-0000-0000-0000-000000000000'::uuid",
        "every tenant uses the default partitions",
    ),
    (
        "attachments_stores.global_rows for select using tenant_id = '00000000-0000-0000-0000-000000000000'::uuid",
        "every tenant uses the stores of the default partitions",
    ),
    (
        "calendar_reasons.global_rows for select using tenant_id = '00000000-0000-0000-0000-000000000000'::uuid",
        "the reasons are the same for all tenants",
    ),
];

pub(super) fn check(tree: &Tree<'_>) -> Result<Findings> {
    let postgres = scratch::cluster(tree.workspace)?;
    let findings = block_on(Scratch::with(&postgres, "tidy", async |scratch| {
        scratch.migrate(&tree.modules).await?;
        violations(&scratch.connect().await?).await
    }))?;
    postgres.stop()?;
    Ok(findings)
}

async fn violations(client: &Client) -> Result<Findings> {
    let rows = client
        .query(
            RULES,
            &[
                &names(TABLES),
                &names(TENANT_COLUMNS),
                &names(OF_OWNER),
                &names(POLICIES),
            ],
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| format!("table {}: {}", row.get::<_, &str>(0), row.get::<_, &str>(1)))
        .collect())
}

fn names(reasoned: &[(&'static str, &str)]) -> Vec<&'static str> {
    reasoned.iter().map(|(name, _reason)| *name).collect()
}

#[cfg(test)]
mod tests {
    use backoffice_test_support::TestDatabase;

    use super::*;

    /// Functions and a table as core's first migration creates them, and a listed policy.
    const SECURED: &str = "\
        create function app_tenant_id() returns uuid language sql stable return null::uuid; \
        create function app_is_system() returns boolean language sql stable return false; \
        create table auth_roles (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id)); \
        alter table auth_roles enable row level security; \
        alter table auth_roles force row level security; \
        create policy tenant_isolation on auth_roles using (tenant_id = (select app_tenant_id()) or (select app_is_system())); \
        create policy global_rows on auth_roles for select using (tenant_id = '00000000-0000-0000-0000-000000000000')";

    #[tokio::test]
    async fn rows_that_a_policy_or_a_view_shows_to_other_tenants_are_findings() {
        const NEEDED: &str = "table auth_roles: needs the policy of the tenant: call app_secure_table('<table>')";
        let unlisted = |policy: &str| {
            format!(
                "table auth_roles: has a policy that is not listed with its reason in catalogue.rs: auth_roles.{policy}"
            )
        };
        let isolated =
            "using tenant_id = SELECT app_tenant_id AS app_tenant_id OR SELECT app_is_system AS app_is_system";
        let database = TestDatabase::empty().await;
        database.sql(SECURED).await;
        let found = async || violations(database.owner()).await.expect("findings");
        assert_eq!(found().await, Findings::new());

        for (change, expected) in [
            (
                "create policy open on auth_roles using (true)",
                vec![unlisted("open for all using true")],
            ),
            (
                "alter policy global_rows on auth_roles using (true)",
                vec![unlisted("global_rows for select using true")],
            ),
            (
                "alter policy tenant_isolation on auth_roles with check (true)",
                vec![
                    unlisted(&format!("tenant_isolation for all {isolated} with check true")),
                    NEEDED.to_owned(),
                ],
            ),
            ("drop policy tenant_isolation on auth_roles", vec![NEEDED.to_owned()]),
            (
                "create materialized view copies as select * from auth_roles",
                vec!["table copies: keeps rows that row-level security does not reach: create a table".to_owned()],
            ),
            (
                "create schema elsewhere; create table elsewhere.things (id uuid)",
                vec![
                    "table things: is in the schema elsewhere: the rules and the rights of the application are those of the schema public"
                        .to_owned(),
                ],
            ),
        ] {
            database.sql(&format!("begin; {change}")).await;
            assert_eq!(found().await, expected, "{change}");
            database.sql("rollback").await;
        }
    }
}
