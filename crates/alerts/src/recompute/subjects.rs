//! Finds the subjects that changed job sites and working calendars concern.

use backoffice_calendar::{ResourceType, Subject};
use backoffice_core::db::Prepared;
use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Array, BigInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Changed job sites, and organizations with changed working calendars.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Behind {
    pub(crate) job_sites: Vec<Uuid>,
    pub(crate) organizations: Vec<Uuid>,
}

impl Behind {
    pub(crate) fn is_empty(&self) -> bool {
        self.job_sites.is_empty() && self.organizations.is_empty()
    }
}

/// The subject after which the next ones are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct After {
    resource_type: ResourceType,
    id: Uuid,
}

impl From<&Subject> for After {
    fn from(subject: &Subject) -> Self {
        Self {
            resource_type: subject.resource_type,
            id: subject.id,
        }
    }
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = SqlUuid)]
    organization_id: Uuid,
    #[diesel(sql_type = Text)]
    subject_type: ResourceType,
    #[diesel(sql_type = SqlUuid)]
    subject_id: Uuid,
}

const FIND: &str = "\
select organization_id, subject_type, subject_id from (
    select a.organization_id, a.subject_type, a.subject_id from dispatch_assignments a
    where a.tenant_id = $1 and a.job_site_id = any($3) and a.status in ('planned', 'confirmed')
        and a.start_at > $2 - interval '367 days' and a.end_at > $2
    union
    select a.organization_id, a.subject_type, a.subject_id from dispatch_assignments a
    where a.tenant_id = $1 and a.organization_id = any($4) and a.status in ('planned', 'confirmed')
        and a.start_at > $2 - interval '367 days' and a.end_at > $2
    union
    select l.organization_id, l.subject_type, l.subject_id from alerts_alerts l
    where l.tenant_id = $1 and l.resolved_at is null and l.organization_id = any($4)
    union
    select l.organization_id, l.subject_type, l.subject_id from alerts_assignments x
    join alerts_alerts l on l.tenant_id = x.tenant_id and l.id = x.alert_id and l.resolved_at is null
    where x.tenant_id = $1 and x.job_site_id = any($3)
) s
where (subject_type, subject_id) > ($5, $6)
order by subject_type, subject_id limit $7";

/// Returns the subjects with live assignments or open alerts that the changes concern, by type and id, after the given one, at most `limit`.
pub(crate) async fn find_behind(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    now: Timestamp,
    behind: &Behind,
    after: Option<After>,
    limit: usize,
) -> Result<Vec<Subject>> {
    let (after_type, after_id) = after.map_or(("", Uuid::nil()), |after| (after.resource_type.as_str(), after.id));
    let statement = sql_query(FIND)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Timestamptz, _>(now)
        .bind::<Array<SqlUuid>, _>(&behind.job_sites)
        .bind::<Array<SqlUuid>, _>(&behind.organizations)
        .bind::<Text, _>(after_type)
        .bind::<SqlUuid, _>(after_id)
        .bind::<BigInt, _>(i64::try_from(limit).unwrap_or(i64::MAX));
    let rows: Vec<Row> = Prepared(statement).load(connection).await?;
    let subject = |row: Row| Subject {
        organization: row.organization_id,
        resource_type: row.subject_type,
        id: row.subject_id,
    };
    Ok(rows.into_iter().map(subject).collect())
}
