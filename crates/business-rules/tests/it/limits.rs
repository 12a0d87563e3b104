//! How many executions a caller may request.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{EXECUTE, RULES, fixture_with_limits, rule, with};

const CONFIG: &str = "[rate_limits.limits]\n\"business_rules.execute.actor\" = \"2/60\"\n";
const SETS: &str = "/business_rules/sets";

#[actix_web::test]
async fn executions_that_run_nothing_count() {
    let disabled = json!({"enabled": false});
    let expired = json!({"effectiveTo": "2020-01-01T00:00:00Z"});
    for (expected, path, body) in [
        (200, RULES, Some(with(rule("r1", "ACTION", "x.y"), disabled.clone()))),
        (200, RULES, Some(with(rule("r1", "ACTION", "x.y"), expired))),
        (404, RULES, None),
        (409, SETS, Some(with(json!({"setId": "s1", "setName": "S"}), disabled))),
        (404, SETS, None),
    ] {
        let fixture = fixture_with_limits(CONFIG).await;
        let id = match body {
            Some(body) => fixture.create(path, body).await,
            None => Uuid::from_u128(1),
        };
        let path = match path {
            SETS => format!("{SETS}/{id}/execute"),
            _ => format!("{EXECUTE}/{id}"),
        };
        let execute = async |token: &str| {
            let input = json!({"entityType": "x.y"});
            fixture.app.post(token, &path, input).await.0
        };

        let statuses = [
            execute(&fixture.a.token).await,
            execute(&fixture.a.token).await,
            execute(&fixture.a.token).await,
        ];

        assert_eq!(statuses, [expected, expected, 429], "{path}");
        assert_eq!(execute(&fixture.b.token).await, 404, "another actor");
    }
}

#[actix_web::test]
async fn rejected_bodies_do_not_count() {
    let fixture = fixture_with_limits(CONFIG).await;
    let execute = async |body: Value| fixture.app.post(&fixture.a.token, EXECUTE, body).await.0;
    for _ in 0..3 {
        assert_eq!(execute(json!({})).await, 400);
    }

    let body = json!({"entityType": "x.y", "dryRun": true});
    let statuses = [
        execute(body.clone()).await,
        execute(body.clone()).await,
        execute(body).await,
    ];

    assert_eq!(statuses, [200, 200, 429]);
}
