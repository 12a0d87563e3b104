//! No route writes without a command (audit specification, AUD-3): each endpoint is called once, and every difference in the database afterwards has
//! an entry of the action log, or is listed here with its reason.

use std::collections::BTreeSet;

use actix_web::http::Method;
use backoffice_core::http::Access;
use backoffice_test_support::Duration;

use crate::endpoints::Setting;
use crate::fixture::Fixture;

const MARKS: &str = "marks of the recipient are not data of the tenant";

/// Routes that write without a command, with the reason and the tables that they may write.
const WITHOUT_COMMAND: [(&str, &str, &[&str]); 19] = [
    ("DELETE /alerts/alerts/{id}/read", MARKS, &["alerts_reads"]),
    (
        "POST /alerts/alerts/read-all",
        MARKS,
        &["alerts_reads", "notifications_notifications"],
    ),
    (
        "POST /alerts/alerts/{id}/read",
        MARKS,
        &["alerts_reads", "notifications_notifications"],
    ),
    ("POST /attachments/partitions/{id}/test", "tries a store", &[]),
    (
        "GET /attachments/shared/{token}",
        "counts a download by a link",
        &["attachments_links"],
    ),
    (
        "POST /auth/login",
        "sessions are credentials, not data of the tenant",
        &["auth_sessions", "auth_users"],
    ),
    (
        "POST /auth/logout",
        "as signing in",
        &["auth_revocations", "auth_sessions"],
    ),
    ("POST /auth/session/refresh", "a token is derived from the session", &[]),
    ("POST /auth/feature-check", "asks a question", &[]),
    ("POST /dispatch/assignments/check", "asks a question", &[]),
    ("POST /auth/locale", "sets a cookie", &[]),
    (
        "POST /auth/reset",
        "the same work for every address; the job that follows runs the command",
        &["core_jobs"],
    ),
    ("POST /auth/reset/validate", "asks a question", &[]),
    (
        "POST /devices/{id}/test-push",
        "sends a message and notes that",
        &["devices_push_deliveries"],
    ),
    ("POST /notifications/read-all", MARKS, &["notifications_notifications"]),
    (
        "POST /notifications/{id}/dismiss",
        MARKS,
        &["notifications_notifications"],
    ),
    ("POST /notifications/{id}/read", MARKS, &["notifications_notifications"]),
    (
        "POST /notifications/{id}/unread",
        MARKS,
        &["notifications_notifications"],
    ),
    (
        "POST /onboarding/onboarding/resend",
        "the same work for every token; the job that follows sends the mail",
        &["core_jobs"],
    ),
];

/// Routes of links in mails, which write by a command although they are read.
const WRITTEN_BY_LINKS: [&str; 1] = ["GET /onboarding/onboarding/verify"];

/// Tables that every request writes, and those written along with an entry.
const UNLOGGED: [&str; 6] = [
    "audit_access_logs",
    "core_collections",
    "core_event_streams",
    "core_idempotency_keys",
    "core_outbox_events",
    "core_rate_limits",
];

#[actix_web::test]
async fn aud_3_no_route_writes_without_a_command() {
    let setting = Setting::new(Fixture::new().await).await;
    let app = &setting.fixture.app;
    let mut listed: BTreeSet<&str> = WITHOUT_COMMAND.iter().map(|(route, ..)| *route).collect();

    for (info, entry) in setting.endpoints_in_stable_order() {
        let route = format!("{} {}", info.method, info.path);
        let call = setting.call(&entry);
        // So that stored instants differ.
        app.advance(Duration::SECOND);
        let before = app.snapshot_without(&UNLOGGED, &["last_used_at"]).await;
        let response = call.send(app, &setting.sender(&entry).token).await;
        let mut after = app.snapshot_without(&UNLOGGED, &["last_used_at"]).await;

        assert!(response.status < 400, "{call}: {} {}", response.status, response.text());
        after.retain(|table, rows| *rows != before[table]);
        let written: Vec<&str> = after.keys().map(String::as_str).collect();
        let has_entry = written.contains(&"audit_action_logs");
        let exception = WITHOUT_COMMAND.iter().find(|(listed, ..)| *listed == route);
        if info.access != Access::Public && info.method != Method::GET {
            assert_eq!(info.runs_commands, exception.is_none(), "{route}: `.without_command()`");
        }
        listed.remove(route.as_str());
        match exception {
            Some((_, reason, tables)) => assert!(
                written.iter().all(|table| tables.contains(table)),
                "{route} wrote {written:?}, though: {reason}"
            ),
            None if info.method == Method::GET && !WRITTEN_BY_LINKS.contains(&route.as_str()) => {
                assert_eq!(written, [""; 0], "{route} reads");
            }
            None => assert!(has_entry, "{route} wrote {written:?} and no entry of the log"),
        }
    }

    assert_eq!(listed, BTreeSet::new(), "each exception is a route");
}
