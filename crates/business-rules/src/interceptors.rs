//! Keeps organizations with rules or sets of rules from being deleted.

use backoffice_core::command::{Entity, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::{Rejection, Result};
use diesel::dsl::exists;
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, select};
use diesel_async::RunQueryDsl;

use crate::model::Rule;
use crate::schema::{business_rules_rules as rules, business_rules_sets as sets};

/// Rejects the deletion of an organization with rules or sets.
pub(crate) const KEEP_ORGANIZATIONS_WITH_RULES: Interceptor = Interceptor {
    id: "business_rules.organization_rules",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(keep_organization(tx, context)),
};

async fn keep_organization(tx: &mut Tx<'_>, context: &InterceptorContext<'_>) -> Result<Verdict> {
    if !context.removes("directory.organization.delete") {
        return Ok(Verdict::Continue);
    }
    let own = rules::table
        .filter(rules::tenant_id.eq(tx.tenant()))
        .filter(rules::organization_id.eq(context.id));
    let own_sets = sets::table
        .filter(sets::tenant_id.eq(tx.tenant()))
        .filter(sets::organization_id.eq(context.id));
    let is_used: bool = select(exists(own).or(exists(own_sets))).get_result(tx.conn()).await?;
    if !is_used {
        return Ok(Verdict::Continue);
    }
    let rejection = Rejection::conflict("Organization is in use").code("organization_in_use");
    Ok(context.keep(rejection, Rule::KIND))
}
