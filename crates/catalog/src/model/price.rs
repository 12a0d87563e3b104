//! Prices of products and of their variants.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Decimal, Feature, Result, Timestamp, crud};
use diesel::pg::Pg;
use diesel::{
    ExpressionMethods, Insertable, NullableExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper, delete,
};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{By, Product, Variant, named};
use crate::documented::CatalogPriceKind;
use crate::error::PRICE_TERMS;
use crate::schema::{catalog_prices as prices, catalog_products as products, catalog_variants as variants};
use crate::{acl, query};

/// An amount of money.
pub type Money = Decimal<4>;
/// A rate in percent.
pub type Rate = Decimal<4>;

/// A price.
#[derive(Debug, Clone, PartialEq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = prices, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = CatalogPrice)]
pub struct Price {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization of the product.
    pub organization_id: Uuid,
    /// The product.
    pub product_id: Uuid,
    /// The variant that the price is for.
    pub variant_id: Option<Uuid>,
    /// `regular` or `sale`.
    #[schema(value_type = CatalogPriceKind)]
    pub kind: String,
    /// Three letters.
    pub currency_code: String,
    /// The price applies from this number of pieces on, at least 1.
    pub min_quantity: i32,
    /// At least 0, with at most 4 decimals.
    #[schema(value_type = f64, minimum = 0)]
    pub amount: Money,
    /// 0 to 100, with at most 4 decimals.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 100)]
    pub tax_rate: Option<Rate>,
    /// Start of the validity.
    pub starts_at: Option<Timestamp>,
    /// End of the validity.
    pub ends_at: Option<Timestamp>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Price {
    /// Loads rows of the transaction's tenant, ordered by id.
    pub(crate) async fn load_by(tx: &mut Tx<'_>, by: By, ids: &[Uuid]) -> Result<Vec<Self>> {
        let tenant = tx.tenant();
        let rows = prices::table
            .filter(prices::tenant_id.eq(tenant))
            .order(prices::id)
            .select(Self::as_select())
            .into_boxed();
        let rows = match by {
            By::Id => rows.filter(prices::id.one_of(ids)),
            By::Product => rows.filter(prices::product_id.one_of(ids)),
            By::Variant => rows.filter(prices::variant_id.one_of(ids)),
        };
        Ok(rows.load(tx.conn()).await?)
    }
}

impl Entity for Price {
    const KIND: &'static str = "catalog.price";
    const NOT_FOUND: &'static str = "Price not found";
    const VIEW: Option<Feature> = Some(acl::PRODUCTS_VIEW);

    /// Locks products and variants first, in this order, as does every operation that locks parents before their parts.
    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let scope = locker.scope();
        let own = || query::prices::in_scope(scope).filter(prices::id.one_of(ids));
        query::products::in_scope(scope)
            .filter(products::id.eq_any(own().select(prices::product_id)))
            .order(products::id)
            .select(products::id)
            .for_key_share()
            .load::<Uuid>(&mut locker.connection())
            .await?;
        query::variants::in_scope(scope)
            .filter(variants::id.nullable().eq_any(own().select(prices::variant_id)))
            .order(variants::id)
            .select(variants::id)
            .for_key_share()
            .load::<Uuid>(&mut locker.connection())
            .await?;
        let locked = own().order(prices::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        crud::load::<Self>(tx, ids).await
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        crud::store::<Self>(tx, snapshots).await
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let tenant = tx.tenant();
        let rows = prices::table.filter(prices::tenant_id.eq(tenant));
        delete(rows.filter(prices::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        named(snapshot, "variantId", Variant::KIND).or_else(|| named(snapshot, "productId", Product::KIND))
    }

    /// Relates the price to its product, so that the product's log includes the prices of its variants.
    fn related(snapshot: &Snapshot) -> Vec<EntityRef> {
        named(snapshot, "productId", Product::KIND).into_iter().collect()
    }

    fn fields_of_constraint(constraint: &str) -> &'static [&'static str] {
        match constraint {
            PRICE_TERMS => &["currencyCode", "kind", "minQuantity", "startsAt", "variantId"],
            _ => &[],
        }
    }
}
