//! Features, and the roles that have them by default.

use backoffice_core::{DefaultGrant, Feature};

/// See files: lists, details, private files and images, partitions.
pub const VIEW: Feature = Feature::new("attachments.view", "View files");
/// Upload, change, move and delete files.
pub const MANAGE: Feature = Feature::new("attachments.manage", "Manage files");
/// Create, update and delete partitions, and upload into a public one that is not the default.
pub const PARTITIONS_MANAGE: Feature = Feature::new("attachments.partitions.manage", "Manage partitions of files");

pub(crate) const FEATURES: &[Feature] = &[VIEW, MANAGE, PARTITIONS_MANAGE];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[
    DefaultGrant {
        role: "admin",
        grants: &["attachments.*"],
    },
    DefaultGrant {
        role: "employee",
        grants: &["attachments.view", "attachments.manage"],
    },
];
