//! The hand-written references: the least that PostgreSQL has to do for a request.

use std::path::{Path, PathBuf};

use crate::Result;

/// Statements that stand beside a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reference {
    /// Name of the file.
    pub(super) name: &'static str,
    sql: &'static str,
    /// Whether the statements of `logged.sql` complete it.
    is_logged: bool,
}

macro_rules! reference {
    ($name:literal) => {
        reference!($name, false)
    };
    ($name:literal, $is_logged:literal) => {
        Reference {
            name: $name,
            sql: include_str!(concat!("../reference/", $name, ".sql")),
            is_logged: $is_logged,
        }
    };
}

pub(super) const VERSION: Reference = reference!("version");
pub(super) const PROFILE: Reference = reference!("profile");
pub(super) const FEATURE_CHECK: Reference = reference!("feature-check");
pub(super) const USERS: Reference = reference!("users");
pub(super) const ROLES: Reference = reference!("roles");
pub(super) const ORGANIZATIONS: Reference = reference!("organizations");
pub(super) const DEALS: Reference = reference!("deals");
pub(super) const PRODUCTS: Reference = reference!("products");
pub(super) const LOG_PAGE: Reference = reference!("log-page");
pub(super) const LOG_FILTERED: Reference = reference!("log-filtered");
pub(super) const LOG_EXPORT: Reference = reference!("log-export");
pub(super) const SEARCH: Reference = reference!("search");
pub(super) const CREATE: Reference = reference!("create", true);
pub(super) const UPDATE: Reference = reference!("update", true);
pub(super) const DELETE: Reference = reference!("delete", true);
pub(super) const UNDO: Reference = reference!("undo", true);
pub(super) const BULK_JOB: Reference = reference!("bulk-job");
pub(super) const LOGIN: Reference = reference!("login");

/// One row by its key: the fastest read.
pub(super) const ROW_BY_KEY: Reference = reference!("limit-row-by-key");
/// The fastest durable write.
pub(super) const INSERT_AND_COMMIT: Reference = reference!("limit-insert-and-commit");
/// The fastest durable write with a number from one row.
pub(super) const HOT_ROW: Reference = reference!("limit-hot-row");

/// The limits of the machine.
pub(super) const LIMITS: [Reference; 3] = [ROW_BY_KEY, INSERT_AND_COMMIT, HOT_ROW];

const LOGGED: &str = include_str!("../reference/logged.sql");

impl Reference {
    /// Writes the script of pgbench.
    pub(super) fn write(&self, folder: &Path) -> Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        let file = folder.join(format!("{}.sql", self.name));
        std::fs::write(&file, self.script())?;
        Ok(file)
    }

    fn script(&self) -> String {
        match self.is_logged {
            true => format!("{}{LOGGED}", self.sql),
            false => self.sql.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_ends_with_its_entry_in_the_log() {
        for reference in [CREATE, UPDATE, DELETE, UNDO] {
            let script = reference.script();

            assert!(script.contains("changed as ("), "{}", reference.name);
            assert_eq!(script.matches(';').count(), 1, "{}", reference.name);
            assert!(script.contains("insert into audit_action_logs"), "{}", reference.name);
        }
    }

    #[test]
    fn a_reference_says_what_it_is() {
        for reference in LIMITS.into_iter().chain([VERSION, USERS, UNDO, BULK_JOB, LOGIN]) {
            assert!(reference.sql.starts_with("-- "), "{}", reference.name);
        }
    }
}
