//! The list and the deletion of keys.

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::http::{CheckedQuery, Json, Query, QueryInput};
use backoffice_core::list::{ById, Page, PageQuery, search_pattern};
use backoffice_core::{Detail, Rejection, RequestContext, Result, Timestamp, Violations};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::commands::DeleteKey;
use crate::query;
use crate::query::keys::{KeyFilter, KeySummary, RoleOfKey};

/// Parameters of the list of keys.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct KeyQuery {
    /// Substring of name or prefix.
    #[param(max_length = 200)]
    search: Option<String>,
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 100, default = 50)]
    page_size: Option<u32>,
}

/// A key of the list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyItem {
    id: Uuid,
    name: String,
    description: Option<String>,
    /// The first 11 characters of the key.
    key_prefix: String,
    /// Null for a key of the whole tenant.
    organization_id: Option<Uuid>,
    organization_name: Option<String>,
    roles: Vec<RoleOfKey>,
    /// Exact to a minute.
    last_used_at: Option<Timestamp>,
    /// Null for a key that does not expire.
    expires_at: Option<Timestamp>,
    /// Null when the creator is not a user.
    created_by_user_id: Option<Uuid>,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(skip)]
    tenant_id: Uuid,
}

fn item(summary: KeySummary) -> Result<KeyItem> {
    Ok(KeyItem {
        roles: summary.roles()?,
        id: summary.id,
        name: summary.name,
        description: summary.description,
        key_prefix: summary.key_prefix,
        organization_id: summary.organization_id,
        organization_name: summary.organization_name,
        last_used_at: summary.last_used_at,
        expires_at: summary.expires_at,
        created_by_user_id: summary.created_by_id.filter(|_| summary.created_by_kind == "user"),
        created_at: summary.created_at,
        updated_at: summary.updated_at,
        tenant_id: summary.tenant_id,
    })
}

pub(super) async fn list_api_keys(
    ctx: RequestContext,
    query: Query<KeyQuery>,
    by_id: Query<ById>,
) -> Result<Json<Page<KeyItem>>> {
    let query = query.0;
    let mut violations = Violations::default();
    let window = violations.keep(PageQuery::new(query.page, query.page_size).window());
    let filter = KeyFilter {
        ids: violations.keep(by_id.0.requested()),
        pattern: violations.keep(search_pattern("search", query.search.as_deref())),
    };
    violations.check()?;
    let tenant = super::tenant(&ctx)?;
    let connection = ctx.read().await?;
    let page = query::keys::list(&connection, &ctx, tenant, &filter, window).await?;
    let page = page.try_map(item)?;
    let record = |key: &KeyItem| Record::new(key.id, Some(key.tenant_id)).of(key.organization_id);
    ctx.log_reads(&connection, AccessType::List, &page.items, record)
        .await?;
    Ok(Json(page))
}

/// The key to delete.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct KeyId {
    /// The id.
    #[param(value_type = Uuid)]
    id: Option<String>,
}

impl KeyId {
    fn checked(&self) -> Result<Uuid, Detail> {
        let id = self.id.as_deref().and_then(|id| id.trim().parse().ok());
        id.ok_or_else(|| Detail::new("id", "must be a UUID", "invalid_value"))
    }
}

impl QueryInput for KeyId {
    fn validate(&self, violations: &mut Violations) {
        violations.keep(self.checked());
    }
}

/// Confirmation of a deletion.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = Deleted)]
pub(super) struct DeletedKey {
    /// Always true.
    success: bool,
}

pub(super) async fn delete_api_key(ctx: RequestContext, query: CheckedQuery<KeyId>) -> Result<Json<DeletedKey>> {
    let id = query
        .0
        .checked()
        .map_err(|detail| Rejection::bad_request("ID is required").detail(detail))?;
    ctx.execute(&DeleteKey { id }, |()| Json(DeletedKey { success: true }))
        .await
}
