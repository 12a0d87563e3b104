use actix_web::http::Method;
use backoffice_test_support::TestApp;
use serde_json::{Value, json};

use crate::fixture::Fixture;

const NAV: &str = "/auth/admin/nav";
const PREFERENCES: &str = "/auth/sidebar/preferences";
const VARIANTS: &str = "/auth/sidebar/variants";

/// Returns the ids of the sections and of their items.
fn sections(body: &Value) -> Vec<(String, Vec<String>)> {
    let id = |one: &Value| one["id"].as_str().expect("an id").to_owned();
    let items = |section: &Value| section["items"].as_array().expect("items").iter().map(id).collect();
    let sections = body["settingsSections"].as_array().expect("sections");
    sections.iter().map(|section| (id(section), items(section))).collect()
}

fn own_sections(body: &Value) -> Vec<(String, Vec<String>)> {
    let mut all = sections(body);
    all.retain(|(id, _)| id == "auth" || id == "customization");
    all
}

fn expected(sections: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let owned = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
    sections
        .iter()
        .map(|(id, items)| ((*id).to_owned(), owned(items)))
        .collect()
}

#[actix_web::test]
async fn the_menu_has_what_the_caller_may_use() {
    let fixture = Fixture::new().await;
    fixture.role("Reader", &["auth.users.list"], None).await;
    let (_, reader) = fixture.user("ann@alpha.test", &["Reader"]).await;

    let (status, admins) = fixture.app.get(&fixture.a.token, NAV).await;
    let (_, readers) = fixture.app.get(&reader, NAV).await;
    let (anonymous, _) = fixture.app.get("", NAV).await;

    assert_eq!((status, anonymous), (200, 401));
    assert_eq!(
        sections(&admins),
        expected(&[
            ("auth", &["users", "roles"]),
            ("directory", &["organizations"]),
            ("customization", &["sidebar"])
        ])
    );
    assert_eq!(sections(&readers), expected(&[("auth", &["users"])]));
    assert_eq!(readers["grantedFeatures"], json!(["auth.users.list"]));
    assert_eq!(readers["roles"], json!(["Reader"]));
    assert_eq!(
        (readers["groups"].clone(), readers["brand"].clone()),
        (json!([]), json!(null))
    );
    assert_eq!(readers["settingsPathPrefixes"], json!(["/backend/users"]));
    let users = json!({"id": "users", "label": "Users", "href": "/backend/users"});
    assert_eq!(readers["settingsSections"][0]["items"][0], users);
    assert_eq!(
        readers["profilePathPrefixes"],
        json!(["/backend/profile/change-password"])
    );
    assert_eq!(readers["profileSections"][0]["items"][0]["id"], "change-password");
    assert_eq!(
        readers["currentOrganization"],
        json!({"id": fixture.a.organization, "name": "Alpha"})
    );
}

#[actix_web::test]
async fn titles_are_in_the_locale_of_the_request() {
    let fixture = Fixture::new().await;
    let label = async |name: &str, value: &str| {
        let request = fixture.app.request(Method::GET, NAV).bearer(&fixture.a.token);
        let body = request.header(name, value).send().await.json();
        let sections = body["settingsSections"].as_array().expect("sections").clone();
        let auth = sections
            .into_iter()
            .find(|section| section["id"] == "auth")
            .expect("auth");
        auth["items"][0]["label"].as_str().expect("a label").to_owned()
    };

    assert_eq!(label("cookie", "locale=pl").await, "Użytkownicy");
    assert_eq!(label("accept-language", "fr, de-AT;q=0.8, es;q=0.9").await, "Usuarios");
    assert_eq!(label("accept-language", "fr").await, "Users");
    let sql = format!(
        "update directory_tenants set locales = '{{de,pl}}' where id = '{}'",
        fixture.a.id
    );
    fixture.app.sql(&sql).await;
    assert_eq!(
        label("accept-language", "es").await,
        "Benutzer",
        "the tenant's first locale"
    );
    assert_eq!(
        label("cookie", "locale=es").await,
        "Benutzer",
        "the tenant does not have that one"
    );
    assert_eq!(label("cookie", "locale=pl_PL").await, "Użytkownicy");
}

#[actix_web::test]
async fn the_first_of_variant_own_settings_and_role_settings_counts() {
    let fixture = Fixture::new().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    fixture.role("B", &["auth.*"], None).await;
    let first = fixture.role("A", &[], None).await;
    let (_, user) = fixture.user("ann@alpha.test", &["A", "B"]).await;
    let hiding = |item: &str| json!({"hiddenItems": [item]});
    let seen = async || own_sections(&app.get(&user, NAV).await.1);
    let roles = json!({"settings": hiding("roles"), "scope": {"type": "role", "roleId": first}});

    assert_eq!(app.put(token, PREFERENCES, roles).await.0, 200);
    assert_eq!(
        seen().await,
        expected(&[("auth", &["users"]), ("customization", &["sidebar"])])
    );
    app.put(&user, PREFERENCES, json!({"settings": hiding("users")})).await;
    assert_eq!(
        seen().await,
        expected(&[("auth", &["roles"]), ("customization", &["sidebar"])])
    );
    let variant = json!({"settings": hiding("sidebar"), "isActive": true});
    app.post(&user, VARIANTS, variant).await;
    assert_eq!(seen().await, expected(&[("auth", &["users", "roles"])]));
}

/// Returns the caller's roles, as the profile and the menu name them, and the caller's own sections. The node has just read the revocations, so it
/// uses the identities in its cache.
async fn named(node: &TestApp, token: &str) -> (Value, Value, Vec<(String, Vec<String>)>) {
    node.poll_revocations().await;
    let profile = node.read(token, "/auth/profile").await;
    let menu = node.read(token, NAV).await;
    (profile["roles"].clone(), menu["roles"].clone(), own_sections(&menu))
}

#[actix_web::test]
async fn acc_8_a_renamed_role_has_its_new_name_at_the_next_request_on_every_node() {
    let fixture = Fixture::new().await;
    let (app, admin) = (&fixture.app, &fixture.a.token);
    let second = app.second_node().await;
    let first_role = fixture.role("A", &["auth.*"], None).await;
    let second_role = fixture.role("B", &[], None).await;
    let (_, user) = fixture.user("ann@alpha.test", &["A", "B"]).await;
    for (role, item) in [(first_role, "roles"), (second_role, "users")] {
        let body = json!({"settings": {"hiddenItems": [item]}, "scope": {"type": "role", "roleId": role}});
        assert_eq!(app.put(admin, PREFERENCES, body).await.0, 200);
    }
    let nodes = [app, &second];
    for node in nodes {
        node.start_background();
    }
    let menu = |shown: &str| expected(&[("auth", &[shown]), ("customization", &["sidebar"])]);
    let by_a = (json!(["A", "B"]), json!(["A", "B"]), menu("users"));
    let by_b = (json!(["B", "Z"]), json!(["B", "Z"]), menu("roles"));
    let is_named = async |expected: &(Value, Value, Vec<(String, Vec<String>)>), step: &str| {
        for node in nodes {
            assert_eq!(&named(node, &user).await, expected, "{step}");
        }
    };
    is_named(&by_a, "before").await;

    let body = json!({"id": first_role, "name": "Z"});
    let renamed = app.send(admin, Method::PUT, "/auth/roles", body).await;

    assert_eq!(renamed.status, 200, "{}", renamed.text());
    is_named(&by_b, "renamed").await;
    assert_eq!(app.undo(admin, &renamed).await.0, 200);
    is_named(&by_a, "undone").await;
    assert_eq!(app.redo(admin, &renamed).await.0, 200);
    is_named(&by_b, "redone").await;
}

#[actix_web::test]
async fn settings_rename_order_and_hide_unless_hidden_items_are_asked_for() {
    let fixture = Fixture::new().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let settings = json!({"groupOrder": ["customization"], "itemOrder": {"auth": ["roles", "users"]}, "hiddenItems": ["users"],
        "itemLabels": {"roles": "Jobs"}, "groupLabels": {"auth": "People"}});
    app.put(token, PREFERENCES, json!({"settings": settings})).await;

    let (_, body) = app.get(token, NAV).await;
    let (_, all) = app.get(token, &format!("{NAV}?includeHidden=true")).await;
    let (invalid, _) = app.get(token, &format!("{NAV}?includeHidden=maybe")).await;

    assert_eq!(
        own_sections(&body),
        expected(&[("customization", &["sidebar"]), ("auth", &["roles"])])
    );
    let section = |body: &Value| {
        let sections = body["settingsSections"].as_array().expect("sections");
        sections.iter().find(|one| one["id"] == "auth").expect("auth").clone()
    };
    assert_eq!(section(&body)["label"], "People");
    assert_eq!(section(&body)["items"][0]["label"], "Jobs");
    assert!(section(&body)["items"][0].get("hidden").is_none());
    assert_eq!(section(&all)["items"][1]["id"], "users");
    assert_eq!(section(&all)["items"][1]["hidden"], true);
    assert_eq!(invalid, 400);
}

#[actix_web::test]
async fn the_selected_organization_is_the_current_one_and_lends_its_logo() {
    let fixture = Fixture::new().await;
    let new = json!({"name": "Branch", "logoUrl": "https://example.test/logo.png"});
    let (_, branch) = fixture
        .app
        .post(&fixture.a.token, "/directory/organizations", new)
        .await;
    let id = branch["id"].as_str().expect("an id");
    let get = |token: &str| {
        let request = fixture.app.request(Method::GET, NAV).bearer(token);
        request.header("x-organization-id", id).send()
    };

    let body = get(&fixture.a.token).await.json();
    let (_, root) = fixture.app.get(&fixture.root, NAV).await;
    let selecting = fixture.app.request(Method::GET, NAV).bearer(&fixture.root);
    let tenant = fixture.a.id.to_string();
    let selecting = selecting.header("x-tenant-id", &tenant).header("x-organization-id", id);
    let selected = selecting.send().await.json();

    assert_eq!(body["currentOrganization"], json!({"id": id, "name": "Branch"}));
    assert_eq!(
        body["brand"],
        json!({"name": "Branch", "logoUrl": "https://example.test/logo.png"})
    );
    assert_eq!(
        (root["currentOrganization"].clone(), root["roles"].clone()),
        (json!(null), json!(["superadmin"]))
    );
    assert_eq!(selected["currentOrganization"]["name"], "Branch");
}
