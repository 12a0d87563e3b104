//! Keeps parent categories, and organizations with products or categories, from being deleted.

use backoffice_core::command::{Entity, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::{Rejection, Result};
use diesel::dsl::exists;
use diesel::{ExpressionMethods, QueryDsl, select};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::model::{Category, Product};
use crate::schema::{catalog_categories as categories, catalog_products as products};

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
    run: keep_organization,
};

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

fn keep_organization<'a>(tx: &'a mut Tx<'_>, context: &'a InterceptorContext<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        if !context.removes("directory.organization.delete") {
            return Ok(Verdict::Continue);
        }
        let Some(kind) = kind_in(tx, context.id).await? else {
            return Ok(Verdict::Continue);
        };
        let own = Rejection::conflict("Organization is in use").code("organization_in_use");
        Ok(context.keep(own, kind))
    })
}

/// Returns a kind of record that the organization contains. Variants and prices share the organization of their product.
async fn kind_in(tx: &mut Tx<'_>, organization: Uuid) -> Result<Option<&'static str>> {
    let tenant = tx.tenant();
    let own_products = products::table
        .filter(products::tenant_id.eq(tenant))
        .filter(products::organization_id.eq(organization));
    let own_categories = categories::table
        .filter(categories::tenant_id.eq(tenant))
        .filter(categories::organization_id.eq(organization));
    let (has_products, has_categories): (bool, bool) = select((exists(own_products), exists(own_categories)))
        .get_result(tx.conn())
        .await?;
    Ok(match (has_products, has_categories) {
        (true, _) => Some(Product::KIND),
        (_, true) => Some(Category::KIND),
        _ => None,
    })
}
