//! Endpoints of categories.

use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{RequestContext, Result, crud};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::acl;
use crate::commands::CategoryInput;
use crate::model::Category;
use crate::query::categories::{self, CategoryFilter};

pub(super) fn routes(routes: &mut Routes) {
    let (path, one) = ("/catalog/categories", "/catalog/categories/{id}");
    routes
        .get(path, requires(&[acl::CATEGORIES_VIEW]), list_categories)
        .shows(&["catalog.category", "catalog.product"])
        .about("List categories");
    routes
        .get(one, requires(&[acl::CATEGORIES_VIEW]), get_category)
        .shows(&["catalog.category", "catalog.product"])
        .about("A category")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::CATEGORIES_MANAGE]), create_category)
        .about("Create a category")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::CATEGORIES_MANAGE]), update_category)
        .about("Change a category")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::CATEGORIES_MANAGE]), delete_category)
        .about("Delete a category that has none below it")
        .rejects(&[404, 409, 422]);
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct CategoryQuery {
    /// Only categories directly below this one.
    parent_id: Option<Uuid>,
}

async fn list_categories(
    ctx: RequestContext,
    list: ListQuery<Category>,
    query: Query<CategoryQuery>,
) -> Result<Json<Page<Category>>> {
    let request = list.validate()?;
    let filter = CategoryFilter {
        parent_id: query.0.parent_id,
    };
    let connection = ctx.read().await?;
    let page = categories::list(&connection, &ctx, &filter, &request).await?;
    Ok(Json(page))
}

async fn get_category(ctx: RequestContext, path: Path<Id>) -> Result<Json<Category>> {
    let connection = ctx.read().await?;
    let row = categories::find(&connection, ctx.scope(), path.0.id).await?;
    crud::found::<Category, _>(row)
}

async fn create_category(ctx: RequestContext, body: Json<CategoryInput>) -> Result<Created<CreatedId>> {
    crud::create::<Category>(&ctx, body.0).await
}

async fn update_category(ctx: RequestContext, body: Identified<CategoryInput>) -> Result<Json<Updated>> {
    crud::update::<Category>(&ctx, body.id, body.fields).await
}

async fn delete_category(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Category>(&ctx, query.0.id).await
}
