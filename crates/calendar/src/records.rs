//! The records that this module offers to others: files may be attached to them, and business rules guard and change them.

use backoffice_core::crud;
use backoffice_core::db::KeyColumn;
use backoffice_core::http::Json;
use backoffice_core::records::FieldType::{Boolean, Date, Id, Text, Time};
use backoffice_core::records::{FoundRecord, RecordField, RecordKind};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::QueryDsl;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::commands::UpdateWindow;
use crate::day::Day;
use crate::model::WINDOW;
use crate::query::windows as query;
use crate::schema::calendar_windows as windows;
use crate::{acl, http};

/// Windows.
pub(crate) const WINDOWS: RecordKind = RecordKind {
    kind: WINDOW,
    title: "Unavailability",
    view: &[acl::VIEW],
    manage: &[acl::MANAGE],
    find: find_windows,
    guardable: true,
    fields: FIELDS,
    events: &[],
    write: Some(write_window),
};

const FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::new("resourceType", Text),
    RecordField::new("resourceId", Id),
    RecordField::new("startDate", Date),
    RecordField::new("endDateExclusive", Date),
    RecordField::new("startAt", Time),
    RecordField::new("endAt", Time),
    RecordField::writable("reasonCode", Text),
    RecordField::writable("note", Text),
    RecordField::new("seriesId", Id),
    RecordField::new("seriesDate", Date),
    RecordField::new("isException", Boolean),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

fn write_window(ctx: &RequestContext, id: Uuid, fields: Map<String, Value>) -> BoxFuture<'_, Result<()>> {
    Box::pin(async move {
        let series = http::series_of(ctx, id).await?;
        let command = UpdateWindow::new(id, series, crud::input_of(fields)?)?;
        ctx.execute(&command, Json).await?;
        Ok(())
    })
}

/// The label of a window consists of its reason and its first day.
fn find_windows<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::in_scope(scope).filter(windows::id.one_of(ids));
        let rows = visible.select((
            windows::id,
            windows::organization_id,
            windows::reason_code,
            windows::start_date,
        ));
        let rows: Vec<(Uuid, Uuid, String, Day)> = rows.load(&mut &*connection).await?;
        let record = |(id, organization, reason, start): (Uuid, Uuid, String, Day)| FoundRecord {
            id,
            organization,
            label: format!("{reason}, {start}"),
        };
        Ok(rows.into_iter().map(record).collect())
    })
}
