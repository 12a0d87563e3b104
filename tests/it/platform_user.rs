//! Super administrators belong to no tenant; endpoints that need a tenant reject them with a clear error.

use actix_web::http::Method;

use crate::endpoints::Setting;
use crate::fixture::Fixture;

#[actix_web::test]
async fn no_request_of_a_super_administrator_is_a_server_error() {
    let setting = Setting::new(Fixture::new().await).await;
    let tenant = setting.fixture.a.tenant.to_string();

    for selected in [None, Some("all"), Some(tenant.as_str())] {
        for (info, entry) in setting.private() {
            if info.method == Method::DELETE || info.path == "/auth/logout" {
                continue;
            }
            let call = setting.call(&entry);
            let request = call.request(&setting.fixture.app, &setting.fixture.root.token);
            let request = match selected {
                Some(value) => request.header("X-Tenant-Id", value),
                None => request,
            };

            let response = request.send().await;

            let reported = (response.status, response.text());
            assert!(
                reported.0 < 500 && reported.0 != 401,
                "{call} with {selected:?}: {reported:?}"
            );
        }
    }
}

#[actix_web::test]
async fn an_organization_without_a_tenant_can_not_be_created() {
    let fixture = Fixture::new().await;
    let before = fixture.app.snapshot().await;
    let body = serde_json::json!({"name": "Nowhere"});

    let (status, outcome) = fixture
        .app
        .post(&fixture.root.token, "/directory/organizations", body)
        .await;

    assert_eq!(status, 400, "{outcome}");
    assert_eq!(fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn a_device_of_another_tenants_user_can_not_be_registered() {
    let fixture = Fixture::new().await;
    let tenant = fixture.a.tenant.to_string();
    let before = fixture.app.snapshot().await;
    let request = fixture.app.request(Method::POST, "/devices");
    let request = request.bearer(&fixture.root.token).header("X-Tenant-Id", &tenant);
    let request = request.json(&serde_json::json!({"deviceId": "d1", "platform": "web"}));

    let response = request.send().await;

    assert_eq!(response.status, 400, "{}", response.text());
    assert_eq!(fixture.app.snapshot().await, before);
}
