//! The encoding of a database, and whether it converts letters outside ASCII to lower case.

use backoffice_core::db::{Connector, TlsOptions};
use backoffice_server::database::{case_warning, connect, encoding_rejection};
use backoffice_test_support::TestDatabase;

/// Returns the rejection and the warning for a database that is created with these options.
async fn found(options: &str) -> (Option<String>, Option<String>) {
    let database = TestDatabase::create(&[]).await;
    let name = format!("{}_text", database.name());
    database
        .sql(&format!("create database \"{name}\" template template0 {options}"))
        .await;
    let url = database.owner_url().replace(database.name(), &name);
    let connector = Connector::new("database.url", &url.into(), &TlsOptions::default()).expect("a URL");
    let client = connect(&connector).await.expect("a connection");
    let rejection = encoding_rejection(&client).await.expect("an answer");
    let warning = match rejection {
        None => case_warning(&client).await.expect("an answer"),
        Some(_) => None,
    };
    drop(client);
    database.sql(&format!("drop database \"{name}\" with (force)")).await;
    (rejection, warning)
}

#[tokio::test]
async fn a_database_that_cannot_store_every_text_is_rejected() {
    let (rejection, _) = found("encoding 'LATIN1' locale 'C'").await;

    assert!(rejection.is_some_and(|text| text.starts_with("the encoding of the database is LATIN1")));
}

#[tokio::test]
async fn a_database_that_converts_only_ascii_to_lower_case_is_reported() {
    let (rejection, warning) = found("encoding 'UTF8' locale 'C'").await;

    assert_eq!(rejection, None);
    assert!(warning.is_some_and(|text| text.contains("lc_ctype of the database is C;")));
    assert_eq!(found("encoding 'UTF8' locale 'C.UTF-8'").await, (None, None));
}
