//! The action log as a file.

use std::pin::pin;
use std::time::Duration;

use actix_web::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::Bytes;
use backoffice_core::access_log::AccessType;
use backoffice_core::http::{Routes, Streamed, requires, wire_tenant};
use backoffice_core::list::{IdList, InstantOrDate};
use backoffice_core::{Error, RequestContext, Result, Runtime, Timestamp};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::{BoxStream, try_unfold};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use utoipa::IntoParams;
use uuid::Uuid;

use super::words::{Flag, LongText, Positive, ShortText, SortDir};
use super::{Filters, QueryPairs, check_organization};
use crate::acl;
use crate::csv;
use crate::filter::{self, ActionFilter, SortField};
use crate::query::export::{Cursor, counts, permit};
use crate::visibility::Viewer;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(
            "/audit_logs/audit-logs/actions/export",
            requires(&[acl::VIEW_SELF]),
            export_actions,
        )
        .across_tenants()
        .about("Export the action log as CSV")
        .reads("audit_logs.action")
        .produces(&["text/csv; charset=utf-8"])
        .sends_headers(&["Content-Disposition"])
        .invalid(filter::INVALID);
}

/// The parameters for the API document.
#[derive(IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what `ActionFilter` parses")]
struct ExportParameters {
    /// Only this entry.
    id: Option<Uuid>,
    /// Only these entries: ids joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    ids: Option<String>,
    /// Exactly this organization.
    organization_id: Option<Uuid>,
    /// Actors: ids joined by commas, at most 100. Other actors than the caller require `audit_logs.view_tenant`.
    #[param(value_type = Option<IdList>, inline)]
    actor_user_id: Option<String>,
    /// Kind of the resource, for example `auth.role`.
    #[param(value_type = Option<ShortText>, inline)]
    resource_kind: Option<String>,
    /// Id of the resource.
    #[param(value_type = Option<LongText>, inline)]
    resource_id: Option<String>,
    /// `create`, `edit`, `delete`, `assign`, joined by commas.
    #[param(pattern = "^ *(create|edit|delete|assign)?( *, *(create|edit|delete|assign)?)* *$")]
    action_type: Option<String>,
    /// Names of changed fields, joined by commas, at most 50; entries with any of them match.
    field_name: Option<String>,
    /// Includes entries about parts of the resource.
    #[param(value_type = Option<Flag>, inline)]
    include_related: Option<bool>,
    /// Only entries that the caller could undo now.
    #[param(value_type = Option<Flag>, inline)]
    undoable_only: Option<bool>,
    /// Maximum number of entries; values above 1000 are reduced to 1000.
    #[param(value_type = Option<Positive>, inline)]
    limit: Option<u64>,
    /// `createdAt` (default), `user`, `action`, `field` or `source`.
    #[param(value_type = Option<SortField>, inline)]
    sort_field: Option<String>,
    /// `desc` (default) or `asc`.
    #[param(value_type = Option<SortDir>, inline)]
    sort_dir: Option<String>,
    /// Only entries before this timestamp or date.
    #[param(value_type = Option<InstantOrDate>, inline)]
    before: Option<String>,
    /// Only entries after this timestamp or date.
    #[param(value_type = Option<InstantOrDate>, inline)]
    after: Option<String>,
}

impl Filters for ExportParameters {
    fn check(pairs: &[(String, String)]) -> Result<()> {
        ActionFilter::read_export(pairs).map(drop)
    }
}

async fn export_actions(ctx: RequestContext, query: QueryPairs<ExportParameters>) -> Result<Streamed> {
    let viewer = Viewer::new(&ctx)?;
    let filter = ActionFilter::read_export(&query.pairs)?;
    viewer.check_actors(filter.actors.as_deref())?;
    let mut connection = ctx.read().await?;
    check_organization(&mut connection, viewer, filter.organization).await?;
    // A rejected export is not recorded.
    let permit = permit(viewer)?;
    // Recorded before the cursor's transaction, which the client can interrupt.
    let columns: Map<String, Value> = csv::COLUMNS
        .map(|name| (name.to_owned(), Value::Null))
        .into_iter()
        .collect();
    let counts = counts(&mut connection, viewer, &filter).await?;
    let total: i64 = counts.iter().map(|(_, entries)| entries).sum();
    let shown = counts.iter().map(|(tenant, _)| wire_tenant(*tenant));
    // An export without entries is recorded in the caller's tenant.
    let tenants = shown.chain(counts.is_empty().then_some(None));
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    ctx.log_reads_of_many(&connection, AccessType::Export, &columns, total, tenants)
        .await?;
    drop(connection);
    let mut cursor = Cursor::open(viewer, &filter, permit).await?;
    // Errors of the statement occur here, before the first byte is sent.
    let first = cursor.next().await?;
    let head = csv::header() + &csv::lines(&first);
    Ok(Streamed {
        content_type: "text/csv; charset=utf-8",
        headers: vec![
            (CONTENT_DISPOSITION, disposition(ctx.now())?),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ],
        pieces: pieces(&ctx.call().runtime, head, cursor),
    })
}

/// Maximum time for which a client may leave a part of the file unread.
const STALLED: Duration = Duration::from_secs(10);

/// Streams the file from a separate task, so that a stalled client does not hold a database connection.
fn pieces(runtime: &Runtime, head: String, cursor: Cursor) -> BoxStream<'static, Result<Bytes>> {
    let (sender, receiver) = mpsc::channel(1);
    let runtime = runtime.clone();
    tokio::spawn(async move {
        let outbox = Outbox { runtime, sender };
        if let Err(error) = outbox.send_all(head, cursor).await {
            outbox.hand_over(Err(error)).await;
        }
    });
    try_unfold(receiver, |mut receiver| async move {
        match receiver.recv().await {
            Some(piece) => Ok(piece?.map(|piece| (piece, receiver))),
            None => Err(Error::internal("client did not read a part of the export in time")),
        }
    })
    .boxed()
}

/// Passes the parts of a file to the response; `None` marks the end.
struct Outbox {
    runtime: Runtime,
    sender: mpsc::Sender<Result<Option<Bytes>>>,
}

impl Outbox {
    async fn send_all(&self, head: String, mut cursor: Cursor) -> Result<()> {
        let mut piece = head;
        while self.hand_over(Ok(Some(Bytes::from(piece)))).await {
            let rows = cursor.next().await?;
            if rows.is_empty() {
                cursor.close().await?;
                self.hand_over(Ok(None)).await;
                break;
            }
            piece = csv::lines(&rows);
        }
        Ok(())
    }

    /// Returns whether the response accepted the part in time.
    async fn hand_over(&self, piece: Result<Option<Bytes>>) -> bool {
        let sent = pin!(self.sender.send(piece));
        match select(sent, self.runtime.platform.clock().sleep(STALLED)).await {
            Either::Left((taken, _)) => taken.is_ok(),
            Either::Right(_) => false,
        }
    }
}

fn disposition(now: Timestamp) -> Result<HeaderValue> {
    let stamp: String = now
        .to_string()
        .chars()
        .take(19)
        .filter(|c| !matches!(c, '-' | ':'))
        .collect();
    HeaderValue::try_from(format!("attachment; filename=\"action-log-{stamp}Z.csv\""))
        .map_err(|error| Error::internal(error.to_string()))
}
