//! Products. Their variants, prices and links to categories are deleted and restored with them.

use std::collections::BTreeSet;

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::crud::{self, Record};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{
    ExpressionMethods, Insertable, OptionalExtension, QueryDsl, Queryable, Selectable, SelectableHelper, delete,
};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::links::{LINK_KIND, LinkRow, Links};
use super::{By, Category, Price, Variant, children, restored_children};
use crate::documented::CatalogProductType;
use crate::schema::catalog_products as products;
use crate::{acl, query};

/// A product.
#[derive(Debug, Clone, PartialEq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = products, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = CatalogProduct)]
pub struct Product {
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
    #[schema(value_type = CatalogProductType)]
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

impl Entity for Product {
    const KIND: &'static str = "catalog.product";
    const NOT_FOUND: &'static str = "Product not found";
    const VIEW: Option<Feature> = Some(acl::PRODUCTS_VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::products::in_scope(locker.scope()).filter(products::id.one_of(ids));
        // Blocks new variants, prices and links while the product is being deleted.
        let locked = visible.order(products::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let snapshots = crud::load::<Self>(tx, ids).await?;
        if snapshots.is_empty() {
            return Ok(snapshots);
        }
        let links = Links::of_products(tx, ids).await?;
        let tree = match depth {
            Depth::Own => None,
            Depth::Tree => Some((
                Variant::load_by(tx, By::Product, ids).await?,
                Price::load_by(tx, By::Product, ids).await?,
            )),
        };
        let deep = |(id, snapshot): (Uuid, Snapshot)| {
            let own: Vec<_> = links.iter().filter(|link| link.product_id == id).collect();
            let category_ids: BTreeSet<Uuid> = own.iter().map(|link| link.category_id).collect();
            let snapshot = snapshot
                .with_field("categoryIds", json!(category_ids))
                .with_children(LINK_KIND, &own)?;
            let Some((variants, prices)) = &tree else {
                return Ok((id, snapshot));
            };
            let variants: Vec<_> = variants.iter().filter(|one| one.product_id == id).collect();
            let prices: Vec<_> = prices.iter().filter(|one| one.product_id == id).collect();
            let snapshot = snapshot.with_children(Variant::KIND, &variants)?;
            Ok((id, snapshot.with_children(Price::KIND, &prices)?))
        };
        snapshots.into_iter().map(deep).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let (mut ids, mut links) = (Vec::with_capacity(snapshots.len()), Vec::new());
        for snapshot in snapshots {
            ids.push(snapshot.row::<Self>()?.id);
            links.extend(snapshot.children::<LinkRow>(LINK_KIND)?.unwrap_or_default());
        }
        let variants = restored_children::<Variant>(tx, snapshots)?;
        let prices = restored_children::<Price>(tx, snapshots)?;
        crud::store::<Self>(tx, snapshots).await?;
        Variant::write(tx, &variants).await?;
        Price::write(tx, &prices).await?;
        Links::OfProducts.replace(tx, &ids, links).await
    }

    /// Deletes products; the foreign keys delete their variants, prices and links.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let tenant = tx.tenant();
        let rows = products::table.filter(products::tenant_id.eq(tenant));
        delete(rows.filter(products::id.one_of(ids))).execute(tx.conn()).await?;
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
