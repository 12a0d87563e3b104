//! The export file of the action log.

use std::panic::AssertUnwindSafe;

use actix_web::http::Method;
use backoffice_test_support::Duration;
use futures_util::FutureExt;
use serde_json::json;

use super::lists::fill;
use crate::call::Call as Request;
use crate::fixture::Fixture;
use crate::history::EXPORT;

#[actix_web::test]
async fn f12_a_client_that_stalls_keeps_the_place_of_its_export_for_ten_seconds() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    fill(&fixture, &fixture.a, tenant_admin, 1000).await;
    let path = format!("{EXPORT}?resourceKind=filled");
    let export = || app.request(Method::GET, &path).bearer(&tenant_admin.token).open();

    let mut stalled = export().await;
    assert!(stalled.next().await.is_some());
    let rejected = app
        .request(Method::GET, EXPORT)
        .bearer(&tenant_admin.token)
        .send()
        .await;
    assert_eq!(rejected.status, 429, "{}", rejected.text());
    assert_eq!(rejected.json(), json!({"error": "Too many requests"}));
    assert!(rejected.header("retry-after").is_some());
    let elsewhere = app
        .request(Method::GET, EXPORT)
        .bearer(&fixture.b.tenant_admin.token)
        .send()
        .await;
    assert_eq!(elsewhere.status, 200, "another tenant has places of its own");
    while app.clock().waiting() == 0 {
        tokio::task::yield_now().await;
    }
    app.advance(Duration::seconds(10));
    let mut next = export().await;
    while next.status == 429 {
        tokio::task::yield_now().await;
        next = export().await;
    }

    let mut lines = 0;
    while let Some(piece) = next.next().await {
        lines += piece.lines().count();
    }
    assert_eq!((next.status, lines), (200, 1001));
    let broken = AssertUnwindSafe(async { while stalled.next().await.is_some() {} })
        .catch_unwind()
        .await;
    assert!(broken.is_err(), "a part is not taken for the whole");
}

/// Parses a file as a reader of RFC 4180 does.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut cells, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (quoted, c) {
            (true, '"') if rest.peek() == Some(&'"') => cell.extend(rest.next()),
            (_, '"') => quoted = !quoted,
            (false, ',') => cells.push(std::mem::take(&mut cell)),
            (false, '\r') => {}
            (false, '\n') => {
                cells.push(std::mem::take(&mut cell));
                lines.push(std::mem::take(&mut cells));
            }
            _ => cell.push(c),
        }
    }
    lines
}

#[actix_web::test]
async fn aud_28_an_export_has_all_entries_and_no_formulas() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let name = "=HYPERLINK(\"http://x\", \"y\")";
    let body = json!({"id": fixture.a.colleague.id, "name": name, "isActive": false});
    let done = Request::put("/auth/users", body)
        .send(app, &tenant_admin.token)
        .await
        .undoable_write();
    fill(&fixture, &fixture.a, tenant_admin, 1100).await;
    let odd = r#"{"name": {"from": -5, "to": "two\r\nlines, \"quoted\""}}"#;
    let oldest = "(select min(id::text)::uuid from audit_action_logs where resource_kind = 'filled')";
    app.sql(&format!(
        "update audit_action_logs set changes = '{odd}' where id = {oldest}"
    ))
    .await;
    let export = async |query: &str| {
        let response = Request::get(&format!("{EXPORT}?{query}"))
            .send(app, &tenant_admin.token)
            .await;
        assert_eq!(response.status, 200, "{}", response.text());
        response
    };
    let at = |millis: u32| format!("resourceKind=filled&before=2026-11-20T07:00:00.{millis}Z");

    let response = export(&at(301)).await;
    for (header, value) in [
        ("content-type", "text/csv; charset=utf-8"),
        (
            "content-disposition",
            "attachment; filename=\"action-log-20261120T080000Z.csv\"",
        ),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(response.header(header).as_deref(), Some(value));
    }
    let lines = parse(&response.text());
    assert_eq!(
        lines[0].join(","),
        "When,User,Action,Label,Resource,Record,Field,Old Value,New Value,Source,Organization,State,Log Id"
    );
    assert_eq!(lines.len(), 301, "the head and 300 entries");
    assert_eq!(
        lines[1][..6].join(","),
        "2026-11-20T07:00:00.300Z,Filler,edit,Update role,filled,one"
    );
    assert_eq!(lines[1][6..11].join(","), "name,1,2,ui,");
    assert_eq!(lines[300][7..9], ["-5", "two\r\nlines, \"quoted\""]);
    for (query, expected) in [
        ("limit=5000&resourceKind=filled", 1001),
        ("limit=7&resourceKind=filled", 8),
        ("actorUserId=", 1),
    ] {
        assert_eq!(parse(&export(query).await.text()).len(), expected, "{query}");
    }
    for query in ["limit=0", "limit=x", "limit=-5", "sortDir=up"] {
        assert_eq!(
            app.get(&tenant_admin.token, &format!("{EXPORT}?{query}")).await.0,
            400,
            "{query}"
        );
    }
    let lines = parse(&export("resourceKind=auth.user&actionType=edit").await.text());
    let of_entry: Vec<_> = lines
        .iter()
        .filter(|line| line[12] == done.log_id.to_string())
        .collect();
    assert_eq!(of_entry.len(), 2, "one line a changed field");
    assert_eq!(of_entry[0][6..9].join("|"), "isActive|true|false");
    assert_eq!(of_entry[1][8], format!("'{name}"), "a formula becomes text");
    assert_eq!(of_entry[1][10], "Child");
}
