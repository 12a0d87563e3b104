//! Endpoints of sets of rules.

use backoffice_core::command::Entity;
use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{Rejection, RequestContext, Result, Timestamp, crud};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{INVALID, worded};
use crate::acl;
use crate::commands::SetInput;
use crate::model::{Rule, RuleSet, SetMember};
use crate::query::sets::{self as query, MemberItem};

pub(super) fn routes(routes: &mut Routes) {
    let (path, one) = ("/business_rules/sets", "/business_rules/sets/{id}");
    routes
        .get(path, requires(&[acl::VIEW]), list_business_rule_sets)
        .shows(&[RuleSet::KIND])
        .about("List sets of rules");
    routes
        .get(one, requires(&[acl::VIEW]), get_business_rule_set)
        .shows(&[RuleSet::KIND, SetMember::KIND, Rule::KIND])
        .about("A set of rules with its members")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::MANAGE_SETS]), create_business_rule_set)
        .about("Create a set of rules")
        .invalid(INVALID)
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::MANAGE_SETS]), update_business_rule_set)
        .about("Change a set of rules")
        .invalid(INVALID)
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::MANAGE_SETS]), delete_business_rule_set)
        .about("Delete a set of rules; the rules remain")
        .rejects(&[404, 409, 422]);
}

/// A set with its members.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleSetDetail)]
struct SetDetail {
    /// The tenant.
    tenant_id: Uuid,
    /// The id.
    id: Uuid,
    /// The organization; null for the whole tenant.
    #[schema(required = true)]
    organization_id: Option<Uuid>,
    /// The key, unique in the tenant.
    set_id: String,
    /// The name.
    set_name: String,
    /// What the set is for.
    #[schema(required = true)]
    description: Option<String>,
    /// Whether the set can be executed.
    enabled: bool,
    /// The members in the order in which they run.
    members: Vec<MemberItem>,
    /// Time of creation.
    created_at: Timestamp,
    /// Time of the last change.
    updated_at: Timestamp,
}

async fn list_business_rule_sets(ctx: RequestContext, list: ListQuery<RuleSet>) -> Result<Json<Page<RuleSet>>> {
    let request = list.validate()?;
    let connection = ctx.read().await?;
    query::list(&connection, &ctx, &request).await.map(Json)
}

async fn get_business_rule_set(ctx: RequestContext, path: Path<Id>) -> Result<Json<SetDetail>> {
    let connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let found = query::find(&connection, ctx.scope(), path.0.id).await?;
    let set = found.ok_or_else(|| Rejection::not_found(RuleSet::NOT_FOUND))?;
    let members = query::members_of(&connection, ctx.scope(), set.id).await?;
    Ok(Json(SetDetail {
        tenant_id: set.tenant_id,
        id: set.id,
        organization_id: set.organization_id,
        set_id: set.set_key,
        set_name: set.set_name,
        description: set.description,
        enabled: set.enabled,
        members,
        created_at: set.created_at,
        updated_at: set.updated_at,
    }))
}

async fn create_business_rule_set(ctx: RequestContext, body: Json<SetInput>) -> Result<Created<CreatedId>> {
    crud::create::<RuleSet>(&ctx, body.0).await.map_err(worded)
}

async fn update_business_rule_set(ctx: RequestContext, body: Identified<SetInput>) -> Result<Json<Updated>> {
    crud::update::<RuleSet>(&ctx, body.id, body.fields)
        .await
        .map_err(worded)
}

async fn delete_business_rule_set(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<RuleSet>(&ctx, query.0.id).await
}
