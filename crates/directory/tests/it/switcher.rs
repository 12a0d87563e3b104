use actix_web::http::Method;
use backoffice_directory::commands::TenantCreated;
use backoffice_test_support::TestApp;
use serde_json::{Value, json};

use crate::sign_in::{MODULES, admin, limited, super_admin, tenant};

const PATH: &str = "/directory/organization-switcher";
const ORGANIZATIONS: &str = "/directory/organizations";

async fn organization(app: &TestApp, tenant: &TenantCreated, name: &str, parent: Option<&str>) -> String {
    let body = json!({"name": name, "parentId": parent});
    let (status, created) = app.post(&admin(tenant), ORGANIZATIONS, body).await;
    assert_eq!(status, 201, "{created}");
    created["id"].as_str().expect("an id").to_owned()
}

async fn switcher(app: &TestApp, token: &str, headers: &[(&str, &str)]) -> Value {
    let request = app.request(Method::GET, PATH).bearer(token);
    let request = headers
        .iter()
        .fold(request, |request, (name, value)| request.header(name, value));
    let response = request.send().await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

#[actix_web::test]
async fn an_administrator_may_select_the_whole_tree() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let root = acme.organization_id.to_string();
    let north = organization(&app, &acme, "North", Some(&root)).await;
    let closed = json!({"name": "East", "parentId": root, "isActive": false});
    let (_, east) = app.post(&admin(&acme), ORGANIZATIONS, closed).await;

    let reported = switcher(&app, &admin(&acme), &[]).await;

    let item = |id: &Value, name: &str, depth: u32, active: bool, children: Value| json!({"id": id, "name": name, "depth": depth, "selectable": active, "isActive": active, "children": children});
    let below = json!([
        item(&east["id"], "East", 1, false, json!([])),
        item(&json!(north), "North", 1, true, json!([])),
    ]);
    assert_eq!(
        reported,
        json!({
            "items": [item(&json!(root), "Acme", 0, true, below)],
            "selectedId": null,
            "canManage": true,
            "canViewAllOrganizations": true,
            "tenantId": acme.id,
            "tenants": [],
            "isSuperAdmin": false,
        })
    );
}

#[actix_web::test]
async fn a_selection_limits_no_choice_and_needs_no_feature() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let root = acme.organization_id.to_string();
    let north = organization(&app, &acme, "North", Some(&root)).await;
    // Any feature makes an organization selectable; this one is unrelated to the switcher.
    let anybody = format!("{}/{root}//directory.tenants.view", acme.id);

    let reported = switcher(&app, &anybody, &[("X-Organization-Id", &north)]).await;

    assert_eq!(reported["selectedId"], json!(north));
    assert_eq!(reported["canManage"], false);
    assert_eq!(reported["items"][0]["children"][0]["id"], json!(north));
    assert_eq!(app.get("", PATH).await.0, 401);
}

#[actix_web::test]
async fn a_limited_caller_may_select_its_part() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let north = organization(&app, &acme, "North", Some(&acme.organization_id.to_string())).await;
    let far = organization(&app, &acme, "Far North", Some(&north)).await;
    organization(&app, &acme, "South", None).await;

    let reported = switcher(&app, &limited(&acme, &north), &[]).await;

    assert_eq!(reported["canViewAllOrganizations"], false);
    let items = reported["items"].as_array().expect("items");
    assert_eq!(items.len(), 1);
    assert_eq!((&items[0]["name"], &items[0]["depth"]), (&json!("North"), &json!(0)));
    assert_eq!(
        (&items[0]["children"][0]["id"], &items[0]["children"][0]["depth"]),
        (&json!(far), &json!(1))
    );
}

#[actix_web::test]
async fn a_super_administrator_may_select_other_tenants() {
    for app in [
        TestApp::new(&MODULES).await,
        TestApp::builder(&MODULES).without_tenant_predicates().build().await,
    ] {
        let home = tenant(&app, "Home").await;
        let other = tenant(&app, "Other").await;
        let (id, token) = (other.id.to_string(), super_admin(&home));

        let own = switcher(&app, &token, &[]).await;
        let selected = switcher(&app, &token, &[("X-Tenant-Id", &id)]).await;
        let all = switcher(&app, &token, &[("X-Tenant-Id", "all")]).await;

        let tenants = json!([{"id": home.id, "name": "Home"}, {"id": other.id, "name": "Other"}]);
        for reported in [&own, &selected, &all] {
            assert_eq!(
                (&reported["tenants"], &reported["isSuperAdmin"]),
                (&tenants, &json!(true))
            );
        }
        assert_eq!(
            (&own["tenantId"], &own["items"][0]["name"]),
            (&json!(home.id), &json!("Home"))
        );
        assert_eq!(own["items"].as_array().map(Vec::len), Some(1), "one tenant at a time");
        assert_eq!(selected["tenantId"], json!(other.id));
        assert_eq!(selected["items"][0]["id"], json!(other.organization_id));
        assert_eq!((&all["tenantId"], &all["items"]), (&Value::Null, &json!([])));
    }
}

#[actix_web::test]
async fn it_costs_one_statement_for_any_number_of_organizations() {
    let app = TestApp::builder(&MODULES).through_proxy().build().await;
    let acme = tenant(&app, "Acme").await;
    organization(&app, &acme, "North", None).await;
    switcher(&app, &admin(&acme), &[]).await;

    let (_, statements) = app.count_statements(switcher(&app, &admin(&acme), &[])).await;

    assert_eq!(statements, 1);
}

#[test]
fn the_navigation_leads_to_organizations_and_tenants() {
    let entries = backoffice_directory::MODULE.navigation;

    let reported: Vec<_> = entries.iter().map(|entry| (entry.id, entry.features[0].id)).collect();
    assert_eq!(
        reported,
        [
            ("organizations", "directory.organizations.view"),
            ("tenants", "directory.tenants.view")
        ]
    );
}
