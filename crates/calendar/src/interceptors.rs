//! Keeps organizations with windows, series, feeds or a working calendar from being deleted.

use backoffice_core::command::Interceptor;

/// Rejects the deletion of an organization in use.
pub(crate) const KEEP_ORGANIZATIONS_IN_USE: Interceptor = Interceptor {
    id: "calendar.organization_in_use",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(context.keep_organization(tx, KIND_IN_USE)),
};

const KIND_IN_USE: &str = "select case
    when exists (select from calendar_windows where tenant_id = $1 and organization_id = $2) then 'calendar.window'
    when exists (select from calendar_series where tenant_id = $1 and organization_id = $2) then 'calendar.series'
    when exists (select from calendar_working_calendars where tenant_id = $1 and id = $2) then 'calendar.working_calendar'
    when exists (select from calendar_feeds where tenant_id = $1 and organization_id = $2) then 'calendar.feed'
    end as kind";
