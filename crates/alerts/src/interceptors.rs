//! Keeps organizations with open alerts from being deleted.

use backoffice_core::command::Interceptor;

/// Rejects the deletion of an organization with alerts that are not resolved.
pub(crate) const KEEP_ORGANIZATIONS_WITH_ALERTS: Interceptor = Interceptor {
    id: "alerts.organization_alerts",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(context.keep_organization(tx, KIND_IN_USE)),
};

const KIND_IN_USE: &str = "select case
    when exists (select from alerts_alerts where tenant_id = $1 and organization_id = $2 and resolved_at is null) then 'alerts.alert'
    end as kind";
