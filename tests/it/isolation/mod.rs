//! Access that must be denied: a matrix over every endpoint. Each check runs twice, the second time with row-level security alone.

mod credentials;
mod document;
mod organizations;
mod selection;
mod tenants;

use actix_web::http::Method;
use backoffice_test_support::{DatabaseSnapshot, TestResponse};
use uuid::Uuid;

use crate::endpoints::{Setting, Target, table};
use crate::fixture::Fixture;

/// Generates two tests of each check: with the tenant predicates of the statements, and without.
macro_rules! checks {
    ($($group:ident :: $check:ident => $name:ident),* $(,)?) => {
        mod with_predicates {
            $(#[actix_web::test]
            async fn $name() {
                super::$group::$check(super::Setting::new(super::Fixture::new().await).await).await;
            })*
        }

        mod by_row_level_security_alone {
            $(#[actix_web::test]
            async fn $name() {
                super::$group::$check(super::Setting::new(super::Fixture::without_predicates().await).await).await;
            })*
        }
    };
}

checks! {
    credentials::anonymous => anonymous_callers_are_rejected,
    credentials::garbage => garbage_is_no_credential_and_clears_the_cookies,
    credentials::invalid_where_none_is_needed => an_invalid_credential_counts_as_none_where_visitors_are_served,
    credentials::revoked => a_token_dies_with_its_session,
    credentials::expired => a_token_dies_with_its_time,
    credentials::without_feature => a_missing_feature_is_named,
    tenants::targets => ids_of_another_tenant_are_unknown,
    tenants::parameter => another_tenant_cannot_be_named,
    organizations::targets => ids_of_another_organization_are_unknown,
    organizations::malformed => a_malformed_id_is_rejected,
    selection::malformed => a_malformed_selection_is_rejected,
    selection::foreign => another_tenant_or_organization_cannot_be_selected,
}

#[actix_web::test]
async fn every_endpoint_has_a_valid_request() {
    let setting = Setting::new(Fixture::new().await).await;

    for (info, entry) in setting.endpoints_in_stable_order() {
        let call = setting.call(&entry);
        let response = call.send(&setting.fixture.app, &setting.sender(&entry).token).await;

        assert!(response.status < 400, "{call}: {} {}", response.status, response.text());
        assert!(response.header("x-request-id").is_some(), "{}", info.path);
    }
}

/// The checks of foreign ids compare responses with those to unknown ids. They prove something only where the owner of the record gets another response.
#[actix_web::test]
async fn every_target_names_a_record_that_its_owner_reaches() {
    let setting = Setting::new(Fixture::new().await).await;
    let mut unreached = Vec::new();

    for (info, entry) in setting.private() {
        if info.method != Method::GET {
            continue;
        }
        for target in &entry.targets {
            let own = target.of(&setting.fixture.a, &setting.a);
            let call = setting.call(&entry).with(target.place, &own);
            let response = call.send(&setting.fixture.app, &setting.sender(&entry).token).await;

            if response.status != 200 || shows_nothing(&response) {
                unreached.push(format!("{call}, {}: {}", describe(*target), response.status));
            }
        }
    }

    assert!(unreached.is_empty(), "{unreached:#?}");
}

#[actix_web::test]
async fn the_table_has_no_entry_that_nothing_serves() {
    let fixture = Fixture::new().await;
    let endpoints = fixture.app.platform().endpoints();

    for entry in table() {
        let served = endpoints
            .iter()
            .any(|info| info.method == entry.method && info.path == entry.path);
        assert!(served, "{} {}", entry.method, entry.path);
    }
}

/// Returns status, body and headers, without the id that the caller named. The entity tag is a hash of the whole request, so it differs with that id.
fn outcome(response: &TestResponse, named: &str) -> (u16, String, Vec<String>) {
    let mut headers: Vec<String> = response
        .headers
        .iter()
        .filter(|(name, _)| !["x-request-id", "content-length", "etag"].contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    headers.sort();
    (response.status, response.text().replace(named, "<id>"), headers)
}

/// Returns the rows of one tenant except the access log, for callers who may read there.
async fn written(setting: &Setting, tenant: Uuid) -> DatabaseSnapshot {
    let mut snapshot = rows(setting, tenant).await;
    snapshot.remove("audit_access_logs");
    snapshot
}

/// Returns whether the response is empty: an empty page, a file with only its header line, or times of resources of which none is busy.
fn is_empty(response: &TestResponse) -> bool {
    if response
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("text/csv"))
    {
        return response.text().lines().count() == 1;
    }
    let page = response.json();
    let none = serde_json::json!([]);
    let has_no_times = |items: &Vec<serde_json::Value>| items.iter().all(|item| item["busy"] == none);
    page["total"] == 0 && page["items"] == none
        || page.get("total").is_none() && page["items"].as_array().is_some_and(has_no_times)
}

/// Returns whether the response contains no record: an empty list or file.
fn shows_nothing(response: &TestResponse) -> bool {
    let kind = response.header("content-type").unwrap_or_default();
    if kind.starts_with("application/json") || kind.starts_with("text/csv") {
        return is_empty(response);
    }
    response.body.is_empty()
}

/// Returns the rows of one tenant.
async fn rows(setting: &Setting, tenant: Uuid) -> DatabaseSnapshot {
    let mut snapshot = setting.fixture.app.snapshot().await;
    for rows in snapshot.values_mut() {
        rows.retain(|row| row["tenant_id"] == tenant.to_string());
    }
    snapshot
}

fn describe(target: Target) -> String {
    format!("{:?} at {:?}", target.kind, target.place)
}
