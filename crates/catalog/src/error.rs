//! The violated constraints that a client can act on.

use backoffice_core::{Error, Rejection};

/// The key of the terms of a price.
pub(crate) const PRICE_TERMS: &str = "catalog_prices_tenant_id_product_id_terms_key";

/// Converts violations of unique and foreign keys by a client's values to rejections. Returns other errors unchanged.
pub(crate) fn violation(error: Error) -> Error {
    let rejection = match error.violated_constraint() {
        Some(
            "catalog_products_tenant_id_organization_id_sku_key" | "catalog_variants_tenant_id_organization_id_sku_key",
        ) => Rejection::not_unique("sku"),
        Some("catalog_products_tenant_id_organization_id_handle_key") => Rejection::not_unique("handle"),
        Some("catalog_categories_tenant_id_organization_id_slug_key") => Rejection::not_unique("slug"),
        Some(PRICE_TERMS) => Rejection::not_unique("kind"),
        Some("catalog_variants_tenant_id_product_id_fkey" | "catalog_prices_tenant_id_product_id_fkey") => {
            Rejection::unknown_reference("productId")
        }
        Some("catalog_prices_tenant_id_product_id_variant_id_fkey") => Rejection::unknown_reference("variantId"),
        Some("catalog_product_categories_tenant_id_category_id_fkey") => Rejection::unknown_reference("categoryIds"),
        _ => return error,
    };
    rejection.into()
}
