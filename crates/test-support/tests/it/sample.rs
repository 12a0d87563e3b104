//! A module with endpoints only.

use std::num::NonZeroU32;

use backoffice_core::db::Connection;
use backoffice_core::http::{Access, Json, Query, Routes};
use backoffice_core::input::Bounded;
use backoffice_core::input::Input;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{ErrorShape, Module, RequestContext, Result, Scope, Visitor};
use diesel::sql_query;
use diesel::sql_types::{Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

const LIMIT: RateLimit = RateLimit::new("sample.limited", 2, 60);

pub(crate) static SAMPLE: Module = Module {
    name: "sample",
    title: "Sample",
    rate_limits: &[LIMIT],
    routes,
    ..Module::EMPTY
};

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Note {
    #[schema(value_type = String, min_length = 1)]
    text: Bounded<String, 1, { usize::MAX }>,
}

impl Note {
    pub(crate) fn of(text: String) -> Self {
        Self { text: Bounded(text) }
    }
}

impl Input for Note {}

#[derive(Debug, Deserialize, IntoParams)]
pub(crate) struct Filter {
    #[serde(default = "first")]
    #[param(value_type = u32, minimum = 1)]
    page: NonZeroU32,
    #[serde(default)]
    search: String,
}

fn first() -> NonZeroU32 {
    NonZeroU32::MIN
}

fn routes(routes: &mut Routes) {
    routes.get("/sample/notes", Access::Public, list_notes);
    routes.post("/sample/notes", Access::Public, create_note);
    routes
        .post("/sample/checks", Access::Public, create_check)
        .errors(ErrorShape::OkFalse);
    routes.get("/sample/limited", Access::Public, limited).limit(LIMIT);
    routes
        .post("/sample/limited", Access::Public, create_limited)
        .limit(LIMIT);
    routes.post("/sample/members", Access::Authenticated, field_note);
    routes.get("/sample/private", Access::Authenticated, private);
    routes.post("/sample/transfer", Access::Public, transfer);
    routes.post("/sample/panic", Access::Public, panics);
}

async fn list_notes(_visitor: Visitor, Query(filter): Query<Filter>) -> Result<Json<Note>> {
    Ok(Json(Note {
        text: Bounded(format!("{} {}", filter.page, filter.search)),
    }))
}

async fn create_note(_visitor: Visitor, Json(note): Json<Note>) -> Result<Json<Note>> {
    Ok(Json(note))
}

async fn create_check(visitor: Visitor, note: Json<Note>) -> Result<Json<Note>> {
    create_note(visitor, note).await
}

async fn create_limited(visitor: Visitor, note: Json<Note>) -> Result<Json<Note>> {
    create_note(visitor, note).await
}

async fn limited(_visitor: Visitor) -> Result<Json<Note>> {
    Ok(Json(Note {
        text: Bounded("counted".to_owned()),
    }))
}

async fn private(_context: RequestContext) -> Result<Json<Note>> {
    Ok(Json(Note {
        text: Bounded("secret".to_owned()),
    }))
}

async fn field_note(_context: RequestContext, Json(note): Json<Note>) -> Result<Json<Note>> {
    Ok(Json(note))
}

async fn panics(_visitor: Visitor, Json(note): Json<Note>) -> Result<Json<Note>> {
    panic!("a handler fails with {}", note.text.0)
}

/// Inserts two rows in one transaction: both or none.
async fn transfer(visitor: Visitor) -> Result<Json<Note>> {
    let mut transaction = visitor.database().transaction(&Scope::system()).await?;
    for name in ["taken", "given"] {
        add_stream(transaction.connection(), &visitor, name).await?;
    }
    transaction.commit().await?;
    Ok(Json(Note {
        text: Bounded("done".to_owned()),
    }))
}

async fn add_stream(connection: &mut Connection, visitor: &Visitor, name: &str) -> Result<()> {
    sql_query(
        "insert into core_event_streams (tenant_id, id, name, last_seq, created_at, updated_at) \
         values ($1, $1, $2, 0, $3, $3) on conflict do nothing",
    )
    .bind::<SqlUuid, _>(visitor.platform().ids().at(visitor.now))
    .bind::<Text, _>(name)
    .bind::<Timestamptz, _>(visitor.now)
    .execute(&mut **connection)
    .await?;
    Ok(())
}
