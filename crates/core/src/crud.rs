//! One way to create, update and delete the rows of plain entities: [`Record`] describes an entity, and [`Create`], [`Update`] and [`Delete`]
//! are its commands. An entity with rules of its own beyond the hooks of [`Record`] has hand-written commands.

mod commands;
mod record;

pub use commands::{Create, Delete, Update};
pub use record::{CommandName, Record, load, locked, read, store, stored, validate};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::context::RequestContext;
use crate::error::{Rejection, Result};
use crate::http::{Created, CreatedId, Done, Json, Updated};
use crate::input::Input;

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

/// Updates a record with fields in the form of the API: the [`RecordKind::write`](crate::records::RecordKind) of a plain entity.
///
/// # Errors
/// As [`update`].
pub fn write<R: Record>(ctx: &RequestContext, id: Uuid, fields: Map<String, Value>) -> BoxFuture<'_, Result<()>> {
    Box::pin(async move {
        let input = input_of(fields)?;
        ctx.execute(&Update::<R>::new(id, input)?, |_| Json(Done::OK)).await?;
        Ok(())
    })
}

/// Reads the input of a command from fields in the form of the API.
///
/// # Errors
/// 400 if a value has the wrong type.
pub fn input_of<I: Input>(fields: Map<String, Value>) -> Result<I> {
    let names = fields.keys().cloned().collect::<Vec<_>>().join(", ");
    serde_json::from_value(Value::Object(fields))
        .map_err(|_| Rejection::invalid_field(names, "has a value of the wrong type", "invalid_type").into())
}

/// Returns the row as a response, or the entity's 404.
///
/// # Errors
/// 404 without a row.
pub fn found<R: crate::command::Entity, T>(row: Option<T>) -> Result<Json<T>> {
    row.map(Json).ok_or_else(|| Rejection::not_found(R::NOT_FOUND).into())
}
