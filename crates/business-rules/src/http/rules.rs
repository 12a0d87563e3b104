//! Endpoints of rules.

use backoffice_core::command::Entity;
use backoffice_core::http::{
    CheckedQuery, Created, CreatedId, Done, Id, Identified, Json, Path, Query, QueryInput, Routes, Updated, requires,
};
use backoffice_core::list::parameters::{flag, word};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{RequestContext, Result, Violations, crud};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{INVALID, worded};
use crate::acl;
use crate::commands::{self, RuleInput};
use crate::documented::{BusinessRuleEnabled, BusinessRuleType};
use crate::header_values;
use crate::model::{RULE_TYPES, Rule};
use crate::query::rules::{self as query, RuleFilter, RuleItem};

pub(super) fn routes(routes: &mut Routes) {
    let (path, one) = ("/business_rules/rules", "/business_rules/rules/{id}");
    routes
        .get(path, requires(&[acl::VIEW]), list_business_rules)
        .shows(&[Rule::KIND])
        .about("List rules");
    routes
        .get(one, requires(&[acl::VIEW]), get_business_rule)
        .shows(&[Rule::KIND])
        .about("A rule")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::MANAGE]), create_business_rule)
        .about("Create a rule")
        .invalid(INVALID)
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::MANAGE]), update_business_rule)
        .about("Change a rule")
        .invalid(INVALID)
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::MANAGE]), delete_business_rule)
        .about("Delete a rule with its memberships of sets; its executions remain in the log")
        .rejects(&[404, 409, 422]);
}

/// Parameters of the list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct RuleQuery {
    /// Only the rule with this key.
    rule_id: Option<String>,
    /// Only this type.
    #[param(value_type = Option<BusinessRuleType>, inline)]
    rule_type: Option<String>,
    /// Only this category.
    rule_category: Option<String>,
    /// Only this kind of records.
    entity_type: Option<String>,
    /// Only this change.
    event_type: Option<String>,
    /// Only enabled rules (`true` or `1`), or only disabled ones (`false` or `0`).
    #[param(value_type = Option<BusinessRuleEnabled>, inline)]
    enabled: Option<String>,
}

impl RuleQuery {
    fn filter(&self, violations: &mut Violations) -> RuleFilter {
        word("ruleType", self.rule_type.as_deref(), &RULE_TYPES, violations);
        RuleFilter {
            rule_key: self.rule_id.clone(),
            rule_type: self.rule_type.clone(),
            rule_category: self.rule_category.clone(),
            entity_type: self.entity_type.clone(),
            event_type: self.event_type.clone(),
            enabled: flag("enabled", self.enabled.as_deref(), violations),
        }
    }
}

impl QueryInput for RuleQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(violations);
    }
}

async fn list_business_rules(
    ctx: RequestContext,
    list: ListQuery<RuleItem>,
    query: CheckedQuery<RuleQuery>,
) -> Result<Json<Page<RuleItem>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let filter = query.0.filter(&mut violations);
    violations.check()?;
    let connection = ctx.read().await?;
    query::list(&connection, &ctx, &filter, &request).await.map(Json)
}

async fn get_business_rule(ctx: RequestContext, path: Path<Id>) -> Result<Json<Rule>> {
    let connection = ctx.read().await?;
    let mut found = query::find(&connection, ctx.scope(), path.0.id).await?;
    found.iter_mut().for_each(header_values::redact);
    crud::found::<Rule, _>(found)
}

async fn create_business_rule(ctx: RequestContext, body: Json<RuleInput>) -> Result<Created<CreatedId>> {
    commands::validate_new(&ctx, &body.0).map_err(worded)?;
    crud::create::<Rule>(&ctx, body.0).await.map_err(worded)
}

async fn update_business_rule(ctx: RequestContext, body: Identified<RuleInput>) -> Result<Json<Updated>> {
    crud::update::<Rule>(&ctx, body.id, body.fields).await.map_err(worded)
}

async fn delete_business_rule(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Rule>(&ctx, query.0.id).await
}
