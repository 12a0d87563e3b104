//! Codes that other records have already. PostgreSQL reports only the first one that a write violates, and not in which of several rows.

use std::collections::HashSet;

use backoffice_core::{Detail, Result, Scope};
use diesel::{BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::{products, variants};
use crate::schema::{catalog_products, catalog_variants};

/// The codes of a product and of the variants that are created with it. They are unique in an organization.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Codes {
    /// The organization.
    pub organization: Uuid,
    /// The product, whose own codes are not taken.
    pub product: Uuid,
    /// The sku of the product.
    pub sku: Option<String>,
    /// The handle of the product.
    pub handle: Option<String>,
    /// The skus of the variants, in the order of the request.
    pub variants: Vec<Option<String>>,
}

/// Returns a violated rule for each code that another record has.
///
/// # Errors
/// When the database can't be reached.
pub async fn taken(connection: &AsyncPgConnection, scope: &Scope, codes: &Codes) -> Result<Vec<Detail>> {
    let has_sku = catalog_products::sku
        .assume_not_null()
        .eq(codes.sku.as_deref().unwrap_or_default());
    let has_handle = catalog_products::handle
        .assume_not_null()
        .eq(codes.handle.as_deref().unwrap_or_default());
    let others: Vec<(Option<String>, Option<String>)> = products::in_scope(scope)
        .filter(catalog_products::organization_id.eq(codes.organization))
        .filter(catalog_products::id.ne(codes.product))
        .filter(has_sku.or(has_handle))
        .select((catalog_products::sku, catalog_products::handle))
        .load(&mut &*connection)
        .await?;
    let skus: Vec<&str> = codes.variants.iter().flatten().map(String::as_str).collect();
    let of_variants: Vec<Option<String>> = variants::in_scope(scope)
        .filter(catalog_variants::organization_id.eq(codes.organization))
        .filter(catalog_variants::sku.eq_any(skus))
        .select(catalog_variants::sku)
        .load(&mut &*connection)
        .await?;
    let of_variants: HashSet<String> = of_variants.into_iter().flatten().collect();
    let mut paths = Vec::new();
    if codes.sku.is_some() && others.iter().any(|(sku, _)| *sku == codes.sku) {
        paths.push("sku".to_owned());
    }
    if codes.handle.is_some() && others.iter().any(|(_, handle)| *handle == codes.handle) {
        paths.push("handle".to_owned());
    }
    for (index, sku) in codes.variants.iter().enumerate() {
        if sku.as_ref().is_some_and(|sku| of_variants.contains(sku)) {
            paths.push(format!("variants[{index}].sku"));
        }
    }
    let detail = |path| Detail::new(path, "is taken already", "not_unique");
    Ok(paths.into_iter().map(detail).collect())
}
