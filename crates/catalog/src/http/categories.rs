//! `/catalog/categories`

use backoffice_core::http::{Created, Json, Path, Query, Routes, requires};
use backoffice_core::list::Page;
use backoffice_core::{RequestContext, Result};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::listing::{ListOf, Sorted};
use super::{Changed, Done, Id, NewId, Patch, found};
use crate::commands::CreateCategory;
use crate::input::CategoryInput;
use crate::model::{Category, CategoryRow};
use crate::query::categories::CategoryFilter;
use crate::{acl, query};

pub(super) fn routes(routes: &mut Routes) {
    let (path, one) = ("/catalog/categories", "/catalog/categories/{id}");
    routes
        .get(path, requires(&[acl::CATEGORIES_VIEW]), list_categories)
        .about("List categories");
    routes
        .get(one, requires(&[acl::CATEGORIES_VIEW]), get_category)
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

impl Sorted for Category {
    const BY: &'static [&'static str] = &["name", "createdAt"];
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
    listing: ListOf<Category>,
    query: Query<CategoryQuery>,
) -> Result<Json<Page<CategoryRow>>> {
    let listed = listing.checked()?;
    let filter = CategoryFilter {
        pattern: listed.pattern,
        ids: listed.ids,
        parent_id: query.0.parent_id,
    };
    let connection = ctx.read().await?;
    let page = query::categories::list(&connection, ctx.scope(), &filter, listed.sort, listed.window).await?;
    Ok(Json(page))
}

async fn get_category(ctx: RequestContext, path: Path<Id>) -> Result<Json<CategoryRow>> {
    let connection = ctx.read().await?;
    let row = query::categories::find(&connection, ctx.scope(), path.0.id).await?;
    found::<Category, _>(row).map(Json)
}

async fn create_category(ctx: RequestContext, body: Json<CategoryInput>) -> Result<Created<NewId>> {
    super::create(&ctx, CreateCategory::new(&ctx, &body.0)?).await
}

async fn update_category(ctx: RequestContext, body: Patch<CategoryInput>) -> Result<Json<Changed>> {
    super::update(&ctx, body.0).await
}

async fn delete_category(ctx: RequestContext, target: Query<Id>) -> Result<Json<Done>> {
    super::delete::<Category>(&ctx, target.0).await
}
