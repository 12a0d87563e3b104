//! One way to create, update and delete the rows of plain entities: [`Record`] describes an entity, and [`Create`], [`Update`] and [`Delete`]
//! are its commands. An entity with rules of its own beyond the hooks of [`Record`] has hand-written commands.

mod commands;
mod record;

pub use commands::{Create, Delete, Update};
pub use record::{CommandName, Record, load, locked, read, store, validate};

use uuid::Uuid;

use crate::context::RequestContext;
use crate::error::{Rejection, Result};
use crate::http::{Created, CreatedId, Done, Json, Updated};

/// Creates a record and returns its id with 201.
///
/// # Errors
/// 400 for invalid fields or an unknown organization, and the rejections of the bus and of the entity.
pub async fn create<R: Record>(ctx: &RequestContext, input: R::Input) -> Result<Created<CreatedId>> {
    let command = Create::<R>::new(ctx, input).await?;
    ctx.execute(&command, |id| Created(CreatedId { id })).await
}

/// Updates a record and returns the time of its last change.
///
/// # Errors
/// 400 for invalid fields, 404 for a record that is not visible, and the rejections of the bus and of the entity.
pub async fn update<R: Record>(ctx: &RequestContext, id: Uuid, input: R::Input) -> Result<Json<Updated>> {
    let command = Update::<R>::new(id, input)?;
    ctx.execute(&command, |updated_at| Json(Updated::at(updated_at))).await
}

/// Deletes a record.
///
/// # Errors
/// 404 for a record that is not visible, and the rejections of the bus and of the entity.
pub async fn delete<R: Record>(ctx: &RequestContext, id: Uuid) -> Result<Json<Done>> {
    ctx.execute(&Delete::<R>::new(id), |()| Json(Done::OK)).await
}

/// Returns the row as a response, or the entity's 404.
///
/// # Errors
/// 404 without a row.
pub fn found<R: crate::command::Entity, T>(row: Option<T>) -> Result<Json<T>> {
    row.map(Json).ok_or_else(|| Rejection::not_found(R::NOT_FOUND).into())
}
