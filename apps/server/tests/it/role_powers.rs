//! The powers that a role has by itself, and by its memberships.

use backoffice_core::db::unprotected_tables;
use backoffice_server::database::{RolePowers, protection_rejection, role_powers};
use backoffice_test_support::TestDatabase;

const NONE: RolePowers = RolePowers {
    superuser: false,
    bypass: false,
    creates_roles: false,
    replicates: false,
    member_of: None,
    owner: false,
};

/// Returns the powers of the role `one` after these statements, and the name that takes the place of `other`. The roles exist in a transaction only, because
/// all tests share the server.
async fn powers(database: &TestDatabase, statements: &str) -> (RolePowers, String) {
    let (one, other) = (format!("{}_one", database.name()), format!("{}_other", database.name()));
    let statements = statements
        .replace("<one>", &one)
        .replace("<other>", &other)
        .replace("<database>", database.name());
    database
        .sql(&format!("begin; {statements}; set local role \"{one}\""))
        .await;
    let found = role_powers(database.owner()).await;
    database.sql("rollback").await;
    (found.expect("the catalogue can be read"), other)
}

#[tokio::test]
async fn a_role_has_no_powers_by_default() {
    let database = TestDatabase::create(&[]).await;

    let (found, _) = powers(
        &database,
        "create role \"<other>\"; create role \"<one>\" in role \"<other>\"",
    )
    .await;

    assert_eq!(found, NONE);
}

#[tokio::test]
async fn powers_of_the_role_itself_are_found() {
    let database = TestDatabase::create(&[]).await;

    for (option, expected) in [
        ("bypassrls", RolePowers { bypass: true, ..NONE }),
        (
            "createrole",
            RolePowers {
                creates_roles: true,
                ..NONE
            },
        ),
        (
            "replication",
            RolePowers {
                replicates: true,
                ..NONE
            },
        ),
    ] {
        let (found, _) = powers(&database, &format!("create role \"<one>\" {option}")).await;
        assert_eq!(found, expected, "{option}");
    }
}

#[tokio::test]
async fn powers_of_a_membership_are_found_although_it_inherits_nothing() {
    let database = TestDatabase::create(&[]).await;

    for option in ["superuser", "bypassrls", "replication"] {
        let statements =
            format!("create role \"<other>\" {option}; create role \"<one>\" noinherit in role \"<other>\"");
        let (found, other) = powers(&database, &statements).await;
        let expected = RolePowers {
            member_of: Some(other),
            ..NONE
        };
        assert_eq!(found, expected, "{option}");
    }
    let owner = "create role \"<other>\"; create role \"<one>\" noinherit in role \"<other>\";
        alter table core_outbox_events owner to \"<other>\"";
    let owner_of_database = "create role \"<one>\"; alter database \"<database>\" owner to \"<one>\"";
    let owner_of_schema = "create role \"<one>\"; alter schema public owner to \"<one>\"";
    for statements in [owner, owner_of_database, owner_of_schema] {
        let (found, _) = powers(&database, statements).await;
        assert_eq!(found, RolePowers { owner: true, ..NONE }, "{statements}");
    }
    for predefined in ["pg_write_all_data", "pg_execute_server_program"] {
        let (found, _) = powers(&database, &format!("create role \"<one>\" in role {predefined}")).await;
        let member_of = Some(predefined.to_owned());
        assert_eq!(found, RolePowers { member_of, ..NONE });
    }
}

#[tokio::test]
async fn tables_that_a_restore_left_unprotected_are_found() {
    let database = TestDatabase::create(&backoffice_server::modules::compiled()).await;
    let found = async || {
        unprotected_tables(database.owner())
            .await
            .expect("the catalogue can be read")
    };
    assert_eq!(found().await, [""; 0], "the migrations protect every table");

    for (change, expected) in [
        (
            "alter table auth_users disable row level security",
            "auth_users: no row-level security",
        ),
        (
            "alter table auth_users no force row level security",
            "auth_users: row-level security is not forced",
        ),
        (
            "drop policy tenant_isolation on auth_users",
            "auth_users: no policy tenant_isolation",
        ),
        (
            "create policy everything on auth_users using (true)",
            "auth_users: unknown policy everything",
        ),
        (
            "create policy global_rows on auth_users using (true)",
            "auth_users: unknown policy global_rows",
        ),
        (
            "alter policy tenant_isolation on auth_users using (tenant_id is not null)",
            "auth_users: unknown policy tenant_isolation",
        ),
        (
            "alter policy tenant_isolation on auth_users with check (true)",
            "auth_users: unknown policy tenant_isolation",
        ),
        (
            "drop policy global_rows on auth_roles;
             create policy global_rows on auth_roles using (tenant_id = '00000000-0000-0000-0000-000000000000')",
            "auth_roles: unknown policy global_rows",
        ),
        (
            "alter table audit_action_logs detach partition audit_action_logs_earlier",
            "audit_action_logs: a partition is missing",
        ),
        (
            "do $$ begin execute to_char(now() at time zone 'utc' + interval '1 month', '\"drop table audit_action_logs_\"YYYYMM'); end $$",
            "audit_action_logs: a partition is missing",
        ),
        (
            "drop table audit_access_logs_later",
            "audit_access_logs: a partition is missing",
        ),
        (
            "alter table core_jobs drop constraint core_jobs_pkey cascade",
            "core_jobs: no primary key",
        ),
    ] {
        database.sql(&format!("begin; {change}")).await;
        assert_eq!(found().await, [expected], "{change}");
        database.sql("rollback").await;
    }
    let rejection = protection_rejection(&vec!["one: no primary key".to_owned(); 7]).expect("a rejection");
    assert!(
        rejection.contains("restore the whole backup") && rejection.contains("and 2 more"),
        "{rejection}"
    );
    assert_eq!(protection_rejection(&[]), None);
}
