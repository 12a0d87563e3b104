//! Endpoints of alerts.

use backoffice_core::command::Entity;
use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{RequestContext, Result, crud};

use crate::commands::AlertInput;
use crate::model::Alert;
use crate::{acl, query};

pub(crate) fn routes(routes: &mut Routes) {
    let (path, one) = ("/alerts/alerts", "/alerts/alerts/{id}");
    routes
        .get(path, requires(&[acl::ALERTS_VIEW]), list_alerts_alerts)
        .shows(&[Alert::KIND])
        .about("List alerts");
    routes
        .get(one, requires(&[acl::ALERTS_VIEW]), get_alerts_alert)
        .shows(&[Alert::KIND])
        .about("An alert")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::ALERTS_MANAGE]), create_alerts_alert)
        .about("Create an alert")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::ALERTS_MANAGE]), update_alerts_alert)
        .about("Change an alert")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::ALERTS_MANAGE]), delete_alerts_alert)
        .about("Delete an alert")
        .rejects(&[404, 409, 422]);
}

async fn list_alerts_alerts(ctx: RequestContext, list: ListQuery<Alert>) -> Result<Json<Page<Alert>>> {
    let request = list.validate()?;
    let connection = ctx.read().await?;
    query::list(&connection, &ctx, &request).await.map(Json)
}

async fn get_alerts_alert(ctx: RequestContext, path: Path<Id>) -> Result<Json<Alert>> {
    let connection = ctx.read().await?;
    crud::found::<Alert, _>(query::find(&connection, ctx.scope(), path.0.id).await?)
}

async fn create_alerts_alert(ctx: RequestContext, body: Json<AlertInput>) -> Result<Created<CreatedId>> {
    crud::create::<Alert>(&ctx, body.0).await
}

async fn update_alerts_alert(ctx: RequestContext, body: Identified<AlertInput>) -> Result<Json<Updated>> {
    crud::update::<Alert>(&ctx, body.id, body.fields).await
}

async fn delete_alerts_alert(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Alert>(&ctx, query.0.id).await
}
