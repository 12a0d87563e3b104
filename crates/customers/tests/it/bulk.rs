//! Owners and stages of many deals at once.

use backoffice_core::jobs::{Worker, stop_signal};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{Account, House, World, detail, id_of};

pub(crate) const OWNER: &str = "/customers/deals/bulk-update-owner";
pub(crate) const STAGE: &str = "/customers/deals/bulk-update-stage";

impl World {
    /// So many deals of an organization, written behind the log.
    pub(crate) async fn deals(&self, house: &House, organization: Uuid, count: usize) -> Vec<Uuid> {
        let ids: Vec<Uuid> = (0..count).map(|_| self.app.system_context().new_id()).collect();
        let row = |id: &Uuid| {
            format!(
                "('{}', '{id}', '{organization}', 'Deal', 'open', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z')",
                house.id
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

    /// A bulk request that must be accepted, and its job run to its end: the job as its requester sees it.
    pub(crate) async fn bulk(&self, who: &Account, path: &str, body: Value) -> Value {
        let (status, answer) = self.app.post(&who.token, path, body).await;
        assert_eq!(status, 201, "{answer}");
        assert_eq!(self.app.run_jobs().await, 1);
        self.job(who, &answer).await
    }

    pub(crate) async fn job(&self, who: &Account, answer: &Value) -> Value {
        let id = answer["progressJobId"].as_str().expect("an id");
        let (status, job) = self.get(who, &format!("/progress/jobs/{id}")).await;
        assert_eq!(status, 200, "{job}");
        job
    }

    /// What the failed items say, by their codes.
    pub(crate) async fn failures(&self, who: &Account, job: &Value) -> Vec<(Uuid, i64, String)> {
        let path = format!("/progress/jobs/{}/items?state=failed&pageSize=100", id_of(job));
        let (status, items) = self.get(who, &path).await;
        assert_eq!(status, 200, "{items}");
        let told = |item: &Value| {
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            (
                text(&item["resourceId"]).parse().expect("a UUID"),
                item["error"]["status"].as_i64().expect("a status"),
                text(&item["error"]["code"]),
            )
        };
        items["items"].as_array().expect("items").iter().map(told).collect()
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
    let world = World::new().await;
    let (admin, owner) = (&world.a.admin, &world.a.local);
    let deals = world.deals(&world.a, world.a.child, 500).await;

    let body = json!({"ids": deals, "ownerUserId": owner.id});
    let (status, answer) = world.app.post(&admin.token, OWNER, body).await;
    assert_eq!(
        (status, &answer),
        (
            201,
            &json!({"ok": true, "progressJobId": answer["progressJobId"], "totalCount": 500,
                "message": "Bulk owner update started (500 deals)."})
        )
    );
    world.app.run_jobs().await;
    let job = world.job(admin, &answer).await;

    assert_eq!(counts(&job), ("completed", [500, 500, 0, 0]));
    assert_eq!(job["resultSummary"]["affectedCount"], 500);
    assert_eq!(job["meta"], json!({"ownerUserId": owner.id}));
    assert_eq!(job["jobType"], "customers.deal.bulk_update_owner");
    assert_eq!(world.owners(&deals).await, vec![json!(owner.id); 500]);
    let entries = "select count(*) as n, count(distinct resource_id) as deals from audit_action_logs \
        where command_id = 'customers.deal.assign_owner' and source = 'job' and action_type = 'assign'";
    let by_requester = format!("{entries} and actor_kind = 'user' and actor_id = '{}'", admin.id);
    assert_eq!(world.app.rows(&by_requester).await, [json!({"n": 500, "deals": 500})]);
    let events = world.events(deals[250]).await;
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["customers.deal.updated", "customers.deal.owner_assigned"]);
    assert_eq!(
        (&events[1].1["fromUserId"], &events[1].1["toUserId"]),
        (&Value::Null, &json!(owner.id))
    );

    let job = world
        .bulk(admin, OWNER, json!({"ids": deals, "ownerUserId": null}))
        .await;
    assert_eq!(counts(&job), ("completed", [500, 500, 0, 0]));
    assert_eq!(world.owners(&deals).await, vec![Value::Null; 500]);
}

#[actix_web::test]
async fn crm_2_a_malformed_bulk_request_is_refused_and_starts_nothing() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let deal = world.deals(&world.a, world.a.child, 1).await[0];
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
        let (status, answer) = world.app.post(&admin.token, path, body).await;
        assert_eq!(status, 400, "{path}: {answer}");
        assert!(answer["details"].is_array(), "{path}: {answer}");
    }
    assert_eq!(world.jobs().await, 0);

    let twice = json!({"ids": [deal, deal], "ownerUserId": null});
    let (status, answer) = world.app.post(&admin.token, OWNER, twice).await;
    assert_eq!((status, &answer["totalCount"]), (201, &json!(1)));
    let most = json!({"ids": ids(10_000), "ownerUserId": null});
    let (status, answer) = world.app.post(&admin.token, OWNER, most).await;
    assert_eq!((status, &answer["totalCount"]), (201, &json!(10_000)));
}

#[actix_web::test]
async fn crm_3_an_owner_who_can_own_nothing_is_unknown_whatever_the_reason() {
    let world = World::new().await;
    let (admin, local) = (&world.a.admin, &world.a.local);
    let deals = world.deals(&world.a, world.a.child, 2).await;
    let house = &world.a;
    let inactive = world
        .account(house, house.child, "inactive@alpha.test", &[], None)
        .await;
    let deleted = world.account(house, house.child, "deleted@alpha.test", &[], None).await;
    let put = json!({"id": inactive.id, "isActive": false});
    assert_eq!(world.app.put(&admin.token, "/auth/users", put).await.0, 200);
    let gone = format!("/auth/users?id={}", deleted.id);
    let request = world.app.request(actix_web::http::Method::DELETE, &gone);
    assert_eq!(request.bearer(&admin.token).send().await.status, 200);

    let mut answers = Vec::new();
    for (who, owner) in [
        (admin, Uuid::from_u128(1)),
        (admin, world.b.local.id),
        (admin, inactive.id),
        (admin, deleted.id),
        (local, world.a.stranger.id),
    ] {
        let body = json!({"ids": deals, "ownerUserId": owner});
        let (status, answer) = world.app.post(&who.token, OWNER, body).await;
        assert_eq!((status, detail(&answer)), (400, ("ownerUserId", "unknown_reference")));
        answers.push(answer);
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
    assert_eq!(world.jobs().await, 0);
}

#[actix_web::test]
async fn crm_4_deals_beyond_the_owners_organizations_fail_alone() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let mut deals = world.deals(&world.a, world.a.child, 3).await;
    let beyond = world.deals(&world.a, world.a.other, 1).await[0];
    deals.insert(1, beyond);

    let job = world
        .bulk(admin, OWNER, json!({"ids": deals, "ownerUserId": world.a.local.id}))
        .await;

    assert_eq!(counts(&job), ("completed_with_errors", [4, 3, 0, 1]));
    assert_eq!(
        world.failures(admin, &job).await,
        [(beyond, 400, "owner_out_of_scope".to_owned())]
    );
    assert_eq!(world.owners(&[beyond]).await, [Value::Null]);
}

#[actix_web::test]
async fn crm_5_a_stage_takes_the_deals_of_its_pipeline_and_those_without_one() {
    let world = World::new().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let (pipeline, stages) = world.pipeline(admin, child, &["New", "Won"]).await;
    let (other, others) = world.pipeline(admin, child, &["Elsewhere"]).await;
    let own = world.deal(admin, child, json!({"pipelineStageId": stages[0]})).await;
    let foreign = world.deal(admin, child, json!({"pipelineStageId": others[0]})).await;
    let free = world.deal(admin, child, json!({})).await;
    let ids = json!([own, foreign, free]);

    let job = world
        .bulk(admin, STAGE, json!({"ids": ids, "pipelineStageId": stages[1]}))
        .await;

    assert_eq!(counts(&job), ("completed_with_errors", [3, 2, 0, 1]));
    assert_eq!(
        job["meta"],
        json!({"pipelineStageId": stages[1], "pipelineId": pipeline})
    );
    assert_eq!(
        world.failures(admin, &job).await,
        [(foreign, 400, "stage_in_other_pipeline".to_owned())]
    );
    assert_eq!(
        world.column("pipeline_stage_id", &[own, foreign, free]).await,
        [json!(stages[1]), json!(others[0]), json!(stages[1])]
    );
    assert_eq!(
        world.column("pipeline_id", &[own, foreign, free]).await,
        [json!(pipeline), json!(other), json!(pipeline)]
    );
    let (_, theirs) = world.pipeline(&world.b.admin, world.b.child, &["Theirs"]).await;
    for stage in [theirs[0], Uuid::from_u128(1)] {
        let body = json!({"ids": ids, "pipelineStageId": stage});
        let (status, answer) = world.app.post(&admin.token, STAGE, body).await;
        assert_eq!(
            (status, detail(&answer)),
            (400, ("pipelineStageId", "unknown_reference"))
        );
    }
}

#[actix_web::test]
async fn crm_6_deals_that_are_not_the_callers_are_as_good_as_unknown() {
    let world = World::new().await;
    let local = &world.a.local;
    let own = world.deals(&world.a, world.a.child, 2).await;
    let beside = world.deals(&world.a, world.a.other, 1).await[0];
    let foreign = world.deals(&world.b, world.b.child, 1).await[0];
    let unknown = Uuid::from_u128(7);
    let ids = json!([own[0], foreign, unknown, beside, own[1]]);
    let theirs = format!("select * from customers_deals where id in ('{foreign}', '{beside}') order by id");
    let before = world.app.rows(&theirs).await;

    let job = world
        .bulk(local, OWNER, json!({"ids": ids, "ownerUserId": local.id}))
        .await;

    assert_eq!(counts(&job), ("completed_with_errors", [5, 2, 0, 3]));
    let failures = world.failures(local, &job).await;
    assert_eq!(
        failures,
        [foreign, unknown, beside].map(|id| (id, 404, "not_found".to_owned()))
    );
    let told = job["resultSummary"]["failedItems"].as_array().expect("items").iter();
    let mut texts = told.map(|item| item["message"].clone());
    assert!(texts.all(|text| text == "Deal not found"), "{job}");
    assert_eq!(world.app.rows(&theirs).await, before);
}

#[actix_web::test]
async fn crm_8_a_requester_who_is_shut_out_changes_nothing_more() {
    let world = World::new().await;
    let (admin, local) = (&world.a.admin, &world.a.local);
    let deals = world.deals(&world.a, world.a.child, 250).await;
    let body = json!({"ids": deals, "ownerUserId": local.id});
    let (status, answer) = world.app.post(&local.token, OWNER, body).await;
    assert_eq!(status, 201, "{answer}");
    let (sender, stop) = stop_signal();
    sender.send_replace(true);
    let worker = Worker::new(world.app.runtime().clone());
    // The first step begins the job, the second one is a chunk.
    for _ in 0..2 {
        assert!(worker.run_one(Some(&stop)).await.expect("the queue"));
    }
    let put = json!({"id": local.id, "isActive": false});
    assert_eq!(world.app.put(&admin.token, "/auth/users", put).await.0, 200);

    world.app.run_jobs().await;

    let job = world.job(admin, &answer).await;
    assert_eq!(counts(&job), ("completed_with_errors", [250, 100, 0, 150]));
    let owners = world.owners(&deals).await;
    assert!(owners[..100].iter().all(|owner| *owner == json!(local.id)));
    assert!(owners[100..].iter().all(Value::is_null));
    let failures = world.failures(admin, &job).await;
    assert_eq!(failures.len(), 100, "a page of them");
    assert!(
        failures
            .iter()
            .all(|(_, status, code)| (*status, code.as_str()) == (403, "forbidden"))
    );
}

#[actix_web::test]
async fn crm_10_deals_that_have_the_owner_are_skipped() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let deals = world.deals(&world.a, world.a.child, 5).await;
    let body = json!({"ids": deals, "ownerUserId": admin.id});
    world
        .bulk(admin, OWNER, json!({"ids": deals[..2], "ownerUserId": admin.id}))
        .await;
    let before = world.column("updated_at", &deals[..2]).await;

    let job = world.bulk(admin, OWNER, body.clone()).await;
    assert_eq!(counts(&job), ("completed", [5, 3, 2, 0]));
    assert_eq!(world.column("updated_at", &deals[..2]).await, before);

    let entries = "select id from audit_action_logs where command_id = 'customers.deal.assign_owner'";
    let events = "select id from core_outbox_events where name like 'customers.%'";
    let announced = world.app.rows(events).await;
    assert_eq!(announced.len(), 10, "two for each deal that was changed");
    let job = world.bulk(admin, OWNER, body).await;
    assert_eq!(counts(&job), ("completed", [5, 0, 5, 0]));
    assert_eq!(job["resultSummary"]["affectedCount"], 0);
    assert_eq!(world.app.rows(entries).await.len(), 5);
    assert_eq!(world.app.rows(events).await, announced);
}

#[actix_web::test]
async fn crm_11_a_repeated_request_names_the_same_job() {
    let world = World::new().await;
    let deals = world.deals(&world.a, world.a.child, 1).await;
    let body = json!({"ids": deals, "ownerUserId": null});
    let send = || {
        let request = world.app.request(actix_web::http::Method::POST, OWNER);
        let request = request.bearer(&world.a.admin.token).header("idempotency-key", "one");
        request.json(&body).send()
    };

    let (first, second) = (send().await, send().await);

    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!(first.json()["progressJobId"], second.json()["progressJobId"]);
    assert_eq!(second.header("idempotency-replayed").as_deref(), Some("true"));
    assert_eq!(world.jobs().await, 1);
}

#[actix_web::test]
async fn crm_16_statements_grow_by_the_chunk_and_not_by_the_deal() {
    let world = World::behind_a_proxy().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let (_, stages) = world.pipeline(admin, child, &["New", "Won"]).await;
    let mut statements = Vec::new();
    for count in [10, 100, 200, 400] {
        let deals = world.deals(&world.a, child, count).await;
        let body = json!({"ids": deals, "pipelineStageId": stages[0]});
        assert_eq!(world.app.post(&admin.token, STAGE, body).await.0, 201);
        let (ran, sent) = world.app.count_statements(world.app.run_jobs()).await;
        assert_eq!(ran, 1);
        statements.push(sent);
    }
    assert_eq!(statements[0], statements[1], "one chunk each: {statements:?}");
    let per_chunk = statements[2] - statements[1];
    // Whether the watchers are told between two chunks depends on the time they take.
    let chunks = statements[3] - statements[2];
    assert!(chunks.abs_diff(2 * per_chunk) <= 4, "{statements:?}");
    assert!(per_chunk < 40, "{statements:?}");
}

/// Rows of items and versions that were found by an index: more than these, once every connection of the node that is gone has told.
async fn rows_read(world: &World, above: i64) -> i64 {
    const READ: &str = "select coalesce(sum(idx_tup_read), 0)::int8 as read from pg_stat_user_indexes \
         where relname in ('progress_job_items', 'audit_resource_versions')";
    let read = async || world.app.rows(READ).await[0]["read"].as_i64().expect("a number");
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
    let world = World::new().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let few = world.deals(&world.a, child, 10).await;
    world
        .bulk(admin, OWNER, json!({"ids": few, "ownerUserId": admin.id}))
        .await;
    // The planner knows of small jobs only.
    world
        .app
        .sql("analyze progress_job_items; analyze audit_resource_versions")
        .await;
    let deals = world
        .deals(&world.a, child, usize::try_from(DEALS).expect("a few"))
        .await;
    let mut reads = Vec::new();
    for owner in [Some(admin.id), None] {
        let body = json!({"ids": deals, "ownerUserId": owner});
        assert_eq!(world.app.post(&admin.token, OWNER, body).await.0, 201);
        let before = rows_read(&world, -1).await;
        let node = world.app.second_node().await;
        assert_eq!(node.run_jobs().await, 1);
        drop(node);
        reads.push(rows_read(&world, before).await - before);
    }
    assert!(reads.iter().all(|read| (DEALS..8 * DEALS).contains(read)), "{reads:?}");
}

#[actix_web::test]
async fn a_caller_without_the_right_starts_no_bulk_job() {
    let world = World::new().await;
    let body = json!({"ids": [Uuid::from_u128(1)], "ownerUserId": null, "pipelineStageId": Uuid::from_u128(1)});

    for path in [OWNER, STAGE] {
        assert_eq!(world.app.post(&world.a.plain.token, path, body.clone()).await.0, 403);
        assert_eq!(world.app.post("", path, body.clone()).await.0, 401);
    }
    assert_eq!(world.jobs().await, 0);
}
