//! What no stored name may hold.

use backoffice_test_support::TestResponse;
use serde_json::{Value, json};

use crate::call::Call;
use crate::world::World;

const REJECTED: [&str; 5] = ["a\r\nBcc: x", "a\u{1b}[31m", "a\u{2028}b", "a\u{202E}b", "a\u{2067}b"];

fn broken(response: &TestResponse, member: &str) -> bool {
    let details = response.json()["details"].clone();
    let details = details.as_array().cloned().unwrap_or_default();
    let is_it = |detail: &Value| detail["path"] == member && detail["code"] == "invalid_value";
    response.status == 400 && details.iter().any(is_it)
}

#[actix_web::test]
async fn f16_no_name_holds_control_characters() {
    let world = World::new().await;
    let (keeper, root, child) = (&world.a.keeper.token, &world.root.token, world.a.child);
    for (path, token, member, rest) in [
        ("/directory/tenants", root, "name", json!({})),
        ("/directory/organizations", keeper, "name", json!({})),
        ("/auth/roles", keeper, "name", json!({})),
        (
            "/auth/users",
            keeper,
            "name",
            json!({"email": "n@alpha.test", "organizationId": child}),
        ),
        ("/auth/sidebar/variants", keeper, "name", json!({})),
        ("/api_keys/keys", keeper, "name", json!({})),
        ("/catalog/categories", keeper, "name", json!({"organizationId": child})),
        ("/catalog/products", keeper, "title", json!({"organizationId": child})),
        (
            "/customers/people",
            keeper,
            "firstName",
            json!({"organizationId": child, "lastName": "L"}),
        ),
        (
            "/customers/people",
            keeper,
            "lastName",
            json!({"organizationId": child, "firstName": "F"}),
        ),
        (
            "/customers/companies",
            keeper,
            "displayName",
            json!({"organizationId": child}),
        ),
        ("/customers/deals", keeper, "title", json!({"organizationId": child})),
    ] {
        for name in REJECTED {
            let mut body = rest.clone();
            body[member] = json!(name);
            let response = Call::post(path, body).send(&world.app, token).await;
            assert!(
                broken(&response, member),
                "{path} {name:?}: {} {}",
                response.status,
                response.text()
            );
        }
    }
}

#[actix_web::test]
async fn f16_names_are_not_changed_to_such_ones_either() {
    let world = World::new().await;
    let (keeper, root) = (&world.a.keeper.token, &world.root.token);
    for (path, token, id) in [
        ("/directory/tenants", root, world.a.tenant),
        ("/directory/organizations", keeper, world.a.child),
        ("/auth/roles", keeper, world.a.role),
        ("/auth/users", keeper, world.a.user.id),
    ] {
        let body = json!({"id": id, "name": "a\u{2029}\u{7f}b"});
        let response = Call::put(path, body).send(&world.app, token).await;
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
    let world = World::new().await;

    for name in ["super\u{200B}admin", "ＳＵＰＥＲＡＤＭＩＮ", "superadmin\u{FEFF}"] {
        let response = Call::post("/auth/roles", json!({"name": name}))
            .send(&world.app, &world.a.keeper.token)
            .await;
        assert_eq!(response.status, 400, "{name:?}: {}", response.text());
        assert!(response.text().contains("reserved"), "{name:?}: {}", response.text());
    }
}
