//! Many products deleted at once.

use backoffice_core::Module;
use backoffice_core::command::{Attempt, Hook, Interceptor, Verdict};
use backoffice_core::db::Tx;
use backoffice_core::registry::Registry;
use backoffice_test_accounts::{account, login};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{PRODUCTS, World, id_of};

const BULK: &str = "/catalog/bulk-delete";

/// Keeps products with this title.
const PROTECTED: &str = "Protected";

static KEEPER: Module = Module {
    name: "keeper",
    requires: &["catalog"],
    register: keep,
    ..Module::EMPTY
};

fn keep(registry: &mut Registry) {
    registry.interceptor(Interceptor {
        id: "keeper.products",
        target: "catalog.product.delete",
        priority: 100,
        run: refuse_protected,
    });
}

fn refuse_protected<'a>(
    _tx: &'a mut Tx<'_>,
    attempt: &'a Attempt<'a>,
) -> BoxFuture<'a, backoffice_core::Result<Verdict>> {
    let title = attempt.before.and_then(|product| product.get("title"));
    let keeps = attempt.hook == Hook::BeforeExecute && title == Some(&json!(PROTECTED));
    async move {
        Ok(if keeps {
            Verdict::Refuse {
                message: "This one stays".to_owned(),
                code: Some("protected".to_owned()),
                status: Some(423),
                body: None,
            }
        } else {
            Verdict::Continue
        })
    }
    .boxed()
}

impl World {
    async fn bulk(&self, token: &str, body: Value) -> Value {
        let (status, answer) = self.app.post(token, BULK, body).await;
        assert_eq!(status, 201, "{answer}");
        self.app.run_jobs().await;
        let job = answer["progressJobId"].as_str().expect("an id");
        let (status, job) = self.app.get(token, &format!("/progress/jobs/{job}")).await;
        assert_eq!(status, 200, "{job}");
        job
    }

    /// Ids of the products that are there.
    async fn present(&self) -> Vec<Value> {
        let rows = self
            .app
            .rows("select id from catalog_products order by created_at, id")
            .await;
        rows.into_iter().map(|row| row["id"].clone()).collect()
    }

    async fn product_in(&self, organization: Uuid, title: &str, is_active: bool) -> Uuid {
        let body = json!({"title": title, "organizationId": organization, "isActive": is_active});
        self.make(PRODUCTS, body).await.id
    }
}

fn outcome(job: &Value) -> (&Value, [&Value; 3]) {
    (
        &job["status"],
        [
            &job["succeededCount"],
            &job["failedCount"],
            &job["resultSummary"]["failedItems"],
        ],
    )
}

#[actix_web::test]
async fn cat_1_a_deletion_that_is_not_meant_in_so_many_words_deletes_nothing() {
    let world = World::new().await;
    let id = world.product("Lamp").await;
    let filter = json!({"isActive": true});

    for body in [
        json!({"scope": "selected", "ids": [id]}),
        json!({"confirm": "true", "scope": "selected", "ids": [id]}),
        json!({"confirm": false, "scope": "selected", "ids": [id]}),
        json!({"confirm": 1, "scope": "selected", "ids": [id]}),
        json!({"confirm": true, "ids": [id]}),
        json!({"confirm": true, "scope": "everything", "ids": [id]}),
        json!({"confirm": true, "scope": "selected"}),
        json!({"confirm": true, "scope": "selected", "ids": []}),
        json!({"confirm": true, "scope": "selected", "ids": ["x"]}),
        json!({"confirm": true, "scope": "selected", "ids": [id], "filter": filter}),
        json!({"confirm": true, "scope": "selected", "filter": filter}),
        json!({"confirm": true, "scope": "filtered"}),
        json!({"confirm": true, "scope": "filtered", "ids": [id], "filter": filter}),
        json!({"confirm": true, "scope": "filtered", "filter": {}}),
        json!({"confirm": true, "scope": "filtered", "filter": {"isActiv": true}}),
        json!({"confirm": true, "scope": "filtered", "filter": {"all": true, "isActive": true}}),
        json!({"confirm": true, "scope": "filtered", "filter": {"productType": ["unknown"]}}),
        json!({"confirm": true, "scope": "filtered", "filter": filter, "more": 1}),
        json!([]),
    ] {
        let (status, answer) = world.app.post(&world.admin, BULK, body.clone()).await;
        assert_eq!(status, 400, "{body}: {answer}");
        assert!(answer["details"].is_array(), "{body}: {answer}");
    }

    assert_eq!(world.app.run_jobs().await, 0);
    assert_eq!(world.present().await, [json!(id)]);
    assert_eq!(world.app.rows("select id from progress_jobs").await.len(), 0);
}

#[actix_web::test]
async fn cat_2_a_product_that_is_gone_before_its_turn_fails_alone() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for number in 0..50 {
        ids.push(world.product(&format!("Lamp {number}")).await);
    }
    world.remove(PRODUCTS, ids[7]).await;

    let body = json!({"confirm": true, "scope": "selected", "ids": ids});
    let job = world.bulk(&world.admin, body).await;

    let failed = json!([{"id": ids[7], "status": 404, "code": "not_found", "message": "Product not found"}]);
    assert_eq!(
        outcome(&job),
        (&json!("completed_with_errors"), [&json!(49), &json!(1), &failed])
    );
    assert_eq!(world.present().await, [Value::Null; 0]);
}

#[actix_web::test]
async fn cat_2_a_product_that_goes_between_the_request_and_its_turn_fails_alone() {
    let world = World::new().await;
    let ids = [world.product("One").await, world.product("Two").await];
    let body = json!({"confirm": true, "scope": "selected", "ids": ids});
    let (status, answer) = world.app.post(&world.admin, BULK, body).await;
    assert_eq!((status, &answer["totalCount"]), (201, &json!(2)), "{answer}");

    world.remove(PRODUCTS, ids[0]).await;
    world.app.run_jobs().await;

    let job = answer["progressJobId"].as_str().expect("an id");
    let job = world.get(&format!("/progress/jobs/{job}")).await;
    let failed = json!([{"id": ids[0], "status": 404, "code": "not_found", "message": "Product not found"}]);
    assert_eq!(
        outcome(&job),
        (&json!("completed_with_errors"), [&json!(1), &json!(1), &failed])
    );
}

#[actix_web::test]
async fn a_filter_that_matches_too_many_products_starts_nothing() {
    let world = World::new().await;
    let sql = format!(
        "insert into catalog_products (tenant_id, id, organization_id, title, product_type, is_active, tags, created_at, updated_at)
         select '{}', gen_random_uuid(), '{}', 'Lamp', 'simple', true, '{{}}', now(), now() from generate_series(1, 10001)",
        world.tenant, world.root
    );
    world.app.sql(&sql).await;
    let body = json!({"confirm": true, "scope": "filtered", "filter": {"all": true}});

    let (status, answer) = world.app.post(&world.admin, BULK, body.clone()).await;
    assert_eq!(
        (status, &answer["code"], &answer["matched"]),
        (400, &json!("too_many_items"), &json!(10_001)),
        "{answer}"
    );
    assert!(answer["error"].is_string());
    assert!(world.app.rows("select id from progress_jobs").await.is_empty());
    world
        .app
        .sql("delete from catalog_products where id = (select id from catalog_products limit 1)")
        .await;
    let (status, answer) = world.app.post(&world.admin, BULK, body).await;
    assert_eq!((status, &answer["totalCount"]), (201, &json!(10_000)), "{answer}");
}

#[actix_web::test]
async fn cat_4_a_filter_takes_what_it_matches_at_the_request_within_the_callers_scope() {
    let world = World::new().await;
    let taken = world.product_in(world.child, "Taken", false).await;
    let active = world.product_in(world.child, "Active", true).await;
    let beside = world.product_in(world.parent, "Beside", false).await;
    let sibling = json!({"name": "Sibling", "parentId": world.parent});
    let (status, sibling) = world.app.post(&world.admin, "/directory/organizations", sibling).await;
    assert_eq!(status, 201, "{sibling}");
    let sibling = world.product_in(id_of(&sibling), "Sibling", false).await;
    let body = json!({"confirm": true, "scope": "filtered", "filter": {"isActive": false}});

    let (status, answer) = world.app.post(&world.local, BULK, body.clone()).await;
    assert_eq!((status, &answer["totalCount"]), (201, &json!(1)), "{answer}");
    assert_eq!(answer["message"], "Bulk delete started (1 products).");
    world.change(PRODUCTS, json!({"id": active, "isActive": false})).await;
    let later = world.product_in(world.child, "Later", false).await;
    world.app.run_jobs().await;

    let present = world.present().await;
    assert!(!present.contains(&json!(taken)));
    assert_eq!(present, [json!(active), json!(beside), json!(sibling), json!(later)]);
    let none = json!({"confirm": true, "scope": "filtered", "filter": {"tags": []}});
    let job = world.bulk(&world.local, none).await;
    assert_eq!((&job["status"], &job["totalCount"]), (&json!("completed"), &json!(0)));
    assert_eq!(job["progressPercent"], 100);
    let all = json!({"confirm": true, "scope": "filtered", "filter": {"all": true}});
    let job = world.bulk(&world.local, all).await;
    assert_eq!(job["succeededCount"], 2, "{job}");
    assert_eq!(world.present().await, [json!(beside), json!(sibling)]);
}

#[actix_web::test]
async fn a_filter_of_a_super_administrator_takes_products_of_one_tenant() {
    let world = World::new().await;
    let own = world.product("Lamp").await;
    let foreign = json!({"title": "Lamp", "isActive": false});
    let (status, foreign) = world.app.post(&world.stranger, PRODUCTS, foreign).await;
    assert_eq!(status, 201, "{foreign}");
    let (tenant, root, email) = (Some(world.tenant), Some(world.root), "chief@alpha.test");
    account(&world.app, tenant, root, email, &[], true).await;
    let chief = login(&world.app, email).await;
    let body = json!({"confirm": true, "scope": "filtered", "filter": {"all": true}});

    let refused = world.app.post(&world.platform, BULK, body.clone()).await;
    assert_eq!((refused.0, &refused.1["code"]), (400, &json!("tenant_required")));
    let job = world.bulk(&chief, body).await;

    assert_eq!(
        (outcome(&job).0, &job["totalCount"]),
        (&json!("completed"), &json!(1)),
        "{job}"
    );
    let present = world.present().await;
    assert!(!present.contains(&json!(own)));
    assert_eq!(present, [foreign["id"].clone()]);
}

#[actix_web::test]
async fn cat_5_a_product_that_an_interceptor_keeps_is_untouched() {
    let world = World::beside(&KEEPER).await;
    let kept = world.product(PROTECTED).await;
    world
        .make(crate::world::VARIANTS, json!({"productId": kept, "name": "Small"}))
        .await;
    let others = [world.product("One").await, world.product("Two").await];
    let before = world.app.rows("select * from catalog_variants").await;

    let body = json!({"confirm": true, "scope": "selected", "ids": [others[0], kept, others[1]]});
    let job = world.bulk(&world.admin, body).await;

    let failed = json!([{"id": kept, "status": 423, "code": "protected", "message": "This one stays"}]);
    assert_eq!(
        outcome(&job),
        (&json!("completed_with_errors"), [&json!(2), &json!(1), &failed])
    );
    assert_eq!(world.present().await, [json!(kept)]);
    assert_eq!(world.app.rows("select * from catalog_variants").await, before);
}

#[actix_web::test]
async fn who_may_not_delete_products_starts_nothing() {
    let world = World::new().await;
    let id = world.product("Lamp").await;
    let body = json!({"confirm": true, "scope": "selected", "ids": [id]});

    let job = world.bulk(&world.stranger, body.clone()).await;
    assert_eq!(job["resultSummary"]["failedItems"][0]["code"], "not_found");
    assert_eq!(world.app.post("", BULK, body).await.0, 401);
    assert_eq!(world.present().await, [json!(id)]);
}
