//! Entity tags and totals of lists and details: of every module, after every command.

mod moves;
mod nodes;

use std::collections::BTreeSet;

use actix_web::http::Method;
use backoffice_core::http::EndpointInfo;
use backoffice_test_support::TestApp;
use serde_json::{Value, json};

use crate::bad_input::parameters;
use crate::call::Call;
use crate::endpoints::{Entry, Setting};
use crate::fixture::{Account, Fixture};
use crate::scenarios::{rich, scenarios};

/// Reads of several rows, or of one by a path, that carry no entity tag.
const UNTAGGED: [(&str, &str); 15] = [
    ("/attachments/file/{id}", "a file, with a tag of its own"),
    ("/attachments/image/{id}", "a file, with a tag of its own"),
    ("/attachments/image/{id}/{slug}", "a file, with a tag of its own"),
    (
        "/attachments/library/{id}/links",
        "shows the number of downloads, which no command writes",
    ),
    ("/attachments/shared/{token}", "a file that no cache may keep"),
    (
        "/audit_logs/audit-logs/access",
        "each read adds entries, so no response is ever the same",
    ),
    (
        "/auth/profile/consents",
        "shows whether the rows fit their codes, which depends on the keys and on changes by SQL",
    ),
    (
        "/auth/users/consents",
        "shows whether the rows fit their codes, which depends on the keys and on changes by SQL",
    ),
    (
        "/auth/sidebar/variants/{id}",
        "belongs to one user and one language; a few rows",
    ),
    ("/docs/{file}", "a file, with a tag of its own"),
    ("/calendar/feed/{token}", "a public file, with a tag of its own"),
    (
        "/alerts/alerts",
        "alerts end because time passes, and no command writes marks",
    ),
    (
        "/alerts/alerts/{id}",
        "alerts end because time passes, and no command writes marks",
    ),
    ("/notifications", "no command writes marks, and rows expire"),
    ("/openapi.json", "a document, with a tag of its own"),
];

/// Lists with a tag that have fewer than two rows in the fixture, with the reason.
const ONE_ROW: [(&str, &str); 4] = [
    ("/api_keys/keys", "each tenant of the fixture has one key"),
    (
        "/business_rules/webhook-secrets",
        "each tenant of the fixture has one secret",
    ),
    ("/directory/tenants", "an administrator sees no other tenant"),
    ("/progress/jobs/{id}/items", "each job of the fixture has one item"),
];

pub(crate) fn has_one_row(info: &EndpointInfo) -> bool {
    ONE_ROW.iter().any(|(path, _)| *path == info.path)
}

/// Returns whether the endpoint returns a list in pages.
pub(crate) fn is_list(setting: &Setting, info: &EndpointInfo) -> bool {
    let parameters = parameters(setting, info, "query");
    info.method == Method::GET && parameters.iter().any(|one| one["name"] == "page")
}

/// Whether the endpoint returns a list, or one record by its path.
fn is_list_or_detail(setting: &Setting, info: &EndpointInfo) -> bool {
    info.method == Method::GET && (info.path.contains('{') || is_list(setting, info))
}

pub(crate) fn tagged(setting: &Setting) -> Vec<(EndpointInfo, Entry)> {
    let mut endpoints = setting.endpoints();
    endpoints
        .retain(|(info, _)| is_list_or_detail(setting, info) && UNTAGGED.iter().all(|(path, _)| *path != info.path));
    endpoints
}

#[actix_web::test]
async fn every_list_and_detail_has_a_tag_and_is_not_sent_again() {
    let setting = Setting::new(Fixture::new().await).await;
    let app = &setting.fixture.app;

    for (_, entry) in tagged(&setting) {
        let (call, token) = (setting.call(&entry), &setting.sender(&entry).token);
        let first = call.send(app, token).await;
        assert_eq!(first.status, 200, "{call}: {}", first.text());
        let tag = first.header("etag").unwrap_or_else(|| panic!("{call} has no tag"));
        assert!(tag.starts_with("W/\""), "{call}: {tag}");

        for (given, status) in [
            (tag.as_str(), 304),
            (&format!("\"other\", {tag}"), 304),
            ("*", 200),
            ("W/\"other\"", 200),
        ] {
            let again = call.request(app, token).header("If-None-Match", given).send().await;
            assert_eq!(again.status, status, "{call} with {given}");
            assert_eq!(again.header("etag").as_deref(), Some(tag.as_str()), "{call}");
            assert_eq!(again.text().is_empty(), status == 304, "{call}");
        }
        let other = &setting.fixture.b.tenant_admin.token;
        let foreign = call.request(app, other).header("If-None-Match", &tag).send().await;
        assert_ne!(foreign.status, 304, "{call}: another caller's tag");
    }
}

/// Returns a request for each detail, and two for each list: for a page of one row, and of up to 100.
fn calls(setting: &Setting) -> Vec<Call> {
    let mut calls = Vec::new();
    for (info, entry) in tagged(setting) {
        let call = setting.call(&entry);
        if parameters(setting, &info, "query")
            .iter()
            .any(|one| one["name"] == "pageSize")
        {
            calls.push(call.clone().with_query("pageSize", "1"));
            calls.push(call.with_query("pageSize", "100"));
        } else {
            calls.push(call);
        }
    }
    calls
}

/// A read, with the response that the caller has; null and no tag if there is none.
struct Known {
    call: Call,
    tag: String,
    body: Value,
}

async fn read(app: &TestApp, call: &Call, caller: &Account) -> Known {
    let response = call.send(app, &caller.token).await;
    let (call, is_found) = (call.clone(), response.status == 200);
    let tag = response.header("etag").unwrap_or_default();
    assert_eq!(is_found, !tag.is_empty(), "{call}: {}", response.text());
    let body = if is_found { response.json() } else { Value::Null };
    Known { call, tag, body }
}

/// Returns the number of rows of a list of which the first page of 100 is known.
async fn rows_of(fixture: &Fixture, first: &Known, caller: &Account) -> usize {
    let items = |body: &Value| body["items"].as_array().expect("items").len();
    let mut rows = items(&first.body);
    for page in 2.. {
        if rows < 100 * (page - 1) {
            break;
        }
        let next = first.call.clone().with_query("page", &page.to_string());
        rows += items(&next.send(&fixture.app, &caller.token).await.json());
    }
    rows
}

/// Reads everything again, and checks that a response with the same tag is the same, also in a process that has read nothing before, and that every
/// total is the number of rows.
async fn compare(fixture: &Fixture, before: Vec<Known>, caller: &Account, what: &str) -> Vec<Known> {
    let mut after = Vec::new();
    let other_node = fixture.app.second_node().await;
    for known in before {
        let fresh = read(&fixture.app, &known.call, caller).await;
        if fresh.tag == known.tag {
            // What this process keeps beside the rows would hide the same change as the tag.
            let unkept = read(&other_node, &known.call, caller).await;
            for body in [&fresh.body, &unkept.body] {
                assert_eq!(body, &known.body, "{} after {what}: a change is hidden", fresh.call);
            }
        }
        after.push(fresh);
    }
    for one in &after {
        let Some(total) = one.body["total"].as_i64() else {
            continue;
        };
        let Some(whole) = after.iter().find(|other| one.call.is_page_of(&other.call)) else {
            continue;
        };
        let rows = rows_of(fixture, whole, caller).await;
        assert_eq!(total, i64::try_from(rows).expect("few"), "{} after {what}", one.call);
    }
    after
}

/// The scenarios are tried by so many tests, which run at the same time.
const PARTS: usize = 4;

#[actix_web::test]
async fn no_tag_and_no_total_hides_a_change() {
    no_change_is_hidden(0).await;
}

#[actix_web::test]
async fn no_tag_and_no_total_hides_a_change_of_the_second_part() {
    no_change_is_hidden(1).await;
}

#[actix_web::test]
async fn no_tag_and_no_total_hides_a_change_of_the_third_part() {
    no_change_is_hidden(2).await;
}

#[actix_web::test]
async fn no_tag_and_no_total_hides_a_change_of_the_last_part() {
    no_change_is_hidden(3).await;
}

/// Tries every scenario whose number leaves this remainder.
async fn no_change_is_hidden(part: usize) {
    let setting = Setting::on_seeded(rich(Fixture::new().await).await).await;
    let fixture = &setting.fixture;
    let caller = &fixture.a.tenant_admin;
    let mut known = Vec::new();
    for call in &calls(&setting) {
        known.push(read(&fixture.app, call, caller).await);
    }
    let mut changed = BTreeSet::new();

    for scenario in scenarios().into_iter().skip(part).step_by(PARTS) {
        let what = format!("{} ({})", scenario.command, scenario.state);
        let response = (scenario.call)(&fixture.a).send(&fixture.app, &caller.token).await;
        assert!(response.status < 300, "{what}: {}", response.text());
        let done = response.undoable_write();
        let before: Vec<String> = known.iter().map(|one| one.tag.clone()).collect();
        known = compare(fixture, known, caller, &what).await;
        if known.iter().any(|one| !before.contains(&one.tag)) {
            changed.insert(scenario.command);
        }
        let (status, body) = fixture.app.undo(&caller.token, &done).await;
        assert_eq!(status, 200, "{what}: {body}");
        known = compare(fixture, known, caller, &format!("{what}, undone")).await;
    }

    assert!(changed.len() > 20 / PARTS, "{changed:?}");
}

/// Returns the orders that the list has: names of fields with a direction, or only its own.
fn orders(setting: &Setting, info: &EndpointInfo) -> Vec<Option<(String, &'static str)>> {
    let parameters = parameters(setting, info, "query");
    let fields = parameters.iter().find(|one| one["name"] == "sortField");
    let fields = fields.and_then(|one| one["schema"]["enum"].as_array());
    let fields = fields.into_iter().flatten().filter_map(Value::as_str);
    let sorted = fields.flat_map(|field| ["asc", "desc"].map(|direction| Some((field.to_owned(), direction))));
    std::iter::once(None).chain(sorted).collect()
}

#[actix_web::test]
async fn a_page_that_begins_at_a_known_row_is_part_of_the_whole_list() {
    let setting = Setting::on_seeded(rich(Fixture::new().await).await).await;
    let app = &setting.fixture.app;

    for (info, entry) in tagged(&setting) {
        if !is_list(&setting, &info) {
            continue;
        }
        for order in orders(&setting, &info) {
            let mut call = setting.call(&entry);
            if let Some((field, direction)) = &order {
                call = call.with_query("sortField", field).with_query("sortDir", direction);
            }
            let token = &setting.sender(&entry).token;
            let items = async |page: usize, size: usize| {
                let page = call.clone().with_query("page", &page.to_string());
                let response = page.with_query("pageSize", &size.to_string()).send(app, token).await;
                assert_eq!(response.status, 200, "{call}: {}", response.text());
                response.json()["items"].as_array().expect("items").clone()
            };
            let whole = items(1, 100).await;
            assert_eq!(whole.len() < 2, has_one_row(&info), "{call} has {} rows", whole.len());

            // The second reading of a page, and the first one of the next page, begin at a row that is known.
            for size in [1, 2] {
                for (index, rows) in whole.chunks(size).enumerate().take(4) {
                    for reading in ["first", "second"] {
                        assert_eq!(
                            items(index + 1, size).await,
                            rows,
                            "{call}, page {index} of {size}, {reading} reading"
                        );
                    }
                }
            }
        }
    }
}

#[actix_web::test]
async fn a_sign_in_is_shown_in_the_list_of_users() {
    let setting = Setting::new(Fixture::new().await).await;
    let (fixture, caller) = (&setting.fixture, &setting.fixture.a.tenant_admin);
    let call = Call::get("/auth/users");
    let before = read(&fixture.app, &call, caller).await;

    fixture
        .app
        .clock()
        .advance(backoffice_test_support::Duration::minutes(5));
    fixture.sign_in(&fixture.a.plain.email).await;

    let after = compare(fixture, vec![before], caller, "a sign-in").await;
    let shown = after[0].body["items"].as_array().expect("items");
    assert!(shown.iter().any(|user| user["lastLoginAt"] != json!(null)));
}

#[actix_web::test]
async fn a_change_after_a_restore_has_a_new_tag_while_the_clock_is_behind() {
    let setting = Setting::new(Fixture::new().await).await;
    let (fixture, caller) = (&setting.fixture, &setting.fixture.a.tenant_admin);
    let (app, call) = (&fixture.app, Call::get("/auth/users"));
    app.sql("update core_collections set updated_at = '2999-01-01' where kind in ('*', 'auth.role')")
        .await;
    let stored = Value::from(app.rows("select tenant_id, kind, version from core_collections").await);
    let mut tags = BTreeSet::new();

    for _ in 0..2 {
        app.sql(&format!(
            "update core_collections c set version = s.version
             from jsonb_to_recordset('{stored}') as s (tenant_id uuid, kind text, version bigint)
             where c.tenant_id = s.tenant_id and c.kind = s.kind"
        ))
        .await;
        app.clock().advance(backoffice_test_support::Duration::minutes(5));
        fixture.sign_in(&fixture.a.plain.email).await;
        tags.insert(read(app, &call, caller).await.tag);
    }

    assert_eq!(tags.len(), 2, "{tags:?}");
}
