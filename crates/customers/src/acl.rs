//! The features of this module. Managing does not include viewing.

use backoffice_core::{DefaultGrant, Feature};

/// Allows reading deals.
pub const DEALS_VIEW: Feature = Feature::new("customers.deals.view", "View deals");
/// Allows creating, updating and deleting deals.
pub const DEALS_MANAGE: Feature = Feature::new("customers.deals.manage", "Manage deals");
/// Allows reading pipelines and their stages.
pub const PIPELINES_VIEW: Feature = Feature::new("customers.pipelines.view", "View pipelines");
/// Allows creating, updating and deleting pipelines and their stages.
pub const PIPELINES_MANAGE: Feature = Feature::new("customers.pipelines.manage", "Manage pipelines");
/// Allows reading companies.
pub const COMPANIES_VIEW: Feature = Feature::new("customers.companies.view", "View companies");
/// Allows creating, updating and deleting companies.
pub const COMPANIES_MANAGE: Feature = Feature::new("customers.companies.manage", "Manage companies");
/// Allows reading people.
pub const PEOPLE_VIEW: Feature = Feature::new("customers.people.view", "View people");
/// Allows creating, updating and deleting people.
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
