//! Writes the difference between stored alerts and conflicts, with one statement for each kind of change.

use backoffice_calendar::Subject;
use backoffice_core::db::Prepared;
use backoffice_core::{Result, Timestamp};
use diesel::pg::Pg;
use diesel::query_builder::{BoxedSqlQuery, SqlQuery};
use diesel::sql_query;
use diesel::sql_types::{Array, Nullable, SmallInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join_all;
use uuid::Uuid;

use super::Moment;
use crate::engine::{Conflict, Identity, Outcome};

/// An alert to insert or to replace.
#[derive(Debug, Clone)]
pub(crate) struct WrittenAlert {
    pub(crate) id: Uuid,
    pub(crate) subject: Subject,
    pub(crate) subject_name: String,
    pub(crate) outcome: Outcome,
    pub(crate) conflict: Conflict,
}

/// All changes of a recomputation.
#[derive(Debug, Default)]
pub(super) struct Writes {
    resolved: Vec<Uuid>,
    renamed: (Vec<Uuid>, Vec<String>),
    /// Alerts that existed before, of which assignments may have to be removed.
    known: Vec<Uuid>,
    grown: Vec<Uuid>,
    alerts: AlertColumns,
    assignments: AssignmentColumns,
}

#[derive(Debug, Default)]
struct AlertColumns {
    ids: Vec<Uuid>,
    organizations: Vec<Uuid>,
    kinds: Vec<&'static str>,
    families: Vec<&'static str>,
    urgency_ranks: Vec<i16>,
    subject_types: Vec<&'static str>,
    subject_ids: Vec<Uuid>,
    subject_names: Vec<String>,
    identity_keys: Vec<String>,
    window_ids: Vec<Option<Uuid>>,
    job_site_ids: Vec<Option<Uuid>>,
    expire_at: Vec<Timestamp>,
    single_site_at: Vec<Option<Timestamp>>,
}

#[derive(Debug, Default)]
struct AssignmentColumns {
    organizations: Vec<Uuid>,
    alerts: Vec<Uuid>,
    assignments: Vec<Uuid>,
    job_sites: Vec<Uuid>,
    start_at: Vec<Timestamp>,
    end_at: Vec<Timestamp>,
}

/// An alert that has ended by itself was resolved then.
const RESOLVE: &str = "\
update alerts_alerts set resolved_at = least($3, expires_at), updated_at = greatest($3, updated_at + interval '1 millisecond') \
where tenant_id = $1 and id = any(array(select unnest($2::uuid[])))";

const RENAME: &str = "\
update alerts_alerts a set subject_name = n.name, updated_at = greatest($4, a.updated_at + interval '1 millisecond') \
from unnest((select $2), (select $3)) as n (id, name) where a.tenant_id = $1 and a.id = n.id";

/// Inserts alerts and their assignments; `$alert` and `$assignment` follow each of both insertions.
macro_rules! write {
    ($alert:literal, $assignment:literal) => {
        concat!(
            "with written as ( \
             insert into alerts_alerts as a (tenant_id, id, organization_id, kind, family, urgency_rank, subject_type, subject_id, subject_name, \
                 identity_key, window_id, job_site_id, occurred_at, expires_at, single_site_at, created_at, updated_at) \
             select $1, w.id, w.organization_id, w.kind, w.family, w.urgency_rank, w.subject_type, w.subject_id, w.subject_name, \
                 w.identity_key, w.window_id, w.job_site_id, $2, w.expires_at, w.single_site_at, $2, $2 \
             from unnest((select $3), (select $4), (select $5), (select $6), (select $7), (select $8), (select $9), (select $10), (select $11), \
                 (select $12), (select $13), (select $14), (select $15)) \
                 as w (id, organization_id, kind, family, urgency_rank, subject_type, subject_id, subject_name, identity_key, window_id, \
                     job_site_id, expires_at, single_site_at)",
            $alert,
            ") insert into alerts_assignments as x \
                 (tenant_id, id, organization_id, alert_id, assignment_id, job_site_id, start_at, end_at, created_at, updated_at) \
             select $1, w.id, w.organization_id, w.alert_id, w.assignment_id, w.job_site_id, w.start_at, w.end_at, $2, $2 \
             from unnest((select $16), (select $17), (select $18), (select $19), (select $20), (select $21), (select $22)) \
                 as w (id, organization_id, alert_id, assignment_id, job_site_id, start_at, end_at)",
            $assignment
        )
    };
}

/// Writes new alerts.
const INSERT: &str = write!("", "");

/// Writes alerts of which some exist. An alert that has grown counts as new: `$23` are their ids.
const WRITE: &str = write!(
    " on conflict (tenant_id, id) do update set kind = excluded.kind, subject_name = excluded.subject_name, expires_at = excluded.expires_at, \
        single_site_at = excluded.single_site_at, \
        updated_at = greatest(excluded.updated_at, a.updated_at + interval '1 millisecond'), \
        occurred_at = case when a.id = any($23) then excluded.occurred_at else a.occurred_at end, \
        acknowledged_at = case when a.id = any($23) then null else a.acknowledged_at end, \
        acknowledged_by = case when a.id = any($23) then null else a.acknowledged_by end, \
        acknowledgement = case when a.id = any($23) then null else a.acknowledgement end, \
        escalated_at = case when a.id = any($23) then null else a.escalated_at end",
    " on conflict (tenant_id, alert_id, assignment_id) do update set \
        job_site_id = excluded.job_site_id, start_at = excluded.start_at, end_at = excluded.end_at, updated_at = excluded.updated_at \
        where (x.job_site_id, x.start_at, x.end_at) <> (excluded.job_site_id, excluded.start_at, excluded.end_at)"
);

/// Assignments that have ended stay with their alert, which shows them again once it is resolved.
const REMOVE_ASSIGNMENTS: &str = "\
delete from alerts_assignments x where x.tenant_id = $1 and x.alert_id = any(array(select unnest($2::uuid[]))) and x.end_at > $3
    and not exists (select from unnest((select $4), (select $5)) as k (alert_id, assignment_id)
        where k.alert_id = x.alert_id and k.assignment_id = x.assignment_id)";

const FORGET_READS: &str =
    "delete from alerts_reads where tenant_id = $1 and alert_id = any(array(select unnest($2::uuid[])))";

impl Writes {
    pub(super) fn is_empty(&self) -> bool {
        self.resolved.is_empty() && self.renamed.0.is_empty() && self.alerts.ids.is_empty()
    }

    pub(super) fn resolve(&mut self, id: Uuid) {
        self.resolved.push(id);
    }

    pub(super) fn rename(&mut self, id: Uuid, name: &str) {
        self.renamed.0.push(id);
        self.renamed.1.push(name.to_owned());
    }

    pub(super) fn write(&mut self, alert: WrittenAlert) {
        let WrittenAlert {
            id,
            subject,
            subject_name,
            outcome,
            conflict,
        } = alert;
        if outcome == Outcome::Grown {
            self.grown.push(id);
        }
        if outcome != Outcome::Opened {
            self.known.push(id);
        }
        for one in &conflict.assignments {
            self.assignments.organizations.push(subject.organization);
            self.assignments.alerts.push(id);
            self.assignments.assignments.push(one.id);
            self.assignments.job_sites.push(one.job_site);
            self.assignments.start_at.push(one.start_at);
            self.assignments.end_at.push(one.end_at);
        }
        let columns = &mut self.alerts;
        columns.ids.push(id);
        columns.organizations.push(subject.organization);
        columns.kinds.push(conflict.kind.as_str());
        columns.families.push(conflict.kind.family());
        columns.urgency_ranks.push(conflict.kind.urgency().rank());
        columns.subject_types.push(subject.resource_type.as_str());
        columns.subject_ids.push(subject.id);
        columns.subject_names.push(subject_name);
        columns.identity_keys.push(conflict.identity.key(id));
        columns.window_ids.push(match conflict.identity {
            Identity::Window(window) => Some(window),
            _ => None,
        });
        columns.job_site_ids.push(match conflict.identity {
            Identity::JobSite(site) => Some(site),
            _ => None,
        });
        columns.expire_at.push(conflict.expires_at);
        columns.single_site_at.push(conflict.single_site_at());
    }

    /// Runs the statements that have something to do, at most five, in at most two round trips. Those of one round trip may run in any order.
    pub(super) async fn run(self, connection: &AsyncPgConnection, moment: Moment<'_>) -> Result<()> {
        let resolved = when(!self.resolved.is_empty(), || {
            sql_query(RESOLVE)
                .into_boxed()
                .bind::<SqlUuid, _>(moment.tenant)
                .bind::<Array<SqlUuid>, _>(self.resolved)
                .bind::<Timestamptz, _>(moment.now)
        });
        let renamed = when(!self.renamed.0.is_empty(), || {
            sql_query(RENAME)
                .into_boxed()
                .bind::<SqlUuid, _>(moment.tenant)
                .bind::<Array<SqlUuid>, _>(self.renamed.0)
                .bind::<Array<Text>, _>(self.renamed.1)
                .bind::<Timestamptz, _>(moment.now)
        });
        let forgotten = when(!self.grown.is_empty(), || {
            sql_query(FORGET_READS)
                .into_boxed()
                .bind::<SqlUuid, _>(moment.tenant)
                .bind::<Array<SqlUuid>, _>(self.grown.clone())
        });
        let is_new = self.known.is_empty();
        let removed = when(!self.known.is_empty(), || {
            sql_query(REMOVE_ASSIGNMENTS)
                .into_boxed()
                .bind::<SqlUuid, _>(moment.tenant)
                .bind::<Array<SqlUuid>, _>(self.known)
                .bind::<Timestamptz, _>(moment.now)
                .bind::<Array<SqlUuid>, _>(self.assignments.alerts.clone())
                .bind::<Array<SqlUuid>, _>(self.assignments.assignments.clone())
        });
        let written = when(!self.alerts.ids.is_empty(), || {
            let text = if is_new { INSERT } else { WRITE };
            let alerts = self.alerts.bind(sql_query(text).into_boxed(), moment);
            let assignments = self.assignments.bind(alerts, moment);
            match is_new {
                true => assignments,
                false => assignments.bind::<Array<SqlUuid>, _>(self.grown),
            }
        });
        // An alert that is resolved leaves its identity to a new one.
        for together in [vec![resolved, renamed], vec![written, removed, forgotten]] {
            let run = |statement: Prepared<Statement>| async move { statement.execute(&mut &*connection).await };
            try_join_all(together.into_iter().flatten().map(run)).await?;
        }
        Ok(())
    }
}

type Statement = BoxedSqlQuery<'static, Pg, SqlQuery>;

fn when(is_needed: bool, statement: impl FnOnce() -> Statement) -> Option<Prepared<Statement>> {
    is_needed.then(|| Prepared(statement()))
}

impl AlertColumns {
    fn bind(self, statement: Statement, moment: Moment<'_>) -> Statement {
        statement
            .bind::<SqlUuid, _>(moment.tenant)
            .bind::<Timestamptz, _>(moment.now)
            .bind::<Array<SqlUuid>, _>(self.ids)
            .bind::<Array<SqlUuid>, _>(self.organizations)
            .bind::<Array<Text>, _>(self.kinds)
            .bind::<Array<Text>, _>(self.families)
            .bind::<Array<SmallInt>, _>(self.urgency_ranks)
            .bind::<Array<Text>, _>(self.subject_types)
            .bind::<Array<SqlUuid>, _>(self.subject_ids)
            .bind::<Array<Text>, _>(self.subject_names)
            .bind::<Array<Text>, _>(self.identity_keys)
            .bind::<Array<Nullable<SqlUuid>>, _>(self.window_ids)
            .bind::<Array<Nullable<SqlUuid>>, _>(self.job_site_ids)
            .bind::<Array<Timestamptz>, _>(self.expire_at)
            .bind::<Array<Nullable<Timestamptz>>, _>(self.single_site_at)
    }
}

impl AssignmentColumns {
    fn bind(self, statement: Statement, moment: Moment<'_>) -> Statement {
        let new_id = |_: &Uuid| moment.call.platform().ids().at(moment.now);
        statement
            .bind::<Array<SqlUuid>, _>(self.alerts.iter().map(new_id).collect::<Vec<_>>())
            .bind::<Array<SqlUuid>, _>(self.organizations)
            .bind::<Array<SqlUuid>, _>(self.alerts)
            .bind::<Array<SqlUuid>, _>(self.assignments)
            .bind::<Array<SqlUuid>, _>(self.job_sites)
            .bind::<Array<Timestamptz>, _>(self.start_at)
            .bind::<Array<Timestamptz>, _>(self.end_at)
    }
}
