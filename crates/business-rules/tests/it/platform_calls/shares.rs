//! The share of a tenant in the internal requests, and calls that are repeated when it is used up.

use actix_web::http::Method;
use backoffice_core::http::internal::{InternalCaller, InternalRequest, InternalResponse};
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_core::{Cause, Result};
use backoffice_test_accounts::{TwoTenants, id_of};
use backoffice_test_support::Duration;
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, poll};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{KEYS, call, calling, catalog_key, failures, key, product, products, settle};
use crate::fixture::{EXECUTE, RULES, deal, fixture, logs};

/// Requests of a tenant that are under way and that wait.
const SHARE: usize = 2 + 16;

/// Returns an internal request that reads products.
fn read_products(tenant: Uuid) -> InternalRequest {
    let key = Identity {
        kind: ActorKind::ApiKey,
        id: Some(Uuid::from_u128(6)),
        tenant,
        ..Identity::system()
    };
    let cause = Cause {
        rule: Uuid::from_u128(7),
        depth: 1,
    };
    InternalRequest {
        method: Method::GET,
        target: "/catalog/products".to_owned(),
        body: None,
        headers: Vec::new(),
        caller: InternalCaller::by_key(Identity::system(), &key, tenant, None, cause),
    }
}

/// Takes the whole share of Alpha with requests that wait for the locked products.
async fn occupy(fixture: &TwoTenants) -> FuturesUnordered<impl Future<Output = Result<Option<InternalResponse>>>> {
    let lock = "begin; lock table catalog_products in access exclusive mode";
    fixture.app.sql(lock).await;
    let request = |_| fixture.app.runtime().request(read_products(fixture.a.id));
    let mut held: FuturesUnordered<_> = (0..SHARE).map(request).collect();
    assert!(poll!(held.next()).is_pending());
    held
}

/// Waits until all these requests have ended.
async fn release(
    fixture: &TwoTenants,
    mut held: FuturesUnordered<impl Future<Output = Result<Option<InternalResponse>>>>,
) {
    fixture.app.sql("commit").await;
    while let Some(response) = held.next().await {
        assert!(response.is_ok());
    }
}

/// Returns how often the only job of this kind has failed, while it is queued.
async fn failed_attempts(fixture: &TwoTenants, kind: &str) -> Value {
    let sql = format!("select attempt from core_jobs where kind = '{kind}' and state = 'queued'");
    fixture.app.rows(&sql).await[0]["attempt"].clone()
}

#[actix_web::test]
async fn one_tenant_leaves_requests_from_inside_to_others() {
    let fixture = fixture().await;
    let list = |key: Uuid| calling("ACTION", &call("GET /customers/deals", key, Value::Null));
    fixture.role("Reader", &["customers.*"], None).await;
    let own = key(&fixture, "Reader", None).await;
    fixture.create(RULES, list(own)).await;
    let body = json!({"name": "Beta", "roles": ["admin"], "organizationId": null});
    let (status, theirs) = fixture.app.post(&fixture.b.token, KEYS, body).await;
    assert_eq!(status, 201, "{theirs}");
    fixture.app.create(&fixture.b.token, RULES, list(id_of(&theirs))).await;
    let result = async |token: &str| {
        let input = json!({"entityType": "customers.deal"});
        let (status, body) = fixture.app.post(token, EXECUTE, input).await;
        assert_eq!(status, 200, "{body}");
        body["executedRules"][0]["actionsExecuted"]["results"][0].clone()
    };

    let held = occupy(&fixture).await;
    let (own, theirs) = (result(&fixture.a.token).await, result(&fixture.b.token).await);
    release(&fixture, held).await;

    assert_eq!((&own["success"], &own["error"]), (&json!(false), &json!("unavailable")));
    assert_eq!(theirs["status"], 200, "{theirs}");
    assert_eq!(result(&fixture.a.token).await["status"], 200);
}

#[actix_web::test]
async fn a_job_repeats_the_rule_of_an_event_until_the_platform_is_available() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    fixture.create(RULES, calling("ACTION", &product(key))).await;
    deal(&fixture, "D").await;
    while fixture.app.deliver_events().await > 0 {}

    let held = occupy(&fixture).await;
    fixture.app.run_jobs().await;
    let failed = failed_attempts(&fixture, "business_rules.rule.run").await;
    release(&fixture, held).await;

    assert_eq!((failed, products(&fixture).await.len()), (json!(1), 0));
    assert!(logs(&fixture).await.is_empty());
    fixture.app.advance(Duration::seconds(3));
    settle(&fixture).await;
    assert_eq!(products(&fixture).await.len(), 1);
    let logged = logs(&fixture).await;
    let result = &logged[0]["outputContext"]["actionsExecuted"]["results"][0];
    assert_eq!((logged.len(), &result["status"]), (1, &json!(201)));
    assert!(failures(&fixture).await.is_empty());
}

#[actix_web::test]
async fn a_job_repeats_the_call_of_a_guard_until_the_platform_is_available() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    fixture.create(RULES, calling("GUARD", &product(key))).await;
    deal(&fixture, "D").await;

    let held = occupy(&fixture).await;
    fixture.app.run_jobs().await;
    let failed = failed_attempts(&fixture, "business_rules.platform.call").await;
    release(&fixture, held).await;

    assert_eq!((failed, products(&fixture).await.len()), (json!(1), 0));
    fixture.app.advance(Duration::seconds(3));
    settle(&fixture).await;
    assert_eq!(products(&fixture).await.len(), 1);
    assert!(failures(&fixture).await.is_empty());
}

#[actix_web::test]
async fn the_last_attempt_notes_that_the_platform_is_not_available() {
    for (rule_type, reason) in [("ACTION", "unavailable"), ("GUARD", "CALL_PLATFORM: unavailable")] {
        let fixture = fixture().await;
        let (_, key) = catalog_key(&fixture).await;
        fixture.create(RULES, calling(rule_type, &product(key))).await;
        deal(&fixture, "D").await;
        while fixture.app.deliver_events().await > 0 {}
        let last = "update core_jobs set attempt = 7 where kind in ('business_rules.rule.run', 'business_rules.platform.call')";
        assert_eq!(fixture.app.sql(last).await, 1);

        let held = occupy(&fixture).await;
        fixture.app.run_jobs().await;
        release(&fixture, held).await;

        assert_eq!(failures(&fixture).await, [reason], "{rule_type}");
        let open = "core_jobs where kind like 'business_rules.%' and state <> 'done'";
        assert_eq!(fixture.app.count(open).await, 0, "{rule_type}");
    }
}
