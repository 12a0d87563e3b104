//! Super administrators belong to no tenant; what needs one says so.

use actix_web::http::Method;

use crate::endpoints::Setting;
use crate::world::World;

#[actix_web::test]
async fn no_request_of_a_super_administrator_is_a_server_error() {
    let setting = Setting::new(World::new().await).await;
    let tenant = setting.world.a.tenant.to_string();

    for selected in [None, Some("all"), Some(tenant.as_str())] {
        for (info, entry) in setting.private() {
            if info.method == Method::DELETE || info.path == "/auth/logout" {
                continue;
            }
            let call = setting.call(&entry);
            let request = call.request(&setting.world.app, &setting.world.root.token);
            let request = match selected {
                Some(value) => request.header("X-Tenant-Id", value),
                None => request,
            };

            let response = request.send().await;

            let told = (response.status, response.text());
            assert!(told.0 < 500 && told.0 != 401, "{call} with {selected:?}: {told:?}");
        }
    }
}

#[actix_web::test]
async fn an_organization_without_a_tenant_can_not_be_made() {
    let world = World::new().await;
    let before = world.app.image().await;
    let body = serde_json::json!({"name": "Nowhere"});

    let (status, answer) = world
        .app
        .post(&world.root.token, "/directory/organizations", body)
        .await;

    assert_eq!(status, 400, "{answer}");
    assert_eq!(world.app.image().await, before);
}
