use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use backoffice_auth::find_holders;
use backoffice_core::db::Prepared;
use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Call, Result, Scope, Timestamp};
use backoffice_notifications::{New, send_last};
use diesel::sql_types::{BigInt, Double, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::acl;
use crate::config::AlertsConfig;
use crate::notify::{ESCALATED, about, describe};
use crate::query::marks_of;

/// Alerts that one step escalates, all of one tenant.
const CHUNK: i64 = 100;

/// Escalates critical alerts that no user has read or acknowledged in time. Mark and notifications are committed together, so each alert is escalated once.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EscalateAlerts {}

/// `$1` is now, `$2` the wait in seconds. An alert whose first assignment starts within the wait is escalated at once. Alerts that another transaction has
/// locked are left to the next run.
const MARK: &str = "\
with waiting as (
    select a.tenant_id, a.id, a.occurred_at from alerts_alerts a
    where a.resolved_at is null and a.urgency_rank = 0 and a.acknowledged_at is null and a.escalated_at is null and a.expires_at > $1
        and (a.occurred_at <= $1 - make_interval(secs => $2)
            or exists (select from alerts_assignments x where x.tenant_id = a.tenant_id and x.alert_id = a.id
                and x.end_at > $1 and x.start_at < a.occurred_at + make_interval(secs => $2)))
        and not exists (select from alerts_reads r where r.tenant_id = a.tenant_id and r.alert_id = a.id)
), due as (
    select a.tenant_id, a.id from alerts_alerts a join waiting w on w.tenant_id = a.tenant_id and w.id = a.id
    where a.tenant_id = (select tenant_id from waiting order by occurred_at, tenant_id limit 1)
        and a.acknowledged_at is null and a.escalated_at is null and a.resolved_at is null
    order by a.occurred_at, a.id limit $3 for update of a skip locked
)
update alerts_alerts a set escalated_at = $1, updated_at = greatest($1, a.updated_at + interval '1 millisecond')
from due where a.tenant_id = due.tenant_id and a.id = due.id
returning a.tenant_id, a.organization_id, a.id";

#[derive(QueryableByName)]
struct Due {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    organization_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

impl Job for EscalateAlerts {
    const KIND: &'static str = "alerts.alert.escalate";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, now, cursor) = (work.call().clone(), work.now(), work.cursor() + 1);
        let Some(after) = call.provided::<AlertsConfig>()?.escalation() else {
            return Ok(Step::Done);
        };
        let mut chunk = work.begin(&Scope::system()).await?;
        let statement = sql_query(MARK)
            .bind::<Timestamptz, _>(now)
            .bind::<Double, _>(after.as_seconds_f64())
            .bind::<BigInt, _>(CHUNK);
        let due: Vec<Due> = Prepared(statement).load(chunk.connection()).await?;
        let Some(tenant) = due.as_slice().first().map(|one| one.tenant_id) else {
            chunk.advance(cursor).await?;
            return Ok(Step::Done);
        };
        notify(chunk.connection(), &call, now, tenant, &due).await?;
        chunk.advance(cursor).await?;
        metrics::counter!("alerts_escalated_total").increment(u64::try_from(due.len()).unwrap_or(u64::MAX));
        Ok(Step::More)
    }
}

async fn notify(
    connection: &mut AsyncPgConnection,
    call: &Call,
    now: Timestamp,
    tenant: Uuid,
    due: &[Due],
) -> Result<()> {
    let ids: Vec<Uuid> = due.iter().map(|one| one.id).collect();
    let alerts = describe(connection, call, tenant, now, &ids).await?;
    let mut holders: BTreeMap<Uuid, Vec<Uuid>> = BTreeMap::new();
    for one in due {
        if let Entry::Vacant(vacant) = holders.entry(one.organization_id) {
            vacant.insert(find_holders(connection, tenant, acl::ESCALATIONS, one.organization_id).await?);
        }
    }
    // A mark that was committed while the alert was being locked. Later ones wait for the lock, and find the notification.
    let marks = marks_of(connection, tenant, &ids).await?;
    let mut new: Vec<New> = Vec::new();
    for alert in &alerts {
        let recipients = holders.get(&alert.organization_id).into_iter().flatten();
        let unread = recipients.filter(|user| !marks.contains(&(alert.id, **user)));
        new.extend(unread.map(|user| about(ESCALATED, *user, alert)));
    }
    send_last(connection, call, tenant, &new).await?;
    Ok(())
}
