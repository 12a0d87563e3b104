//! Endpoints of the members of a set.

use backoffice_core::command::Entity;
use backoffice_core::http::{Created, CreatedId, Done, Id, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Patch, Rejection, RequestContext, Result, crud};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{INVALID, worded};
use crate::acl;
use crate::commands::MemberInput;
use crate::model::SetMember;
use crate::query::sets as query;

pub(super) fn routes(routes: &mut Routes) {
    let path = "/business_rules/sets/{id}/members";
    routes
        .post(path, requires(&[acl::MANAGE_SETS]), create_business_rule_set_member)
        .about("Put a rule into a set")
        .invalid(INVALID)
        .rejects(&[404, 409, 422]);
    routes
        .put(path, requires(&[acl::MANAGE_SETS]), update_business_rule_set_member)
        .about("Change the position of a rule in a set")
        .invalid(INVALID)
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::MANAGE_SETS]), delete_business_rule_set_member)
        .about("Take a rule out of a set")
        .rejects(&[404, 409, 422]);
}

/// A change of a member: absent fields keep their values.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleSetMemberPatch)]
struct MemberPatch {
    /// The member.
    member_id: Uuid,
    /// The position.
    #[serde(default)]
    #[schema(value_type = i32, minimum = 0, maximum = 2_147_483_647, required = false)]
    sequence: Patch<i32>,
    /// Whether the rule runs with the set.
    #[serde(default)]
    #[schema(value_type = bool, required = false)]
    enabled: Patch<bool>,
}

impl Input for MemberPatch {
    fn validate(&self, validator: &mut Validator) {
        validator.value("sequence", &self.sequence, &mut 0, rules::at_least(0));
        validator.value("enabled", &self.enabled, &mut false, rules::any);
    }
}

/// The member to delete.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct MemberId {
    /// The member.
    member_id: Uuid,
}

async fn create_business_rule_set_member(
    ctx: RequestContext,
    path: Path<Id>,
    body: Json<MemberInput>,
) -> Result<Created<CreatedId>> {
    let input = MemberInput {
        set: path.0.id,
        ..body.0
    };
    crud::create::<SetMember>(&ctx, input).await.map_err(worded)
}

async fn update_business_rule_set_member(
    ctx: RequestContext,
    path: Path<Id>,
    body: Json<MemberPatch>,
) -> Result<Json<Updated>> {
    let mut validator = Validator::default();
    body.0.validate(&mut validator);
    validator.check().map_err(worded)?;
    let input = MemberInput {
        set: path.0.id,
        rule_id: Patch::Keep,
        sequence: body.0.sequence,
        enabled: body.0.enabled,
    };
    crud::update::<SetMember>(&ctx, body.0.member_id, input)
        .await
        .map_err(worded)
}

async fn delete_business_rule_set_member(
    ctx: RequestContext,
    path: Path<Id>,
    query: Query<MemberId>,
) -> Result<Json<Done>> {
    let found = {
        let connection = ctx.read().await?;
        query::find_member(&connection, ctx.scope(), path.0.id, query.0.member_id).await?
    };
    if found.is_none() {
        return Err(Rejection::not_found(SetMember::NOT_FOUND).into());
    }
    crud::delete::<SetMember>(&ctx, query.0.member_id).await
}
