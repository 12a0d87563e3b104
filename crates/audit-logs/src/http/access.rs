//! The list of the access log.

use backoffice_core::access_log::AccessType;
use backoffice_core::http::{Json, Routes, requires, wire_tenant};
use backoffice_core::list::{IdList, InstantOrDate};
use backoffice_core::{RequestContext, Result, Timestamp};
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::words::ShortText;
use super::{Filters, QueryPairs, check_organization};
use crate::acl;
use crate::documented::{AuditAccessType, AuditActorKind};
use crate::filter::{self, AccessFilter};
use crate::query::accesses::{self, NamedRow};
use crate::visibility::Viewer;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(
            "/audit_logs/audit-logs/access",
            requires(&[acl::VIEW_SELF]),
            list_accesses,
        )
        .across_tenants()
        .about("List the access log")
        .reads("audit_logs.access")
        .counts_added(&["audit_logs.access"])
        .invalid(filter::INVALID);
}

/// The parameters for the API document.
#[derive(IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what `AccessFilter` parses")]
struct AccessParameters {
    /// Only this entry.
    id: Option<Uuid>,
    /// Only these entries: ids joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    ids: Option<String>,
    /// Exactly this organization.
    organization_id: Option<Uuid>,
    /// One actor. Another actor than the caller requires `audit_logs.view_tenant`.
    actor_user_id: Option<Uuid>,
    /// Kind of the record, for example `auth.user`.
    #[param(value_type = Option<ShortText>, inline)]
    resource_kind: Option<String>,
    /// `read:list`, `read:item`, `download` or `export`; any other value matches nothing.
    #[param(value_type = Option<ShortText>, inline)]
    access_type: Option<String>,
    /// Rows per page, when `pageSize` is absent.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// Page number from 1.
    #[param(minimum = 1, maximum = 1_000_000, default = 1)]
    page: Option<u32>,
    /// Rows per page.
    #[param(minimum = 1, maximum = 200, default = 50)]
    page_size: Option<u32>,
    /// Only entries before this timestamp or date.
    #[param(value_type = Option<InstantOrDate>, inline)]
    before: Option<String>,
    /// Only entries after this timestamp or date.
    #[param(value_type = Option<InstantOrDate>, inline)]
    after: Option<String>,
}

impl Filters for AccessParameters {
    fn check(pairs: &[(String, String)]) -> Result<()> {
        AccessFilter::read(pairs).map(drop)
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AccessPage {
    items: Vec<AccessItem>,
    /// Whether the caller sees entries of others.
    can_view_tenant: bool,
    page: i64,
    page_size: i64,
    total: i64,
    total_pages: i64,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AccessItem {
    id: Uuid,
    /// Kind of the resource. Modules define the kinds: the set is open.
    resource_kind: String,
    /// `*` for many records at once.
    resource_id: String,
    #[schema(value_type = AuditAccessType)]
    access_type: String,
    #[schema(value_type = AuditActorKind)]
    actor_kind: String,
    actor_user_id: Option<Uuid>,
    actor_user_name: Option<String>,
    tenant_id: Option<Uuid>,
    tenant_name: Option<String>,
    organization_id: Option<Uuid>,
    organization_name: Option<String>,
    /// Names of the fields in the response.
    fields: Vec<String>,
    /// `{path, queryKeys, resultCount}`
    #[schema(value_type = Option<Object>)]
    context: Option<Value>,
    created_at: Timestamp,
}

impl From<NamedRow> for AccessItem {
    fn from((row, tenant_name, organization_name): NamedRow) -> Self {
        Self {
            id: row.id,
            resource_kind: row.resource_kind,
            resource_id: row.resource_id,
            access_type: row.access_type,
            actor_kind: row.actor_kind,
            actor_user_id: row.actor_id,
            actor_user_name: row.actor_name,
            tenant_id: wire_tenant(row.tenant_id),
            tenant_name,
            organization_id: row.organization_id,
            organization_name,
            fields: row.fields,
            context: row.context,
            created_at: row.created_at,
        }
    }
}

async fn list_accesses(ctx: RequestContext, query: QueryPairs<AccessParameters>) -> Result<Json<AccessPage>> {
    let viewer = Viewer::new(&ctx)?;
    let filter = AccessFilter::read(&query.pairs)?;
    viewer.check_actors(filter.actor.as_ref().map(std::slice::from_ref))?;
    let mut connection = ctx.read().await?;
    let (rows, total) = accesses::page(&connection, viewer, &filter).await?;
    if total == 0 {
        check_organization(&mut connection, viewer, filter.organization).await?;
    }
    let items: Vec<AccessItem> = rows.into_iter().map(AccessItem::from).collect();
    let of_others = || {
        let items = items.iter();
        items.filter(|item| !viewer.is_actor(&item.actor_kind, item.actor_user_id))
    };
    if let Some(sample) = of_others().next() {
        let tenants = of_others().map(|item| item.tenant_id);
        ctx.log_reads_of_many(&connection, AccessType::List, sample, items.len(), tenants)
            .await?;
    }
    Ok(Json(AccessPage {
        items,
        can_view_tenant: viewer.can_view_tenant(),
        page: filter.paging.page(),
        page_size: filter.paging.size,
        total,
        total_pages: filter.paging.pages(total),
    }))
}
