//! Conflicts of a restore with present data.

use serde_json::json;

use super::entry::Claimed;
use crate::command::{AnyEntity, Snapshot, Tx, changes};
use crate::error::{Error, Rejection};

/// Fields that cause no conflict: no command changes them, and `updatedAt` changes with every other field.
const UNREPORTED: &[&str] = &["id", "tenantId", "createdAt", "updatedAt"];

/// Creates the error C of the specification.
pub(super) fn conflict(mut fields: Vec<String>) -> Error {
    fields.retain(|field| !UNREPORTED.contains(&field.as_str()));
    Rejection::undo_conflict(&fields).into()
}

/// Converts the violation of a constraint by a restore into a conflict with present data: in the constrained fields of the restored resource, or with
/// the resources of another kind that refer to it or take its values.
pub(super) fn violated(tx: &Tx<'_>, error: Error, claimed: &Claimed<'_>) -> Error {
    let Some(constraint) = error.violated_constraint() else {
        return error;
    };
    let own = claimed.entity.kind();
    let fields = conflicting_fields(claimed, constraint);
    // A removal violates the foreign keys of rows that refer to the resource; they may be of its own kind.
    let is_referenced = claimed.requested.is_none() && constraint.ends_with("_fkey");
    let kinds = tx.context().platform().registry().entities();
    let kind = error
        .violated_table()
        .and_then(|table| kind_of(table, kinds.map(AnyEntity::kind)));
    match kind {
        Some(kind) if is_referenced || (fields.is_empty() && kind != own) => conflict(vec![kind.to_owned()]),
        _ => conflict(fields),
    }
}

/// Returns the constrained fields of the resource that the restore changes. A resource that returns gets all of its fields back; those that say where it
/// belongs are in most keys, and are not what another record has taken.
fn conflicting_fields(claimed: &Claimed<'_>, constraint: &str) -> Vec<String> {
    let entity = claimed.entity;
    let (expected, requested) = (claimed.expected.as_ref(), claimed.requested.as_ref());
    let Some(snapshot) = requested.or(expected) else {
        return Vec::new();
    };
    let constrained = fields_of_constraint(entity, snapshot, constraint);
    let changes = changes::between(entity.tracking(), expected, requested);
    let returns = expected.is_none() && is_key(constraint);
    let parent = entity.parent(snapshot).map(|parent| json!(parent.id));
    let is_placement = |field: &str| {
        let value = snapshot.get(field);
        field == "organizationId" || (value.is_some() && value == parent.as_ref())
    };
    preferred(constrained, |field| {
        changes.contains_key(field) && !(returns && is_placement(field))
    })
}

/// Returns the fields of a snapshot that a constraint of its entity is about. A conflict reports those of them that the restore changes.
#[must_use]
pub fn fields_of_constraint(entity: &dyn AnyEntity, snapshot: &Snapshot, constraint: &str) -> Vec<String> {
    let listed = entity.fields_of_constraint(constraint);
    if !listed.is_empty() {
        return listed.iter().map(|field| (*field).to_owned()).collect();
    }
    let tracking = entity.tracking();
    let counted = snapshot.fields().keys().filter(|field| tracking.is_counted(field));
    constrained_fields(constraint, entity.kind(), counted)
}

/// Whether a violated constraint is a unique key. Those that hold for some of the rows are indexes; no other index can be violated.
fn is_key(constraint: &str) -> bool {
    constraint.ends_with("_key") || constraint.ends_with("_idx")
}

/// Returns the fields that are the reason, or all of them if none is.
fn preferred(fields: Vec<String>, is_reason: impl Fn(&str) -> bool) -> Vec<String> {
    let reasons: Vec<String> = fields
        .iter()
        .filter(|field| is_reason(field.as_str()))
        .cloned()
        .collect();
    if reasons.is_empty() { fields } else { reasons }
}

/// Returns the kind of the resources that have rows in a table: `<module>_<plural>`, or `<module>_<entity>_<plural>` if the rows are parts of a resource.
/// `None` if the name of the table has another form.
fn kind_of<'k>(table: &str, kinds: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let owners = kinds.filter(|kind| has_rows_in(kind, table));
    owners.max_by_key(|kind| kind.len())
}

fn has_rows_in(kind: &str, table: &str) -> bool {
    let singular = kind.replace('.', "_");
    let is_plural = |ending: &str| matches!(ending, "" | "s" | "es" | "ies");
    table
        .strip_prefix(singular.trim_end_matches('y'))
        .is_some_and(is_plural)
        || table
            .strip_prefix(singular.as_str())
            .is_some_and(|rest| rest.starts_with('_'))
}

/// Returns the fields whose columns a constraint names: `<table>_tenant_id_<columns>_key` or `_idx`. None if the constraint belongs to another kind, or
/// its name has another form.
fn constrained_fields<'f>(constraint: &str, kind: &str, fields: impl Iterator<Item = &'f String>) -> Vec<String> {
    let table = kind.replace('.', "_");
    let columns = constraint
        .strip_prefix(table.trim_end_matches('y'))
        .and_then(|rest| rest.split_once("_tenant_id_"));
    let Some((_, columns)) = columns else { return Vec::new() };
    let columns = format!("_{columns}_");
    let named: Vec<&String> = fields
        .filter(|field| columns.contains(&format!("_{}_", column(field))))
        .collect();
    // `display_name` does not name the field `name`.
    let is_part = |one: &str| {
        named
            .iter()
            .any(|other| *other != one && format!("_{}_", column(other)).contains(&format!("_{}_", column(one))))
    };
    named
        .iter()
        .filter(|field| !is_part(field))
        .map(|field| (*field).clone())
        .collect()
}

/// Returns the column of a field.
fn column(field: &str) -> String {
    field.chars().fold(String::new(), |mut column, c| {
        if c.is_ascii_uppercase() {
            column.push('_');
        }
        column.push(c.to_ascii_lowercase());
        column
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constraint_violation_names_its_fields() {
        let fields = ["id", "name", "displayName", "organizationId", "pipelineStageId", "code"].map(str::to_owned);
        for (constraint, kind, expected) in [
            ("auth_roles_tenant_id_name_norm_key", "auth.role", vec!["name"]),
            (
                "auth_roles_tenant_id_display_name_key",
                "auth.role",
                vec!["displayName"],
            ),
            (
                "customers_companies_tenant_id_organization_id_code_key",
                "customers.company",
                vec!["organizationId", "code"],
            ),
            (
                "dispatch_job_sites_tenant_id_organization_id_code_idx",
                "dispatch.job_site",
                vec!["organizationId", "code"],
            ),
            (
                "auth_roles_tenant_id_pipeline_stage_id_fkey",
                "auth.role",
                vec!["pipelineStageId"],
            ),
            ("catalog_prices_tenant_id_code_key", "catalog.product", vec![]),
            ("auth_roles_pkey", "auth.role", vec![]),
        ] {
            assert_eq!(
                constrained_fields(constraint, kind, fields.iter()),
                expected,
                "{constraint}"
            );
        }
    }

    #[test]
    fn unique_indexes_are_keys() {
        assert!(is_key("auth_roles_tenant_id_name_norm_key"));
        assert!(is_key("dispatch_job_sites_tenant_id_organization_id_code_idx"));
        assert!(!is_key("auth_roles_tenant_id_pipeline_stage_id_fkey"));
    }

    #[test]
    fn the_fields_of_a_conflict_are_those_that_the_restore_changes() {
        let fields = || ["organizationId", "sku"].map(str::to_owned).to_vec();

        assert_eq!(preferred(fields(), |field| field == "sku"), ["sku"]);
        assert_eq!(preferred(fields(), |_| false), fields());
    }

    #[test]
    fn a_conflict_does_not_name_the_id_and_the_times_of_a_record() {
        let fields = ["createdAt", "id", "name", "updatedAt"].map(str::to_owned).to_vec();

        let rejection = conflict(fields).to_rejection();

        assert_eq!(rejection.fields["fields"], json!(["name"]));
    }

    #[test]
    fn a_table_belongs_to_the_kind_with_the_longest_name_that_fits() {
        let kinds = [
            "auth.role",
            "auth.role_acl",
            "auth.user",
            "calendar.series",
            "catalog.category",
            "business_rules.set",
        ];
        for (table, expected) in [
            ("auth_roles", Some("auth.role")),
            ("auth_role_acls", Some("auth.role_acl")),
            ("auth_user_roles", Some("auth.user")),
            ("calendar_series", Some("calendar.series")),
            ("catalog_categories", Some("catalog.category")),
            ("catalog_category_names", Some("catalog.category")),
            ("business_rules_settings", None),
            ("auth_sessions", None),
        ] {
            assert_eq!(kind_of(table, kinds.into_iter()), expected, "{table}");
        }
    }
}
