//! Variants of products. Their prices are deleted with them.

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
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{By, Price, Product, children, named, restored_children};
use crate::schema::{catalog_products as products, catalog_variants as variants};
use crate::{acl, query};

/// A variant.
#[derive(Debug, Clone, PartialEq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = variants, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = CatalogVariant)]
pub struct Variant {
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

impl Variant {
    /// Loads rows of the transaction's tenant, ordered by id.
    pub(crate) async fn load_by(tx: &mut Tx<'_>, by: By, ids: &[Uuid]) -> Result<Vec<Self>> {
        let tenant = tx.tenant();
        let rows = variants::table
            .filter(variants::tenant_id.eq(tenant))
            .order(variants::id)
            .select(Self::as_select())
            .into_boxed();
        let rows = match by {
            By::Product => rows.filter(variants::product_id.one_of(ids)),
            By::Id | By::Variant => rows.filter(variants::id.one_of(ids)),
        };
        Ok(rows.load(tx.conn()).await?)
    }
}

impl Entity for Variant {
    const KIND: &'static str = "catalog.variant";
    const NOT_FOUND: &'static str = "Variant not found";
    const VIEW: Option<Feature> = Some(acl::PRODUCTS_VIEW);

    /// Locks the products first, so that no product is deleted with an outdated snapshot of its variants.
    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let scope = locker.scope();
        let own = || query::variants::in_scope(scope).filter(variants::id.one_of(ids));
        query::products::in_scope(scope)
            .filter(products::id.eq_any(own().select(variants::product_id)))
            .order(products::id)
            .select(products::id)
            .for_key_share()
            .load::<Uuid>(&mut locker.connection())
            .await?;
        let locked = own().order(variants::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let snapshots = crud::load::<Self>(tx, ids).await?;
        if depth == Depth::Own || snapshots.is_empty() {
            return Ok(snapshots);
        }
        let prices = Price::load_by(tx, By::Variant, ids).await?;
        let deep = |(id, snapshot): (Uuid, Snapshot)| {
            let own: Vec<_> = prices.iter().filter(|price| price.variant_id == Some(id)).collect();
            Ok((id, snapshot.with_children(Price::KIND, &own)?))
        };
        snapshots.into_iter().map(deep).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let prices = restored_children::<Price>(tx, snapshots)?;
        crud::store::<Self>(tx, snapshots).await?;
        Price::write(tx, &prices).await?;
        Ok(Vec::new())
    }

    /// Deletes variants; the foreign key deletes their prices.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let tenant = tx.tenant();
        let rows = variants::table.filter(variants::tenant_id.eq(tenant));
        delete(rows.filter(variants::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        named(snapshot, "productId", Product::KIND)
    }

    fn related(snapshot: &Snapshot) -> Vec<EntityRef> {
        children(snapshot, Price::KIND).collect()
    }
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
