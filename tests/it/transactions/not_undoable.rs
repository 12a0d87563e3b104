//! Writes that can't be undone.

use std::collections::BTreeSet;

use actix_web::http::Method;
use backoffice_test_support::FaultMode;
use serde_json::json;

use super::{Tried, attempt, known_ids};
use crate::call::Call;
use crate::endpoints::Setting;
use crate::fixture::{Fixture, builder, text};

/// The commands that can't be undone, with the endpoint that runs each and the events that it announces. The last one leaves no user who could send another
/// request.
const FINAL: [(&str, Method, &str, &[&str]); 26] = [
    (
        "directory.tenant.create",
        Method::POST,
        "/directory/tenants",
        &["directory.tenant.created"],
    ),
    (
        "directory.tenant.update",
        Method::PUT,
        "/directory/tenants",
        &["directory.tenant.updated"],
    ),
    (
        "api_keys.key.create",
        Method::POST,
        "/api_keys/keys",
        &["api_keys.key.created"],
    ),
    (
        "api_keys.key.delete",
        Method::DELETE,
        "/api_keys/keys",
        &["api_keys.key.deleted"],
    ),
    (
        "auth.consent.update",
        Method::PUT,
        "/auth/profile/consents",
        &["auth.consent.updated"],
    ),
    (
        "auth.user.reset_password",
        Method::POST,
        "/auth/reset/confirm",
        &["auth.user.updated", "auth.user.password_changed"],
    ),
    (
        "customers.deal.bulk_update_owner",
        Method::POST,
        "/customers/deals/bulk-update-owner",
        &["progress.job.created"],
    ),
    (
        "customers.deal.bulk_update_stage",
        Method::POST,
        "/customers/deals/bulk-update-stage",
        &["progress.job.created"],
    ),
    (
        "catalog.product.bulk_delete",
        Method::POST,
        "/catalog/bulk-delete",
        &["progress.job.created"],
    ),
    (
        "attachments.link.create",
        Method::POST,
        "/attachments/library/{id}/links",
        &["attachments.link.created"],
    ),
    (
        "attachments.link.revoke",
        Method::DELETE,
        "/attachments/links/{id}",
        &["attachments.link.updated"],
    ),
    (
        "attachments.attachment.bulk_delete",
        Method::POST,
        "/attachments/library/bulk-delete",
        &["progress.job.created"],
    ),
    (
        "dispatch.assignment.bulk_update",
        Method::POST,
        "/dispatch/assignments/bulk-update",
        &["progress.job.created"],
    ),
    (
        "calendar.feed.create",
        Method::POST,
        "/calendar/feeds",
        &["calendar.feed.created"],
    ),
    (
        "calendar.feed.delete",
        Method::DELETE,
        "/calendar/feeds/{id}",
        &["calendar.feed.deleted"],
    ),
    (
        "progress.job.cancel",
        Method::POST,
        "/progress/jobs/{id}/cancel",
        &["progress.job.updated"],
    ),
    (
        "devices.device.deactivate",
        Method::DELETE,
        "/devices/{id}",
        &["devices.device.deleted", "devices.device.deactivated"],
    ),
    (
        "onboarding.request.submit",
        Method::POST,
        "/onboarding/onboarding",
        &["onboarding.request.created"],
    ),
    (
        "onboarding.request.verify",
        Method::GET,
        "/onboarding/onboarding/verify",
        &["onboarding.request.updated"],
    ),
    (
        "access.user.deactivate",
        Method::DELETE,
        "/access/users/{id}",
        &["auth.user.updated", "access.user.deactivated"],
    ),
    (
        "access.user.reactivate",
        Method::POST,
        "/access/users/{id}/reactivate",
        &["auth.user.updated", "access.user.reactivated"],
    ),
    (
        "business_rules.run.execute",
        Method::POST,
        "/business_rules/execute",
        &["business_rules.run.created"],
    ),
    (
        "business_rules.webhook_delivery.retry",
        Method::POST,
        "/business_rules/webhook-deliveries/{id}/retry",
        &["business_rules.webhook_delivery.updated"],
    ),
    (
        "business_rules.webhook_secret.create",
        Method::POST,
        "/business_rules/webhook-secrets",
        &["business_rules.webhook_secret.created"],
    ),
    (
        "business_rules.webhook_secret.delete",
        Method::DELETE,
        "/business_rules/webhook-secrets",
        &["business_rules.webhook_secret.deleted"],
    ),
    (
        "directory.tenant.delete",
        Method::DELETE,
        "/directory/tenants",
        &["directory.tenant.deleted"],
    ),
];

/// Commands that can't be undone and are not tried here, with the reason.
const NOT_TRIED: [(&str, &str); 11] = [
    (
        "attachments.quota.set",
        "the command line runs it, and an operator repeats it",
    ),
    (
        "attachments.attachment.delete",
        "its request removes the object after the commit: a later fault is left to the clean-up; the tests of the module try it",
    ),
    (
        "attachments.attachment.create",
        "its request stores an object first; the tests of the module try faults before and after it",
    ),
    (
        "auth.user.invite",
        "its request goes on after the commit, and sends the mail: a later fault is reported although the entry remains",
    ),
    (
        "access.user.invite",
        "its request goes on after the commit, and sends the mail: a later fault is reported although the entry remains",
    ),
    (
        "access.user.resend_invite",
        "its request goes on after the commit, and sends the mail: a later fault is reported although the entry remains",
    ),
    (
        "auth.user.request_reset",
        "a job runs it, and the worker repeats a failed job",
    ),
    (
        "onboarding.workspace.create",
        "a job runs it; the tests of the module try faults at each of its statements",
    ),
    ("auth.role.seed", "the command line runs it, and an operator repeats it"),
    (
        "calendar.working_calendar.derive",
        "a job runs it, and the worker repeats a failed job",
    ),
    (
        "auth.role_acl.sync",
        "the command line runs it, and an operator repeats it",
    ),
];

#[actix_web::test]
async fn aud_20_every_command_that_can_not_be_undone_is_tried() {
    let fixture = Fixture::new().await;
    let commands = fixture.app.platform().registry().commands();

    let registered: BTreeSet<&str> = commands.filter(|one| !one.undoable).map(|one| one.id).collect();

    let tried = FINAL.iter().map(|(command, ..)| *command);
    let listed: BTreeSet<&str> = tried.chain(NOT_TRIED.iter().map(|(command, _)| *command)).collect();
    assert_eq!(listed, registered);
}

/// Runs each command that can't be undone and checks its events, after a change of a password and the end of sessions, which no entry undoes either.
pub(super) async fn walk(mode: FaultMode) -> Vec<Tried> {
    let setting = Setting::new(Fixture::of(builder().through_proxy()).await).await;
    let (known, mut tried) = (known_ids(&setting.fixture).await, Vec::new());
    let admin = &setting.fixture.a.tenant_admin;
    let password = json!({"id": setting.fixture.a.user.id, "password": "another long secret", "roles": ["employee"]});
    let (password, logout) = (
        Call::put("/auth/users", password),
        Call::post("/auth/logout", json!({"all": true})),
    );
    for (what, caller, call) in [
        ("a password", admin, password),
        ("a logout", &setting.fixture.a.plain, logout),
    ] {
        tried.push(attempt(&setting.fixture, &known, caller, &call, what, mode).await);
    }
    let table = crate::endpoints::table();
    for (command, method, path, events) in FINAL {
        let entry = table.iter().find(|entry| entry.method == method && entry.path == path);
        let entry = entry.unwrap_or_else(|| panic!("{method} {path} has no entry"));
        let (caller, call) = (setting.sender(entry), setting.call(entry));
        tried.push(attempt(&setting.fixture, &known, caller, &call, command, mode).await);
        assert_eq!(announced(&setting.fixture, &known, command).await, events, "{command}");
    }
    tried
}

/// Returns the names of the events that executions of a command have announced since `known` was read, in their order.
async fn announced(fixture: &Fixture, known: &BTreeSet<String>, command: &str) -> Vec<String> {
    let sql = format!(
        "select o.id, o.name from core_outbox_events o join audit_action_logs l on l.tenant_id = o.tenant_id and l.id = o.log_id \
         where l.command_id = '{command}' order by o.seq"
    );
    let rows = fixture.app.rows(&sql).await;
    let new = rows.iter().filter(|row| !known.contains(&text(&row["id"])));
    new.map(|row| text(&row["name"])).collect()
}
