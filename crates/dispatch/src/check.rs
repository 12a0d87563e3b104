//! The conflicts that an assignment would have.

use std::collections::BTreeSet;

use backoffice_calendar::{Day, WorkingDays, working_days_of};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Detail, RequestContext, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::conflicts::{self, Conflict, TakenTime};
use crate::model::{JobSite, Resource, StatedAssignment};
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

/// What a conflict is: the kind of its alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = DispatchConflictKind)]
pub(crate) enum ConflictKind {
    /// It overlaps others of the resource, all on the same job site.
    SubjectOverlapSameSite,
    /// It overlaps others of the resource, on two or more job sites.
    SubjectOverlapDifferentSites,
    /// It meets a window in which the resource is unavailable.
    SubjectUnavailable,
    /// The resource is inactive.
    SubjectInactive,
    /// The job site is closed, or has no work on one of the days.
    JobSiteClosed,
    /// It touches days only on which the organization does not work.
    NonWorkingDay,
}

impl ConflictKind {
    const fn urgency(self) -> ConflictUrgency {
        match self {
            Self::SubjectOverlapSameSite | Self::SubjectOverlapDifferentSites | Self::SubjectUnavailable => {
                ConflictUrgency::Critical
            }
            Self::SubjectInactive | Self::JobSiteClosed => ConflictUrgency::Warning,
            Self::NonWorkingDay => ConflictUrgency::Info,
        }
    }
}

/// How soon a conflict needs attention: the urgency of its alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = DispatchConflictUrgency)]
pub(crate) enum ConflictUrgency {
    Critical,
    Warning,
    Info,
}

/// A conflict that the assignment would have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DispatchConflict)]
pub(crate) struct FoundConflict {
    /// The kind of the alert that the assignment would raise or join.
    kind: ConflictKind,
    /// `critical`, `warning` or `info`.
    urgency: ConflictUrgency,
    /// The other assignments of the alert about an overlap, by start and id, at most 1000.
    assignment_ids: Vec<Uuid>,
    /// The unavailability windows, by start and id.
    window_ids: Vec<Uuid>,
    /// The job sites of the assignment and of the others, by name.
    job_sites: Vec<NamedSite>,
}

/// Returns the conflicts of an assignment that is not stored, by urgency. `except` is left out. At most eight statements.
///
/// # Errors
/// 400 for an unknown assignment, job site or resource, and for days that do not exist in the time zone.
pub(crate) async fn check(
    ctx: &RequestContext,
    stated: &StatedAssignment,
    except: Option<Uuid>,
) -> Result<Vec<FoundConflict>> {
    let connection = ctx.read().await?;
    let question = Question::read(&connection, ctx, stated, except).await?;
    if !LIVE_STATUSES.contains(&stated.status.as_str()) || question.end <= ctx.now() {
        return Ok(Vec::new());
    }
    let mut conflicts = question.critical(&connection, ctx.now()).await?;
    conflicts.extend(question.others());
    Ok(conflicts)
}

/// The assignment that is checked, with the records that it refers to.
struct Question {
    /// The assignment that is left out; nil without one.
    except: Uuid,
    site: JobSite,
    subject: Resource,
    calendar: WorkingDays,
    start: Timestamp,
    end: Timestamp,
}

impl Question {
    async fn read(
        connection: &AsyncPgConnection,
        ctx: &RequestContext,
        stated: &StatedAssignment,
        except: Option<Uuid>,
    ) -> Result<Self> {
        let scope = ctx.scope();
        if let Some(id) = except
            && query::assignments::find(connection, scope, id).await?.is_none()
        {
            return Err(Detail::new("id", "must be an assignment", "assignment_not_found").into());
        }
        let site = query::job_sites::find(connection, scope, stated.job_site_id).await?;
        let site = site.ok_or_else(|| Detail::new("jobSiteId", "must be a job site", "job_site_not_found"))?;
        let subject = query::resources::find(connection, scope, stated.subject_id).await?;
        let fits = |one: &Resource| one.organization_id == site.organization_id && one.type_ == stated.subject_type;
        let message = "must be a resource of the type and organization";
        let subject = subject.filter(fits);
        let subject = subject.ok_or_else(|| Detail::new("subjectId", message, "subject_not_found"))?;
        let calendar = working_days_of(connection, ctx.platform(), site.tenant_id, site.organization_id).await?;
        let interval = match stated.dates() {
            Some(dates) => intervals::of_days(&calendar.zone, dates),
            None => stated.start_at.zip(stated.end_at),
        };
        let message = "must be later: these days do not exist in the organization's time zone";
        let (start, end) = interval.ok_or_else(|| Detail::new("endDateExclusive", message, "invalid_interval"))?;
        Ok(Self {
            except: except.unwrap_or_default(),
            site,
            subject,
            calendar,
            start,
            end,
        })
    }

    /// Returns the overlaps with other assignments and with unavailability windows. If no assignment overlaps, the group is not read.
    async fn critical(&self, connection: &AsyncPgConnection, now: Timestamp) -> Result<Vec<FoundConflict>> {
        let tenant = self.site.tenant_id;
        let taken = TakenTime {
            id: self.except,
            organization: self.site.organization_id,
            subject_type: self.subject.type_.clone(),
            subject: self.subject.id,
            start: self.start,
            end: self.end,
        };
        let found = conflicts::find(connection, tenant, now, std::slice::from_ref(&taken)).await?;
        let (windows, others): (Vec<&Conflict>, Vec<&Conflict>) =
            found.iter().partition(|one| one.job_site_id.is_none());
        let mut conflicts = Vec::new();
        if !others.is_empty() {
            conflicts.extend(self.overlap(connection, now, &taken).await?);
        }
        if !windows.is_empty() {
            conflicts.push(FoundConflict {
                window_ids: windows.iter().map(|one| one.id).collect(),
                ..FoundConflict::new(ConflictKind::SubjectUnavailable, self.own_site())
            });
        }
        Ok(conflicts)
    }

    /// Returns the alert about the group of overlaps that the assignment would be part of.
    async fn overlap(
        &self,
        connection: &AsyncPgConnection,
        now: Timestamp,
        taken: &TakenTime,
    ) -> Result<Option<FoundConflict>> {
        let (tenant, own_site) = (self.site.tenant_id, self.site.id);
        let group = conflicts::find_group(connection, tenant, now, taken, own_site).await?;
        let [one, ..] = &group[..] else {
            return Ok(None);
        };
        let kind = match one.has_other_sites {
            false => ConflictKind::SubjectOverlapSameSite,
            true => ConflictKind::SubjectOverlapDifferentSites,
        };
        let sites = group.iter().map(|one| one.job_site_id);
        let sites: BTreeSet<Uuid> = sites.chain([own_site]).collect();
        Ok(Some(FoundConflict {
            assignment_ids: group.iter().map(|one| one.id).collect(),
            ..FoundConflict::new(kind, named(connection, tenant, sites).await?)
        }))
    }

    /// Returns what does not reject an assignment that is stored already.
    fn others(&self) -> impl Iterator<Item = FoundConflict> {
        let raised = [
            (ConflictKind::SubjectInactive, !self.subject.is_active),
            (ConflictKind::JobSiteClosed, self.is_closed()),
            (ConflictKind::NonWorkingDay, self.is_off()),
        ];
        let raised = raised.into_iter().filter(|(_, is_raised)| *is_raised);
        raised.map(|(kind, _)| FoundConflict::new(kind, self.own_site()))
    }

    fn own_site(&self) -> Vec<NamedSite> {
        vec![NamedSite {
            id: self.site.id,
            name: self.site.name.clone(),
        }]
    }

    /// Whether the site is closed, or has no work on one of the local days that the interval meets.
    fn is_closed(&self) -> bool {
        let (first, last) = self.calendar.zone.local_dates(self.start, self.end);
        let is_before = self.site.start_date.is_some_and(|begin| first < begin.get());
        let is_behind = self.site.end_date_exclusive.is_some_and(|behind| last >= behind.get());
        self.site.status == "closed" || is_before || is_behind
    }

    /// Whether no local day that the interval meets is a working day.
    fn is_off(&self) -> bool {
        let (first, last) = self.calendar.zone.local_dates(self.start, self.end);
        let days = std::iter::successors(Day::from_date(first), |day| day.plus_days(1));
        let mut days = days.take_while(|day| day.get() <= last);
        days.all(|day| self.calendar.off(day).is_some())
    }
}

impl FoundConflict {
    const fn new(kind: ConflictKind, job_sites: Vec<NamedSite>) -> Self {
        Self {
            kind,
            urgency: kind.urgency(),
            assignment_ids: Vec::new(),
            window_ids: Vec::new(),
            job_sites,
        }
    }
}

async fn named(connection: &AsyncPgConnection, tenant: Uuid, ids: BTreeSet<Uuid>) -> Result<Vec<NamedSite>> {
    let rows: Vec<(Uuid, String)> = job_sites::table
        .filter(job_sites::tenant_id.eq(tenant))
        .filter(job_sites::id.one_of(Vec::from_iter(ids)))
        .order((job_sites::name, job_sites::id))
        .select((job_sites::id, job_sites::name))
        .load(&mut &*connection)
        .await?;
    Ok(rows.into_iter().map(|(id, name)| NamedSite { id, name }).collect())
}
