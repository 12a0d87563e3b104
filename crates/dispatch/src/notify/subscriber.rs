//! Notifies workers of changes of their assignments.

use backoffice_calendar::zone_of;
use backoffice_core::context::Call;
use backoffice_core::events::{StoredEvent, Subscriber};
use backoffice_core::{Result, Timestamp};
use backoffice_notifications::send_last;
use diesel::{BoolExpressionMethods, ExpressionMethods, JoinOnDsl, OptionalExtension, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Deserialize;
use uuid::Uuid;

use super::types::{self, About, local_time};
use crate::events::{ASSIGNED, CANCELLED, CHANGED};
use crate::schema::{dispatch_job_sites as job_sites, dispatch_resources as resources};

/// Notifies the user behind an active worker, unless the change is their own.
pub(crate) const NOTIFY_WORKERS: Subscriber = Subscriber {
    id: "dispatch.notify_workers",
    patterns: &[ASSIGNED, CHANGED, CANCELLED],
    handler: |connection, call, event| Box::pin(notify(connection, call, event)),
    replay: false,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    id: Uuid,
    organization_id: Uuid,
    subject_id: Uuid,
    job_site_id: Uuid,
    start_at: Option<Timestamp>,
    start_date: Option<String>,
    actor_id: Option<Uuid>,
}

async fn notify(connection: &mut AsyncPgConnection, call: &Call, event: &StoredEvent) -> Result<()> {
    let notification_type = match event.name.as_str() {
        ASSIGNED => types::ASSIGNED,
        CHANGED => types::CHANGED,
        _ => types::CANCELLED,
    };
    let payload: Payload = serde_json::from_value(event.payload.clone())?;
    let tenant = event.tenant_id;
    let Some((user, site)) = worker_and_site(connection, tenant, &payload).await? else {
        return Ok(());
    };
    if payload.actor_id == Some(user) {
        return Ok(());
    }
    let start = match payload.start_at {
        Some(at) => {
            let zone = zone_of(connection, call.platform(), tenant, payload.organization_id).await?;
            local_time(&zone, at)
        }
        None => payload.start_date.unwrap_or_default(),
    };
    let about = About {
        assignment: payload.id,
        organization: payload.organization_id,
        recipient: user,
        site,
        start,
    };
    send_last(connection, call, tenant, &[about.notification(notification_type)]).await?;
    Ok(())
}

/// Returns the user of the worker and the name of the job site; `None` if the worker is inactive or has no user.
async fn worker_and_site(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    payload: &Payload,
) -> Result<Option<(Uuid, String)>> {
    let found: Option<(Option<Uuid>, String)> = resources::table
        .inner_join(
            job_sites::table.on(job_sites::tenant_id
                .eq(resources::tenant_id)
                .and(job_sites::id.eq(payload.job_site_id))),
        )
        .filter(resources::tenant_id.eq(tenant))
        .filter(resources::id.eq(payload.subject_id))
        .filter(resources::is_active)
        .filter(resources::deleted_at.is_null())
        .select((resources::user_id, job_sites::name))
        .first(connection)
        .await
        .optional()?;
    Ok(found.and_then(|(user, site)| user.map(|user| (user, site))))
}
