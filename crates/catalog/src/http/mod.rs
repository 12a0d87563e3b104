//! The endpoints: the same five calls for each kind.

mod bulk_delete;
mod categories;
mod listing;
mod prices;
mod products;
mod variants;

use backoffice_core::command::{Command, Entity};
use backoffice_core::http::{Created, Describe, Extract, Incoming, Json, Routes, Schemas};
use backoffice_core::{Rejection, RequestContext, Result, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::openapi::path::OperationBuilder;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::commands::{Change, Delete, Removal, Update};
use crate::documented::Identified;

pub(crate) fn routes(routes: &mut Routes) {
    products::routes(routes);
    bulk_delete::routes(routes);
    variants::routes(routes);
    prices::routes(routes);
    categories::routes(routes);
}

/// The id in a path or query.
#[derive(Debug, Deserialize, IntoParams)]
struct Id {
    /// The id.
    id: Uuid,
}

/// A body with the id of a row and the fields to update: absent fields keep their values, null clears.
#[derive(Debug)]
struct Patch<I>(I);

impl<I: DeserializeOwned> Extract for Patch<I> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let Json(input) = Extract::extract(incoming)?;
        Ok(Self(input))
    }
}

impl<I: ToSchema> Describe for Patch<I> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        Json::<Identified<I>>::describe(operation, schemas)
    }
}

/// The id of a created row.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CreatedInCatalog)]
struct NewId {
    id: Uuid,
}

/// A successful update.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ChangedInCatalog)]
struct Changed {
    /// Always true.
    ok: bool,
    /// Time of the last change; an update without changes keeps it.
    updated_at: Timestamp,
}

/// A successful deletion.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeletedFromCatalog)]
struct Done {
    /// Always true.
    ok: bool,
}

async fn create<C: Command<Output = Uuid>>(ctx: &RequestContext, command: C) -> Result<Created<NewId>> {
    ctx.execute(&command, |id| Created(NewId { id })).await
}

async fn update<I: Change>(ctx: &RequestContext, input: I) -> Result<Json<Changed>> {
    let command = Update::new(input, ctx.now())?;
    ctx.execute(&command, |updated_at| Json(Changed { ok: true, updated_at }))
        .await
}

async fn delete<E: Removal>(ctx: &RequestContext, target: Id) -> Result<Json<Done>> {
    ctx.execute(&Delete::<E>::new(target.id), |()| Json(Done { ok: true }))
        .await
}

/// Returns the row, or a 404.
fn found<E: Entity, T>(row: Option<T>) -> Result<T> {
    row.ok_or_else(|| Rejection::not_found(E::NOT_FOUND).into())
}
