//! How many executions are under way at once.

use actix_web::http::Method;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{TestApp, TestResponse};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use uuid::Uuid;

use crate::fixture::{EXECUTE, MODULES, RULES, action, deal, rule, with};

async fn execute(fixture: &TwoTenants, token: &str, deal: Uuid) -> TestResponse {
    let body = json!({"entityType": "customers.deal", "entityId": deal});
    fixture.app.send(token, Method::POST, EXECUTE, body).await
}

fn assert_too_many(response: &TestResponse) {
    let expected = json!({
        "error": "Too many executions are under way; repeat the request later", "code": "too_many_executions",
    });
    assert_eq!((response.status, response.json()), (429, expected));
    assert_eq!(response.header("Retry-After").as_deref(), Some("1"));
}

#[actix_web::test]
async fn a_caller_and_a_tenant_leave_executions_to_others() {
    let app = TestApp::builder(&MODULES)
        .config(CONFIG)
        .config(NO_LIMITS)
        .pool_size(12);
    let fixture = TwoTenants::inside(app.build().await).await;
    let features = ["business_rules.execute", "customers.*"];
    fixture.role("Executor", &features, None).await;
    let (_, second) = fixture.user("second@alpha.test", &["Executor"]).await;
    let (_, third) = fixture.user("third@alpha.test", &["Executor"]).await;
    let set = action("SET_FIELD", json!({"field": "title", "value": "New"}));
    let fields = json!({"successActions": [set]});
    fixture
        .create(RULES, with(rule("hangs", "ACTION", "customers.deal"), fields))
        .await;
    let id = deal(&fixture, "Old").await;
    let lock = format!("begin; select id from customers_deals where id = '{id}' for update");
    fixture.app.sql(&lock).await;

    // Two of each caller wait for the deal.
    let mut running = FuturesUnordered::new();
    for token in [&fixture.a.token, &second] {
        running.extend((0..3).map(|_| execute(&fixture, token, id)));
        assert_too_many(&running.next().await.expect("a response"));
    }
    assert_too_many(&execute(&fixture, &third, id).await);
    let input = json!({"entityType": "x.y"});
    let (status, body) = fixture.app.post(&fixture.b.token, EXECUTE, input).await;
    assert_eq!(status, 200, "{body}");

    fixture.app.sql("commit").await;
    assert_eq!(running.len(), 4);
    while let Some(response) = running.next().await {
        assert_eq!(response.status, 200, "{}", response.text());
    }
    assert_eq!(execute(&fixture, &third, id).await.status, 200);
}
