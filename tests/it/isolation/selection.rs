//! Selected tenants and organizations.

use actix_web::http::Method;
use serde_json::json;

use super::{outcome, written};
use crate::endpoints::Setting;

const NO_TENANT: &str = "Not authorized to target this tenant.";
const NO_ORGANIZATION: &str = "Organization out of scope";

pub(super) async fn malformed(setting: Setting) {
    for wrong in ["x", "", "00000000-0000-0000-0000-00000000000g", "é"] {
        rejected(
            &setting,
            &setting.fixture.a.tenant_admin.token,
            ("X-Tenant-Id", wrong),
            NO_TENANT,
        )
        .await;
        let header = ("X-Organization-Id", wrong);
        rejected(&setting, &setting.fixture.a.tenant_admin.token, header, NO_ORGANIZATION).await;
    }
}

pub(super) async fn foreign(setting: Setting) {
    let fixture = &setting.fixture;
    let (a, b) = (&fixture.a, &fixture.b);
    let before = written(&setting, a.tenant).await;
    let (tenant, organization, other) = (a.tenant.to_string(), a.child.to_string(), a.other.to_string());

    rejected(&setting, &b.tenant_admin.token, ("X-Tenant-Id", &tenant), NO_TENANT).await;
    let foreign = ("X-Organization-Id", organization.as_str());
    rejected(&setting, &b.tenant_admin.token, foreign, NO_ORGANIZATION).await;
    let outside = ("X-Organization-Id", other.as_str());
    rejected(&setting, &a.local.token, outside, NO_ORGANIZATION).await;
    for (cookie, value, token) in [
        ("selected_tenant", tenant.as_str(), &b.tenant_admin.token),
        ("selected_org", organization.as_str(), &b.tenant_admin.token),
        ("selected_org", other.as_str(), &a.local.token),
    ] {
        by_cookie(&setting, token, cookie, value).await;
    }

    assert_eq!(written(&setting, a.tenant).await, before);
}

async fn rejected(setting: &Setting, token: &str, (name, value): (&str, &str), error: &str) {
    for (_, entry) in setting.private() {
        let call = setting.call(&entry);
        let request = call.request(&setting.fixture.app, token).header(name, value);

        let response = request.send().await;

        let reported = &response.json()["error"];
        assert_eq!(
            (response.status, reported),
            (403, &json!(error)),
            "{call} with {name}: {value:?}"
        );
    }
}

/// Checks that reads and the endpoints of the session ignore the selection, and that other writes are rejected.
async fn by_cookie(setting: &Setting, token: &str, name: &str, value: &str) {
    let app = &setting.fixture.app;
    for (info, entry) in setting.private() {
        if info.path == "/auth/logout" {
            // It ends the session of this test; `a_selection_that_went_stale_…` signs out with such a cookie.
            continue;
        }
        let call = setting.call(&entry);
        let response = call.request(app, token).cookie(name, value).send().await;

        if call.method == Method::GET || info.passes_over_selections {
            let plain = call.send(app, token).await;
            assert_eq!(outcome(&response, ""), outcome(&plain, ""), "{call} with {name}");
        } else {
            let reported = (response.status, &response.json()["code"]);
            assert_eq!(reported, (403, &json!("selection_rejected")), "{call} with {name}");
        }
    }
}
