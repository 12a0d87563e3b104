//! The errors that a client can act on.

use backoffice_core::{Detail, Rejection};

/// A rejection by this module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Another row of the organization already has this value.
    NotUnique {
        /// The field.
        path: &'static str,
    },
    /// The referenced row does not exist in the tenant, or is not visible to the caller; the error does not say which.
    UnknownReference {
        /// The field.
        path: String,
    },
    /// The field can't be changed after the row is created.
    Fixed {
        /// The field.
        path: &'static str,
    },
    /// The category would be below itself.
    Cycle,
    /// There are categories below this one.
    InUse,
    /// The caller can't write in the organization.
    OutOfScope,
    /// A part of a product must be in the organization of the product.
    OtherOrganization,
    /// Neither the request nor the caller's account names an organization for the row.
    OrganizationRequired,
}

impl Error {
    fn rejection(self) -> Rejection {
        let invalid = |path: String, message, code| Rejection::invalid(vec![Detail::new(path, message, code)]);
        match self {
            Self::NotUnique { path } => invalid(path.to_owned(), "is taken already", "not_unique"),
            Self::UnknownReference { path } => invalid(path, "does not exist", "unknown_reference"),
            Self::Fixed { path } => invalid(path.to_owned(), "can't be changed", "immutable"),
            Self::Cycle => invalid(
                "parentId".to_owned(),
                "a category can't lie below itself",
                "invalid_value",
            ),
            Self::InUse => Rejection::conflict("In use").code("in_use"),
            Self::OutOfScope => Rejection::forbidden("Organization out of scope"),
            Self::OtherOrganization => invalid(
                "organizationId".to_owned(),
                "must be the organization of the product",
                "invalid_value",
            ),
            Self::OrganizationRequired => {
                Rejection::bad_request("Organization context required").code("organization_required")
            }
        }
    }
}

impl From<Error> for backoffice_core::Error {
    fn from(error: Error) -> Self {
        error.rejection().into()
    }
}

/// Converts violations of unique and foreign keys by a client's values to rejections. Returns other errors unchanged.
pub(crate) fn violation(error: backoffice_core::Error) -> backoffice_core::Error {
    let rejection = match error.violated_constraint() {
        Some("catalog_products_tenant_id_organization_id_sku_key") => Error::NotUnique { path: "sku" },
        Some("catalog_products_tenant_id_organization_id_handle_key") => Error::NotUnique { path: "handle" },
        Some("catalog_variants_tenant_id_organization_id_sku_key") => Error::NotUnique { path: "sku" },
        Some("catalog_categories_tenant_id_organization_id_slug_key") => Error::NotUnique { path: "slug" },
        Some("catalog_prices_tenant_id_product_id_terms_key") => Error::NotUnique { path: "kind" },
        Some("catalog_variants_tenant_id_product_id_fkey" | "catalog_prices_tenant_id_product_id_fkey") => {
            Error::UnknownReference {
                path: "productId".to_owned(),
            }
        }
        Some("catalog_prices_tenant_id_product_id_variant_id_fkey") => Error::UnknownReference {
            path: "variantId".to_owned(),
        },
        Some("catalog_product_categories_tenant_id_category_id_fkey") => Error::UnknownReference {
            path: "categoryIds".to_owned(),
        },
        _ => return error,
    };
    rejection.into()
}
