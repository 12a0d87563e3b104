use backoffice_calendar::{ResourceType, Subject, lock_subjects_of};
use backoffice_core::db::Prepared;
use backoffice_core::events::announce;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{Job, NewJob, Step, Work, enqueue};
use backoffice_core::{Call, Result, Scope, Timestamp};
use diesel::sql_types::{BigInt, Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::recompute::{Moment, recompute};

/// Resources that one step recomputes.
const CHUNK: i64 = 100;

/// Recomputes the alerts of all resources. A difference is an error: alerts are recomputed in the transactions that change what they depend on.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct RecomputeAll {
    /// Tenant and id of the last resource that is done.
    after: Option<(Uuid, Uuid)>,
}

impl Job for RecomputeAll {
    const KIND: &'static str = "alerts.alert.recompute_all";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, now) = (work.call().clone(), work.now());
        let mut chunk = work.begin(&Scope::system()).await?;
        let done = recompute_next(chunk.connection(), &call, now, None, self.after).await?;
        if let Some(done) = done {
            let next = Self { after: Some(done.last) };
            enqueue(chunk.connection(), &call, &NewJob::of_system(PLATFORM_TENANT, next)).await?;
            report(&done);
        }
        chunk.finish().await?;
        Ok(Step::Done)
    }
}

fn report(done: &RecomputedPart) {
    let differences = u64::try_from(done.differences).unwrap_or(u64::MAX);
    metrics::counter!("alerts_drift_total").increment(differences);
    if differences > 0 {
        tracing::error!(tenant.id = %done.last.0, differences, "alerts differed from what they depend on");
    }
}

/// The resources that a step has recomputed, all of one tenant.
#[derive(Debug)]
pub(crate) struct RecomputedPart {
    pub(crate) last: (Uuid, Uuid),
    pub(crate) subjects: usize,
    pub(crate) differences: usize,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    organization_id: Uuid,
    #[diesel(sql_type = Text)]
    resource_type: ResourceType,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// Deleted resources are among them: an assignment may have been restored.
const NEXT: &str = "\
select tenant_id, organization_id, type as resource_type, id from dispatch_resources
where (tenant_id, id) > ($1, $2) and ($3 is null or tenant_id = $3) order by tenant_id, id limit $4";

/// Recomputes the next resources of one tenant, as the last step of a transaction that sees all tenants; `None` if there are no more.
pub(crate) async fn recompute_next(
    connection: &mut AsyncPgConnection,
    call: &Call,
    now: Timestamp,
    tenant: Option<Uuid>,
    after: Option<(Uuid, Uuid)>,
) -> Result<Option<RecomputedPart>> {
    let (after_tenant, after_id) = after.unwrap_or_default();
    let statement = sql_query(NEXT)
        .bind::<SqlUuid, _>(after_tenant)
        .bind::<SqlUuid, _>(after_id)
        .bind::<Nullable<SqlUuid>, _>(tenant)
        .bind::<BigInt, _>(CHUNK);
    let mut rows: Vec<Row> = Prepared(statement).load(connection).await?;
    let Some(tenant) = rows.as_slice().first().map(|row| row.tenant_id) else {
        return Ok(None);
    };
    rows.retain(|row| row.tenant_id == tenant);
    let last = rows
        .as_slice()
        .last()
        .map_or((tenant, after_id), |row| (tenant, row.id));
    let subject = |row: &Row| Subject {
        organization: row.organization_id,
        resource_type: row.resource_type,
        id: row.id,
    };
    let subjects: Vec<Subject> = rows.iter().map(subject).collect();
    lock_subjects_of(connection, tenant, &subjects).await?;
    let moment = Moment { call, tenant, now };
    let recomputed = recompute(connection, moment, &subjects).await?;
    if !recomputed.events.is_empty() {
        announce(connection, call, tenant, None, &recomputed.events).await?;
    }
    Ok(Some(RecomputedPart {
        last,
        subjects: subjects.len(),
        differences: recomputed.differences,
    }))
}
