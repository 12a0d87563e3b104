//! The rights of the customers. Managing does not include seeing.

use backoffice_core::{DefaultGrant, Feature};

/// See deals.
pub const DEALS_VIEW: Feature = Feature::new("customers.deals.view", "View deals");
/// Make, change and delete deals.
pub const DEALS_MANAGE: Feature = Feature::new("customers.deals.manage", "Manage deals");
/// See pipelines and their stages.
pub const PIPELINES_VIEW: Feature = Feature::new("customers.pipelines.view", "View pipelines");
/// Make, change and delete pipelines and their stages.
pub const PIPELINES_MANAGE: Feature = Feature::new("customers.pipelines.manage", "Manage pipelines");
/// See companies.
pub const COMPANIES_VIEW: Feature = Feature::new("customers.companies.view", "View companies");
/// Make, change and delete companies.
pub const COMPANIES_MANAGE: Feature = Feature::new("customers.companies.manage", "Manage companies");
/// See people.
pub const PEOPLE_VIEW: Feature = Feature::new("customers.people.view", "View people");
/// Make, change and delete people.
pub const PEOPLE_MANAGE: Feature = Feature::new("customers.people.manage", "Manage people");

pub(crate) const FEATURES: &[Feature] = &[
    DEALS_VIEW,
    DEALS_MANAGE,
    PIPELINES_VIEW,
    PIPELINES_MANAGE,
    COMPANIES_VIEW,
    COMPANIES_MANAGE,
    PEOPLE_VIEW,
    PEOPLE_MANAGE,
];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[
    DefaultGrant {
        role: "admin",
        grants: &["customers.*"],
    },
    DefaultGrant {
        role: "employee",
        grants: &[
            "customers.deals.*",
            "customers.pipelines.view",
            "customers.companies.*",
            "customers.people.*",
        ],
    },
];
