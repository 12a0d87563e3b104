//! Trees whose snapshots are too long to be stored with their children.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::catalog;
use crate::fixture::{Fixture, builder};
use crate::history::entries;

/// A fixture with the catalog, in which every tree is too long.
async fn fixture() -> Fixture {
    let fixture = Fixture::of(builder().config("[audit.snapshot]\nmax_bytes = 100\n")).await;
    catalog::seed(&fixture, &fixture.a).await;
    fixture
}

/// Asserts that the deletion of a product is in the history of its variant and of its price, without the rows and without a token.
async fn check_history(fixture: &Fixture, product: Uuid) {
    for kind in ["catalog.variant", "catalog.price"] {
        let query = format!("resourceKind={kind}&resourceId={product}&includeRelated=true");
        let found = entries(&fixture.app, &fixture.a.tenant_admin, &query).await;
        let commands: Vec<&Value> = found.iter().map(|entry| &entry["commandId"]).collect();
        assert_eq!(commands, ["catalog.product.delete"], "{kind}");
        let entry = &found[0];
        assert_eq!(
            (&entry["resourceId"], &entry["snapshotBefore"]["id"]),
            (&json!(product), &json!(product))
        );
        assert_eq!(entry["snapshotBefore"].get("_children"), None);
        assert_eq!(
            (&entry["context"]["snapshotTruncated"], &entry["undoToken"]),
            (&json!(true), &Value::Null)
        );
    }
}

/// Returns the kinds of the catalog whose lists have changed.
async fn changed_kinds(fixture: &Fixture) -> Vec<Value> {
    let sql = format!(
        "select kind from core_collections where tenant_id = '{}' and kind like 'catalog.%' order by kind",
        fixture.a.tenant
    );
    let rows = fixture.app.rows(&sql).await;
    rows.iter().map(|row| row["kind"].clone()).collect()
}

const KINDS_OF_TREE: [&str; 4] = [
    "catalog.price",
    "catalog.product",
    "catalog.product_category",
    "catalog.variant",
];

#[actix_web::test]
async fn the_deletion_of_a_long_tree_is_in_the_history_of_its_children() {
    let fixture = fixture().await;
    let (token, product) = (&fixture.a.tenant_admin.token, fixture.a.child);
    assert_eq!(changed_kinds(&fixture).await, Vec::<Value>::new());

    let deleted = Call::delete("/catalog/products", product)
        .send(&fixture.app, token)
        .await;

    assert_eq!((deleted.status, deleted.operation()), (200, None), "{}", deleted.text());
    check_history(&fixture, product).await;
    assert_eq!(changed_kinds(&fixture).await, KINDS_OF_TREE);
}

#[actix_web::test]
async fn long_trees_that_are_deleted_together_are_in_the_history_of_their_children() {
    let fixture = fixture().await;
    let token = &fixture.a.tenant_admin.token;
    let products = [fixture.a.child, fixture.a.other];
    let body = json!({"confirm": true, "scope": "selected", "ids": products});

    let (status, started) = fixture.app.post(token, "/catalog/bulk-delete", body).await;
    fixture.app.run_jobs().await;

    assert_eq!(status, 201, "{started}");
    for product in products {
        check_history(&fixture, product).await;
    }
    assert_eq!(changed_kinds(&fixture).await, KINDS_OF_TREE);
}
