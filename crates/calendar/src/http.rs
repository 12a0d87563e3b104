//! Endpoints of windows.

use backoffice_core::command::Entity;
use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{RequestContext, Result, crud};

use crate::commands::WindowInput;
use crate::model::Window;
use crate::{acl, query};

pub(crate) fn routes(routes: &mut Routes) {
    let (path, one) = ("/calendar/windows", "/calendar/windows/{id}");
    routes
        .get(path, requires(&[acl::WINDOWS_VIEW]), list_calendar_windows)
        .shows(&[Window::KIND])
        .about("List windows");
    routes
        .get(one, requires(&[acl::WINDOWS_VIEW]), get_calendar_window)
        .shows(&[Window::KIND])
        .about("A window")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::WINDOWS_MANAGE]), create_calendar_window)
        .about("Create a window")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::WINDOWS_MANAGE]), update_calendar_window)
        .about("Change a window")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::WINDOWS_MANAGE]), delete_calendar_window)
        .about("Delete a window")
        .rejects(&[404, 409, 422]);
}

async fn list_calendar_windows(ctx: RequestContext, list: ListQuery<Window>) -> Result<Json<Page<Window>>> {
    let request = list.validate()?;
    let connection = ctx.read().await?;
    query::list(&connection, &ctx, &request).await.map(Json)
}

async fn get_calendar_window(ctx: RequestContext, path: Path<Id>) -> Result<Json<Window>> {
    let connection = ctx.read().await?;
    crud::found::<Window, _>(query::find(&connection, ctx.scope(), path.0.id).await?)
}

async fn create_calendar_window(ctx: RequestContext, body: Json<WindowInput>) -> Result<Created<CreatedId>> {
    crud::create::<Window>(&ctx, body.0).await
}

async fn update_calendar_window(ctx: RequestContext, body: Identified<WindowInput>) -> Result<Json<Updated>> {
    crud::update::<Window>(&ctx, body.id, body.fields).await
}

async fn delete_calendar_window(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Window>(&ctx, query.0.id).await
}
