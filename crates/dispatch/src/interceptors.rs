//! Keeps organizations with job sites, resources or assignments from being deleted.

use backoffice_core::command::Interceptor;

/// Rejects the deletion of an organization in use.
pub(crate) const KEEP_ORGANIZATIONS_IN_USE: Interceptor = Interceptor {
    id: "dispatch.organization_in_use",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(context.keep_organization(tx, KIND_IN_USE)),
};

const KIND_IN_USE: &str = "select case
    when exists (select from dispatch_job_sites where tenant_id = $1 and organization_id = $2 and deleted_at is null)
        then 'dispatch.job_site'
    when exists (select from dispatch_resources where tenant_id = $1 and organization_id = $2 and deleted_at is null)
        then 'dispatch.resource'
    when exists (select from dispatch_assignments where tenant_id = $1 and organization_id = $2)
        then 'dispatch.assignment'
    end as kind";
