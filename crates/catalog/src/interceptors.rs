//! Keeps parent categories, and organizations with products or categories, from being deleted.

use backoffice_core::command::{Entity, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::{Rejection, Result};
use diesel::dsl::exists;
use diesel::{ExpressionMethods, QueryDsl, select};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;

use crate::model::Category;
use crate::schema::catalog_categories as categories;

/// Rejects the deletion of a category with categories below it.
pub(crate) const KEEP_PARENT_CATEGORIES: Interceptor = Interceptor {
    id: "catalog.category_children",
    target: "catalog.category.*",
    priority: 100,
    run: keep_category,
};

/// Rejects the deletion of an organization with products or categories.
pub(crate) const KEEP_ORGANIZATIONS_IN_USE: Interceptor = Interceptor {
    id: "catalog.organization_products",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(context.keep_organization(tx, KIND_IN_USE)),
};

/// Variants and prices are omitted: they share the organization of their product.
const KIND_IN_USE: &str = "select case
    when exists (select from catalog_products where tenant_id = $1 and organization_id = $2) then 'catalog.product'
    when exists (select from catalog_categories where tenant_id = $1 and organization_id = $2) then 'catalog.category'
    end as kind";

fn keep_category<'a>(tx: &'a mut Tx<'_>, context: &'a InterceptorContext<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        if !context.removes("catalog.category.delete") {
            return Ok(Verdict::Continue);
        }
        let tenant = tx.tenant();
        let below = categories::table
            .filter(categories::tenant_id.eq(tenant))
            .filter(categories::parent_id.eq(context.id));
        let is_parent: bool = select(exists(below)).get_result(tx.conn()).await?;
        if !is_parent {
            return Ok(Verdict::Continue);
        }
        Ok(context.keep(Rejection::in_use(), Category::KIND))
    })
}
