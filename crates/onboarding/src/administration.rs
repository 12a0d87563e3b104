//! Requests as operators see them.

use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Call, Rejection, Result, Timestamp};
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper, update};
use diesel_async::RunQueryDsl;
use serde::Serialize;
use uuid::Uuid;

use crate::model::{COMPLETED, EXPIRED, PENDING, Request};
use crate::query;
use crate::schema::onboarding_requests as requests;

/// Maximum number of listed requests.
const MOST: i64 = 1000;

/// A request, without the address and the names of the person.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestSummary {
    /// The id.
    pub id: Uuid,
    /// Time of the submission.
    pub created_at: Timestamp,
    /// `pending`, `processing`, `completed`, `expired` or `failed`.
    pub status: String,
    /// `new`, or `existing` if the address had an account.
    pub kind: String,
    /// Name of the future tenant.
    pub organization_name: String,
    /// Time until which the link works.
    pub expires_at: Timestamp,
    /// The job that creates the tenant.
    pub provisioning_job_id: Option<Uuid>,
    /// The created tenant.
    pub new_tenant_id: Option<Uuid>,
}

/// Lists the requests that are open or have failed, with `all` also the completed and expired ones: the newest 1000.
///
/// # Errors
/// If the database can't be reached.
pub async fn list_requests(call: &Call, all: bool) -> Result<Vec<RequestSummary>> {
    let mut connection = call.database().unlogged(&query::scope()).await?;
    let mut rows = requests::table
        .filter(requests::tenant_id.eq(PLATFORM_TENANT))
        .order((requests::created_at.desc(), requests::id.desc()))
        .limit(MOST)
        .select(Request::as_select())
        .into_boxed();
    if !all {
        let is_pending = requests::status.eq(PENDING).and(requests::expires_at.gt(call.now));
        rows = rows.filter(is_pending.or(requests::status.ne_all([PENDING, COMPLETED, EXPIRED])));
    }
    let rows: Vec<Request> = rows.load(&mut *connection).await?;
    let summary = |row: Request| RequestSummary {
        id: row.id,
        created_at: row.created_at,
        status: row.status_at(call.now).to_owned(),
        kind: row.kind,
        organization_name: row.organization_name,
        expires_at: row.expires_at,
        provisioning_job_id: row.provisioning_job_id,
        new_tenant_id: row.new_tenant_id,
    };
    Ok(rows.into_iter().map(summary).collect())
}

/// Ends a pending request, whose link then no longer works.
///
/// # Errors
/// 404 if there is no such pending request, or the database can't be reached.
pub async fn expire_request(call: &Call, id: Uuid) -> Result<()> {
    let mut connection = call.database().unlogged(&query::scope()).await?;
    let expired = update(requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT)))
        .filter(requests::id.eq(id))
        .filter(requests::status.eq(PENDING))
        .set(query::ended(EXPIRED, call.now))
        .execute(&mut *connection)
        .await?;
    if expired == 0 {
        return Err(Rejection::not_found("no such pending request").into());
    }
    Ok(())
}
