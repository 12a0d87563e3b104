//! Products. Their variants, prices and links to categories are deleted and restored with them.

use std::collections::BTreeSet;

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Snapshot, Snapshots, Tx};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::upsert::excluded;
use diesel::{
    ExpressionMethods, Insertable, OptionalExtension, QueryDsl, Queryable, Selectable, SelectableHelper, delete,
    insert_into,
};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::links::{LINK_KIND, LinkRow, Links};
use super::price::{Price, PriceRow, store_prices};
use super::variant::{Variant, VariantRow, store_variants};
use super::{By, Category, children};
use crate::schema::catalog_products as products;
use crate::{acl, query};

/// A product.
#[derive(Debug, Clone, PartialEq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = products, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = CatalogProduct)]
pub struct ProductRow {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// 1 to 255 characters.
    pub title: String,
    /// At most 255 characters.
    pub subtitle: Option<String>,
    /// At most 4000 characters.
    pub description: Option<String>,
    /// Unique in the organization.
    pub sku: Option<String>,
    /// Unique in the organization, lower-case.
    pub handle: Option<String>,
    /// `simple`, `configurable` or `virtual`.
    pub product_type: String,
    /// Whether the product is offered.
    pub is_active: bool,
    /// Three letters.
    pub primary_currency_code: Option<String>,
    /// The tags, sorted.
    pub tags: Vec<String>,
    /// Data that integrations store with the product.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl ProductRow {
    /// Loads rows of the transaction's tenant.
    pub(crate) async fn load(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let tenant = tx.tenant();
        Ok(products::table
            .filter(products::tenant_id.eq(tenant))
            .filter(products::id.eq_any(ids))
            .select(Self::as_select())
            .load(tx.conn())
            .await?)
    }
}

/// Entity kind `catalog.product`.
#[derive(Debug)]
pub enum Product {}

impl Entity for Product {
    const KIND: &'static str = "catalog.product";
    const NOT_FOUND: &'static str = "Product not found";
    const VIEW: Option<Feature> = Some(acl::PRODUCTS_VIEW);

    async fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let rows: Vec<(Uuid, Uuid)> = query::products::in_scope(tx.scope())
            .filter(products::id.eq_any(ids))
            .order(products::id)
            .select((products::id, products::tenant_id))
            // Blocks new variants, prices and links while the product is being deleted.
            .for_update()
            .load(tx.conn())
            .await?;
        Ok(rows.into_iter().map(|(id, tenant)| LockedRow { id, tenant }).collect())
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let rows = ProductRow::load(tx, ids).await?;
        let links = Links::OfProducts.load(tx, ids).await?;
        let tree = match depth {
            Depth::Own => None,
            Depth::Tree => Some((
                VariantRow::load(tx, By::Product, ids).await?,
                PriceRow::load(tx, By::Product, ids).await?,
            )),
        };
        let mut snapshots = Snapshots::new();
        for row in rows {
            let own: Vec<&LinkRow> = links.iter().filter(|link| link.product_id == row.id).collect();
            let category_ids: BTreeSet<Uuid> = own.iter().map(|link| link.category_id).collect();
            let mut snapshot = Snapshot::of(&row)?
                .with_field("categoryIds", json!(category_ids))
                .with_children(LINK_KIND, &own)?;
            if let Some((variants, prices)) = &tree {
                let variants: Vec<_> = variants.iter().filter(|one| one.product_id == row.id).collect();
                let prices: Vec<_> = prices.iter().filter(|one| one.product_id == row.id).collect();
                snapshot = snapshot
                    .with_children(Variant::KIND, &variants)?
                    .with_children(Price::KIND, &prices)?;
            }
            snapshots.insert(row.id, snapshot);
        }
        Ok(snapshots)
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let updated_at = tx.now();
        let (mut rows, mut links) = (Vec::with_capacity(snapshots.len()), Vec::new());
        let (mut variants, mut prices) = (Vec::new(), Vec::new());
        for snapshot in snapshots {
            rows.push(ProductRow {
                updated_at,
                ..snapshot.row()?
            });
            links.extend(snapshot.children::<LinkRow>(LINK_KIND)?.unwrap_or_default());
            variants.extend(snapshot.children::<VariantRow>(Variant::KIND)?.unwrap_or_default());
            prices.extend(snapshot.children::<PriceRow>(Price::KIND)?.unwrap_or_default());
        }
        for variant in &mut variants {
            variant.updated_at = updated_at;
        }
        for price in &mut prices {
            price.updated_at = updated_at;
        }
        store_products(tx, &rows).await?;
        store_variants(tx, &variants).await?;
        store_prices(tx, &prices).await?;
        let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
        Links::OfProducts.replace(tx, &ids, links).await
    }

    /// Deletes products; the foreign keys delete their variants, prices and links.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let tenant = tx.tenant();
        let rows = products::table.filter(products::tenant_id.eq(tenant));
        delete(rows.filter(products::id.eq_any(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    fn related(snapshot: &Snapshot) -> Vec<EntityRef> {
        let categories = snapshot
            .get("categoryIds")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let categories = categories.filter_map(|id| {
            Some(EntityRef {
                kind: Category::KIND,
                id: id.as_str()?.parse().ok()?,
            })
        });
        categories
            .chain(children(snapshot, Variant::KIND))
            .chain(children(snapshot, Price::KIND))
            .collect()
    }
}

/// Inserts or replaces rows.
pub(crate) async fn store_products(tx: &mut Tx<'_>, rows: &[ProductRow]) -> Result<()> {
    insert_into(products::table)
        .values(rows)
        .on_conflict((products::tenant_id, products::id))
        .do_update()
        .set((
            products::organization_id.eq(excluded(products::organization_id)),
            products::title.eq(excluded(products::title)),
            products::subtitle.eq(excluded(products::subtitle)),
            products::description.eq(excluded(products::description)),
            products::sku.eq(excluded(products::sku)),
            products::handle.eq(excluded(products::handle)),
            products::product_type.eq(excluded(products::product_type)),
            products::is_active.eq(excluded(products::is_active)),
            products::primary_currency_code.eq(excluded(products::primary_currency_code)),
            products::tags.eq(excluded(products::tags)),
            products::metadata.eq(excluded(products::metadata)),
            products::created_at.eq(excluded(products::created_at)),
            products::updated_at.eq(excluded(products::updated_at)),
        ))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Returns the organization of a product that is visible to the caller, and keeps the product until the transaction ends.
pub(crate) async fn share_product(tx: &mut Tx<'_>, id: Uuid) -> Result<Option<Uuid>> {
    let (scope, tenant) = (tx.scope(), tx.tenant());
    Ok(query::products::in_scope(scope)
        .filter(products::tenant_id.eq(tenant))
        .filter(products::id.eq(id))
        .select(products::organization_id)
        .for_key_share()
        .first(tx.conn())
        .await
        .optional()?)
}
