//! `/catalog/bulk-delete`

use backoffice_core::http::{Created, Json, Routes, given, given_object, requires};
use backoffice_core::{Detail, RequestContext, Result};
use backoffice_progress::bulk::{Started, checked_ids, start, start_matching};
use garde::Validate;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::bulk::{BulkDelete, BulkScope, DeleteFilter};

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/catalog/bulk-delete", requires(&[acl::PRODUCTS_MANAGE]), bulk_delete)
        .about("Delete many products, in the background")
        .refuses(&[409, 422])
        .refuses_with::<i64>(400, "matched");
}

/// Products to delete, by their ids or by a filter. Members that are not listed here are refused.
#[derive(Debug, Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CatalogBulkDelete)]
#[garde(allow_unvalidated)]
struct BulkDeletion {
    /// Literally true: what is done here is meant.
    #[schema(value_type = bool)]
    confirm: Value,
    /// `selected` needs `ids`; `filtered` needs `filter` or, in its place, `ids`.
    scope: BulkScope,
    /// 1 to 10000 products; repeated ones count once.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    ids: Option<Vec<Uuid>>,
    /// What the products have in common.
    #[serde(default, deserialize_with = "given_object")]
    #[schema(nullable = false)]
    filter: Option<DeleteFilter>,
}

async fn bulk_delete(ctx: RequestContext, body: Json<BulkDeletion>) -> Result<Created<Started>> {
    let body = body.0;
    if body.confirm != Value::Bool(true) {
        return Err(refused("confirm", "must be true"));
    }
    let operation = BulkDelete {
        scope: body.scope,
        filter: body.filter,
    };
    match (operation.scope, body.ids, &operation.filter) {
        (_, Some(ids), None) => start(&ctx, operation, checked_ids(ids)?).await,
        (BulkScope::Filtered, None, Some(filter)) => {
            filter.to_product_filter()?;
            start_matching(&ctx, operation).await
        }
        (BulkScope::Selected, _, Some(_)) => Err(refused("filter", "goes with scope filtered only")),
        (BulkScope::Selected, None, None) => Err(refused("ids", "is required with scope selected")),
        (BulkScope::Filtered, Some(_), Some(_)) => Err(refused("filter", "stands in place of ids, not beside them")),
        (BulkScope::Filtered, None, None) => Err(refused("filter", "is required, or ids in its place")),
    }
}

fn refused(path: &str, rule: &'static str) -> backoffice_core::Error {
    Detail::new(path, rule, "invalid_value").into()
}
