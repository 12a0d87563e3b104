//! Rules.

use serde_json::{Value, json};

use crate::{codes, create, fixture};

const RULES: &str = "/business_rules/rules";
const ORGANIZATIONS: &str = "/directory/organizations";

#[actix_web::test]
async fn a_rule_is_created_in_the_organization_of_the_caller() {
    let fixture = fixture().await;

    let id = create(&fixture, RULES, json!({"name": " First ", "note": "x"})).await;

    let (_, row) = fixture.app.get(&fixture.a.token, &format!("{RULES}/{id}")).await;
    assert_eq!(row["organizationId"], json!(fixture.a.organization));
    assert_eq!((&row["name"], &row["note"]), (&json!("First"), &json!("x")));
}

#[actix_web::test]
async fn a_list_is_searched_and_sorted() {
    let fixture = fixture().await;
    for name in ["Beta one", "Alpha one", "Gamma"] {
        create(&fixture, RULES, json!({"name": name})).await;
    }

    let path = format!("{RULES}?search=one&sortField=name");
    let (_, page) = fixture.app.get(&fixture.a.token, &path).await;

    let rows = page["items"].as_array().into_iter().flatten();
    let names: Vec<&Value> = rows.map(|row| &row["name"]).collect();
    assert_eq!(names, ["Alpha one", "Beta one"]);
    assert_eq!(page["total"], 2);
}

#[actix_web::test]
async fn an_update_changes_only_the_given_fields() {
    let fixture = fixture().await;
    let id = create(&fixture, RULES, json!({"name": "First", "note": "x"})).await;

    let (status, _) = fixture
        .app
        .put(&fixture.a.token, RULES, json!({"id": id, "note": null}))
        .await;

    assert_eq!(status, 200);
    let (_, row) = fixture.app.get(&fixture.a.token, &format!("{RULES}/{id}")).await;
    assert_eq!((&row["name"], &row["note"]), (&json!("First"), &Value::Null));
}

#[actix_web::test]
async fn a_deleted_rule_is_missing() {
    let fixture = fixture().await;
    let id = create(&fixture, RULES, json!({"name": "First"})).await;

    let path = format!("{RULES}?id={id}");
    let (status, _) = fixture.app.delete(&fixture.a.token, &path, Value::Null).await;

    assert_eq!(status, 200);
    let found = fixture.app.get(&fixture.a.token, &format!("{RULES}/{id}")).await;
    assert_eq!(found, (404, json!({"error": "Rule not found"})));
}

#[actix_web::test]
async fn invalid_fields_are_reported_together() {
    let fixture = fixture().await;

    let body = json!({"name": " ", "note": "x".repeat(4001)});
    let (status, body) = fixture.app.post(&fixture.a.token, RULES, body).await;

    assert_eq!(
        (status, codes(&body)),
        (400, vec![("name", "required"), ("note", "too_long")])
    );
}

#[actix_web::test]
async fn a_name_is_unique_in_its_organization() {
    let fixture = fixture().await;
    let branch = create(&fixture, ORGANIZATIONS, json!({"name": "Branch"})).await;
    create(&fixture, RULES, json!({"name": "First"})).await;
    create(&fixture, RULES, json!({"name": "First", "organizationId": branch})).await;

    let (status, body) = fixture
        .app
        .post(&fixture.a.token, RULES, json!({"name": "First"}))
        .await;

    assert_eq!((status, codes(&body)), (400, vec![("name", "not_unique")]));
}

#[actix_web::test]
async fn employees_cannot_see_rules() {
    let fixture = fixture().await;
    let (_, employee) = fixture.user("employee@alpha.test", &["employee"]).await;

    let rejected = fixture.app.get(&employee, RULES).await;

    let expected = json!({"error": "Forbidden", "requiredFeatures": ["business_rules.rules.view"]});
    assert_eq!(rejected, (403, expected));
}

#[actix_web::test]
async fn another_tenant_and_another_organization_cannot_see_a_rule() {
    let fixture = fixture().await;
    let id = create(&fixture, RULES, json!({"name": "First"})).await;
    let branch = create(&fixture, ORGANIZATIONS, json!({"name": "Branch"})).await;
    fixture.role("Local", &["business_rules.*"], Some(&[branch])).await;
    let (_, local) = fixture.user("local@alpha.test", &["Local"]).await;

    for token in [&fixture.b.token, &local] {
        let (found, _) = fixture.app.get(token, &format!("{RULES}/{id}")).await;
        let (_, page) = fixture.app.get(token, RULES).await;

        assert_eq!((found, &page["total"]), (404, &json!(0)));
    }
}

#[actix_web::test]
async fn an_organization_with_rules_cannot_be_deleted() {
    let fixture = fixture().await;
    let branch = create(&fixture, ORGANIZATIONS, json!({"name": "Branch"})).await;
    let id = create(&fixture, RULES, json!({"name": "First", "organizationId": branch})).await;
    let delete = async |path: &str| fixture.app.delete(&fixture.a.token, path, Value::Null).await;

    let rejected = delete(&format!("{ORGANIZATIONS}?id={branch}")).await;

    let expected = json!({"error": "Organization is in use", "code": "organization_in_use"});
    assert_eq!(rejected, (409, expected));
    assert_eq!(delete(&format!("{RULES}?id={id}")).await.0, 200);
    assert_eq!(delete(&format!("{ORGANIZATIONS}?id={branch}")).await.0, 200);
}
