//! The catalog of a tenant. Every record has the id of its organization: the product, its variant, its prices and the category of `other`, and the
//! same of `child` and `parent`.

use uuid::Uuid;

use crate::fixture::{Fixture, TenantFixture};

/// Returns the id of the top category, in `root`; that of `child` lies below it.
pub(crate) fn top(tenant_fixture: &TenantFixture) -> Uuid {
    tenant_fixture.root
}

/// Inserts the catalog.
pub(crate) async fn seed(fixture: &Fixture, tenant_fixture: &TenantFixture) {
    category(fixture, tenant_fixture, tenant_fixture.root, None).await;
    category(fixture, tenant_fixture, tenant_fixture.child, Some(tenant_fixture.root)).await;
    category(fixture, tenant_fixture, tenant_fixture.other, None).await;
    category(fixture, tenant_fixture, tenant_fixture.parent, None).await;
    for organization in [tenant_fixture.child, tenant_fixture.other, tenant_fixture.parent] {
        product(fixture, tenant_fixture, organization).await;
    }
}

const CREATED: &str = "'2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z'";

async fn insert(fixture: &Fixture, tenant_fixture: &TenantFixture, table: &str, columns: &str, values: &str) {
    let tenant = tenant_fixture.tenant;
    let sql = format!(
        "insert into {table} (tenant_id, {columns}, created_at, updated_at) values ('{tenant}', {values}, {CREATED})"
    );
    assert_eq!(fixture.app.sql(&sql).await, 1);
}

async fn category(fixture: &Fixture, tenant_fixture: &TenantFixture, id: Uuid, parent: Option<Uuid>) {
    let parent = parent.map_or("null".to_owned(), |parent| format!("'{parent}'"));
    let values = format!("'{id}', '{id}', 'Category {id}', 'c-{id}', {parent}");
    let columns = "id, organization_id, name, slug, parent_id";
    insert(fixture, tenant_fixture, "catalog_categories", columns, &values).await;
}

async fn product(fixture: &Fixture, tenant_fixture: &TenantFixture, id: Uuid) {
    let columns = "id, organization_id, title, subtitle, description, sku, handle, product_type, is_active, \
                   primary_currency_code, tags, metadata";
    let values = format!(
        "'{id}', '{id}', 'Product {id}', 'Sub', E'Line\\nline', 'S-{id}', 'h-{id}', 'configurable', true, 'EUR', \
         '{{blue,red}}', '{{\"a\": [1, 2.5]}}'"
    );
    insert(fixture, tenant_fixture, "catalog_products", columns, &values).await;
    let columns = "id, organization_id, product_id, name, sku, barcode, options, position, is_active";
    let values = format!("'{id}', '{id}', '{id}', 'Small', 'V-{id}', '590', '{{\"size\": \"S\"}}', 3, true");
    insert(fixture, tenant_fixture, "catalog_variants", columns, &values).await;
    let columns = "id, organization_id, product_id, variant_id, kind, currency_code, min_quantity, amount, tax_rate, \
                   starts_at, ends_at";
    let values = format!(
        "'{id}', '{id}', '{id}', '{id}', 'sale', 'EUR', 10, 123456789012.3456, 7.25, '2026-11-01T00:00:00Z', null"
    );
    insert(fixture, tenant_fixture, "catalog_prices", columns, &values).await;
    let values = format!("md5('price {id}')::uuid, '{id}', '{id}', null, 'regular', 'EUR', 1, 19.99, null, null, null");
    insert(fixture, tenant_fixture, "catalog_prices", columns, &values).await;
    let columns = "id, product_id, category_id";
    insert(
        fixture,
        tenant_fixture,
        "catalog_product_categories",
        columns,
        &format!("md5('link {id}')::uuid, '{id}', '{id}'"),
    )
    .await;
}
