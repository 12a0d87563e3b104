//! Bulk operations on deals. Each responds with a progress job.

use backoffice_core::http::{Created, Json, Routes, requires};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{RequestContext, Result};
use backoffice_progress::bulk::{Started, checked_ids, start, validate_ids};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::bulk::{BulkUpdateOwner, BulkUpdateStage};

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post(
            "/customers/deals/bulk-update-owner",
            requires(&[acl::DEALS_MANAGE]),
            bulk_update_owner,
        )
        .about("Change the owner of many deals in the background")
        .rejects(&[409, 422]);
    routes
        .post(
            "/customers/deals/bulk-update-stage",
            requires(&[acl::DEALS_MANAGE]),
            bulk_update_stage,
        )
        .about("Move many deals to a stage, in the background")
        .rejects(&[409, 422]);
}

/// Deals and their new owner.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OwnerOfDeals {
    /// 1 to 10000 deals; repeated ids count once.
    #[schema(min_items = 1, max_items = 10000)]
    ids: Vec<Uuid>,
    /// An active user whose organizations contain those of the deals; null removes the owner. The field is required.
    #[serde(deserialize_with = "required")]
    #[schema(required = true)]
    owner_user_id: Option<Uuid>,
}

impl Input for OwnerOfDeals {
    fn validate(&self, validator: &mut Validator) {
        validate_ids(&self.ids, validator);
    }
}

/// Deals and the stage into which they are moved.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct StageOfDeals {
    /// 1 to 10000 deals; repeated ids count once.
    #[schema(min_items = 1, max_items = 10000)]
    ids: Vec<Uuid>,
    /// A stage that is visible to the caller.
    pipeline_stage_id: Uuid,
}

impl Input for StageOfDeals {
    fn validate(&self, validator: &mut Validator) {
        validate_ids(&self.ids, validator);
    }
}

/// Deserializes a field that may be null but not absent.
fn required<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Uuid>, D::Error> {
    Option::deserialize(deserializer)
}

async fn bulk_update_owner(ctx: RequestContext, body: Json<OwnerOfDeals>) -> Result<Created<Started>> {
    let ids = checked_ids(body.0.ids)?;
    let operation = BulkUpdateOwner {
        owner_user_id: body.0.owner_user_id,
    };
    start(&ctx, operation, ids).await
}

async fn bulk_update_stage(ctx: RequestContext, body: Json<StageOfDeals>) -> Result<Created<Started>> {
    let ids = checked_ids(body.0.ids)?;
    let operation = BulkUpdateStage {
        pipeline_stage_id: body.0.pipeline_stage_id,
    };
    start(&ctx, operation, ids).await
}
