//! Bulk jobs of users who really sign in: the remaining items after the user has lost the right to run them.

use backoffice_core::jobs::{Worker, stop_signal};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::customers::seed;
use crate::fixture::{Account, Fixture, id, text};

const OWNERS: &str = "/customers/deals/bulk-update-owner";

/// A seller whose job removes the owner of 150 deals; 100 of them are done.
struct UnderWay {
    fixture: Fixture,
    role: Uuid,
    seller: Account,
    job: Uuid,
}

impl UnderWay {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        seed(&fixture, &fixture.a).await;
        let role = fixture.role(&fixture.a, "Seller", &["customers.*"], None).await;
        let seller = fixture.account(&fixture.a, "seller@alpha.test", &["Seller"]).await;
        let deals = format!(
            "insert into customers_deals (tenant_id, id, organization_id, title, status, owner_user_id, created_at, updated_at)
             select '{}', gen_random_uuid(), '{}', 'Deal ' || n, 'open', '{}', '2026-11-20', '2026-11-20'
             from generate_series(1, 150) as n",
            fixture.a.tenant, fixture.a.root, seller.id
        );
        fixture.app.sql(&deals).await;
        let rows = fixture
            .app
            .rows("select id from customers_deals where title <> 'A deal'")
            .await;
        let ids: Vec<&Value> = rows.iter().map(|row| &row["id"]).collect();
        let body = json!({"ids": ids, "ownerUserId": null});
        let (status, outcome) = fixture.app.post(&seller.token, OWNERS, body).await;
        assert_eq!(status, 201, "{outcome}");
        let job = id(&outcome["progressJobId"]);
        let (sender, stop) = stop_signal();
        sender.send_replace(true);
        // Starts the job, then runs one chunk.
        for _ in 0..2 {
            let worker = Worker::new(fixture.app.runtime().clone());
            assert!(worker.run_one(Some(&stop)).await.expect("the queue"));
        }
        Self {
            fixture,
            role,
            seller,
            job,
        }
    }

    /// Returns status, succeeded and failed items, and their error codes, once the job has ended.
    async fn end(&self) -> (String, Value, Value, Vec<String>) {
        self.fixture.app.run_jobs().await;
        let path = format!("/progress/jobs/{}", self.job);
        let (status, shown) = self.fixture.app.get(&self.fixture.a.tenant_admin.token, &path).await;
        assert_eq!(status, 200, "{shown}");
        let failed = shown["resultSummary"]["failedItems"].as_array().expect("a list");
        let mut codes: Vec<String> = failed.iter().map(|item| text(&item["code"])).collect();
        codes.dedup();
        let counts = (shown["succeededCount"].clone(), shown["failedCount"].clone());
        (text(&shown["status"]), counts.0, counts.1, codes)
    }

    async fn put(&self, path: &str, body: Value) {
        let (status, outcome) = self
            .fixture
            .app
            .put(&self.fixture.a.tenant_admin.token, path, body)
            .await;
        assert_eq!(status, 200, "{outcome}");
    }
}

fn rest_is_forbidden() -> (String, Value, Value, Vec<String>) {
    let codes = vec!["forbidden".to_owned()];
    ("completed_with_errors".to_owned(), json!(100), json!(50), codes)
}

#[actix_web::test]
async fn crm_8_a_right_that_is_withdrawn_in_mid_job() {
    let job = UnderWay::new().await;

    let acl = json!({"roleId": job.role, "features": ["auth.users.list"]});
    job.put("/auth/roles/acl", acl).await;

    assert_eq!(job.end().await, rest_is_forbidden());
}

#[actix_web::test]
async fn crm_8_a_user_that_is_deactivated_in_mid_job() {
    let job = UnderWay::new().await;

    job.put("/auth/users", json!({"id": job.seller.id, "isActive": false}))
        .await;

    assert_eq!(job.end().await, rest_is_forbidden());
}

#[actix_web::test]
async fn crm_8_signing_out_in_mid_job_changes_nothing() {
    let job = UnderWay::new().await;

    let (status, _) = job
        .fixture
        .app
        .post(&job.seller.token, "/auth/logout", json!({"all": true}))
        .await;
    assert!(status < 400);
    assert_eq!(job.fixture.app.get(&job.seller.token, "/progress/active").await.0, 401);

    assert_eq!(
        job.end().await,
        ("completed".to_owned(), json!(150), json!(0), Vec::new())
    );
}
