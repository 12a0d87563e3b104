//! Where a feature counts: in lists, by key, in streams and in jobs.

use std::time::Duration;

use actix_web::http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;
use uuid::Uuid;

use super::{DEALS, KEYS, USERS, deal, ids, split};
use crate::customers;
use crate::customers::Customer;
use crate::fixture::{Fixture, id, text};

#[actix_web::test]
async fn acc_41_a_feature_counts_in_the_organizations_of_its_own_acl() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    crate::catalog::seed(&fixture, tenant_fixture).await;
    let who = split(&fixture).await;
    let (inside, _) = deal(&fixture, tenant_fixture, tenant_fixture.child).await;
    let (outside, _) = deal(&fixture, tenant_fixture, tenant_fixture.other).await;

    assert_eq!(ids(&fixture, &who.token, DEALS).await, [inside]);
    assert_eq!(ids(&fixture, &who.token, "/catalog/products").await.len(), 3);

    let write = |deal: Uuid| json!({"id": deal, "title": "Changed"});
    assert_eq!(
        fixture
            .app
            .send(&who.token, Method::PUT, DEALS, write(inside))
            .await
            .status,
        200
    );
    assert_eq!(
        fixture
            .app
            .send(&who.token, Method::PUT, DEALS, write(outside))
            .await
            .status,
        404
    );
    let elsewhere = json!({"title": "New", "organizationId": tenant_fixture.other});
    let rejected = fixture.app.send(&who.token, Method::POST, DEALS, elsewhere).await;
    assert_eq!(
        (rejected.status, rejected.json()),
        (403, json!({"error": "Organization out of scope"}))
    );

    let selecting = |organization: Uuid, path: &'static str| {
        let request = fixture.app.request(Method::GET, path).bearer(&who.token);
        request.header("X-Organization-Id", &organization.to_string())
    };
    let rejected = selecting(tenant_fixture.other, DEALS).send().await;
    assert_eq!(rejected.status, 403);
    assert_eq!(rejected.json()["requiredFeatures"], json!(["customers.deals.view"]));
    assert_eq!(
        selecting(tenant_fixture.other, "/catalog/products").send().await.status,
        200
    );
    assert_eq!(selecting(tenant_fixture.child, DEALS).send().await.status, 200);

    let nav =
        async |organization| selecting(organization, "/auth/admin/nav").send().await.json()["grantedFeatures"].clone();
    let holds = |granted: &Value, feature: &str| granted.as_array().expect("a list").contains(&json!(feature));
    let (here, there) = (nav(tenant_fixture.parent).await, nav(tenant_fixture.other).await);
    assert!(holds(&here, "customers.deals.view") && holds(&here, "catalog.products.view"));
    assert!(!holds(&there, "customers.deals.view") && holds(&there, "catalog.products.view"));

    let question = json!({"features": ["customers.deals.view", "customers.deals.*", "catalog.products.view"]});
    let asked = fixture
        .app
        .request(Method::POST, "/auth/feature-check")
        .bearer(&who.token);
    let asked = asked.header("X-Organization-Id", &tenant_fixture.other.to_string());
    let reported = asked.json(&question).send().await.json();
    assert_eq!(
        (&reported["ok"], &reported["granted"]),
        (&json!(false), &json!(["catalog.products.view"]))
    );
}

#[actix_web::test]
async fn acc_41_by_key_log_and_undo_a_feature_stays_where_it_is_granted() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    let who = split(&fixture).await;
    let (inside, created_inside) = deal(&fixture, tenant_fixture, tenant_fixture.child).await;
    let (outside, created_outside) = deal(&fixture, tenant_fixture, tenant_fixture.other).await;

    // The user sees the log of the whole tenant, but an undo needs the features of the command in the organization where it ran.
    let undoable = "/audit_logs/audit-logs/actions?undoableOnly=true&resourceKind=customers.deal";
    assert_eq!(
        ids(&fixture, &who.token, undoable).await,
        [created_inside.undoable_write().log_id]
    );
    let rejected = fixture.app.undo(&who.token, &created_outside).await;
    assert_eq!(rejected.0, 403, "{}", rejected.1);
    let undone = fixture.app.undo(&who.token, &created_inside).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    assert_eq!(
        ids(&fixture, &tenant_fixture.tenant_admin.token, DEALS).await,
        [outside]
    );

    // The feature to see other users' entries has organizations of its own.
    fixture
        .role(tenant_fixture, "Own log", &["audit_logs.view_self"], None)
        .await;
    fixture
        .role(
            tenant_fixture,
            "Log of other",
            &["audit_logs.view_tenant"],
            Some(&[tenant_fixture.other]),
        )
        .await;
    let reader = fixture
        .account(tenant_fixture, "reader@alpha.test", &["Own log", "Log of other"])
        .await;
    let log = "/audit_logs/audit-logs/actions?pageSize=200";
    let (_, seen) = fixture.app.get(&reader.token, log).await;
    let organizations: Vec<&Value> = seen["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["organizationId"])
        .collect();
    assert!(!organizations.is_empty());
    assert!(
        organizations.iter().all(|one| **one == json!(tenant_fixture.other)),
        "{organizations:?}"
    );
    let export = fixture
        .app
        .request(Method::GET, "/audit_logs/audit-logs/actions/export?format=csv")
        .bearer(&reader.token);
    let exported = export.send().await.text();
    assert!(
        exported.contains(&outside.to_string()) && !exported.contains(&inside.to_string()),
        "{exported}"
    );

    let body = json!({"name": "Split", "roles": ["Deals", "Wide"], "organizationId": null});
    let (status, key) = fixture.app.post(&tenant_fixture.tenant_admin.token, KEYS, body).await;
    assert_eq!(status, 201, "{key}");
    let by_key = async |path: &str| {
        let request = fixture
            .app
            .request(Method::GET, path)
            .header("X-Api-Key", &text(&key["secret"]));
        request.send().await.json()["items"].as_array().map(Vec::len)
    };
    assert_eq!((by_key(DEALS).await, by_key(USERS).await.is_some()), (Some(0), true));
}

#[actix_web::test]
async fn acc_41_what_was_undone_later_is_redone_first_in_whatever_organization_it_is() {
    let fixture = Fixture::new().await;
    let (app, tenant_fixture) = (&fixture.app, &fixture.a);
    customers::seed(&fixture, tenant_fixture).await;
    let (inside, _) = deal(&fixture, tenant_fixture, tenant_fixture.child).await;
    let deals = ["customers.deals.*"];
    fixture
        .role(tenant_fixture, "Deals", &deals, Some(&[tenant_fixture.parent]))
        .await;
    let wide = ["customers.pipelines.*", "audit_logs.undo_self", "audit_logs.redo_self"];
    fixture.role(tenant_fixture, "Wide", &wide, None).await;
    let who = fixture
        .account(tenant_fixture, "who@alpha.test", &["Deals", "Wide"])
        .await;
    let body = json!({"id": inside, "title": "Changed"});
    let renamed = app.send(&who.token, Method::PUT, DEALS, body).await;
    // The pipeline and its stages are in `other`, where the user has no deals.
    let order = [Customer::SecondFreeStage, Customer::FreeStage].map(|stage| stage.of(tenant_fixture));
    let body = json!({"pipelineId": Customer::FreePipeline.of(tenant_fixture), "ids": order});
    let path = "/customers/pipeline-stages/reorder";
    let reordered = app.send(&who.token, Method::POST, path, body).await;
    for write in [&renamed, &reordered] {
        let (status, body) = app.undo(&who.token, write).await;
        assert_eq!(status, 200, "{body}");
    }

    let early = app.redo(&who.token, &renamed).await;

    assert_eq!(early, (400, json!({"error": "Redo target not available"})));
    for write in [&reordered, &renamed] {
        let (status, body) = app.redo(&who.token, write).await;
        assert_eq!(status, 200, "{body}");
    }
}

#[actix_web::test]
async fn acc_41_a_stream_carries_the_organizations_of_its_feature() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    let who = split(&fixture).await;
    let mut stream = fixture
        .app
        .request(Method::GET, "/events/stream")
        .bearer(&who.token)
        .open_events()
        .await;

    let (_, _) = deal(&fixture, tenant_fixture, tenant_fixture.other).await;
    let (inside, _) = deal(&fixture, tenant_fixture, tenant_fixture.child).await;

    let reported = async {
        loop {
            let (_, name, data) = stream.event().await;
            if name == "customers.deal.created" {
                return id(&data["payload"]["id"]);
            }
        }
    };
    let reported = timeout(Duration::from_secs(10), reported).await.expect("an event");
    assert_eq!(reported, inside);
}

#[actix_web::test]
async fn acc_41_a_job_changes_what_its_features_reach() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    customers::seed(&fixture, tenant_fixture).await;
    let (inside, _) = deal(&fixture, tenant_fixture, tenant_fixture.child).await;
    let who = split(&fixture).await;
    let body = json!({"ids": [inside, Customer::BareDeal.of(tenant_fixture)], "ownerUserId": null});

    let (status, started) = fixture
        .app
        .post(&who.token, "/customers/deals/bulk-update-owner", body)
        .await;
    fixture.app.run_jobs().await;

    let owner = format!(
        "select owner_user_id from customers_deals where id = '{}'",
        Customer::BareDeal.of(tenant_fixture)
    );
    let kept = fixture.app.rows(&owner).await;
    assert_eq!(
        id(&kept[0]["owner_user_id"]),
        tenant_fixture.tenant_admin.id,
        "{status} {started}"
    );
}
