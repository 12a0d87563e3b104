//! The differences between two snapshots.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::entity::Tracking;
use super::snapshot::{CHILDREN, LINKS, Snapshot};

/// Returns `{field: {from, to}}` of the tracked fields that differ, without the fields that never count as a change.
pub(super) fn between(
    tracking: Tracking,
    before: Option<&Snapshot>,
    after: Option<&Snapshot>,
) -> BTreeMap<String, Value> {
    let value = |snapshot: Option<&Snapshot>, name: &str| snapshot.and_then(|one| one.get(name)).cloned();
    let snapshots = before.into_iter().chain(after);
    let names: BTreeSet<&String> = snapshots.flat_map(|snapshot| snapshot.fields().keys()).collect();
    names
        .into_iter()
        .filter(|name| tracking.is_counted(name))
        .filter_map(|name| {
            let (from, to) = (
                value(before, name).unwrap_or_default(),
                value(after, name).unwrap_or_default(),
            );
            (from != to).then(|| (name.clone(), json!({"from": from, "to": to})))
        })
        .collect()
}

/// Returns the names of the tracked fields and child kinds in which two snapshots differ: the obstacles to an undo.
pub(super) fn differing(tracking: Tracking, expected: Option<&Snapshot>, present: Option<&Snapshot>) -> Vec<String> {
    let empty = Map::new();
    let expected = expected.map_or(&empty, Snapshot::fields);
    let present = present.map_or(&empty, Snapshot::fields);
    let mut names: Vec<String> = expected
        .iter()
        .chain(present)
        .filter(|(name, _)| tracking.is_tracked(name) && expected.get(*name) != present.get(*name))
        .map(|(name, _)| name.clone())
        .collect();
    let inner_expected = children(expected).unwrap_or(&empty);
    let inner_present = children(present).unwrap_or(&empty);
    names.extend(
        inner_expected
            .iter()
            .chain(inner_present)
            .filter(|(kind, _)| stripped(inner_expected.get(*kind)) != stripped(inner_present.get(*kind)))
            .map(|(kind, _)| kind.clone()),
    );
    names.extend(differing_links(expected.get(LINKS), present.get(LINKS)));
    names.sort();
    names.dedup();
    names
}

fn children(fields: &Map<String, Value>) -> Option<&Map<String, Value>> {
    fields.get(CHILDREN)?.as_object()
}

/// Returns the kinds of the rows that refer to the resource in only one of the snapshots.
fn differing_links(expected: Option<&Value>, present: Option<&Value>) -> Vec<String> {
    let links = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let (expected, present) = (links(expected), links(present));
    let only = |some: &[Value], others: &[Value]| -> Vec<String> {
        some.iter()
            .filter(|link| !others.contains(link))
            .filter_map(|link| link.get("kind").and_then(Value::as_str).map(str::to_owned))
            .collect()
    };
    [only(&expected, &present), only(&present, &expected)].concat()
}

/// Returns child rows without their `updatedAt`, which moves whenever they are restored.
fn stripped(rows: Option<&Value>) -> Vec<Value> {
    let mut rows = rows.and_then(Value::as_array).cloned().unwrap_or_default();
    for row in &mut rows {
        if let Some(row) = row.as_object_mut() {
            row.remove("updatedAt");
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACKING: Tracking = Tracking {
        volatile: &["updatedAt"],
        secret: &["passwordHash"],
    };

    fn snapshot(value: Value) -> Snapshot {
        Snapshot::from_value(value).expect("an object")
    }

    #[test]
    fn only_tracked_fields_that_differ_are_changes() {
        let before = snapshot(json!({"id": "1", "name": "a", "roleIds": [], "updatedAt": "x"}));
        let after = snapshot(json!({"id": "1", "name": "b", "roleIds": [], "updatedAt": "y"}));

        assert_eq!(
            between(TRACKING, Some(&before), Some(&after)),
            BTreeMap::from([("name".to_owned(), json!({"from": "a", "to": "b"}))])
        );
        assert_eq!(
            between(TRACKING, None, Some(&after)).keys().collect::<Vec<_>>(),
            ["name", "roleIds"]
        );
    }

    #[test]
    fn a_changed_child_is_named_by_its_kind() {
        let expected = snapshot(json!({"id": "1", "_children": {"a.b": [{"id": "2", "updatedAt": "x"}]}}));
        let same = snapshot(json!({"id": "1", "_children": {"a.b": [{"id": "2", "updatedAt": "y"}]}}));
        let other = snapshot(json!({"id": "1", "_children": {"a.b": []}}));

        assert!(differing(TRACKING, Some(&expected), Some(&same)).is_empty());
        assert_eq!(differing(TRACKING, Some(&expected), Some(&other)), ["a.b"]);
    }

    #[test]
    fn a_reference_that_came_is_named_by_its_kind() {
        let link = json!({"kind": "a.b", "id": "2", "field": "parentId", "value": "1"});
        let alone = snapshot(json!({"id": "1", "_links": []}));
        let referred = snapshot(json!({"id": "1", "_links": [link]}));

        assert!(differing(TRACKING, Some(&referred), Some(&referred)).is_empty());
        assert_eq!(differing(TRACKING, Some(&alone), Some(&referred)), ["a.b"]);
        assert_eq!(differing(TRACKING, Some(&referred), None), ["a.b", "id"]);
    }
}
