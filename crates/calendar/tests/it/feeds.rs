//! Feeds of users, and the public endpoint.

use actix_web::http::Method;
use backoffice_calendar::{Busy, BusyInterval};
use backoffice_core::{ErrorShape, Module, Timestamp};
use backoffice_test_accounts::{account, id_of, login};
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{E1, Fixture, MODULES, builder_of, text};

const FEEDS: &str = "/calendar/feeds";

/// A module that offers one assignment of the excavator to users with `dispatch.view`.
static ASSIGNMENTS: Module = Module {
    name: "dispatch",
    title: "Dispatch",
    features: &[backoffice_core::Feature::new("dispatch.view", "View dispatch")],
    default_grants: &[backoffice_core::DefaultGrant {
        role: "admin",
        grants: &["dispatch.*"],
    }],
    errors: ErrorShape::Code,
    register: |registry| {
        registry.extend(Busy {
            source: "assignment",
            included_as: "assignments",
            find: |_, _, request| {
                let resources = request.resource_ids.clone().unwrap_or_default();
                Box::pin(async move {
                    let at = |text: &str| Timestamp::parse(text).expect("an instant");
                    let interval = BusyInterval {
                        id: Uuid::from_u128(0xa1),
                        resource_id: E1,
                        start_at: at("2026-01-06T08:00:00Z"),
                        end_at: at("2026-01-06T12:00:00Z"),
                        days: None,
                        summary: "Excavator: Site, north; gate\\2".to_owned(),
                        location: Some("Main Street 1".to_owned()),
                        updated_at: at("2026-01-05T08:00:00Z"),
                    };
                    Ok(resources.contains(&E1).then_some(interval).into_iter().collect())
                })
            },
        });
    },
    ..Module::EMPTY
};

async fn fixture() -> Fixture {
    let modules: Vec<&'static Module> = MODULES.into_iter().chain([&ASSIGNMENTS]).collect();
    let fixture = Fixture::without_calendar(builder_of(&modules)).await;
    fixture.zone("Europe/Warsaw").await;
    fixture
}

fn feed() -> Value {
    json!({"name": "Excavator", "include": ["windows", "assignments"], "resourceType": "equipment", "resourceIds": [E1]})
}

/// Creates a feed and returns the path of its address below the prefix of the API.
async fn create(fixture: &Fixture, token: &str, body: Value) -> String {
    let (status, body) = fixture.app.post(token, FEEDS, body).await;
    assert_eq!(status, 201, "{body}");
    let url = text(&body["url"]);
    let (_, path) = url.split_once("/api").expect("an address of the API");
    path.to_owned()
}

async fn read(fixture: &Fixture, method: Method, path: &str, tag: Option<&str>) -> TestResponse {
    let mut request = fixture.app.request(method, path);
    if let Some(tag) = tag {
        request = request.header("If-None-Match", tag);
    }
    request.send().await
}

#[actix_web::test]
async fn dsp_33_a_feed_shows_what_its_user_may_see_now() {
    let fixture = fixture().await;
    fixture.role("Planner", &["calendar.view", "dispatch.view"], None).await;
    let role = fixture
        .app
        .rows("select id from auth_roles where name = 'Planner'")
        .await;
    let role: Uuid = text(&role[0]["id"]).parse().expect("a UUID");
    let (_, planner) = fixture.user("planner@alpha.test", &["Planner"]).await;
    let id = fixture.window("2026-01-12", "2026-01-14").await;
    let path = create(&fixture, &planner, feed()).await;

    let first = read(&fixture, Method::GET, &path, None).await;
    let tag = first.header("etag").expect("a tag");
    let unchanged = read(&fixture, Method::HEAD, &path, Some(&tag)).await;
    fixture.window("2026-02-12", "2026-02-14").await;
    let changed = read(&fixture, Method::GET, &path, Some(&tag)).await;
    fixture.acl(role, &["dispatch.view"], None).await;
    let without_right = read(&fixture, Method::GET, &path, Some(&tag)).await;
    let unknown = read(
        &fixture,
        Method::GET,
        &format!("/calendar/feed/{}", "x".repeat(43)),
        None,
    )
    .await;
    let malformed = read(&fixture, Method::GET, "/calendar/feed/x", None).await;
    let with_nul = read(&fixture, Method::GET, "/calendar/feed/x%00", None).await;

    assert_eq!((first.status, unchanged.status), (200, 304), "{}", first.text());
    assert_eq!(
        first.header("content-type").as_deref(),
        Some("text/calendar; charset=utf-8")
    );
    assert_eq!(first.header("cache-control").as_deref(), Some("private, max-age=300"));
    let calendar = first.text();
    for line in [
        format!("UID:{id}@calendar.backoffice\r\n"),
        "DTSTART;VALUE=DATE:20260112\r\nDTEND;VALUE=DATE:20260114\r\n".to_owned(),
        "SUMMARY:Maintenance (equipment)\r\n".to_owned(),
        "DTSTART:20260106T080000Z\r\nDTEND:20260106T120000Z\r\n".to_owned(),
        "SUMMARY:Excavator: Site\\, north\\; gate\\\\2\r\n".to_owned(),
    ] {
        assert!(calendar.contains(&line), "{line}\n{calendar}");
    }
    assert_eq!(
        (changed.status, changed.text().matches("BEGIN:VEVENT").count()),
        (200, 3)
    );
    assert_eq!(without_right.status, 404);
    assert_eq!((unknown.status, unknown.text()), (404, without_right.text()));
    assert_eq!((malformed.status, malformed.text()), (404, without_right.text()));
    assert_eq!((with_nul.status, with_nul.text()), (404, without_right.text()));
    assert_eq!(malformed.json()["code"], "feed_not_found");
}

#[actix_web::test]
async fn assignments_need_the_right_to_see_them() {
    let fixture = fixture().await;
    fixture.role("Reader", &["calendar.view"], None).await;
    let (_, reader) = fixture.user("reader@alpha.test", &["Reader"]).await;
    fixture.window("2026-01-12", "2026-01-14").await;
    let path = create(&fixture, &reader, feed()).await;

    let calendar = read(&fixture, Method::GET, &path, None).await.text();

    assert_eq!(calendar.matches("BEGIN:VEVENT").count(), 1);
    assert!(calendar.contains("Maintenance"));
}

#[actix_web::test]
async fn a_feed_contains_only_what_its_filter_names() {
    let fixture = fixture().await;
    fixture.window("2026-01-12", "2026-01-14").await;
    fixture.window("2025-11-12", "2025-11-14").await;
    fixture.window("2027-02-12", "2027-02-14").await;
    let events = async |body: Value| {
        let path = create(&fixture, &fixture.a.token, body).await;
        let calendar = read(&fixture, Method::GET, &path, None).await.text();
        calendar.matches("BEGIN:VEVENT").count()
    };

    assert_eq!(events(json!({"name": "A", "include": ["windows"]})).await, 1);
    assert_eq!(
        events(json!({"name": "B", "include": ["assignments"], "resourceIds": [E1]})).await,
        1
    );
    assert_eq!(
        events(json!({"name": "C", "include": ["windows"], "resourceType": "worker"})).await,
        0
    );
    assert_eq!(
        events(json!({"name": "D", "include": ["windows"], "resourceIds": []})).await,
        0
    );
}

#[actix_web::test]
async fn the_address_is_shown_once_and_stored_as_a_hash() {
    let fixture = fixture().await;
    let path = create(&fixture, &fixture.a.token, feed()).await;
    let token = path.rsplit('/').next().expect("a token");

    let (_, listed) = fixture.app.get(&fixture.a.token, FEEDS).await;
    let stored = fixture.app.rows("select * from calendar_feeds").await;
    let logged = fixture.app.rows("select * from audit_action_logs").await;
    let events = fixture.app.rows("select * from core_outbox_events").await;

    assert_eq!(listed["total"], 1);
    for rows in [json!(listed), json!(stored), json!(logged), json!(events)] {
        assert!(!rows.to_string().contains(token));
        assert!(!rows["items"].to_string().contains("tokenHash"));
    }
    let entry = logged
        .iter()
        .find(|entry| entry["command_id"] == "calendar.feed.create");
    assert_eq!(entry.expect("an entry")["undo_token_hash"], Value::Null);
}

#[actix_web::test]
async fn feeds_belong_to_their_user() {
    let fixture = fixture().await;
    let (_, colleague) = fixture.user("colleague@alpha.test", &["admin"]).await;
    let path = create(&fixture, &fixture.a.token, feed()).await;
    let (_, listed) = fixture.app.get(&fixture.a.token, FEEDS).await;
    let one = format!("{FEEDS}/{}", id_of(&listed["items"][0]));

    let (_, of_colleague) = fixture.app.get(&colleague, FEEDS).await;
    let foreign = fixture.app.delete(&colleague, &one, json!({})).await;
    let deleted = fixture.app.delete(&fixture.a.token, &one, json!({})).await;
    let again = fixture.app.delete(&fixture.a.token, &one, json!({})).await;
    let gone = read(&fixture, Method::GET, &path, None).await;

    assert_eq!(of_colleague["total"], 0);
    assert_eq!((foreign.0, &foreign.1["code"]), (404, &json!("feed_not_found")));
    assert_eq!(deleted, (200, json!({"deleted": true})));
    assert_eq!((again.0, gone.status), (404, 404));
}

#[actix_web::test]
async fn a_user_has_at_most_20_feeds() {
    let fixture = fixture().await;
    for _ in 0..20 {
        create(&fixture, &fixture.a.token, feed()).await;
    }

    let code = fixture.code(Method::POST, FEEDS, &feed()).await;

    assert_eq!(code, (400, "too_many_feeds".to_owned()));
}

#[actix_web::test]
async fn the_fields_of_a_feed_have_rules() {
    let fixture = fixture().await;
    let ids: Vec<Uuid> = (1..=201).map(Uuid::from_u128).collect();

    for body in [
        json!({}),
        json!({"name": " ", "include": ["windows"]}),
        json!({"name": "x".repeat(81), "include": ["windows"]}),
        json!({"name": "A", "include": []}),
        json!({"name": "A", "include": ["windows", "windows"]}),
        json!({"name": "A", "include": ["windows", "assignments", "assignments"]}),
        json!({"name": "A", "include": ["alerts"]}),
        json!({"name": "A", "include": ["windows"], "resourceType": "crane"}),
        json!({"name": "A", "include": ["windows"], "resourceIds": ids}),
        json!({"name": "A", "include": ["windows"], "jobSiteIds": ["x"]}),
    ] {
        let code = fixture.code(Method::POST, FEEDS, &body).await;
        assert_eq!(code, (400, "invalid_body".to_owned()), "{body}");
    }
}

#[actix_web::test]
async fn an_api_key_has_no_feeds() {
    let fixture = fixture().await;
    let body = json!({"name": "Key", "roles": ["admin"]});
    let (_, key) = fixture.app.post(&fixture.a.token, "/api_keys/keys", body).await;
    let send = async |method: Method| {
        let request = fixture
            .app
            .request(method, FEEDS)
            .header("X-Api-Key", &text(&key["secret"]));
        let response = request.json(&feed()).send().await;
        (response.status, text(&response.json()["code"]))
    };

    assert_eq!(send(Method::POST).await, (403, "user_required".to_owned()));
    assert_eq!(send(Method::GET).await, (403, "user_required".to_owned()));
}

#[actix_web::test]
async fn the_last_use_is_noted_once_an_hour() {
    let fixture = fixture().await;
    let path = create(&fixture, &fixture.a.token, feed()).await;
    let last = async || {
        let (_, listed) = fixture.app.get(&fixture.a.token, FEEDS).await;
        listed["items"][0]["lastUsedAt"].clone()
    };

    let before = last().await;
    let response = read(&fixture, Method::GET, &path, None).await;
    let first = last().await;
    fixture.app.advance(time::Duration::minutes(30));
    read(&fixture, Method::GET, &path, None).await;
    let same = last().await;
    fixture.app.advance(time::Duration::minutes(31));
    let unchanged = read(&fixture, Method::GET, &path, response.header("etag").as_deref()).await;

    assert_eq!(unchanged.status, 304);
    assert_eq!(before, Value::Null);
    assert!(first.is_string() && same == first);
    assert_ne!(last().await, first);
}

#[actix_web::test]
async fn the_feeds_of_a_deleted_user_are_deleted() {
    let fixture = fixture().await;
    let (user, colleague) = fixture.user("colleague@alpha.test", &["admin"]).await;
    let path = create(&fixture, &colleague, feed()).await;

    let (status, _) = fixture
        .app
        .delete(&fixture.a.token, &format!("/auth/users?id={user}"), json!({}))
        .await;
    let at_once = read(&fixture, Method::GET, &path, None).await;
    fixture.app.deliver_events().await;

    assert_eq!((status, at_once.status), (200, 404));
    assert_eq!(
        fixture.app.rows("select id from calendar_feeds").await,
        [] as [Value; 0]
    );
}

/// Deletes a user as this administrator.
async fn delete_user(fixture: &Fixture, token: &str, user: Uuid) -> TestResponse {
    let path = format!("/auth/users?id={user}");
    let deleted = fixture.send(Method::DELETE, token, &path, &json!({})).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    deleted
}

#[actix_web::test]
async fn a_user_who_is_back_sees_that_their_feeds_are_deleted() {
    let fixture = fixture().await;
    let (user, colleague) = fixture.user("colleague@alpha.test", &["admin"]).await;
    create(&fixture, &colleague, feed()).await;
    let list = async |token: &str, tag: &str| {
        let request = fixture.app.request(Method::GET, FEEDS).bearer(token);
        request.header("If-None-Match", tag).send().await
    };
    let tag = list(&colleague, "W/\"other\"").await.header("etag").expect("a tag");
    assert_eq!(list(&colleague, &tag).await.status, 304);

    let deleted = delete_user(&fixture, &fixture.a.token, user).await;
    fixture.app.deliver_events().await;
    let (status, body) = fixture.app.undo(&fixture.a.token, &deleted).await;
    let back = login(&fixture.app, "colleague@alpha.test").await;
    let listed = list(&back, &tag).await;

    assert_eq!((status, listed.status), (200, 200), "{body}");
    assert_eq!(listed.json()["total"], 0);
}

#[actix_web::test]
async fn a_user_who_is_back_before_the_event_of_their_deletion_keeps_their_feeds() {
    let fixture = fixture().await;
    let (user, colleague) = fixture.user("colleague@alpha.test", &["admin"]).await;
    let path = create(&fixture, &colleague, feed()).await;

    let deleted = delete_user(&fixture, &fixture.a.token, user).await;
    let (status, body) = fixture.app.undo(&fixture.a.token, &deleted).await;
    fixture.app.deliver_events().await;
    fixture.app.run_jobs().await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(read(&fixture, Method::GET, &path, None).await.status, 200);
}

#[actix_web::test]
async fn a_super_administrator_who_is_back_before_the_job_keeps_the_feeds_of_other_tenants() {
    let fixture = fixture().await;
    let user = account(&fixture.app, None, None, "second@platform.test", &[], true).await;
    let token = login(&fixture.app, "second@platform.test").await;
    let (tenant, organization) = (fixture.a.id.to_string(), fixture.a.organization.to_string());
    let request = fixture.app.request(Method::POST, FEEDS).bearer(&token);
    let request = request.header("X-Tenant-Id", &tenant);
    let request = request.header("X-Organization-Id", &organization);
    let created = request.json(&feed()).send().await;
    assert_eq!(created.status, 201, "{}", created.text());

    let deleted = delete_user(&fixture, &fixture.root, user).await;
    fixture.app.deliver_events().await;
    let (status, body) = fixture.app.undo(&fixture.root, &deleted).await;
    fixture.app.run_jobs().await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.app.count("calendar_feeds").await, 1);
}

#[actix_web::test]
async fn a_super_administrator_has_feeds_of_the_selected_tenant() {
    let fixture = fixture().await;
    let window = fixture.window("2026-01-12", "2026-01-14").await;
    let user = account(&fixture.app, None, None, "second@platform.test", &[], true).await;
    let token = login(&fixture.app, "second@platform.test").await;
    let (tenant, organization) = (fixture.a.id.to_string(), fixture.a.organization.to_string());
    let send = async |method: Method, path: &str, body: &Value| {
        let request = fixture.app.request(method, path).bearer(&token);
        let request = request.header("X-Tenant-Id", &tenant);
        let request = request.header("X-Organization-Id", &organization);
        match body.is_null() {
            true => request.send().await,
            false => request.json(body).send().await,
        }
    };
    let stored = async || fixture.app.rows("select id from calendar_feeds").await.len();

    let created = send(Method::POST, FEEDS, &feed()).await;
    let kept = send(Method::POST, FEEDS, &feed()).await;
    let url = text(&created.json()["url"]);
    let (_, path) = url.split_once("/api").expect("an address of the API");
    let shown = read(&fixture, Method::GET, path, None).await;
    let listed = send(Method::GET, FEEDS, &Value::Null).await.json();
    let one = format!("{FEEDS}/{}", id_of(&created.json()));
    let deleted = send(Method::DELETE, &one, &Value::Null).await;
    let ended = read(&fixture, Method::GET, path, None).await;

    assert_eq!((created.status, kept.status), (201, 201), "{}", created.text());
    assert_eq!(shown.status, 200, "{}", shown.text());
    assert!(shown.text().contains(&format!("UID:{window}@calendar.backoffice")));
    assert_eq!(listed["total"], 2);
    assert_eq!(listed["items"][0]["userTenantId"], json!(Uuid::nil()));
    assert_eq!((deleted.status, ended.status), (200, 404));
    assert_eq!(stored().await, 1);

    let (status, body) = fixture
        .app
        .delete(&fixture.root, &format!("/auth/users?id={user}"), json!({}))
        .await;
    fixture.app.deliver_events().await;
    fixture.app.run_jobs().await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(stored().await, 0);
}

/// Prints the events that the package `icalendar` of PyPI finds in a calendar. From version 7 it leaves the escapes of properties that it does not know,
/// which RFC 5545 (section 3.8.8.2) says are texts.
const PARSER: &str = "
import json, sys, icalendar
from icalendar.parser import unescape_char
calendar = icalendar.Calendar.from_ical(sys.stdin.buffer.read())
name = calendar['X-WR-CALNAME']
name = str(name) if isinstance(name, icalendar.vText) else unescape_char(str(name))
events = [[str(e['UID']), e['DTSTART'].dt.isoformat(), e['DTEND'].dt.isoformat(), str(e['SUMMARY'])] for e in calendar.walk('VEVENT')]
print(json.dumps({'name': name, 'events': events, 'errors': [str(e.errors) for e in calendar.walk() if e.errors]}))
";

#[actix_web::test]
#[ignore = "needs Python with the package icalendar: BACKOFFICE_TEST_PYTHON is the path of the interpreter"]
async fn an_independent_parser_reads_a_feed() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let fixture = fixture().await;
    let id = fixture.window("2026-01-12", "2026-01-14").await;
    let mut body = feed();
    body["name"] = json!("Żuraw, długa nazwa; z przecinkiem \\ i ukośnikiem, która nie mieści się w wierszu");
    let path = create(&fixture, &fixture.a.token, body.clone()).await;
    let calendar = read(&fixture, Method::GET, &path, None).await.text();

    let python = std::env::var("BACKOFFICE_TEST_PYTHON").expect("BACKOFFICE_TEST_PYTHON");
    let mut parser = Command::new(python)
        .args(["-c", PARSER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a parser");
    parser
        .stdin
        .take()
        .expect("an input")
        .write_all(calendar.as_bytes())
        .expect("written");
    let output = parser.wait_with_output().expect("an output");
    let parsed: Value = serde_json::from_slice(&output.stdout).expect("JSON");

    let expected = json!({
        "name": body["name"],
        "events": [
            [format!("{}@calendar.backoffice", Uuid::from_u128(0xa1)), "2026-01-06T08:00:00+00:00", "2026-01-06T12:00:00+00:00",
                "Excavator: Site, north; gate\\2"],
            [format!("{id}@calendar.backoffice"), "2026-01-12", "2026-01-14", "Maintenance (equipment)"],
        ],
        "errors": [],
    });
    assert_eq!(parsed, expected);
}
