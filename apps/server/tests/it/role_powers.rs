//! The powers that a role has by itself, and by its memberships.

use backoffice_server::database::{RolePowers, role_powers};
use backoffice_test_support::TestDatabase;

const NONE: RolePowers = RolePowers {
    superuser: false,
    bypass: false,
    creates_roles: false,
    member_of: None,
    owner: false,
};

/// Returns the powers of the role `one` after these statements, and the name that takes the place of `other`. The roles exist in a transaction only, because
/// all tests share the server.
async fn powers(database: &TestDatabase, statements: &str) -> (RolePowers, String) {
    let (one, other) = (format!("{}_one", database.name()), format!("{}_other", database.name()));
    let statements = statements.replace("<one>", &one).replace("<other>", &other);
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
    ] {
        let (found, _) = powers(&database, &format!("create role \"<one>\" {option}")).await;
        assert_eq!(found, expected, "{option}");
    }
}

#[tokio::test]
async fn powers_of_a_membership_are_found_although_it_inherits_nothing() {
    let database = TestDatabase::create(&[]).await;

    for option in ["superuser", "bypassrls"] {
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
    let (found, _) = powers(&database, owner).await;
    assert_eq!(found, RolePowers { owner: true, ..NONE });
}
