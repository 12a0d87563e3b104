//! Keeps organizations with attachments from being deleted.

use backoffice_core::command::Interceptor;

/// Rejects the deletion of an organization with attachments.
pub(crate) const KEEP_ORGANIZATIONS_WITH_ATTACHMENTS: Interceptor = Interceptor {
    id: "attachments.organization_attachments",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(context.keep_organization(tx, KIND_IN_USE)),
};

const KIND_IN_USE: &str = "select case
    when exists (select from attachments_attachments where tenant_id = $1 and organization_id = $2) then 'attachments.attachment'
    end as kind";
