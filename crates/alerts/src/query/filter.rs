//! Which alerts a request shows.

use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use diesel::pg::Pg;
use diesel::query_builder::{BoxedSqlQuery, SqlQuery};
use diesel::sql_query;
use diesel::sql_types::{Array, Nullable, SmallInt, Text, Timestamptz, Uuid as SqlUuid};
use uuid::Uuid;

/// A caller, the alerts that they may see, and the present instant.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(super) tenant: Uuid,
    /// `None` = all of the tenant.
    organizations: Option<Vec<Uuid>>,
    /// The nil UUID for callers without marks of their own.
    user: Uuid,
    now: Timestamp,
}

impl Viewer {
    /// Creates the viewer of a request.
    ///
    /// # Errors
    /// 400 when a super administrator selected all tenants.
    pub(crate) fn for_request(ctx: &RequestContext) -> Result<Self> {
        let scope: &Scope = ctx.scope();
        Ok(Self {
            tenant: scope.tenant.map_or_else(|| ctx.tenant(), Ok)?,
            organizations: scope.organizations.clone(),
            user: ctx.user_id().unwrap_or_else(|_| Uuid::nil()),
            now: ctx.now(),
        })
    }
}

/// The alerts that a list shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct AlertFilter {
    pub(crate) ids: Option<Vec<Uuid>>,
    pub(crate) job_sites: Option<Vec<Uuid>>,
    pub(crate) subject_type: Option<&'static str>,
    pub(crate) subjects: Option<Vec<Uuid>>,
    pub(crate) kinds: Option<Vec<&'static str>>,
    pub(crate) urgency_ranks: Option<Vec<i16>>,
    pub(crate) unread_only: bool,
    pub(crate) acknowledged: Option<bool>,
    /// Only resolved ones, or only open ones; `None` = both.
    pub(crate) resolved: Option<bool>,
}

impl AlertFilter {
    /// Says whether the filter finds the open alerts of some kinds, or of all, and leaves out none of them.
    pub(crate) fn only_open_of_kinds(&self) -> bool {
        let Self {
            ids,
            job_sites,
            subject_type,
            subjects,
            kinds: _,
            urgency_ranks: _,
            unread_only,
            acknowledged,
            resolved,
        } = self;
        let selects_rows = ids.is_some() || job_sites.is_some() || subject_type.is_some() || subjects.is_some();
        *resolved == Some(false) && !selects_rows && !unread_only && acknowledged.is_none()
    }
}

/// A statement about alerts. The values of viewer and filter come first.
pub(crate) type Statement = BoxedSqlQuery<'static, Pg, SqlQuery>;

/// Condition on alerts `a` that the viewer may see.
pub(crate) const VISIBLE: &str = "a.tenant_id = $1";
/// Condition on open alerts.
pub(crate) const OPEN: &str = "a.resolved_at is null and a.expires_at > $4";
/// Condition on overlaps, stored as those of different job sites, whose assignments that go on are all on one.
pub(crate) const AGED: &str = "a.kind = 'subject_overlap_different_sites' and a.resolved_at is null and a.single_site_at <= $4 and a.expires_at > $4";
/// Expression for the kind at the present instant.
pub(crate) const CURRENT_KIND: &str = "case when a.kind = 'subject_overlap_different_sites' and a.resolved_at is null and a.single_site_at <= $4 \
     and a.expires_at > $4 then 'subject_overlap_same_site' else a.kind end";
/// Expression for whether the viewer has read an alert.
pub(crate) const READ: &str =
    "exists (select from alerts_reads r where r.tenant_id = a.tenant_id and r.alert_id = a.id and r.user_id = $3)";
/// The same as [`READ`], for a column of the few rows of a page: PostgreSQL looks up each row, and never reads all marks for it.
pub(crate) const SHOWN_READ: &str = "(select true from alerts_reads r where r.tenant_id = a.tenant_id and r.alert_id = a.id and r.user_id = $3) is not null";

/// Returns the condition on alerts that the viewer may see.
pub(crate) fn visible(viewer: &Viewer) -> String {
    match viewer.organizations {
        None => VISIBLE.to_owned(),
        Some(_) => format!("{VISIBLE} and a.organization_id = any($2)"),
    }
}

/// Returns the condition on the alerts of a list. Each filter that is set adds a condition, so that PostgreSQL plans for it.
pub(crate) fn condition(viewer: &Viewer, filter: &AlertFilter) -> String {
    let mut all = vec![visible(viewer)];
    let mut add = |is_set: bool, condition: &str| {
        if is_set {
            all.push(condition.to_owned());
        }
    };
    match filter.resolved {
        None => {}
        Some(false) => add(true, OPEN),
        Some(true) => add(true, "(a.resolved_at is not null or a.expires_at <= $4)"),
    }
    add(
        filter.job_sites.is_some(),
        "exists (select from alerts_assignments x where x.tenant_id = a.tenant_id and x.alert_id = a.id and x.job_site_id = any($5) \
            and (x.end_at > $4 or a.resolved_at is not null or a.expires_at <= $4))",
    );
    add(filter.subject_type.is_some(), "a.subject_type = $6");
    add(filter.subjects.is_some(), "a.subject_id = any($7)");
    add(filter.kinds.is_some(), &format!("({CURRENT_KIND}) = any($8)"));
    add(filter.urgency_ranks.is_some(), "a.urgency_rank = any($9)");
    add(filter.ids.is_some(), "a.id = any($10)");
    add(filter.unread_only, &format!("not {READ}"));
    add(filter.acknowledged == Some(true), "a.acknowledged_at is not null");
    add(filter.acknowledged == Some(false), "a.acknowledged_at is null");
    all.join(" and ")
}

/// Binds the values of viewer and filter.
pub(crate) fn bound(text: String, viewer: &Viewer, filter: &AlertFilter) -> Statement {
    sql_query(text)
        .into_boxed()
        .bind::<SqlUuid, _>(viewer.tenant)
        .bind::<Nullable<Array<SqlUuid>>, _>(viewer.organizations.clone())
        .bind::<SqlUuid, _>(viewer.user)
        .bind::<Timestamptz, _>(viewer.now)
        .bind::<Nullable<Array<SqlUuid>>, _>(filter.job_sites.clone())
        .bind::<Nullable<Text>, _>(filter.subject_type)
        .bind::<Nullable<Array<SqlUuid>>, _>(filter.subjects.clone())
        .bind::<Nullable<Array<Text>>, _>(filter.kinds.clone())
        .bind::<Nullable<Array<SmallInt>>, _>(filter.urgency_ranks.clone())
        .bind::<Nullable<Array<SqlUuid>>, _>(filter.ids.clone())
}
