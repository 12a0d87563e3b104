//! Sets of rules.

use actix_web::http::Method;
use backoffice_test_accounts::TwoTenants;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{RULES, fixture, logs, rule, with};

const SETS: &str = "/business_rules/sets";

fn set(key: &str) -> Value {
    json!({"setId": key, "setName": format!("Set {key}")})
}

#[actix_web::test]
async fn a_set_runs_its_enabled_members_in_their_order() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let id = fixture.create(SETS, set("s1")).await;
    let members = format!("{SETS}/{id}/members");
    let mut rules: Vec<Uuid> = Vec::new();
    for (key, kind, sequence, enabled) in [
        ("a", "x.y", 2, true),
        ("b", "x.y", 1, true),
        ("c", "x.z", 0, true),
        ("d", "x.y", 0, false),
    ] {
        let rule = fixture.create(RULES, rule(key, "ACTION", kind)).await;
        fixture
            .create(
                &members,
                json!({"ruleId": rule, "sequence": sequence, "enabled": enabled}),
            )
            .await;
        rules.push(rule);
    }

    let (status, body) = app
        .post(token, &format!("{SETS}/{id}/execute"), json!({"entityType": "x.y"}))
        .await;

    assert_eq!(status, 200, "{body}");
    let order: Vec<&Value> = body["executedRules"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["ruleId"])
        .collect();
    assert_eq!(order, ["b", "a"]);
    assert!(logs(&fixture).await.iter().all(|log| log["trigger"] == json!("set")));
    let (_, detail) = app.get(token, &format!("{SETS}/{id}")).await;
    let listed: Vec<&Value> = detail["members"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["ruleKey"])
        .collect();
    assert_eq!(listed.len(), 4);
    assert_eq!(listed[2..], ["b", "a"]);
    app.put(token, SETS, json!({"id": id, "enabled": false})).await;
    let disabled = app
        .post(token, &format!("{SETS}/{id}/execute"), json!({"entityType": "x.y"}))
        .await;
    assert_eq!(
        disabled,
        (409, json!({"error": "The set is disabled", "code": "set_disabled"}))
    );
}

#[actix_web::test]
async fn members_are_added_changed_and_removed() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let (first, second) = (
        fixture.create(SETS, set("s1")).await,
        fixture.create(SETS, set("s2")).await,
    );
    let rule = fixture.create(RULES, rule("a", "ACTION", "x.y")).await;
    let members = format!("{SETS}/{first}/members");
    let member = fixture.create(&members, json!({"ruleId": rule})).await;

    let again = app.post(token, &members, json!({"ruleId": rule})).await;
    assert_eq!(
        again,
        (
            409,
            json!({"error": "The rule is in the set already", "code": "rule_in_set"})
        )
    );
    let (status, body) = app.post(token, &members, json!({"ruleId": Uuid::from_u128(1)})).await;
    assert_eq!(
        (status, &body["details"][0]["code"]),
        (400, &json!("unknown_reference"))
    );
    assert_eq!(
        app.put(token, &members, json!({"memberId": member, "sequence": 5}))
            .await
            .0,
        200
    );
    assert_eq!(
        app.put(token, &members, json!({"memberId": member, "sequence": -1}))
            .await
            .0,
        400
    );
    let other = format!("{SETS}/{second}/members");
    assert_eq!(
        app.put(token, &other, json!({"memberId": member, "sequence": 1}))
            .await
            .0,
        404
    );
    assert_eq!(
        app.delete(token, &format!("{other}?memberId={member}"), Value::Null)
            .await
            .0,
        404
    );
    let missing = format!("{SETS}/{}/members", Uuid::from_u128(1));
    assert_eq!(app.post(token, &missing, json!({"ruleId": rule})).await.0, 404);
    assert_eq!(
        app.put(&fixture.b.token, &members, json!({"memberId": member})).await.0,
        404
    );
    assert_eq!(
        app.delete(token, &format!("{members}?memberId={member}"), Value::Null)
            .await
            .0,
        200
    );
    assert_eq!(app.get(token, &format!("{SETS}/{first}")).await.1["members"], json!([]));
}

#[actix_web::test]
async fn a_key_of_a_set_is_unique() {
    let fixture = fixture().await;
    fixture.create(SETS, set("s1")).await;

    let taken = fixture.app.post(&fixture.a.token, SETS, set("s1")).await;

    assert_eq!(
        taken,
        (409, json!({"error": "Set id is taken already", "code": "set_id_taken"}))
    );
    assert_eq!(fixture.app.post(&fixture.b.token, SETS, set("s1")).await.0, 201);
}

#[actix_web::test]
async fn a_deletion_of_a_rule_or_set_is_undone_with_its_memberships() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let id = fixture.create(SETS, with(set("s1"), json!({"description": "d"}))).await;
    let rule = fixture.create(RULES, rule("a", "ACTION", "x.y")).await;
    fixture
        .create(&format!("{SETS}/{id}/members"), json!({"ruleId": rule, "sequence": 3}))
        .await;
    let before = app.get(token, &format!("{SETS}/{id}")).await.1["members"].clone();

    for path in [format!("{RULES}?id={rule}"), format!("{SETS}?id={id}")] {
        let deleted = app.send(token, Method::DELETE, &path, Value::Null).await;
        assert_eq!(deleted.status, 200);
        let (status, body) = app.undo(token, &deleted).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(app.get(token, &format!("{SETS}/{id}")).await.1["members"], before);
    }
}

/// A set of a branch with a rule of the branch and one of the organization of Alpha, and a user with rights in the branch only.
struct Mixed {
    members: String,
    own: Uuid,
    foreign: Uuid,
    role: Uuid,
    branch: Uuid,
    local: String,
}

const LOCAL: &[&str] = &["business_rules.*", "audit_logs.*"];

async fn mixed(fixture: &TwoTenants) -> Mixed {
    let branch = fixture.organization("Branch", None).await;
    let role = fixture.role("Local", LOCAL, Some(&[branch])).await;
    let (_, local) = fixture.user("local@alpha.test", &["Local"]).await;
    let of_branch = json!({"organizationId": branch});
    let id = fixture.create(SETS, with(set("s1"), of_branch.clone())).await;
    let own = fixture
        .create(RULES, with(rule("own", "ACTION", "x.y"), of_branch))
        .await;
    let of_alpha = json!({"organizationId": fixture.a.organization});
    let foreign = fixture
        .create(RULES, with(rule("foreign", "ACTION", "x.y"), of_alpha))
        .await;
    let members = format!("{SETS}/{id}/members");
    let own = fixture.create(&members, json!({"ruleId": own})).await;
    let foreign = fixture
        .create(&members, json!({"ruleId": foreign, "sequence": 1}))
        .await;
    Mixed {
        members,
        own,
        foreign,
        role,
        branch,
        local,
    }
}

#[actix_web::test]
async fn a_member_whose_rule_is_invisible_is_not_found() {
    let fixture = fixture().await;
    let mixed = mixed(&fixture).await;
    let change = async |id: Uuid| {
        let body = json!({"memberId": id, "sequence": 7});
        fixture.app.put(&mixed.local, &mixed.members, body).await
    };
    let remove = async |id: Uuid| {
        let path = format!("{}?memberId={id}", mixed.members);
        fixture.app.delete(&mixed.local, &path, Value::Null).await
    };
    let unknown = Uuid::from_u128(1);

    assert_eq!(change(mixed.foreign).await, change(unknown).await);
    assert_eq!(remove(mixed.foreign).await, remove(unknown).await);

    assert_eq!(change(unknown).await, (404, json!({"error": "Member not found"})));
    assert_eq!((change(mixed.own).await.0, remove(mixed.own).await.0), (200, 200));
    let kept = format!(
        "business_rules_set_members where id = '{}' and sequence = 1",
        mixed.foreign
    );
    assert_eq!(fixture.app.count(&kept).await, 1);
}

#[actix_web::test]
async fn a_member_returns_only_to_callers_who_see_its_rule() {
    let fixture = fixture().await;
    let mixed = mixed(&fixture).await;
    let both = [mixed.branch, fixture.a.organization];
    fixture.acl(mixed.role, LOCAL, Some(&both)).await;
    let path = format!("{}?memberId={}", mixed.members, mixed.foreign);
    let removed = fixture.app.send(&mixed.local, Method::DELETE, &path, Value::Null).await;
    assert_eq!(removed.status, 200, "{}", removed.text());

    fixture.acl(mixed.role, LOCAL, Some(&[mixed.branch])).await;
    let (status, body) = fixture.app.undo(&mixed.local, &removed).await;

    assert_eq!((status, &body["code"]), (400, &json!("undo_conflict")), "{body}");
    assert_eq!(body["fields"], json!(["ruleId"]));
    fixture.acl(mixed.role, LOCAL, Some(&both)).await;
    assert_eq!(fixture.app.undo(&mixed.local, &removed).await.0, 200);
}

#[actix_web::test]
async fn a_key_that_was_taken_meanwhile_keeps_a_rule_or_set_from_coming_back() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    for (path, body, field) in [
        (RULES, rule("k1", "ACTION", "x.y"), "ruleId"),
        (SETS, set("k1"), "setId"),
    ] {
        let id = fixture.create(path, body.clone()).await;
        let one = format!("{path}?id={id}");
        let deleted = app.send(token, Method::DELETE, &one, Value::Null).await;
        assert_eq!(deleted.status, 200, "{}", deleted.text());
        fixture.create(path, body).await;

        let (status, body) = app.undo(token, &deleted).await;

        let reported = (status, &body["code"], &body["fields"]);
        assert_eq!(reported, (400, &json!("undo_conflict"), &json!([field])));
    }
}
