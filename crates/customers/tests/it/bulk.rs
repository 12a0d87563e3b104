//! Owners and stages of many deals.

use backoffice_core::jobs::{Worker, stop_signal};
use backoffice_test_support::details;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Account, Fixture, TenantFixture, detail, id_of};

pub(crate) const OWNER: &str = "/customers/deals/bulk-update-owner";
pub(crate) const STAGE: &str = "/customers/deals/bulk-update-stage";

impl Fixture {
    /// Inserts deals of an organization, bypassing the command log.
    pub(crate) async fn deals(&self, tenant_fixture: &TenantFixture, organization: Uuid, count: usize) -> Vec<Uuid> {
        let ids: Vec<Uuid> = (0..count).map(|_| self.app.system_context().new_id()).collect();
        let row = |id: &Uuid| {
            format!(
                "('{}', '{id}', '{organization}', 'Deal', 'open', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z')",
                tenant_fixture.id
            )
        };
        for ids in ids.chunks(1000) {
            let rows: Vec<String> = ids.iter().map(row).collect();
            let sql = format!(
                "insert into customers_deals (tenant_id, id, organization_id, title, status, created_at, updated_at) values {}",
                rows.join(",")
            );
            assert_eq!(self.app.sql(&sql).await, ids.len() as u64);
        }
        ids
    }

    /// Sends a bulk request that must be accepted, runs its job to the end and returns the job as its requester sees it.
    pub(crate) async fn bulk(&self, who: &Account, path: &str, body: Value) -> Value {
        let (status, response) = self.app.post(&who.token, path, body).await;
        assert_eq!(status, 201, "{response}");
        assert_eq!(self.app.run_jobs().await, 1);
        self.job(who, &response).await
    }

    pub(crate) async fn job(&self, who: &Account, response: &Value) -> Value {
        let id = response["progressJobId"].as_str().expect("an id");
        let (status, job) = self.get(who, &format!("/progress/jobs/{id}")).await;
        assert_eq!(status, 200, "{job}");
        job
    }

    /// Returns resource, status and code of the failed items.
    pub(crate) async fn failures(&self, who: &Account, job: &Value) -> Vec<(Uuid, i64, String)> {
        let path = format!("/progress/jobs/{}/items?state=failed&pageSize=100", id_of(job));
        let (status, items) = self.get(who, &path).await;
        assert_eq!(status, 200, "{items}");
        let reported = |item: &Value| {
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            (
                text(&item["resourceId"]).parse().expect("a UUID"),
                item["error"]["status"].as_i64().expect("a status"),
                text(&item["error"]["code"]),
            )
        };
        items["items"].as_array().expect("items").iter().map(reported).collect()
    }

    pub(crate) async fn owners(&self, deals: &[Uuid]) -> Vec<Value> {
        self.column("owner_user_id", deals).await
    }

    pub(crate) async fn column(&self, column: &str, deals: &[Uuid]) -> Vec<Value> {
        let rows = self
            .app
            .rows(&format!("select id, {column} as value from customers_deals"))
            .await;
        let of = |id: &Uuid| {
            rows.iter()
                .find(|row| row["id"] == json!(id))
                .map(|row| row["value"].clone())
        };
        deals.iter().map(|id| of(id).expect("the deal")).collect()
    }

    async fn jobs(&self) -> usize {
        self.app.rows("select id from progress_jobs").await.len()
    }
}

pub(crate) fn counts(job: &Value) -> (&str, [i64; 4]) {
    let count = |name: &str| job[name].as_i64().expect("a count");
    let counts = ["processedCount", "succeededCount", "skippedCount", "failedCount"].map(count);
    (job["status"].as_str().expect("a status"), counts)
}

#[actix_web::test]
async fn crm_1_five_hundred_deals_get_an_owner_and_lose_it_again() {
    let fixture = Fixture::new().await;
    let (admin, owner) = (&fixture.a.admin, &fixture.a.local);
    let deals = fixture.deals(&fixture.a, fixture.a.child, 500).await;

    let body = json!({"ids": deals, "ownerUserId": owner.id});
    let (status, response) = fixture.app.post(&admin.token, OWNER, body).await;
    assert_eq!(
        (status, &response),
        (
            201,
            &json!({"ok": true, "progressJobId": response["progressJobId"], "totalCount": 500,
                "message": "Bulk owner update started (500 deals)."})
        )
    );
    fixture.app.run_jobs().await;
    let job = fixture.job(admin, &response).await;

    assert_eq!(counts(&job), ("completed", [500, 500, 0, 0]));
    assert_eq!(job["resultSummary"]["affectedCount"], 500);
    assert_eq!(job["meta"], json!({"ownerUserId": owner.id}));
    assert_eq!(job["jobType"], "customers.deal.bulk_update_owner");
    assert_eq!(fixture.owners(&deals).await, vec![json!(owner.id); 500]);
    let entries = "select count(*) as n, count(distinct resource_id) as deals from audit_action_logs \
        where command_id = 'customers.deal.assign_owner' and source = 'job' and action_type = 'assign'";
    let by_requester = format!("{entries} and actor_kind = 'user' and actor_id = '{}'", admin.id);
    assert_eq!(fixture.app.rows(&by_requester).await, [json!({"n": 500, "deals": 500})]);
    let events = fixture.events(deals[250]).await;
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["customers.deal.updated", "customers.deal.owner_assigned"]);
    assert_eq!(
        (&events[1].1["fromUserId"], &events[1].1["toUserId"]),
        (&Value::Null, &json!(owner.id))
    );

    let job = fixture
        .bulk(admin, OWNER, json!({"ids": deals, "ownerUserId": null}))
        .await;
    assert_eq!(counts(&job), ("completed", [500, 500, 0, 0]));
    assert_eq!(fixture.owners(&deals).await, vec![Value::Null; 500]);
}

#[actix_web::test]
async fn crm_2_a_malformed_bulk_request_is_rejected_and_starts_nothing() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let deal = fixture.deals(&fixture.a, fixture.a.child, 1).await[0];
    let ids = |count: usize| (0..count).map(|n| Uuid::from_u128(n as u128 + 1)).collect::<Vec<_>>();

    for (path, body) in [
        (OWNER, json!({"ids": [], "ownerUserId": null})),
        (OWNER, json!({"ids": ids(10_001), "ownerUserId": null})),
        (OWNER, json!({"ids": ["x"], "ownerUserId": null})),
        (OWNER, json!({"ids": [deal]})),
        (OWNER, json!({"ids": [deal], "ownerUserId": "x"})),
        (OWNER, json!({"ownerUserId": null})),
        (OWNER, json!([])),
        (OWNER, json!([[deal], null])),
        (STAGE, json!({"ids": [deal], "pipelineStageId": null})),
        (STAGE, json!({"ids": [deal]})),
    ] {
        let (status, response) = fixture.app.post(&admin.token, path, body).await;
        assert_eq!(status, 400, "{path}: {response}");
        assert!(response["details"].is_array(), "{path}: {response}");
    }
    for (path, field) in [(OWNER, "ownerUserId"), (STAGE, "pipelineStageId")] {
        let body = json!({"ids": [], field: "x"});
        let (status, response) = fixture.app.post(&admin.token, path, body).await;
        let expected = vec![(field, "invalid_value"), ("ids", "out_of_range")];
        assert_eq!((status, details(&response)), (400, expected));
    }
    assert_eq!(fixture.jobs().await, 0);

    let duplicates = json!({"ids": [deal, deal], "ownerUserId": null});
    let (status, response) = fixture.app.post(&admin.token, OWNER, duplicates).await;
    assert_eq!((status, &response["totalCount"]), (201, &json!(1)));
    let most = json!({"ids": ids(10_000), "ownerUserId": null});
    let (status, response) = fixture.app.post(&admin.token, OWNER, most).await;
    assert_eq!((status, &response["totalCount"]), (201, &json!(10_000)));
}

#[actix_web::test]
async fn crm_3_an_owner_who_can_own_nothing_is_unknown_whatever_the_reason() {
    let fixture = Fixture::new().await;
    let (admin, local) = (&fixture.a.admin, &fixture.a.local);
    let deals = fixture.deals(&fixture.a, fixture.a.child, 2).await;
    let tenant_fixture = &fixture.a;
    let inactive = fixture
        .account(tenant_fixture, tenant_fixture.child, "inactive@alpha.test", &[], None)
        .await;
    let deleted = fixture
        .account(tenant_fixture, tenant_fixture.child, "deleted@alpha.test", &[], None)
        .await;
    let put = json!({"id": inactive.id, "isActive": false});
    assert_eq!(fixture.app.put(&admin.token, "/auth/users", put).await.0, 200);
    let gone = format!("/auth/users?id={}", deleted.id);
    let request = fixture.app.request(actix_web::http::Method::DELETE, &gone);
    assert_eq!(request.bearer(&admin.token).send().await.status, 200);

    let mut responses = Vec::new();
    for (who, owner) in [
        (admin, Uuid::from_u128(1)),
        (admin, fixture.b.local.id),
        (admin, inactive.id),
        (admin, deleted.id),
        (local, fixture.a.stranger.id),
    ] {
        let body = json!({"ids": deals, "ownerUserId": owner});
        let (status, response) = fixture.app.post(&who.token, OWNER, body).await;
        assert_eq!((status, detail(&response)), (400, ("ownerUserId", "unknown_reference")));
        responses.push(response);
    }
    assert!(responses.windows(2).all(|pair| pair[0] == pair[1]), "{responses:?}");
    assert_eq!(fixture.jobs().await, 0);
}

#[actix_web::test]
async fn crm_4_deals_beyond_the_owners_organizations_fail_alone() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let mut deals = fixture.deals(&fixture.a, fixture.a.child, 3).await;
    let beyond = fixture.deals(&fixture.a, fixture.a.other, 1).await[0];
    deals.insert(1, beyond);

    let job = fixture
        .bulk(admin, OWNER, json!({"ids": deals, "ownerUserId": fixture.a.local.id}))
        .await;

    assert_eq!(counts(&job), ("completed_with_errors", [4, 3, 0, 1]));
    assert_eq!(
        fixture.failures(admin, &job).await,
        [(beyond, 400, "owner_out_of_scope".to_owned())]
    );
    assert_eq!(fixture.owners(&[beyond]).await, [Value::Null]);
}

#[actix_web::test]
async fn crm_5_a_stage_takes_the_deals_of_its_pipeline_and_those_without_one() {
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (pipeline, stages) = fixture.pipeline(admin, child, &["New", "Won"]).await;
    let (other, others) = fixture.pipeline(admin, child, &["Elsewhere"]).await;
    let own = fixture.deal(admin, child, json!({"pipelineStageId": stages[0]})).await;
    let foreign = fixture.deal(admin, child, json!({"pipelineStageId": others[0]})).await;
    let free = fixture.deal(admin, child, json!({})).await;
    let ids = json!([own, foreign, free]);

    let job = fixture
        .bulk(admin, STAGE, json!({"ids": ids, "pipelineStageId": stages[1]}))
        .await;

    assert_eq!(counts(&job), ("completed_with_errors", [3, 2, 0, 1]));
    assert_eq!(
        job["meta"],
        json!({"pipelineStageId": stages[1], "pipelineId": pipeline})
    );
    assert_eq!(
        fixture.failures(admin, &job).await,
        [(foreign, 400, "stage_in_other_pipeline".to_owned())]
    );
    assert_eq!(
        fixture.column("pipeline_stage_id", &[own, foreign, free]).await,
        [json!(stages[1]), json!(others[0]), json!(stages[1])]
    );
    assert_eq!(
        fixture.column("pipeline_id", &[own, foreign, free]).await,
        [json!(pipeline), json!(other), json!(pipeline)]
    );
    let (_, theirs) = fixture.pipeline(&fixture.b.admin, fixture.b.child, &["Theirs"]).await;
    for stage in [theirs[0], Uuid::from_u128(1)] {
        let body = json!({"ids": ids, "pipelineStageId": stage});
        let (status, response) = fixture.app.post(&admin.token, STAGE, body).await;
        assert_eq!(
            (status, detail(&response)),
            (400, ("pipelineStageId", "unknown_reference"))
        );
    }
}

#[actix_web::test]
async fn crm_6_deals_that_are_not_the_callers_are_as_good_as_unknown() {
    let fixture = Fixture::new().await;
    let local = &fixture.a.local;
    let own = fixture.deals(&fixture.a, fixture.a.child, 2).await;
    let beside = fixture.deals(&fixture.a, fixture.a.other, 1).await[0];
    let foreign = fixture.deals(&fixture.b, fixture.b.child, 1).await[0];
    let unknown = Uuid::from_u128(7);
    let ids = json!([own[0], foreign, unknown, beside, own[1]]);
    let theirs = format!("select * from customers_deals where id in ('{foreign}', '{beside}') order by id");
    let before = fixture.app.rows(&theirs).await;

    let job = fixture
        .bulk(local, OWNER, json!({"ids": ids, "ownerUserId": local.id}))
        .await;

    assert_eq!(counts(&job), ("completed_with_errors", [5, 2, 0, 3]));
    let failures = fixture.failures(local, &job).await;
    assert_eq!(
        failures,
        [foreign, unknown, beside].map(|id| (id, 404, "not_found".to_owned()))
    );
    let reported = job["resultSummary"]["failedItems"].as_array().expect("items").iter();
    let mut texts = reported.map(|item| item["message"].clone());
    assert!(texts.all(|text| text == "Deal not found"), "{job}");
    assert_eq!(fixture.app.rows(&theirs).await, before);
}

#[actix_web::test]
async fn crm_8_a_requester_who_is_shut_out_changes_nothing_more() {
    let fixture = Fixture::new().await;
    let (admin, local) = (&fixture.a.admin, &fixture.a.local);
    let deals = fixture.deals(&fixture.a, fixture.a.child, 250).await;
    let body = json!({"ids": deals, "ownerUserId": local.id});
    let (status, response) = fixture.app.post(&local.token, OWNER, body).await;
    assert_eq!(status, 201, "{response}");
    let (sender, stop) = stop_signal();
    sender.send_replace(true);
    let worker = Worker::new(fixture.app.runtime().clone());
    // The first step starts the job, the second one runs a chunk.
    for _ in 0..2 {
        assert!(worker.run_one(Some(&stop)).await.expect("the queue"));
    }
    let put = json!({"id": local.id, "isActive": false});
    assert_eq!(fixture.app.put(&admin.token, "/auth/users", put).await.0, 200);

    fixture.app.run_jobs().await;

    let job = fixture.job(admin, &response).await;
    assert_eq!(counts(&job), ("completed_with_errors", [250, 100, 0, 150]));
    let owners = fixture.owners(&deals).await;
    assert!(owners[..100].iter().all(|owner| *owner == json!(local.id)));
    assert!(owners[100..].iter().all(Value::is_null));
    let failures = fixture.failures(admin, &job).await;
    assert_eq!(failures.len(), 100, "a page of them");
    assert!(
        failures
            .iter()
            .all(|(_, status, code)| (*status, code.as_str()) == (403, "forbidden"))
    );
}

#[actix_web::test]
async fn crm_10_deals_that_have_the_owner_are_skipped() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let deals = fixture.deals(&fixture.a, fixture.a.child, 5).await;
    let body = json!({"ids": deals, "ownerUserId": admin.id});
    fixture
        .bulk(admin, OWNER, json!({"ids": deals[..2], "ownerUserId": admin.id}))
        .await;
    let before = fixture.column("updated_at", &deals[..2]).await;

    let job = fixture.bulk(admin, OWNER, body.clone()).await;
    assert_eq!(counts(&job), ("completed", [5, 3, 2, 0]));
    assert_eq!(fixture.column("updated_at", &deals[..2]).await, before);

    let entries = "select id from audit_action_logs where command_id = 'customers.deal.assign_owner'";
    let events = "select id from core_outbox_events where name like 'customers.%'";
    let announced = fixture.app.rows(events).await;
    assert_eq!(announced.len(), 10, "two for each deal that was changed");
    let job = fixture.bulk(admin, OWNER, body).await;
    assert_eq!(counts(&job), ("completed", [5, 0, 5, 0]));
    assert_eq!(job["resultSummary"]["affectedCount"], 0);
    assert_eq!(fixture.app.rows(entries).await.len(), 5);
    assert_eq!(fixture.app.rows(events).await, announced);
}

#[actix_web::test]
async fn crm_10_deals_of_an_owner_who_was_deactivated_since_the_request_are_skipped() {
    let fixture = Fixture::new().await;
    let (admin, owner) = (&fixture.a.admin, &fixture.a.local);
    let deals = fixture.deals(&fixture.a, fixture.a.child, 3).await;
    fixture
        .bulk(admin, OWNER, json!({"ids": deals[..2], "ownerUserId": owner.id}))
        .await;
    let body = json!({"ids": deals, "ownerUserId": owner.id});
    let (status, response) = fixture.app.post(&admin.token, OWNER, body).await;
    assert_eq!(status, 201, "{response}");
    let closed = json!({"id": owner.id, "isActive": false});
    assert_eq!(fixture.app.put(&admin.token, "/auth/users", closed).await.0, 200);

    assert_eq!(fixture.app.run_jobs().await, 1);

    let job = fixture.job(admin, &response).await;
    assert_eq!(counts(&job), ("completed_with_errors", [3, 0, 2, 1]));
    assert_eq!(
        fixture.failures(admin, &job).await,
        [(deals[2], 400, "unknown_reference".to_owned())]
    );
}

#[actix_web::test]
async fn crm_11_a_repeated_request_names_the_same_job() {
    let fixture = Fixture::new().await;
    let deals = fixture.deals(&fixture.a, fixture.a.child, 1).await;
    let body = json!({"ids": deals, "ownerUserId": null});
    let send = || {
        let request = fixture.app.request(actix_web::http::Method::POST, OWNER);
        let request = request.bearer(&fixture.a.admin.token).header("idempotency-key", "one");
        request.json(&body).send()
    };

    let (first, second) = (send().await, send().await);

    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!(first.json()["progressJobId"], second.json()["progressJobId"]);
    assert_eq!(second.header("idempotency-replayed").as_deref(), Some("true"));
    assert_eq!(fixture.jobs().await, 1);
}

#[actix_web::test]
async fn crm_16_statements_grow_by_the_chunk_and_not_by_the_deal() {
    let fixture = Fixture::behind_a_proxy().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (_, stages) = fixture.pipeline(admin, child, &["New", "Won"]).await;
    let mut statements = Vec::new();
    for count in [10, 100, 200, 400] {
        let deals = fixture.deals(&fixture.a, child, count).await;
        let body = json!({"ids": deals, "pipelineStageId": stages[0]});
        assert_eq!(fixture.app.post(&admin.token, STAGE, body).await.0, 201);
        let (ran, sent) = fixture.app.count_statements(fixture.app.run_jobs()).await;
        assert_eq!(ran, 1);
        statements.push(sent);
    }
    assert_eq!(statements[0], statements[1], "one chunk each: {statements:?}");
    let per_chunk = statements[2] - statements[1];
    // Whether progress is reported between two chunks depends on the time they take.
    let chunks = statements[3] - statements[2];
    assert!(chunks.abs_diff(2 * per_chunk) <= 4, "{statements:?}");
    assert!(per_chunk < 40, "{statements:?}");
}

/// Returns the number of item and version rows read by index scans: waits for more than `above`, and until the number is stable.
async fn rows_read(fixture: &Fixture, above: i64) -> i64 {
    const READ: &str = "select coalesce(sum(idx_tup_read), 0)::int8 as read from pg_stat_user_indexes \
         where relname in ('progress_job_items', 'audit_resource_versions')";
    let read = async || fixture.app.rows(READ).await[0]["read"].as_i64().expect("a number");
    let mut last = read().await;
    loop {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let now = read().await;
        if now == last && now > above {
            return now;
        }
        last = now;
    }
}

#[actix_web::test]
async fn crm_16_what_a_chunk_reads_does_not_grow_with_its_job() {
    const DEALS: i64 = 2000;
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let few = fixture.deals(&fixture.a, child, 10).await;
    fixture
        .bulk(admin, OWNER, json!({"ids": few, "ownerUserId": admin.id}))
        .await;
    // The planner statistics cover small jobs only.
    fixture
        .app
        .sql("analyze progress_job_items; analyze audit_resource_versions")
        .await;
    let deals = fixture
        .deals(&fixture.a, child, usize::try_from(DEALS).expect("a few"))
        .await;
    let mut reads = Vec::new();
    for owner in [Some(admin.id), None] {
        let body = json!({"ids": deals, "ownerUserId": owner});
        assert_eq!(fixture.app.post(&admin.token, OWNER, body).await.0, 201);
        let before = rows_read(&fixture, -1).await;
        let node = fixture.app.second_node().await;
        assert_eq!(node.run_jobs().await, 1);
        drop(node);
        reads.push(rows_read(&fixture, before).await - before);
    }
    assert!(reads.iter().all(|read| (DEALS..8 * DEALS).contains(read)), "{reads:?}");
}

#[actix_web::test]
async fn a_caller_without_the_right_starts_no_bulk_job() {
    let fixture = Fixture::new().await;
    let body = json!({"ids": [Uuid::from_u128(1)], "ownerUserId": null, "pipelineStageId": Uuid::from_u128(1)});

    for path in [OWNER, STAGE] {
        assert_eq!(
            fixture.app.post(&fixture.a.plain.token, path, body.clone()).await.0,
            403
        );
        assert_eq!(fixture.app.post("", path, body.clone()).await.0, 401);
    }
    assert_eq!(fixture.jobs().await, 0);
}
