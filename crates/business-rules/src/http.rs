//! Endpoints of rules.

use backoffice_core::command::Entity;
use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{RequestContext, Result, crud};

use crate::commands::RuleInput;
use crate::model::Rule;
use crate::{acl, query};

pub(crate) fn routes(routes: &mut Routes) {
    let (path, one) = ("/business_rules/rules", "/business_rules/rules/{id}");
    routes
        .get(path, requires(&[acl::RULES_VIEW]), list_business_rules_rules)
        .shows(&[Rule::KIND])
        .about("List rules");
    routes
        .get(one, requires(&[acl::RULES_VIEW]), get_business_rules_rule)
        .shows(&[Rule::KIND])
        .about("A rule")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::RULES_MANAGE]), create_business_rules_rule)
        .about("Create a rule")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::RULES_MANAGE]), update_business_rules_rule)
        .about("Change a rule")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::RULES_MANAGE]), delete_business_rules_rule)
        .about("Delete a rule")
        .rejects(&[404, 409, 422]);
}

async fn list_business_rules_rules(ctx: RequestContext, list: ListQuery<Rule>) -> Result<Json<Page<Rule>>> {
    let request = list.validate()?;
    let connection = ctx.read().await?;
    query::list(&connection, &ctx, &request).await.map(Json)
}

async fn get_business_rules_rule(ctx: RequestContext, path: Path<Id>) -> Result<Json<Rule>> {
    let connection = ctx.read().await?;
    crud::found::<Rule, _>(query::find(&connection, ctx.scope(), path.0.id).await?)
}

async fn create_business_rules_rule(ctx: RequestContext, body: Json<RuleInput>) -> Result<Created<CreatedId>> {
    crud::create::<Rule>(&ctx, body.0).await
}

async fn update_business_rules_rule(ctx: RequestContext, body: Identified<RuleInput>) -> Result<Json<Updated>> {
    crud::update::<Rule>(&ctx, body.id, body.fields).await
}

async fn delete_business_rules_rule(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Rule>(&ctx, query.0.id).await
}
