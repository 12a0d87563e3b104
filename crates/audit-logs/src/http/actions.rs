//! The list of the action log.

use backoffice_core::access_log::AccessType;
use backoffice_core::db::{Connection, DocumentTexts};
use backoffice_core::document::StoredJson;
use backoffice_core::http::{Json, Routes, requires, wire_tenant};
use backoffice_core::list::{IdList, InstantOrDate};
use backoffice_core::{RequestContext, Result, Timestamp};
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::words::{Flag, LongText, ShortText, SortDir};
use super::{Filters, QueryPairs, check_organization};
use crate::acl;
use crate::documented::{AuditActionType, AuditActorKind, AuditExecutionState, AuditSource};
use crate::filter::{self, ActionFilter, SortField};
use crate::query::actions::{self, ActionRow, NamedRow};
use crate::visibility::{Undoable, Viewer};

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(
            "/audit_logs/audit-logs/actions",
            requires(&[acl::VIEW_SELF]),
            list_actions,
        )
        .across_tenants()
        .shows(&["audit_logs.action"])
        .about("List the action log")
        .reads("audit_logs.action")
        .invalid(filter::INVALID);
}

/// The parameters for the API document.
#[derive(IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what `ActionFilter` parses")]
struct ActionParameters {
    /// Only this entry, with complete documents.
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
    /// If false, `total` only shows whether more entries follow. Default true.
    #[param(value_type = Option<Flag>, inline)]
    include_total: Option<bool>,
    /// Only entries that the caller could undo now.
    #[param(value_type = Option<Flag>, inline)]
    undoable_only: Option<bool>,
    /// Rows per page, when `pageSize` is absent.
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<u32>,
    /// Rows to skip, when `page` is absent.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<u32>,
    /// Page number from 1.
    #[param(minimum = 1, maximum = 1_000_000, default = 1)]
    page: Option<u32>,
    /// Rows per page.
    #[param(minimum = 1, maximum = 200, default = 50)]
    page_size: Option<u32>,
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

impl Filters for ActionParameters {
    fn check(pairs: &[(String, String)]) -> Result<()> {
        ActionFilter::read(pairs).map(drop)
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ActionPage {
    items: Vec<ActionItem>,
    /// Whether the caller sees entries of others.
    can_view_tenant: bool,
    page: i64,
    page_size: i64,
    total: i64,
    total_pages: i64,
    /// `false` if the total was not requested, otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    total_exact: Option<bool>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ActionItem {
    id: Uuid,
    /// Id of the command. Modules define the commands: the set is open.
    command_id: String,
    action_label: Option<String>,
    #[schema(value_type = AuditActionType)]
    action_type: String,
    #[schema(value_type = AuditSource)]
    source: String,
    #[schema(value_type = AuditExecutionState)]
    execution_state: String,
    #[schema(value_type = AuditActorKind)]
    actor_kind: String,
    actor_user_id: Option<Uuid>,
    actor_user_name: Option<String>,
    tenant_id: Option<Uuid>,
    tenant_name: Option<String>,
    organization_id: Option<Uuid>,
    organization_name: Option<String>,
    /// Kind of the resource. Modules define the kinds: the set is open.
    resource_kind: Option<String>,
    resource_id: Option<String>,
    /// Kind of the resource that it is a part of; the set is open.
    parent_resource_kind: Option<String>,
    parent_resource_id: Option<String>,
    /// Only for callers who could use it.
    undo_token: Option<String>,
    #[schema(value_type = Option<Object>)]
    snapshot_before: Option<StoredJson>,
    #[schema(value_type = Option<Object>)]
    snapshot_after: Option<StoredJson>,
    /// `{field: {from, to}}`
    #[schema(value_type = Option<Object>)]
    changes: Option<StoredJson>,
    changed_fields: Vec<String>,
    #[schema(value_type = Option<Object>)]
    context: Option<Value>,
    /// The entry that this one undid or redid.
    source_log_id: Option<Uuid>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// `true` if the response has no space for the snapshots and changes, otherwise absent. A request for the entry by its id returns them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl ActionItem {
    fn new(viewer: Viewer<'_>, (row, tenant_name, organization_name): NamedRow, texts: Option<DocumentTexts>) -> Self {
        let truncated = texts.is_none();
        let [snapshot_before, snapshot_after, changes] = texts.unwrap_or_default();
        let undo_token = viewer.token(&undoable(&row));
        Self {
            id: row.id,
            command_id: row.command_id,
            action_label: Some(row.action_label),
            action_type: row.action_type,
            source: row.source,
            execution_state: row.execution_state,
            actor_kind: row.actor_kind,
            actor_user_id: row.actor_id,
            actor_user_name: row.actor_name,
            tenant_id: wire_tenant(row.tenant_id),
            tenant_name,
            organization_id: row.organization_id,
            organization_name,
            resource_kind: row.resource_kind,
            resource_id: row.resource_id,
            parent_resource_kind: row.parent_resource_kind,
            parent_resource_id: row.parent_resource_id,
            undo_token,
            snapshot_before: snapshot_before.map(StoredJson::from_text),
            snapshot_after: snapshot_after.map(StoredJson::from_text),
            changes: changes.map(StoredJson::from_text),
            changed_fields: row.changed_fields,
            context: row.context,
            source_log_id: row.source_log_id,
            created_at: row.created_at,
            updated_at: row.updated_at,
            truncated,
        }
    }
}

impl ActionItem {
    fn document_bytes(&self) -> usize {
        let documents = [&self.snapshot_before, &self.snapshot_after, &self.changes];
        documents.into_iter().flatten().map(StoredJson::bytes).sum()
    }
}

fn undoable(row: &ActionRow) -> Undoable<'_> {
    Undoable {
        id: row.id,
        actor_kind: &row.actor_kind,
        actor_id: row.actor_id,
        state: &row.execution_state,
        secret: row.undo_secret.as_deref(),
        expires_at: row.undo_expires_at,
        command: &row.command_id,
        organization: row.organization_id,
    }
}

async fn list_actions(ctx: RequestContext, query: QueryPairs<ActionParameters>) -> Result<Json<ActionPage>> {
    let viewer = Viewer::new(&ctx)?;
    let filter = ActionFilter::read(&query.pairs)?;
    viewer.check_actors(filter.actors.as_deref())?;
    let mut connection = ctx.read().await?;
    let (rows, total) = actions::page(&connection, viewer, &filter).await?;
    if rows.is_empty() && total.unwrap_or(0) == 0 {
        check_organization(&mut connection, viewer, filter.organization).await?;
    }
    let page = page(&connection, viewer, &filter, rows, total).await?;
    let of_others = || {
        let items = page.items.iter();
        items.filter(|item| !viewer.is_actor(&item.actor_kind, item.actor_user_id))
    };
    // Uses the smallest item, because only the names of its fields are recorded.
    if let Some(sample) = of_others().min_by_key(|item| item.document_bytes()) {
        let tenants = of_others().map(|item| item.tenant_id);
        ctx.log_reads_of_many(&connection, AccessType::List, sample, page.items.len(), tenants)
            .await?;
    }
    Ok(Json(page))
}

async fn page(
    connection: &Connection,
    viewer: Viewer<'_>,
    filter: &ActionFilter,
    mut rows: Vec<NamedRow>,
    total: Option<i64>,
) -> Result<ActionPage> {
    let paging = filter.paging;
    // Without a count, only the start and the rows that were read are known, including the additional one.
    let known = total.unwrap_or(paging.start + i64::try_from(rows.len()).unwrap_or(0));
    rows.truncate(usize::try_from(paging.size).unwrap_or(usize::MAX));
    let texts = actions::documents(connection, &rows, filter).await?;
    let items = rows.into_iter().zip(texts);
    Ok(ActionPage {
        items: items.map(|(row, texts)| ActionItem::new(viewer, row, texts)).collect(),
        can_view_tenant: viewer.can_view_tenant(),
        page: paging.page(),
        page_size: paging.size,
        total: known,
        total_pages: paging.pages(known),
        total_exact: total.is_none().then_some(false),
    })
}
