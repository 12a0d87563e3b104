//! What modules say about the kinds of records that they offer to others.

use backoffice_core::records::RecordKind;

use crate::fixture::Fixture;
use crate::scenarios::{rich, scenarios};

#[actix_web::test]
async fn the_offered_fields_are_those_of_snapshots() {
    let fixture = rich(Fixture::new().await).await;
    let kinds: Vec<RecordKind> = fixture.app.platform().extensions::<RecordKind>().copied().collect();
    let scenarios = scenarios();
    let mut seen = 0;
    for kind in kinds.iter().filter(|kind| kind.guardable) {
        let of_kind = |command: &str| command.rsplit_once('.').is_some_and(|(of, _)| of == kind.kind);
        let scenario = scenarios.iter().find(|scenario| of_kind(scenario.command));
        let scenario = scenario.unwrap_or_else(|| panic!("a command on {}", kind.kind));
        let request = (scenario.call)(&fixture.a).request(&fixture.app, &fixture.a.tenant_admin.token);
        let response = request.send().await;
        assert!(response.status < 300, "{}: {}", scenario.command, response.text());
        let entry = response.undoable_write().log_id;
        let rows = format!(
            "select coalesce(snapshot_after, snapshot_before) as snapshot from audit_action_logs where id = '{entry}'"
        );
        let rows = fixture.app.rows(&rows).await;

        let snapshot = rows[0]["snapshot"].as_object().expect("a snapshot");
        let mut stored: Vec<&str> = snapshot
            .keys()
            .map(String::as_str)
            .filter(|name| !name.starts_with('_'))
            .collect();
        let mut offered: Vec<&str> = kind.fields.iter().map(|field| field.path).collect();
        stored.sort_unstable();
        offered.sort_unstable();
        assert_eq!(offered, stored, "{}", kind.kind);
        assert_eq!(
            kind.write.is_some(),
            kind.fields.iter().any(|field| field.writable),
            "{}",
            kind.kind
        );
        seen += 1;
    }
    assert!(seen >= 8, "{seen} kinds");
}

/// A list of files of a record is empty once the record is deleted.
#[actix_web::test]
async fn lists_of_files_depend_on_all_offered_kinds() {
    let fixture = Fixture::new().await;
    let platform = fixture.app.platform();
    let endpoints = platform.endpoints();
    let list = endpoints
        .iter()
        .find(|one| one.method == "GET" && one.path == "/attachments");
    let list = list.expect("the list of files");

    for kind in platform.extensions::<RecordKind>() {
        assert!(list.collections.contains(&kind.kind), "{}", kind.kind);
    }
}
