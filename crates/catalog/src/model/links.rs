//! Links between products and categories. A link is deleted and restored with either of them.

use backoffice_core::command::{Entity, Tx};
use backoffice_core::db::{KeyColumn, Prepared, Recurring};
use backoffice_core::{Result, Timestamp};
use diesel::pg::Pg;
use diesel::sql_types::{Array, Timestamptz, Uuid as SqlUuid};
use diesel::{
    ExpressionMethods, Insertable, QueryDsl, Queryable, QueryableByName, Selectable, SelectableHelper, delete,
    insert_into, sql_query,
};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Category, Product};
use crate::schema::{
    catalog_categories as categories, catalog_product_categories as links, catalog_products as products,
};

/// Links that are written so often together that the statement is kept.
const FEW: usize = 4;
/// Rows of one insertion: a statement has at most 65,535 parameters.
const CHUNK: usize = 5000;

/// The query for the products of a tenant ($1) with links to categories ($2). It locks them in the order in which commands on products lock them.
const LOCKED_PRODUCTS: &str = "\
select id from catalog_products
where tenant_id = $1
  and id in (select product_id from catalog_product_categories where tenant_id = $1 and category_id = any(array(select unnest($2::uuid[]))))
order by id for update";

/// The name of the links in snapshots.
pub(super) const LINK_KIND: &str = "catalog.product_category";

/// A link between a product and a category.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, QueryableByName, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = links, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub(crate) struct LinkRow {
    pub(crate) tenant_id: Uuid,
    pub(crate) id: Uuid,
    pub(crate) product_id: Uuid,
    pub(crate) category_id: Uuid,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// The end by which links are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    OfProducts,
    OfCategories,
}

impl Links {
    /// Loads the links of these products, ordered by id.
    pub(crate) async fn of_products(tx: &mut Tx<'_>, products: &[Uuid]) -> Result<Vec<LinkRow>> {
        let tenant = tx.tenant();
        Ok(links::table
            .filter(links::tenant_id.eq(tenant))
            .filter(links::product_id.one_of(products))
            .order(links::id)
            .select(LinkRow::as_select())
            .load(tx.conn())
            .await?)
    }

    /// Loads the links of these categories, ordered by id. Locks their products and then the links until the end of the transaction, so that the
    /// snapshot shows exactly what is deleted: a link that another transaction has deleted is left out after the wait for its product. The locked
    /// categories take no new links.
    pub(crate) async fn lock_of_categories(tx: &mut Tx<'_>, categories: &[Uuid]) -> Result<Vec<LinkRow>> {
        let tenant = tx.tenant();
        let statement = sql_query(format!(
            "with shown as ({LOCKED_PRODUCTS}) \
             select tenant_id, id, product_id, category_id, created_at, updated_at from catalog_product_categories \
             where tenant_id = $1 and category_id = any(array(select unnest($2::uuid[]))) and product_id in (select id from shown) \
             order by id for update"
        ))
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(categories);
        Ok(Prepared(statement).load(tx.conn()).await?)
    }

    /// Replaces the links of these products or categories by the requested ones, with their ids. Leaves out links whose other end is missing
    /// and returns these ends.
    pub(crate) async fn replace(self, tx: &mut Tx<'_>, ids: &[Uuid], requested: Vec<LinkRow>) -> Result<Vec<String>> {
        let tenant = tx.tenant();
        let kept: Vec<Uuid> = requested.iter().map(|link| link.id).collect();
        let surplus = links::table
            .filter(links::tenant_id.eq(tenant))
            .filter(links::id.ne_all(kept));
        match self {
            Self::OfProducts => {
                delete(surplus.filter(links::product_id.one_of(ids)))
                    .execute(tx.conn())
                    .await?
            }
            Self::OfCategories => {
                delete(surplus.filter(links::category_id.one_of(ids)))
                    .execute(tx.conn())
                    .await?
            }
        };
        if requested.is_empty() {
            return Ok(Vec::new());
        }
        let existing = self.existing_ends(tx, &requested).await?;
        let (whole, broken): (Vec<_>, Vec<_>) = requested
            .into_iter()
            .partition(|link| existing.contains(&self.other_end(link)));
        for chunk in whole.chunks(CHUNK) {
            insert_into(links::table)
                .values(chunk)
                .on_conflict_do_nothing()
                .prepared_if(chunk.len() <= FEW)
                .execute(tx.conn())
                .await?;
        }
        let kind = match self {
            Self::OfProducts => Category::KIND,
            Self::OfCategories => Product::KIND,
        };
        let named = broken.iter().map(|link| format!("{kind}:{}", self.other_end(link)));
        Ok(named.collect())
    }

    /// Advances `updated_at` of the products with links to these categories, because a deletion or its undo changes their sets.
    pub(crate) async fn touch_products(tx: &mut Tx<'_>, categories: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let statement = sql_query(format!(
            "with shown as ({LOCKED_PRODUCTS}) \
             update catalog_products p set updated_at = greatest($3, p.updated_at + interval '1 millisecond') \
             from shown where p.tenant_id = $1 and p.id = shown.id"
        ))
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(categories)
        .bind::<Timestamptz, _>(now);
        Prepared(statement).execute(tx.conn()).await?;
        Ok(())
    }

    fn other_end(self, link: &LinkRow) -> Uuid {
        match self {
            Self::OfProducts => link.category_id,
            Self::OfCategories => link.product_id,
        }
    }

    /// Returns the other ends that exist, and keeps them until the transaction ends.
    async fn existing_ends(self, tx: &mut Tx<'_>, requested: &[LinkRow]) -> Result<Vec<Uuid>> {
        let tenant = tx.tenant();
        let named: Vec<Uuid> = requested.iter().map(|link| self.other_end(link)).collect();
        Ok(match self {
            Self::OfProducts => {
                categories::table
                    .filter(categories::tenant_id.eq(tenant))
                    .filter(categories::id.one_of(named))
                    .order(categories::id)
                    .select(categories::id)
                    .for_key_share()
                    .load(tx.conn())
                    .await?
            }
            Self::OfCategories => {
                products::table
                    .filter(products::tenant_id.eq(tenant))
                    .filter(products::id.one_of(named))
                    .order(products::id)
                    .select(products::id)
                    .for_key_share()
                    .load(tx.conn())
                    .await?
            }
        })
    }
}
