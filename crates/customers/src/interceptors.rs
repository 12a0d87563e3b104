//! Keeps organizations with customer records from being deleted, by a command or by undo and redo.

use backoffice_core::command::Interceptor;

/// Rejects the deletion of an organization that has deals, pipelines, companies or people.
pub(crate) const KEEP_ORGANIZATIONS_WITH_CUSTOMERS: Interceptor = Interceptor {
    id: "customers.organization_customers",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(context.keep_organization(tx, KIND_IN_USE)),
};

/// Stages are omitted: they share the organization of their pipeline.
const KIND_IN_USE: &str = "select case
    when exists (select from customers_companies where tenant_id = $1 and organization_id = $2) then 'customers.company'
    when exists (select from customers_deals where tenant_id = $1 and organization_id = $2) then 'customers.deal'
    when exists (select from customers_people where tenant_id = $1 and organization_id = $2) then 'customers.person'
    when exists (select from customers_pipelines where tenant_id = $1 and organization_id = $2) then 'customers.pipeline'
    end as kind";
