//! The bulk operation that deletes products.

use backoffice_core::command::{Class, Tx};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::scope::VisibleTenants;
use backoffice_core::{Feature, Rejection, Result, Scope};
use backoffice_progress::bulk::BulkOperation;
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{BulkScope, DeleteFilter};
use crate::commands::DeleteProduct;
use crate::schema::catalog_products as products;
use crate::{acl, query};

/// Deletes products: those that the request names, or those that a filter matches at the time of the request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BulkDelete {
    /// How the request selects the products.
    pub scope: BulkScope,
    /// The filter, if the request has one.
    pub filter: Option<DeleteFilter>,
}

impl BulkOperation for BulkDelete {
    const ID: &'static str = "catalog.product.bulk_delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete products";
    const NAME: &'static str = "Delete products";
    const FEATURES: &'static [Feature] = &[acl::PRODUCTS_MANAGE];
    type Item = DeleteProduct;

    fn item(&self, id: Uuid) -> DeleteProduct {
        DeleteProduct::new(id)
    }

    fn message(total: usize) -> String {
        format!("Bulk delete started ({total} products).")
    }

    async fn meta(&self, _tx: &mut Tx<'_>) -> Result<Value> {
        Ok(json!({"scope": self.scope, "filter": self.filter}))
    }

    async fn matching(&self, tx: &mut Tx<'_>, most: usize) -> Result<(Vec<Uuid>, i64)> {
        let Some(filter) = &self.filter else {
            return Ok((Vec::new(), 0));
        };
        let (filter, scope) = (filter.to_product_filter()?, &own_tenant(tx)?);
        let limit = i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1);
        let found: Vec<Uuid> = query::products::matching(scope, &filter)
            .order((products::created_at.asc(), products::id.asc()))
            .limit(limit)
            .load(tx.conn())
            .await?;
        if found.len() <= most {
            let total = i64::try_from(found.len()).unwrap_or(i64::MAX);
            return Ok((found, total));
        }
        let total = query::products::count(tx.conn(), scope, &filter).await?;
        Ok((found, total))
    }
}

/// Returns the caller's scope, limited to the tenant of the job: a super administrator's scope may contain all tenants.
fn own_tenant(tx: &Tx<'_>) -> Result<Scope> {
    if tx.tenant() == PLATFORM_TENANT {
        return Err(Rejection::tenant_required().into());
    }
    let mut scope = tx.scope().clone();
    scope.visible_tenants = VisibleTenants::Tenant(tx.tenant());
    Ok(scope)
}
