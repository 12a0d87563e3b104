//! What the shelves of a house hold. Everything has the id of the organization that it stands in: the product, its variant, its prices
//! and the category of `other`, and the same of `child` and `parent`.

use uuid::Uuid;

use crate::world::{House, World};

/// Id of the category at the top, in `root`; that of `child` lies below it.
pub(crate) fn top(house: &House) -> Uuid {
    house.root
}

/// Fills the shelves.
pub(crate) async fn furnish(world: &World, house: &House) {
    category(world, house, house.root, None).await;
    category(world, house, house.child, Some(house.root)).await;
    category(world, house, house.other, None).await;
    category(world, house, house.parent, None).await;
    for organization in [house.child, house.other, house.parent] {
        product(world, house, organization).await;
    }
}

const MADE: &str = "'2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z'";

async fn insert(world: &World, house: &House, table: &str, columns: &str, values: &str) {
    let tenant = house.tenant;
    let sql = format!(
        "insert into {table} (tenant_id, {columns}, created_at, updated_at) values ('{tenant}', {values}, {MADE})"
    );
    assert_eq!(world.app.sql(&sql).await, 1);
}

async fn category(world: &World, house: &House, id: Uuid, parent: Option<Uuid>) {
    let parent = parent.map_or("null".to_owned(), |parent| format!("'{parent}'"));
    let values = format!("'{id}', '{id}', 'Category {id}', 'c-{id}', {parent}");
    let columns = "id, organization_id, name, slug, parent_id";
    insert(world, house, "catalog_categories", columns, &values).await;
}

async fn product(world: &World, house: &House, id: Uuid) {
    let columns = "id, organization_id, title, subtitle, description, sku, handle, product_type, is_active, \
                   primary_currency_code, tags, metadata";
    let values = format!(
        "'{id}', '{id}', 'Product {id}', 'Sub', E'Line\\nline', 'S-{id}', 'h-{id}', 'configurable', true, 'EUR', \
         '{{blue,red}}', '{{\"a\": [1, 2.5]}}'"
    );
    insert(world, house, "catalog_products", columns, &values).await;
    let columns = "id, organization_id, product_id, name, sku, barcode, options, position, is_active";
    let values = format!("'{id}', '{id}', '{id}', 'Small', 'V-{id}', '590', '{{\"size\": \"S\"}}', 3, true");
    insert(world, house, "catalog_variants", columns, &values).await;
    let columns = "id, organization_id, product_id, variant_id, kind, currency_code, min_quantity, amount, tax_rate, \
                   starts_at, ends_at";
    let values = format!(
        "'{id}', '{id}', '{id}', '{id}', 'sale', 'EUR', 10, 123456789012.3456, 7.25, '2026-11-01T00:00:00Z', null"
    );
    insert(world, house, "catalog_prices", columns, &values).await;
    let values = format!("gen_random_uuid(), '{id}', '{id}', null, 'regular', 'EUR', 1, 19.99, null, null, null");
    insert(world, house, "catalog_prices", columns, &values).await;
    let columns = "id, product_id, category_id";
    insert(
        world,
        house,
        "catalog_product_categories",
        columns,
        &format!("gen_random_uuid(), '{id}', '{id}'"),
    )
    .await;
}
