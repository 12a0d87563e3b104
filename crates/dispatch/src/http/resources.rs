//! Endpoints of resources.

use backoffice_core::http::{CheckedQuery, Created, CreatedId, Json, Path, PathId, QueryInput, Routes, requires};
use backoffice_core::list::{ListQuery, Page, parameters};
use backoffice_core::{RequestContext, Result, Timestamp, Violations, crud, missing_as};
use serde::Deserialize;
use utoipa::IntoParams;

use super::bodies::{DeletedRecord, WrittenRecord};
use super::interval::interval;
use crate::acl;
use crate::commands::{DeleteResource, NewResource, ResourceChanges, UpdateResource};
use crate::documented::ResourceTypeName;
use crate::foreign::WINDOW;
use crate::model::{ASSIGNMENT, RESOURCE, Resource};
use crate::query::resources::{self, ResourceFilter};
use crate::values::RESOURCE_TYPES;

const LIST: &str = "/dispatch/resources";
const ONE: &str = "/dispatch/resources/{id}";
const NOT_FOUND: &str = "resource_not_found";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, requires(&[acl::VIEW]), list_resources)
        .shows(&[RESOURCE, ASSIGNMENT, WINDOW])
        .about("List resources");
    routes
        .get(ONE, requires(&[acl::VIEW]), get_resource)
        .shows(&[RESOURCE])
        .about("A resource")
        .rejects(&[404]);
    routes
        .post(LIST, requires(&[acl::MANAGE]), create_resource)
        .about("Create a resource")
        .rejects(&[409, 422]);
    routes
        .put(ONE, requires(&[acl::MANAGE]), update_resource)
        .about("Change a resource")
        .rejects(&[404, 409, 422]);
    routes
        .delete(ONE, requires(&[acl::MANAGE]), delete_resource)
        .about("Delete a resource without live assignments")
        .rejects(&[404, 409, 422]);
}

/// Further parameters of the list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct ResourceQuery {
    /// Only this type.
    #[param(value_type = Option<ResourceTypeName>, inline)]
    r#type: Option<String>,
    /// Only active, or only inactive resources.
    #[param(value_type = Option<bool>)]
    is_active: Option<String>,
    /// Only resources that are free from this instant to `availableTo`: without a live assignment and without an unavailability window.
    #[param(value_type = Option<Timestamp>, inline)]
    available_from: Option<String>,
    /// The end of the time in which the resources must be free.
    #[param(value_type = Option<Timestamp>, inline)]
    available_to: Option<String>,
}

impl ResourceQuery {
    fn filter(&self, violations: &mut Violations) -> ResourceFilter {
        let type_ = parameters::word("type", self.r#type.as_deref(), RESOURCE_TYPES, violations);
        let from = ("availableFrom", self.available_from.as_deref());
        let to = ("availableTo", self.available_to.as_deref());
        ResourceFilter {
            types: type_.map(|type_| vec![type_]),
            is_active: parameters::flag("isActive", self.is_active.as_deref(), violations),
            available: interval(from, to, violations),
        }
    }
}

impl QueryInput for ResourceQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(violations);
    }
}

async fn list_resources(
    ctx: RequestContext,
    list: ListQuery<Resource>,
    query: CheckedQuery<ResourceQuery>,
) -> Result<Json<Page<Resource>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let filter = query.0.filter(&mut violations);
    violations.check()?;
    let connection = ctx.read().await?;
    resources::list(&connection, &ctx, &filter, &request).await.map(Json)
}

async fn get_resource(ctx: RequestContext, path: Path<PathId>) -> Result<Json<Resource>> {
    let connection = ctx.read().await?;
    let found = resources::find(&connection, ctx.scope(), path.0.id).await?;
    missing_as(crud::found::<Resource, _>(found), NOT_FOUND)
}

async fn create_resource(ctx: RequestContext, body: Json<NewResource>) -> Result<Created<CreatedId>> {
    crud::create::<Resource>(&ctx, body.0.0).await
}

async fn update_resource(
    ctx: RequestContext,
    path: Path<PathId>,
    body: Json<ResourceChanges>,
) -> Result<Json<WrittenRecord>> {
    let id = path.0.id;
    let command = UpdateResource::new(id, body.0.0)?;
    let updated = ctx.execute(&command, |_| Json(WrittenRecord { id })).await;
    missing_as(updated, NOT_FOUND)
}

async fn delete_resource(ctx: RequestContext, path: Path<PathId>) -> Result<Json<DeletedRecord>> {
    let command = DeleteResource::new(path.0.id);
    let deleted = ctx.execute(&command, |()| Json(DeletedRecord::OK)).await;
    missing_as(deleted, NOT_FOUND)
}
