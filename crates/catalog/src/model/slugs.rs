//! Slugs of categories, which are unique in an organization.

use std::collections::HashSet;

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;
use backoffice_core::slug::SlugForm;
use diesel::sql_types::Text;
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, TextExpressionMethods, sql_query};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::Category;
use crate::schema::catalog_categories as categories;

const FORM: SlugForm = SlugForm {
    longest: 150,
    fallback: "category",
};

/// Serializes writes of slugs in an organization, so that a free slug remains free until it is stored.
pub(crate) async fn lock_slugs(tx: &mut Tx<'_>, organization: Uuid) -> Result<()> {
    let name = format!("catalog.category.slug {} {organization}", tx.tenant());
    sql_query("select pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind::<Text, _>(name)
        .prepared()
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Derives a slug from the name of a category, with a number if others have it. The caller holds the lock.
pub(crate) async fn free_slug(tx: &mut Tx<'_>, category: &Category) -> Result<String> {
    let base = FORM.derive(&category.name);
    let taken: Vec<String> = categories::table
        .filter(categories::tenant_id.eq(tx.tenant()))
        .filter(categories::organization_id.eq(category.organization_id))
        .filter(
            categories::slug
                .eq(&base)
                .or(categories::slug.like(format!("{}%", FORM.stem(&base)))),
        )
        .select(categories::slug)
        .load(tx.conn())
        .await?;
    Ok(FORM.first_free(&base, &HashSet::from_iter(taken)))
}
