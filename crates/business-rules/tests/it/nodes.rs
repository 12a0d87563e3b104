//! Several nodes, and the cost of rules.

use std::time::Duration;

use actix_web::http::Method;
use serde_json::{Value, json};

use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::TestApp;

use crate::fixture::{DEALS, MODULES, RULES, deal, fixture, message, rule, with};

fn blocking() -> Value {
    let fields = json!({"eventType": "updated", "successActions": [message("BLOCK_TRANSITION", "No")]});
    with(rule("g", "VALIDATION", "customers.deal"), fields)
}

#[actix_web::test]
async fn rul_17_another_node_validates_by_a_new_rule_within_a_second() {
    let fixture = fixture().await;
    let id = deal(&fixture, "D").await;
    let second = fixture.app.second_node().await;
    second.start_background();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let put = async |title: &str| {
        let request = second.request(Method::PUT, DEALS).bearer(&fixture.a.token);
        let body = json!({"id": id, "title": title});
        request.json(&body).responded_by_interceptor().send().await.status
    };
    assert_eq!(put("E").await, 200);

    let rule = fixture.create(RULES, blocking()).await;
    tokio::time::sleep(Duration::from_millis(1000)).await;
    assert_eq!(put("F").await, 422);

    let path = format!("{RULES}?id={rule}");
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 200);
    tokio::time::sleep(Duration::from_millis(1000)).await;
    assert_eq!(put("G").await, 200);
}

#[actix_web::test]
async fn a_rule_acts_at_once_on_its_own_node() {
    let fixture = fixture().await;
    fixture.app.start_background();
    let id = deal(&fixture, "D").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let put = async |title: &str| {
        let request = fixture.app.request(Method::PUT, DEALS).bearer(&fixture.a.token);
        let body = json!({"id": id, "title": title});
        request.json(&body).responded_by_interceptor().send().await.status
    };
    assert_eq!(put("E").await, 200);

    let rule = fixture.create(RULES, blocking()).await;
    assert_eq!(put("F").await, 422);
    let body = json!({"id": rule, "enabled": false});
    assert_eq!(fixture.app.put(&fixture.a.token, RULES, body).await.0, 200);
    assert_eq!(put("F").await, 200);
}

#[actix_web::test]
async fn a_command_without_matching_rules_costs_no_statement() {
    let app = TestApp::builder(&MODULES)
        .config(CONFIG)
        .config(NO_LIMITS)
        .through_proxy();
    let fixture = TwoTenants::inside(app.build().await).await;
    fixture.app.start_background();
    let id = deal(&fixture, "D").await;
    let mut number = 0;
    let mut put = async || {
        number += 1;
        let body = json!({"id": id, "title": format!("Title {number}")});
        assert_eq!(fixture.app.put(&fixture.a.token, DEALS, body).await.0, 200);
    };
    // Reads the rules, and whatever else is cached.
    put().await;
    let without = fixture.app.fewest_statements(&mut put).await;
    let passing = with(rule("g", "GUARD", "customers.deal"), json!({"eventType": "updated"}));
    fixture.create(RULES, passing).await;
    put().await;

    assert_eq!(fixture.app.fewest_statements(put).await, without);
}

#[actix_web::test]
async fn rul_17_a_node_without_the_database_executes_nothing_unvalidated() {
    let app = TestApp::builder(&MODULES)
        .config(CONFIG)
        .config(NO_LIMITS)
        .through_proxy();
    let fixture = TwoTenants::inside(app.build().await).await;
    fixture.app.start_background();
    let id = deal(&fixture, "D").await;
    let put = async |title: &str| {
        let request = fixture.app.request(Method::PUT, DEALS).bearer(&fixture.a.token);
        let body = json!({"id": id, "title": title});
        request.json(&body).responded_by_interceptor().send().await.status
    };
    assert_eq!(put("E").await, 200);
    let other = fixture.app.second_node().await;

    fixture.app.proxy().cut();
    let (status, body) = other.post(&fixture.a.token, RULES, blocking()).await;
    assert_eq!(status, 201, "{body}");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(put("F").await, 503);
    fixture.app.proxy().restore();

    let mut status = 503;
    for _ in 0..50 {
        status = put("G").await;
        if status != 503 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(status, 422);
}
