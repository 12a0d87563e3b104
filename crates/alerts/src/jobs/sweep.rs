use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::events::{Event, announce};
use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Error, Result, Scope, Timestamp};
use diesel::sql_types::{Array, BigInt, SmallInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::events::{self, Announced};
use crate::kinds::{Kind, Urgency};

/// Alerts that one step resolves, all of one tenant: the stream of a tenant's events is locked until the commit.
const CHUNK: i64 = 500;

/// Stores what readers already see because time has passed: the end of alerts, and the kind of overlaps that go on on one job site only. Then
/// joins the rows that count open alerts.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SweepAlerts {}

/// Alerts that another transaction has locked are left to the next run.
const RESOLVE: &str = "\
with first as (
    select tenant_id from alerts_alerts where resolved_at is null and expires_at <= $1 order by expires_at, tenant_id limit 1
), due as (
    select tenant_id, id from alerts_alerts
    where tenant_id = (select tenant_id from first) and resolved_at is null and expires_at <= $1
    order by expires_at, id limit $2 for update skip locked
)
update alerts_alerts a set resolved_at = a.expires_at, updated_at = greatest($1, a.updated_at + interval '1 millisecond')
from due where a.tenant_id = due.tenant_id and a.id = due.id
returning a.tenant_id, a.id, a.organization_id, a.kind, a.subject_type, a.subject_id,
    array(select x.assignment_id from alerts_assignments x where x.tenant_id = a.tenant_id and x.alert_id = a.id
        order by x.start_at, x.assignment_id) as assignments";

/// Overlaps on different job sites whose assignments that go on are all on one.
const AGE: &str = "\
update alerts_alerts a set kind = 'subject_overlap_same_site', updated_at = greatest($1, a.updated_at + interval '1 millisecond')
from (
    select tenant_id, id from alerts_alerts
    where resolved_at is null and kind = 'subject_overlap_different_sites' and single_site_at <= $1 and expires_at > $1
    order by single_site_at, tenant_id, id limit $2 for update skip locked
) due where a.tenant_id = due.tenant_id and a.id = due.id";

/// Joins the rows that count open alerts: one row replaces several of an organization and kind, and rows whose sum is zero are deleted.
const JOIN_COUNTS: &str = "\
with several as (
    select tenant_id, organization_id, kind from alerts_counts
    group by tenant_id, organization_id, kind having count(*) > 1 or sum(alerts) = 0
), joined as (
    delete from alerts_counts c using several s
    where c.tenant_id = s.tenant_id and c.organization_id = s.organization_id and c.kind = s.kind
    returning c.tenant_id, c.organization_id, c.kind, c.alerts, c.created_at
)
insert into alerts_counts (tenant_id, id, organization_id, kind, alerts, created_at, updated_at)
select tenant_id, gen_random_uuid(), organization_id, kind, sum(alerts), min(created_at), $1
from joined group by tenant_id, organization_id, kind having sum(alerts) <> 0";

const COUNT: &str = "\
select urgency_rank, count(*) as alerts from alerts_alerts where resolved_at is null and expires_at > $1 group by urgency_rank";

#[derive(QueryableByName)]
struct Resolved {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    organization_id: Uuid,
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = Text)]
    subject_type: String,
    #[diesel(sql_type = SqlUuid)]
    subject_id: Uuid,
    #[diesel(sql_type = Array<SqlUuid>)]
    assignments: Vec<Uuid>,
}

impl Resolved {
    fn event(self) -> Result<Event> {
        let kind = Kind::parse(&self.kind).ok_or_else(|| Error::internal("an alert is of an unknown kind"))?;
        Ok(events::resolved(&Announced {
            id: self.id,
            organization: self.organization_id,
            kind,
            subject_type: self.subject_type,
            subject_id: self.subject_id,
            assignments: self.assignments,
        }))
    }
}

#[derive(QueryableByName)]
struct Open {
    #[diesel(sql_type = SmallInt)]
    urgency_rank: i16,
    #[diesel(sql_type = BigInt)]
    alerts: i64,
}

impl Job for SweepAlerts {
    const KIND: &'static str = "alerts.alert.sweep";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, now, cursor) = (work.call().clone(), work.now(), work.cursor() + 1);
        let mut chunk = work.begin(&Scope::system()).await?;
        let connection = chunk.connection();
        let aged = sql_query(AGE)
            .bind::<Timestamptz, _>(now)
            .bind::<BigInt, _>(CHUNK)
            .prepared()
            .execute(connection)
            .await?;
        let statement = sql_query(RESOLVE).bind::<Timestamptz, _>(now).bind::<BigInt, _>(CHUNK);
        let resolved: Vec<Resolved> = Prepared(statement).load(connection).await?;
        let is_done = resolved.is_empty() && i64::try_from(aged).is_ok_and(|aged| aged < CHUNK);
        if is_done {
            sql_query(JOIN_COUNTS)
                .bind::<Timestamptz, _>(now)
                .prepared()
                .execute(connection)
                .await?;
            report(connection, now).await?;
        }
        if let Some(tenant) = resolved.as_slice().first().map(|one| one.tenant_id) {
            let events = resolved
                .into_iter()
                .map(Resolved::event)
                .collect::<Result<Vec<Event>>>()?;
            announce(connection, &call, tenant, None, &events).await?;
        }
        chunk.advance(cursor).await?;
        Ok(if is_done { Step::Done } else { Step::More })
    }
}

/// Reports the numbers of open alerts.
async fn report(connection: &mut AsyncPgConnection, now: Timestamp) -> Result<()> {
    let statement = sql_query(COUNT).bind::<Timestamptz, _>(now);
    let open: Vec<Open> = Prepared(statement).load(connection).await?;
    for urgency in Urgency::ALL {
        let rows = open.iter().filter(|row| row.urgency_rank == urgency.rank());
        let alerts: i64 = rows.map(|row| row.alerts).sum();
        metrics::gauge!("alerts_open", "urgency" => urgency.as_str()).set(alerts as f64);
    }
    Ok(())
}
