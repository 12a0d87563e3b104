//! Variants of products. Their prices are deleted with them.

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
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::price::{Price, PriceRow, store_prices};
use super::{By, Product, children, named};
use crate::schema::{catalog_products as products, catalog_variants as variants};
use crate::{acl, query};

/// A variant.
#[derive(Debug, Clone, PartialEq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = variants, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = CatalogVariant)]
pub struct VariantRow {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization of the product.
    pub organization_id: Uuid,
    /// The product.
    pub product_id: Uuid,
    /// 1 to 255 characters.
    pub name: String,
    /// Unique in the organization.
    pub sku: Option<String>,
    /// At most 191 characters.
    pub barcode: Option<String>,
    /// The options that distinguish the variant: texts by name.
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub options: Option<Value>,
    /// The position among the variants of the product.
    pub position: i32,
    /// Whether the variant is offered.
    pub is_active: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl VariantRow {
    /// Loads rows of the transaction's tenant, ordered by id.
    pub(crate) async fn load(tx: &mut Tx<'_>, by: By, ids: &[Uuid]) -> Result<Vec<Self>> {
        let tenant = tx.tenant();
        let rows = variants::table
            .filter(variants::tenant_id.eq(tenant))
            .order(variants::id)
            .select(Self::as_select())
            .into_boxed();
        let rows = match by {
            By::Product => rows.filter(variants::product_id.eq_any(ids)),
            By::Id | By::Variant => rows.filter(variants::id.eq_any(ids)),
        };
        Ok(rows.load(tx.conn()).await?)
    }
}

/// Entity kind `catalog.variant`.
#[derive(Debug)]
pub enum Variant {}

impl Entity for Variant {
    const KIND: &'static str = "catalog.variant";
    const NOT_FOUND: &'static str = "Variant not found";
    const VIEW: Option<Feature> = Some(acl::PRODUCTS_VIEW);

    /// Locks the products first, so that no product is deleted with an outdated snapshot of its variants.
    async fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let scope = tx.scope();
        let owners = query::variants::in_scope(scope)
            .filter(variants::id.eq_any(ids))
            .select(variants::product_id);
        query::products::in_scope(scope)
            .filter(products::id.eq_any(owners))
            .order(products::id)
            .select(products::id)
            .for_key_share()
            .load::<Uuid>(tx.conn())
            .await?;
        let rows: Vec<(Uuid, Uuid)> = query::variants::in_scope(scope)
            .filter(variants::id.eq_any(ids))
            .order(variants::id)
            .select((variants::id, variants::tenant_id))
            .for_update()
            .load(tx.conn())
            .await?;
        Ok(rows.into_iter().map(|(id, tenant)| LockedRow { id, tenant }).collect())
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let rows = VariantRow::load(tx, By::Id, ids).await?;
        let prices = match depth {
            Depth::Own => None,
            Depth::Tree => Some(PriceRow::load(tx, By::Variant, ids).await?),
        };
        let mut snapshots = Snapshots::new();
        for row in rows {
            let mut snapshot = Snapshot::of(&row)?;
            if let Some(prices) = &prices {
                let own: Vec<_> = prices.iter().filter(|one| one.variant_id == Some(row.id)).collect();
                snapshot = snapshot.with_children(Price::KIND, &own)?;
            }
            snapshots.insert(row.id, snapshot);
        }
        Ok(snapshots)
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let updated_at = tx.now();
        let (mut rows, mut prices) = (Vec::with_capacity(snapshots.len()), Vec::new());
        for snapshot in snapshots {
            rows.push(VariantRow {
                updated_at,
                ..snapshot.row()?
            });
            prices.extend(snapshot.children::<PriceRow>(Price::KIND)?.unwrap_or_default());
        }
        for price in &mut prices {
            price.updated_at = updated_at;
        }
        store_variants(tx, &rows).await?;
        store_prices(tx, &prices).await?;
        Ok(Vec::new())
    }

    /// Deletes variants; the foreign key deletes their prices.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let tenant = tx.tenant();
        let rows = variants::table.filter(variants::tenant_id.eq(tenant));
        delete(rows.filter(variants::id.eq_any(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        named(snapshot, "productId", Product::KIND)
    }

    fn related(snapshot: &Snapshot) -> Vec<EntityRef> {
        children(snapshot, Price::KIND).collect()
    }
}

/// Inserts or replaces rows.
pub(crate) async fn store_variants(tx: &mut Tx<'_>, rows: &[VariantRow]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    insert_into(variants::table)
        .values(rows)
        .on_conflict((variants::tenant_id, variants::id))
        .do_update()
        .set((
            variants::organization_id.eq(excluded(variants::organization_id)),
            variants::product_id.eq(excluded(variants::product_id)),
            variants::name.eq(excluded(variants::name)),
            variants::sku.eq(excluded(variants::sku)),
            variants::barcode.eq(excluded(variants::barcode)),
            variants::options.eq(excluded(variants::options)),
            variants::position.eq(excluded(variants::position)),
            variants::is_active.eq(excluded(variants::is_active)),
            variants::created_at.eq(excluded(variants::created_at)),
            variants::updated_at.eq(excluded(variants::updated_at)),
        ))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Returns whether the product has this variant, and keeps the variant until the transaction ends.
pub(crate) async fn share_variant(tx: &mut Tx<'_>, product: Uuid, id: Uuid) -> Result<bool> {
    let tenant = tx.tenant();
    let found: Option<Uuid> = variants::table
        .filter(variants::tenant_id.eq(tenant))
        .filter(variants::product_id.eq(product))
        .filter(variants::id.eq(id))
        .select(variants::id)
        .for_key_share()
        .first(tx.conn())
        .await
        .optional()?;
    Ok(found.is_some())
}
