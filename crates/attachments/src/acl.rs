//! Features, and the roles that have them by default.

use backoffice_core::{DefaultGrant, Feature};

/// See files: lists, details, private files and images, partitions.
pub const VIEW: Feature = Feature::new("attachments.view", "View files");
/// Upload, change, move and delete files.
pub const MANAGE: Feature = Feature::new("attachments.manage", "Manage files");
/// Create and revoke links to files for people without an account.
pub const SHARE: Feature = Feature::new("attachments.share", "Share files by link");
/// Create, update, delete and test partitions and set constraints of fields, in the whole tenant; upload into a public partition that is not the default,
/// in the organizations in which the right is held.
pub const PARTITIONS_MANAGE: Feature = Feature::new("attachments.partitions.manage", "Manage partitions of files");

pub(crate) const FEATURES: &[Feature] = &[VIEW, MANAGE, SHARE, PARTITIONS_MANAGE];

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
