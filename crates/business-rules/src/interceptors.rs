//! Keeps organizations with rules or sets of rules from being deleted.

use backoffice_core::command::Interceptor;

/// Rejects the deletion of an organization with rules or sets.
pub(crate) const KEEP_ORGANIZATIONS_WITH_RULES: Interceptor = Interceptor {
    id: "business_rules.organization_rules",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(context.keep_organization(tx, KIND_IN_USE)),
};

const KIND_IN_USE: &str = "select case
    when exists (select from business_rules_rules where tenant_id = $1 and organization_id = $2) then 'business_rules.rule'
    when exists (select from business_rules_sets where tenant_id = $1 and organization_id = $2) then 'business_rules.set'
    end as kind";
