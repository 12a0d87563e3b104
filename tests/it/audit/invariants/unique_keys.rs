//! Every unique key of a resource says which fields an undo reports if the key is taken.

use std::collections::BTreeSet;

use backoffice_core::command::fields_of_constraint;

use super::{Invariants, Task, table};
use crate::fixture::text;

/// Keys that no undo or redo can violate, each with the reason.
const NOT_RESTORED: [(&str, &str); 2] = [
    (
        "alerts_alerts_identity_idx",
        "no command changes what an alert is about",
    ),
    (
        "attachments_attachments_tenant_id_store_id_storage_key_key",
        "each object is of one file, and its key is never used again",
    ),
];

#[actix_web::test]
async fn aud_3_a_taken_key_names_the_fields_of_the_conflict() {
    let invariants = Invariants::new().await;
    let app = &invariants.fixture.app;
    let (mut nameless, mut seen) = (BTreeSet::new(), 0);

    for kind in invariants.kinds() {
        let entity = app.platform().registry().find_entity(kind).expect("a registered kind");
        let ids = invariants.ids(kind).await;
        let snapshots = invariants.see(Task::Load, kind, &ids).await.first;
        let snapshot = snapshots.values().next().expect("a resource of the kind");
        let keys = format!(
            "select indexrelid::regclass::text as key from pg_index
             where indrelid = '{}'::regclass and indisunique and not indisprimary",
            table(kind)
        );
        for row in app.rows(&keys).await {
            let key = text(&row["key"]);
            if fields_of_constraint(&**entity, snapshot, &key).is_empty() {
                nameless.insert(key);
            }
            seen += 1;
        }
    }

    let expected: BTreeSet<String> = NOT_RESTORED.iter().map(|(key, _)| (*key).to_owned()).collect();
    assert_eq!(
        nameless, expected,
        "keys without a field; see `Entity::fields_of_constraint`"
    );
    assert!(seen > expected.len(), "{seen} keys");
}
