//! The conflicts that an assignment would have.

use std::collections::BTreeSet;

use backoffice_calendar::{Day, WorkingDays, Zone, working_days_of};
use backoffice_core::{Detail, Rejection, RequestContext, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::conflicts::{self, Conflict, TakenTime};
use crate::model::{JobSite, StatedAssignment};
use crate::schema::dispatch_job_sites as job_sites;
use crate::values::LIVE_STATUSES;
use crate::{intervals, query};

/// A job site beside a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = DispatchConflictSite)]
pub(crate) struct NamedSite {
    id: Uuid,
    name: String,
}

/// A conflict that the assignment would have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DispatchConflict)]
pub(crate) struct FoundConflict {
    /// The kind of the alert that the assignment would raise or join.
    kind: &'static str,
    /// `critical`, `warning` or `info`.
    urgency: &'static str,
    /// The other assignments, by start and id.
    assignment_ids: Vec<Uuid>,
    /// The unavailability windows, by start and id.
    window_ids: Vec<Uuid>,
    /// The job sites of the assignment and of the others, by name.
    job_sites: Vec<NamedSite>,
}

/// Returns the conflicts of an assignment that is not stored, by urgency. `except` is left out.
///
/// # Errors
/// 400 for an unknown assignment, job site or resource, and for days that do not exist in the time zone.
pub(crate) async fn check(
    ctx: &RequestContext,
    stated: &StatedAssignment,
    except: Option<Uuid>,
) -> Result<Vec<FoundConflict>> {
    let connection = ctx.read().await?;
    let scope = ctx.scope();
    if let Some(id) = except
        && query::assignments::find(&connection, scope, id).await?.is_none()
    {
        return Err(rejected("id", "must be an assignment", "assignment_not_found"));
    }
    let site = query::job_sites::find(&connection, scope, stated.job_site_id).await?;
    let site = site.ok_or_else(|| rejected("jobSiteId", "must be a job site", "job_site_not_found"))?;
    let subject = query::resources::find(&connection, scope, stated.subject_id).await?;
    let subject = subject
        .filter(|one| one.organization_id == site.organization_id && one.type_ == stated.subject_type)
        .ok_or_else(|| {
            rejected(
                "subjectId",
                "must be a resource of the type and organization",
                "subject_not_found",
            )
        })?;
    let facts = working_days_of(&connection, ctx.platform(), site.tenant_id, site.organization_id).await?;
    let interval = match (stated.dates(), stated.start_at.zip(stated.end_at)) {
        (Some(dates), _) => intervals::of_days(&facts.zone, dates),
        (None, interval) => interval,
    };
    let (start, end) = interval.ok_or_else(|| {
        rejected(
            "endDateExclusive",
            "must leave some time in the organization's time zone",
            "invalid_interval",
        )
    })?;
    if !LIVE_STATUSES.contains(&stated.status.as_str()) || end <= ctx.now() {
        return Ok(Vec::new());
    }
    let taken = TakenTime {
        id: except.unwrap_or_default(),
        organization: site.organization_id,
        subject_type: stated.subject_type.clone(),
        subject: stated.subject_id,
        start,
        end,
    };
    let found = conflicts::find(&connection, site.tenant_id, ctx.now(), &[taken]).await?;
    let (windows, others): (Vec<&Conflict>, Vec<&Conflict>) = found.iter().partition(|one| one.job_site_id.is_none());
    let mut conflicts = Vec::new();
    let own = || {
        vec![NamedSite {
            id: site.id,
            name: site.name.clone(),
        }]
    };
    if !others.is_empty() {
        let sites = others
            .iter()
            .filter_map(|one| one.job_site_id)
            .chain([site.id])
            .collect::<BTreeSet<Uuid>>();
        let kind = match sites.len() {
            1 => "subject_overlap_same_site",
            _ => "subject_overlap_different_sites",
        };
        conflicts.push(FoundConflict {
            assignment_ids: others.iter().map(|one| one.id).collect(),
            job_sites: named(&connection, site.tenant_id, sites).await?,
            ..FoundConflict::new(kind, "critical")
        });
    }
    if !windows.is_empty() {
        conflicts.push(FoundConflict {
            window_ids: windows.iter().map(|one| one.id).collect(),
            job_sites: own(),
            ..FoundConflict::new("subject_unavailable", "critical")
        });
    }
    let others = [
        ("subject_inactive", "warning", !subject.is_active),
        (
            "job_site_closed",
            "warning",
            is_closed(&site, &facts.zone, (start, end)),
        ),
        ("non_working_day", "info", is_off(&facts, (start, end))),
    ];
    for (kind, urgency, _) in others.into_iter().filter(|(.., is_raised)| *is_raised) {
        conflicts.push(FoundConflict {
            job_sites: own(),
            ..FoundConflict::new(kind, urgency)
        });
    }
    Ok(conflicts)
}

impl FoundConflict {
    const fn new(kind: &'static str, urgency: &'static str) -> Self {
        Self {
            kind,
            urgency,
            assignment_ids: Vec::new(),
            window_ids: Vec::new(),
            job_sites: Vec::new(),
        }
    }
}

fn rejected(path: &str, message: &str, code: &'static str) -> backoffice_core::Error {
    Rejection::invalid(vec![Detail::new(path, message, code)]).into()
}

/// Whether the site is closed, or has no work on one of the local days that the interval meets.
fn is_closed(site: &JobSite, zone: &Zone, (start, end): (Timestamp, Timestamp)) -> bool {
    let (first, last) = zone.local_dates(start, end);
    let is_before = site.start_date.is_some_and(|begin| first < begin.get());
    let is_behind = site.end_date_exclusive.is_some_and(|behind| last >= behind.get());
    site.status == "closed" || is_before || is_behind
}

/// Whether no local day that the interval meets is a working day.
fn is_off(facts: &WorkingDays, (start, end): (Timestamp, Timestamp)) -> bool {
    let (first, last) = facts.zone.local_dates(start, end);
    let mut days = std::iter::successors(Day::from_date(first), |day| day.plus_days(1));
    days.by_ref()
        .take_while(|day| day.get() <= last)
        .all(|day| facts.off(day).is_some())
}

async fn named(connection: &AsyncPgConnection, tenant: Uuid, ids: BTreeSet<Uuid>) -> Result<Vec<NamedSite>> {
    let rows: Vec<(Uuid, String)> = job_sites::table
        .filter(job_sites::tenant_id.eq(tenant))
        .filter(job_sites::id.eq_any(ids))
        .order((job_sites::name, job_sites::id))
        .select((job_sites::id, job_sites::name))
        .load(&mut &*connection)
        .await?;
    Ok(rows.into_iter().map(|(id, name)| NamedSite { id, name }).collect())
}
