//! What can go wrong that a client should know.

use backoffice_core::{Detail, Rejection};

/// A refusal of the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Another row of the organization has the value already.
    NotUnique {
        /// The member.
        path: &'static str,
    },
    /// The named row does not exist in the tenant, or the caller may not see it; nobody learns which.
    UnknownReference {
        /// The member.
        path: String,
    },
    /// The member is settled when the row is made.
    Fixed {
        /// The member.
        path: &'static str,
    },
    /// A category would lie below itself.
    Cycle,
    /// Categories lie below it.
    InUse,
    /// The organization is not one that the caller writes in.
    OutOfScope,
    /// What is a part of a product is where the product is.
    OtherOrganization,
    /// Nothing says where the row belongs.
    OrganizationRequired,
}

impl Error {
    fn rejection(self) -> Rejection {
        let invalid = |path: String, message, code| Rejection::invalid(vec![Detail::new(path, message, code)]);
        match self {
            Self::NotUnique { path } => invalid(path.to_owned(), "is taken already", "not_unique"),
            Self::UnknownReference { path } => invalid(path, "names nothing that is known", "unknown_reference"),
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

/// The unique and foreign keys that a client's values can violate, as refusals. Everything else stays what it is.
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
