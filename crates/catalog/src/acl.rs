//! The features of this module. Managing does not include viewing.

use backoffice_core::{DefaultGrant, Feature};

/// Allows reading products with their variants and prices.
pub const PRODUCTS_VIEW: Feature = Feature::new("catalog.products.view", "View products");
/// Allows creating, updating and deleting products, variants and prices.
pub const PRODUCTS_MANAGE: Feature = Feature::new("catalog.products.manage", "Manage products");
/// Allows reading categories.
pub const CATEGORIES_VIEW: Feature = Feature::new("catalog.categories.view", "View categories");
/// Allows creating, updating and deleting categories.
pub const CATEGORIES_MANAGE: Feature = Feature::new("catalog.categories.manage", "Manage categories");

pub(crate) const FEATURES: &[Feature] = &[PRODUCTS_VIEW, PRODUCTS_MANAGE, CATEGORIES_VIEW, CATEGORIES_MANAGE];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[
    DefaultGrant {
        role: "admin",
        grants: &["catalog.*"],
    },
    DefaultGrant {
        role: "employee",
        grants: &[
            "catalog.products.view",
            "catalog.products.manage",
            "catalog.categories.view",
        ],
    },
];
