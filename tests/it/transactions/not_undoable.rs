//! Writes that can't be undone.

use std::collections::BTreeSet;

use actix_web::http::Method;
use backoffice_test_support::FaultMode;
use serde_json::json;

use super::{Tried, attempt, known_ids};
use crate::call::Call;
use crate::endpoints::Setting;
use crate::fixture::{Fixture, builder};

/// The commands that can't be undone, with the endpoint that runs each. The last one leaves no user who could send another request.
const FINAL: [(&str, Method, &str); 26] = [
    ("directory.tenant.create", Method::POST, "/directory/tenants"),
    ("directory.tenant.update", Method::PUT, "/directory/tenants"),
    ("api_keys.key.create", Method::POST, "/api_keys/keys"),
    ("api_keys.key.delete", Method::DELETE, "/api_keys/keys"),
    ("auth.consent.update", Method::PUT, "/auth/profile/consents"),
    ("auth.user.reset_password", Method::POST, "/auth/reset/confirm"),
    (
        "customers.deal.bulk_update_owner",
        Method::POST,
        "/customers/deals/bulk-update-owner",
    ),
    (
        "customers.deal.bulk_update_stage",
        Method::POST,
        "/customers/deals/bulk-update-stage",
    ),
    ("catalog.product.bulk_delete", Method::POST, "/catalog/bulk-delete"),
    (
        "attachments.link.create",
        Method::POST,
        "/attachments/library/{id}/links",
    ),
    ("attachments.link.revoke", Method::DELETE, "/attachments/links/{id}"),
    (
        "attachments.attachment.bulk_delete",
        Method::POST,
        "/attachments/library/bulk-delete",
    ),
    (
        "dispatch.assignment.bulk_update",
        Method::POST,
        "/dispatch/assignments/bulk-update",
    ),
    ("calendar.feed.create", Method::POST, "/calendar/feeds"),
    ("calendar.feed.delete", Method::DELETE, "/calendar/feeds/{id}"),
    ("progress.job.cancel", Method::POST, "/progress/jobs/{id}/cancel"),
    ("devices.device.deactivate", Method::DELETE, "/devices/{id}"),
    ("onboarding.request.submit", Method::POST, "/onboarding/onboarding"),
    (
        "onboarding.request.verify",
        Method::GET,
        "/onboarding/onboarding/verify",
    ),
    ("access.user.deactivate", Method::DELETE, "/access/users/{id}"),
    ("access.user.reactivate", Method::POST, "/access/users/{id}/reactivate"),
    ("business_rules.run.execute", Method::POST, "/business_rules/execute"),
    (
        "business_rules.webhook_delivery.retry",
        Method::POST,
        "/business_rules/webhook-deliveries/{id}/retry",
    ),
    (
        "business_rules.webhook_secret.create",
        Method::POST,
        "/business_rules/webhook-secrets",
    ),
    (
        "business_rules.webhook_secret.delete",
        Method::DELETE,
        "/business_rules/webhook-secrets",
    ),
    ("directory.tenant.delete", Method::DELETE, "/directory/tenants"),
];

/// Commands that can't be undone and are not tried here, with the reason.
const NOT_TRIED: [(&str, &str); 12] = [
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
        "calendar.series.extend",
        "a job runs it, and the next run extends a series that failed",
    ),
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

/// Runs each command that can't be undone, then a change of a password and the end of sessions, which no entry undoes either.
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
    for (command, method, path) in FINAL {
        let entry = table.iter().find(|entry| entry.method == method && entry.path == path);
        let entry = entry.unwrap_or_else(|| panic!("{method} {path} has no entry"));
        let (caller, call) = (setting.sender(entry), setting.call(entry));
        tried.push(attempt(&setting.fixture, &known, caller, &call, command, mode).await);
    }
    tried
}
