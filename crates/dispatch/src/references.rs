//! The job sites and resources that assignments refer to.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_core::command::Tx;
use backoffice_core::db::KeyColumn;
use backoffice_core::{Detail, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::model::StatedAssignment;
use crate::schema::{dispatch_job_sites as job_sites, dispatch_resources as resources};
use crate::values::LIVE_STATUSES;

/// An assignment before and after a change.
pub(crate) type ChangedAssignment<'a> = (Option<&'a StatedAssignment>, &'a StatedAssignment);

#[derive(Debug)]
struct Site {
    organization: Uuid,
    is_closed: bool,
    is_deleted: bool,
}

#[derive(Debug)]
struct Subject {
    organization: Uuid,
    type_: String,
    is_active: bool,
    is_deleted: bool,
}

/// The job sites and resources that changes refer to anew, or on which they make assignments live again.
#[derive(Debug, Default)]
pub(crate) struct Referenced {
    /// The assignments that become live again, or end later.
    revived: BTreeSet<Uuid>,
    sites: BTreeMap<Uuid, Site>,
    subjects: BTreeMap<Uuid, Subject>,
}

fn has_new_site((before, after): ChangedAssignment<'_>) -> bool {
    before.is_none_or(|before| before.job_site_id != after.job_site_id)
}

fn has_new_subject((before, after): ChangedAssignment<'_>) -> bool {
    let subject = |one: &StatedAssignment| (one.subject_type.clone(), one.subject_id);
    before.is_none_or(|before| subject(before) != subject(after))
}

fn has_live_status(row: &StatedAssignment) -> bool {
    LIVE_STATUSES.contains(&row.status.as_str())
}

/// Whether a change makes a stored assignment live that was not, or lets a live one end later. `interval` is its time after the change. The second case
/// counts because a deletion of the job site or resource at the same time may regard the former end as past.
fn is_revived(
    (before, after): ChangedAssignment<'_>,
    interval: Option<(Timestamp, Timestamp)>,
    now: Timestamp,
) -> bool {
    has_live_status(after)
        && interval.is_some_and(|(_, end)| end > now)
        && before.is_some_and(|before| !has_live_status(before) || ends_later(before, after))
}

/// Whether an assignment ends later after a change. Between dates and instants that depends on the time zone, and counts as true.
fn ends_later(before: &StatedAssignment, after: &StatedAssignment) -> bool {
    match (before.dates(), after.dates()) {
        (Some((_, former)), Some((_, present))) => present > former,
        (None, None) => after.end_at > before.end_at,
        _ => true,
    }
}

impl Referenced {
    /// Locks the job sites and resources that the changes refer to anew, or on which they make assignments live again, so that none is deleted before
    /// the end of the transaction. `intervals` are the times of the assignments after the changes. At most two statements.
    pub(crate) async fn lock(
        tx: &mut Tx<'_>,
        changes: &[ChangedAssignment<'_>],
        intervals: &[Option<(Timestamp, Timestamp)>],
    ) -> Result<Self> {
        let now = tx.context().now();
        let revived = changes.iter().zip(intervals);
        let revived = revived.filter(|(change, interval)| is_revived(**change, **interval, now));
        let mut referenced = Self {
            revived: revived.map(|((_, after), _)| after.id).collect(),
            ..Self::default()
        };
        let of_site = changes.iter().filter(|change| referenced.needs_site(**change));
        let sites: BTreeSet<Uuid> = of_site.map(|(_, after)| after.job_site_id).collect();
        let of_subject = changes.iter().filter(|change| referenced.needs_subject(**change));
        let subjects: BTreeSet<Uuid> = of_subject.map(|(_, after)| after.subject_id).collect();
        if !sites.is_empty() {
            referenced.sites = lock_sites(tx, sites).await?;
        }
        if !subjects.is_empty() {
            referenced.subjects = lock_subjects(tx, subjects).await?;
        }
        Ok(referenced)
    }

    /// Whether the job site of a changed assignment must exist.
    fn needs_site(&self, change: ChangedAssignment<'_>) -> bool {
        has_new_site(change) || self.revived.contains(&change.1.id)
    }

    /// Whether the subject of a changed assignment must exist.
    fn needs_subject(&self, change: ChangedAssignment<'_>) -> bool {
        has_new_subject(change) || self.revived.contains(&change.1.id)
    }

    /// Returns the field of a restored assignment that refers to a record which does not exist in the organization of the assignment. Only an
    /// assignment that is cancelled or completed may refer to a deleted record, because the deletion of a record leaves those.
    pub(crate) fn missing_for_restored(
        &self,
        before: Option<&StatedAssignment>,
        after: &StatedAssignment,
    ) -> Option<&'static str> {
        let is_live = has_live_status(after);
        let has_site = self.site(after).is_some_and(|site| !(is_live && site.is_deleted));
        let has_subject = self
            .subject(after)
            .is_some_and(|subject| !(is_live && subject.is_deleted));
        if self.needs_site((before, after)) && !has_site {
            return Some("jobSiteId");
        }
        (self.needs_subject((before, after)) && !has_subject).then_some("subjectId")
    }

    fn site(&self, of: &StatedAssignment) -> Option<&Site> {
        let found = self.sites.get(&of.job_site_id);
        found.filter(|site| site.organization == of.organization_id)
    }

    fn subject(&self, of: &StatedAssignment) -> Option<&Subject> {
        let found = self.subjects.get(&of.subject_id);
        found.filter(|one| one.organization == of.organization_id && one.type_ == of.subject_type)
    }

    /// Returns the violated rules of a change: its new references, and all references of an assignment that becomes live again, exist; its new site
    /// is not closed, and its new subject is active.
    pub(crate) fn violations(&self, change: ChangedAssignment<'_>) -> Vec<Detail> {
        let after = change.1;
        let mut details = Vec::new();
        let mut reject = |path: &str, message: &str, code: &'static str| details.push(Detail::new(path, message, code));
        if self.needs_site(change) {
            match self.site(after).filter(|site| !site.is_deleted) {
                None => reject(
                    "jobSiteId",
                    "must be a job site of the organization",
                    "job_site_not_found",
                ),
                Some(site) if site.is_closed && has_new_site(change) => {
                    reject("jobSiteId", "must not be a closed job site", "job_site_closed");
                }
                Some(_) => {}
            }
        }
        if self.needs_subject(change) {
            match self.subject(after).filter(|subject| !subject.is_deleted) {
                None => reject(
                    "subjectId",
                    "must be a resource of the type and organization",
                    "subject_not_found",
                ),
                Some(subject) if !subject.is_active && has_new_subject(change) => {
                    reject("subjectId", "must be an active resource", "subject_inactive");
                }
                Some(_) => {}
            }
        }
        details
    }
}

async fn lock_sites(tx: &mut Tx<'_>, ids: BTreeSet<Uuid>) -> Result<BTreeMap<Uuid, Site>> {
    let rows: Vec<(Uuid, Uuid, String, bool)> = job_sites::table
        .filter(job_sites::tenant_id.eq(tx.tenant()))
        .filter(job_sites::id.one_of(Vec::from_iter(ids)))
        .order(job_sites::id)
        .select((
            job_sites::id,
            job_sites::organization_id,
            job_sites::status,
            job_sites::deleted_at.is_not_null(),
        ))
        .for_share()
        .load(tx.conn())
        .await?;
    let site = |(id, organization, status, is_deleted): (Uuid, Uuid, String, bool)| {
        let is_closed = status == "closed";
        (
            id,
            Site {
                organization,
                is_closed,
                is_deleted,
            },
        )
    };
    Ok(rows.into_iter().map(site).collect())
}

async fn lock_subjects(tx: &mut Tx<'_>, ids: BTreeSet<Uuid>) -> Result<BTreeMap<Uuid, Subject>> {
    let rows: Vec<(Uuid, Uuid, String, bool, bool)> = resources::table
        .filter(resources::tenant_id.eq(tx.tenant()))
        .filter(resources::id.one_of(Vec::from_iter(ids)))
        .order(resources::id)
        .select((
            resources::id,
            resources::organization_id,
            resources::type_,
            resources::is_active,
            resources::deleted_at.is_not_null(),
        ))
        .for_share()
        .load(tx.conn())
        .await?;
    let subject = |(id, organization, type_, is_active, is_deleted): (Uuid, Uuid, String, bool, bool)| {
        (
            id,
            Subject {
                organization,
                type_,
                is_active,
                is_deleted,
            },
        )
    };
    Ok(rows.into_iter().map(subject).collect())
}
