//! Categories: a tree that contains products. Links to products are deleted with a category; a category with categories below it can't be deleted.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::crud::Record;
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::{Feature, Rejection, Result, Timestamp, crud};
use diesel::pg::Pg;
use diesel::sql_types::{Bool, Text, Uuid as SqlUuid};
use diesel::{
    ExpressionMethods, Insertable, QueryDsl, Queryable, QueryableByName, Selectable, SelectableHelper, delete,
    sql_query,
};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::links::{LINK_KIND, LinkRow, Links};
use super::named;
use crate::schema::catalog_categories as categories;
use crate::{acl, query};

/// A category.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = categories, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = CatalogCategory)]
pub struct Category {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// 1 to 150 characters.
    pub name: String,
    /// Unique in the organization, lower-case.
    pub slug: String,
    /// The parent category.
    pub parent_id: Option<Uuid>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for Category {
    const KIND: &'static str = "catalog.category";
    const NOT_FOUND: &'static str = "Category not found";
    const VIEW: Option<Feature> = Some(acl::CATEGORIES_VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::categories::in_scope(locker.scope()).filter(categories::id.one_of(ids));
        let locked = visible.order(categories::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let snapshots = crud::load::<Self>(tx, ids).await?;
        if depth == Depth::Own || snapshots.is_empty() {
            return Ok(snapshots);
        }
        let links = Links::lock_of_categories(tx, ids).await?;
        let deep = |(id, snapshot): (Uuid, Snapshot)| {
            let own: Vec<_> = links.iter().filter(|link| link.category_id == id).collect();
            Ok((id, snapshot.with_children(LINK_KIND, &own)?))
        };
        snapshots.into_iter().map(deep).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let (mut linked, mut links) = (Vec::new(), Vec::new());
        for snapshot in snapshots {
            // A shallow snapshot does not contain the links.
            if let Some(own) = snapshot.children::<LinkRow>(LINK_KIND)? {
                linked.push(snapshot.row::<Self>()?.id);
                links.extend(own);
            }
        }
        let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Self>>>()?;
        for row in &mut rows {
            row.updated_at = tx.now();
        }
        let mut dropped = leave_out_parents(tx, &mut rows).await?;
        Self::write(tx, &rows).await?;
        if linked.is_empty() {
            return Ok(dropped);
        }
        dropped.extend(Links::OfCategories.replace(tx, &linked, links).await?);
        Links::touch_products(tx, &linked).await?;
        Ok(dropped)
    }

    /// Deletes categories; the foreign key deletes their links.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        Links::touch_products(tx, ids).await?;
        let tenant = tx.tenant();
        let rows = categories::table.filter(categories::tenant_id.eq(tenant));
        delete(rows.filter(categories::id.one_of(ids)))
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let above = |snapshot: Option<&Snapshot>| snapshot.and_then(|snapshot| named(snapshot, "parentId", Self::KIND));
        let parent = above(step.to);
        if parent.is_none() || parent == above(step.from) || !lies_below_itself(tx, step.id).await? {
            return Ok(());
        }
        if step.restoring {
            return Err(Rejection::undo_conflict(&["parentId"]).into());
        }
        Err(Rejection::invalid_field("parentId", "a category can't lie below itself", "invalid_value").into())
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        named(snapshot, "parentId", Self::KIND)
    }
}

/// Returns the categories that are visible to the caller, and keeps them until the transaction ends.
pub(crate) async fn share_categories(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Uuid>> {
    let (scope, tenant) = (tx.scope(), tx.tenant());
    Ok(query::categories::in_scope(scope)
        .filter(categories::tenant_id.eq(tenant))
        .filter(categories::id.one_of(ids))
        .order(categories::id)
        .select(categories::id)
        .for_key_share()
        .load(tx.conn())
        .await?)
}

/// Puts categories whose parent is missing at the top, and returns the missing parents.
async fn leave_out_parents(tx: &mut Tx<'_>, rows: &mut [Category]) -> Result<Vec<String>> {
    let named: Vec<Uuid> = rows.iter().filter_map(|row| row.parent_id).collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let tenant = tx.tenant();
    let existing: Vec<Uuid> = categories::table
        .filter(categories::tenant_id.eq(tenant))
        .filter(categories::id.one_of(named))
        .select(categories::id)
        .load(tx.conn())
        .await?;
    let mut dropped = Vec::new();
    for row in rows {
        if let Some(missing) = row.parent_id.take_if(|parent| !existing.contains(parent)) {
            dropped.push(format!("{}:{missing}", Category::KIND));
        }
    }
    Ok(dropped)
}

#[derive(QueryableByName)]
struct Circle {
    #[diesel(sql_type = Bool)]
    is_closed: bool,
}

/// Returns true if a category is below itself. Callers wait for each other: two concurrent moves could close a cycle that neither sees.
async fn lies_below_itself(tx: &mut Tx<'_>, id: Uuid) -> Result<bool> {
    let tenant = tx.tenant();
    sql_query("select pg_advisory_xact_lock(hashtextextended('catalog_categories' || $1, 0))")
        .bind::<Text, _>(tenant.to_string())
        .prepared()
        .execute(tx.conn())
        .await?;
    let circle: Circle = sql_query(
        "with recursive above as (
            select c.parent_id as id from catalog_categories c where c.tenant_id = $1 and c.id = $2
            union
            select c.parent_id from catalog_categories c join above a on c.tenant_id = $1 and c.id = a.id
        )
        select exists (select 1 from above where id = $2) as is_closed",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(id)
    .prepared()
    .get_result(tx.conn())
    .await?;
    Ok(circle.is_closed)
}
