//! Characters that no stored name may contain.

use backoffice_test_support::TestResponse;
use serde_json::{Value, json};

use crate::call::Call;
use crate::fixture::Fixture;

const REJECTED: [&str; 5] = ["a\r\nBcc: x", "a\u{1b}[31m", "a\u{2028}b", "a\u{202E}b", "a\u{2067}b"];

fn broken(response: &TestResponse, field: &str) -> bool {
    let details = response.json()["details"].clone();
    let details = details.as_array().cloned().unwrap_or_default();
    let is_it = |detail: &Value| detail["path"] == field && detail["code"] == "invalid_value";
    response.status == 400 && details.iter().any(is_it)
}

#[actix_web::test]
async fn f16_no_name_holds_control_characters() {
    let fixture = Fixture::new().await;
    let (tenant_admin, root, child) = (&fixture.a.tenant_admin.token, &fixture.root.token, fixture.a.child);
    for (path, token, field, rest) in [
        ("/directory/tenants", root, "name", json!({})),
        ("/directory/organizations", tenant_admin, "name", json!({})),
        ("/auth/roles", tenant_admin, "name", json!({})),
        (
            "/auth/users",
            tenant_admin,
            "name",
            json!({"email": "n@alpha.test", "organizationId": child}),
        ),
        ("/auth/sidebar/variants", tenant_admin, "name", json!({})),
        ("/api_keys/keys", tenant_admin, "name", json!({})),
        (
            "/catalog/categories",
            tenant_admin,
            "name",
            json!({"organizationId": child}),
        ),
        (
            "/catalog/products",
            tenant_admin,
            "title",
            json!({"organizationId": child}),
        ),
        (
            "/customers/people",
            tenant_admin,
            "firstName",
            json!({"organizationId": child, "lastName": "L"}),
        ),
        (
            "/customers/people",
            tenant_admin,
            "lastName",
            json!({"organizationId": child, "firstName": "F"}),
        ),
        (
            "/customers/companies",
            tenant_admin,
            "displayName",
            json!({"organizationId": child}),
        ),
        (
            "/customers/deals",
            tenant_admin,
            "title",
            json!({"organizationId": child}),
        ),
    ] {
        for name in REJECTED {
            let mut body = rest.clone();
            body[field] = json!(name);
            let response = Call::post(path, body).send(&fixture.app, token).await;
            assert!(
                broken(&response, field),
                "{path} {name:?}: {} {}",
                response.status,
                response.text()
            );
        }
    }
}

#[actix_web::test]
async fn f16_names_are_not_changed_to_such_ones_either() {
    let fixture = Fixture::new().await;
    let (tenant_admin, root) = (&fixture.a.tenant_admin.token, &fixture.root.token);
    for (path, token, id) in [
        ("/directory/tenants", root, fixture.a.tenant),
        ("/directory/organizations", tenant_admin, fixture.a.child),
        ("/auth/roles", tenant_admin, fixture.a.role),
        ("/auth/users", tenant_admin, fixture.a.user.id),
    ] {
        let body = json!({"id": id, "name": "a\u{2029}\u{7f}b"});
        let response = Call::put(path, body).send(&fixture.app, token).await;
        assert!(
            broken(&response, "name"),
            "{path}: {} {}",
            response.status,
            response.text()
        );
    }
}

#[actix_web::test]
async fn f20_a_reserved_name_is_reserved_with_invisible_characters_too() {
    let fixture = Fixture::new().await;

    for name in ["super\u{200B}admin", "ＳＵＰＥＲＡＤＭＩＮ", "superadmin\u{FEFF}"] {
        let response = Call::post("/auth/roles", json!({"name": name}))
            .send(&fixture.app, &fixture.a.tenant_admin.token)
            .await;
        assert_eq!(response.status, 400, "{name:?}: {}", response.text());
        assert!(response.text().contains("reserved"), "{name:?}: {}", response.text());
    }
}
