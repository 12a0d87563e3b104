//! Bulk deletion of products.

use backoffice_core::Module;
use backoffice_core::command::{Hook, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::registry::Registry;
use backoffice_test_accounts::{ORGANIZATIONS, account, login};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, PRODUCTS, details};

const BULK: &str = "/catalog/bulk-delete";

/// Title of the products that the interceptor protects.
const PROTECTED: &str = "Protected";

static ADMIN: Module = Module {
    name: "kept-products",
    requires: &["catalog"],
    register: keep,
    ..Module::EMPTY
};

fn keep(registry: &mut Registry) {
    registry.interceptor(Interceptor {
        id: "kept_products.deletions",
        target: "catalog.product.delete",
        priority: 100,
        run: reject_protected,
    });
}

fn reject_protected<'a>(
    _tx: &'a mut Tx<'_>,
    attempt: &'a InterceptorContext<'a>,
) -> BoxFuture<'a, backoffice_core::Result<Verdict>> {
    let title = attempt.before.and_then(|product| product.get("title"));
    let keeps = attempt.hook == Hook::BeforeExecute && title == Some(&json!(PROTECTED));
    async move {
        Ok(if keeps {
            Verdict::Reject {
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

impl Fixture {
    async fn bulk(&self, token: &str, body: Value) -> Value {
        let (status, response) = self.app.post(token, BULK, body).await;
        assert_eq!(status, 201, "{response}");
        self.app.run_jobs().await;
        let job = response["progressJobId"].as_str().expect("an id");
        let (status, job) = self.app.get(token, &format!("/progress/jobs/{job}")).await;
        assert_eq!(status, 200, "{job}");
        job
    }

    /// Returns the ids of all stored products.
    async fn present(&self) -> Vec<Value> {
        let rows = self
            .app
            .rows("select id from catalog_products order by created_at, id")
            .await;
        rows.into_iter().map(|row| row["id"].clone()).collect()
    }

    async fn product_in(&self, organization: Uuid, title: &str, is_active: bool) -> Uuid {
        let body = json!({"title": title, "organizationId": organization, "isActive": is_active});
        self.create(PRODUCTS, body).await.resource
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
    let fixture = Fixture::new().await;
    let id = fixture.product("Lamp").await;
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
        let (status, response) = fixture.app.post(&fixture.admin, BULK, body.clone()).await;
        assert_eq!(status, 400, "{body}: {response}");
        assert!(response["details"].is_array(), "{body}: {response}");
    }

    assert_eq!(fixture.app.run_jobs().await, 0);
    assert_eq!(fixture.present().await, [json!(id)]);
    assert_eq!(fixture.app.rows("select id from progress_jobs").await.len(), 0);
}

#[actix_web::test]
async fn all_invalid_fields_of_a_deletion_are_reported_together() {
    let fixture = Fixture::new().await;

    for (body, expected) in [
        (
            json!({"confirm": true, "scope": "filtered", "filter": {"isActive": "x", "tags": 5, "createdFrom": "q"}}),
            vec![
                ("filter.isActive", "invalid_type"),
                ("filter.tags", "invalid_type"),
                ("filter.createdFrom", "invalid_value"),
            ],
        ),
        (
            json!({"confirm": true, "scope": "filtered", "filter": {"isActive": "x"}}),
            vec![("filter.isActive", "invalid_type")],
        ),
        (
            json!({"confirm": false, "scope": "all", "ids": []}),
            vec![
                ("scope", "invalid_value"),
                ("confirm", "invalid_value"),
                ("ids", "out_of_range"),
            ],
        ),
        (
            json!({"confirm": false, "scope": "filtered", "filter": {}}),
            vec![("confirm", "invalid_value"), ("filter", "required")],
        ),
        (
            json!({"confirm": false, "scope": "selected", "filter": {"createdTo": "q"}}),
            vec![
                ("confirm", "invalid_value"),
                ("filter.createdTo", "invalid_value"),
                ("filter", "invalid_value"),
            ],
        ),
    ] {
        let (status, response) = fixture.app.post(&fixture.admin, BULK, body.clone()).await;
        assert_eq!((status, details(&response)), (400, expected), "{body}");
    }
}

#[actix_web::test]
async fn cat_2_a_product_deleted_before_its_item_fails_alone() {
    let fixture = Fixture::new().await;
    let mut ids = Vec::new();
    for number in 0..50 {
        ids.push(fixture.product(&format!("Lamp {number}")).await);
    }
    fixture.remove(PRODUCTS, ids[7]).await;

    let body = json!({"confirm": true, "scope": "selected", "ids": ids});
    let job = fixture.bulk(&fixture.admin, body).await;

    let failed = json!([{"id": ids[7], "status": 404, "code": "not_found", "message": "Product not found"}]);
    assert_eq!(
        outcome(&job),
        (&json!("completed_with_errors"), [&json!(49), &json!(1), &failed])
    );
    assert_eq!(fixture.present().await, [Value::Null; 0]);
}

#[actix_web::test]
async fn cat_2_a_product_that_goes_between_the_request_and_its_turn_fails_alone() {
    let fixture = Fixture::new().await;
    let ids = [fixture.product("One").await, fixture.product("Two").await];
    let body = json!({"confirm": true, "scope": "selected", "ids": ids});
    let (status, response) = fixture.app.post(&fixture.admin, BULK, body).await;
    assert_eq!((status, &response["totalCount"]), (201, &json!(2)), "{response}");

    fixture.remove(PRODUCTS, ids[0]).await;
    fixture.app.run_jobs().await;

    let job = response["progressJobId"].as_str().expect("an id");
    let job = fixture.get(&format!("/progress/jobs/{job}")).await;
    let failed = json!([{"id": ids[0], "status": 404, "code": "not_found", "message": "Product not found"}]);
    assert_eq!(
        outcome(&job),
        (&json!("completed_with_errors"), [&json!(1), &json!(1), &failed])
    );
}

#[actix_web::test]
async fn a_filter_that_matches_too_many_products_starts_nothing() {
    let fixture = Fixture::new().await;
    let sql = format!(
        "insert into catalog_products (tenant_id, id, organization_id, title, product_type, is_active, tags, created_at, updated_at)
         select '{}', gen_random_uuid(), '{}', 'Lamp', 'simple', true, '{{}}', now(), now() from generate_series(1, 10001)",
        fixture.tenant, fixture.root
    );
    fixture.app.sql(&sql).await;
    let body = json!({"confirm": true, "scope": "filtered", "filter": {"all": true}});

    let (status, response) = fixture.app.post(&fixture.admin, BULK, body.clone()).await;
    assert_eq!(
        (status, &response["code"], &response["matched"]),
        (400, &json!("too_many_items"), &json!(10_001)),
        "{response}"
    );
    assert!(response["error"].is_string());
    assert!(fixture.app.rows("select id from progress_jobs").await.is_empty());
    fixture
        .app
        .sql("delete from catalog_products where id = (select id from catalog_products limit 1)")
        .await;
    let (status, response) = fixture.app.post(&fixture.admin, BULK, body).await;
    assert_eq!((status, &response["totalCount"]), (201, &json!(10_000)), "{response}");
}

#[actix_web::test]
async fn cat_4_a_filter_takes_what_it_matches_at_the_request_within_the_callers_scope() {
    let fixture = Fixture::new().await;
    let taken = fixture.product_in(fixture.child, "Taken", false).await;
    let active = fixture.product_in(fixture.child, "Active", true).await;
    let beside = fixture.product_in(fixture.parent, "Beside", false).await;
    let sibling = json!({"name": "Sibling", "parentId": fixture.parent});
    let sibling = fixture.app.create(&fixture.admin, ORGANIZATIONS, sibling).await;
    let sibling = fixture.product_in(sibling, "Sibling", false).await;
    let body = json!({"confirm": true, "scope": "filtered", "filter": {"isActive": false}});

    let (status, response) = fixture.app.post(&fixture.local, BULK, body.clone()).await;
    assert_eq!((status, &response["totalCount"]), (201, &json!(1)), "{response}");
    assert_eq!(response["message"], "Bulk delete started (1 products).");
    fixture.change(PRODUCTS, json!({"id": active, "isActive": false})).await;
    let later = fixture.product_in(fixture.child, "Later", false).await;
    fixture.app.run_jobs().await;

    let present = fixture.present().await;
    assert!(!present.contains(&json!(taken)));
    assert_eq!(present, [json!(active), json!(beside), json!(sibling), json!(later)]);
    let none = json!({"confirm": true, "scope": "filtered", "filter": {"tags": []}});
    let job = fixture.bulk(&fixture.local, none).await;
    assert_eq!((&job["status"], &job["totalCount"]), (&json!("completed"), &json!(0)));
    assert_eq!(job["progressPercent"], 100);
    let all = json!({"confirm": true, "scope": "filtered", "filter": {"all": true}});
    let job = fixture.bulk(&fixture.local, all).await;
    assert_eq!(job["succeededCount"], 2, "{job}");
    assert_eq!(fixture.present().await, [json!(beside), json!(sibling)]);
}

#[actix_web::test]
async fn a_filter_of_a_super_administrator_takes_products_of_one_tenant() {
    let fixture = Fixture::new().await;
    let own = fixture.product("Lamp").await;
    let foreign = json!({"title": "Lamp", "isActive": false});
    let (status, foreign) = fixture.app.post(&fixture.stranger, PRODUCTS, foreign).await;
    assert_eq!(status, 201, "{foreign}");
    let (tenant, root, email) = (Some(fixture.tenant), Some(fixture.root), "chief@alpha.test");
    account(&fixture.app, tenant, root, email, &[], true).await;
    let chief = login(&fixture.app, email).await;
    let body = json!({"confirm": true, "scope": "filtered", "filter": {"all": true}});

    let rejected = fixture.app.post(&fixture.platform, BULK, body.clone()).await;
    assert_eq!((rejected.0, &rejected.1["code"]), (400, &json!("tenant_required")));
    let job = fixture.bulk(&chief, body).await;

    assert_eq!(
        (outcome(&job).0, &job["totalCount"]),
        (&json!("completed"), &json!(1)),
        "{job}"
    );
    let present = fixture.present().await;
    assert!(!present.contains(&json!(own)));
    assert_eq!(present, [foreign["id"].clone()]);
}

#[actix_web::test]
async fn cat_5_a_product_that_an_interceptor_keeps_is_untouched() {
    let fixture = Fixture::beside(&ADMIN).await;
    let kept = fixture.product(PROTECTED).await;
    fixture
        .create(crate::fixture::VARIANTS, json!({"productId": kept, "name": "Small"}))
        .await;
    let others = [fixture.product("One").await, fixture.product("Two").await];
    let before = fixture.app.rows("select * from catalog_variants").await;

    let body = json!({"confirm": true, "scope": "selected", "ids": [others[0], kept, others[1]]});
    let job = fixture.bulk(&fixture.admin, body).await;

    let failed = json!([{"id": kept, "status": 423, "code": "protected", "message": "This one stays"}]);
    assert_eq!(
        outcome(&job),
        (&json!("completed_with_errors"), [&json!(2), &json!(1), &failed])
    );
    assert_eq!(fixture.present().await, [json!(kept)]);
    assert_eq!(fixture.app.rows("select * from catalog_variants").await, before);
}

#[actix_web::test]
async fn a_caller_without_the_right_to_delete_products_starts_nothing() {
    let fixture = Fixture::new().await;
    let id = fixture.product("Lamp").await;
    let body = json!({"confirm": true, "scope": "selected", "ids": [id]});

    let job = fixture.bulk(&fixture.stranger, body.clone()).await;
    assert_eq!(job["resultSummary"]["failedItems"][0]["code"], "not_found");
    assert_eq!(fixture.app.post("", BULK, body).await.0, 401);
    assert_eq!(fixture.present().await, [json!(id)]);
}
