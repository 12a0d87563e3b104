//! Undo and redo put no record into a deleted organization: of no entity, as the resource of the entry or as an affected one.

use std::collections::BTreeSet;

use backoffice_test_support::{REDO, UNDO, UndoableWrite};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::fixture::{Fixture, id, text};
use crate::scenarios::{rich, run, scenarios};

const ORGANIZATIONS: &str = "/directory/organizations";
const USERS: &str = "/auth/users";

/// Entities with an organization whose commands have scenarios that put them into it.
const ENTITIES: [&str; 19] = [
    "auth.user",
    "business_rules.rule",
    "business_rules.set",
    "business_rules.set_member",
    "calendar.series",
    "calendar.window",
    "catalog.category",
    "catalog.price",
    "catalog.product",
    "catalog.variant",
    "customers.company",
    "customers.deal",
    "customers.person",
    "customers.pipeline",
    "customers.pipeline_stage",
    "devices.device",
    "dispatch.assignment",
    "dispatch.job_site",
    "dispatch.resource",
];

fn conflict() -> (u16, Value) {
    let error = "The record has changed since this action";
    let body = json!({"error": error, "code": "undo_conflict", "fields": ["organizationId"]});
    (400, body)
}

#[actix_web::test]
async fn no_entity_comes_back_into_a_deleted_organization() {
    let fixture = rich(Fixture::new().await).await;
    let mut rejected = BTreeSet::new();

    for scenario in scenarios() {
        let response = (scenario.call)(&fixture.a);
        let response = response.send(&fixture.app, &fixture.a.tenant_admin.token).await;
        let mut done = response.undoable_write();
        let organizations = Organizations::of(&fixture, done.log_id).await;
        let what = format!("{} ({})", scenario.command, scenario.state);

        let undo = Call::post(UNDO, json!({"undoToken": done.token}));
        restore(&fixture, &undo, organizations.undo, &format!("{what}, undo")).await;
        let redo = Call::post(REDO, json!({"logId": done.log_id}));
        let redone = restore(&fixture, &redo, organizations.redo, &format!("{what}, redo")).await;
        if organizations.undo.or(organizations.redo).is_some() {
            rejected.insert(organizations.kind);
        }
        // Restores the state that the next scenario expects.
        done.token = text(&redone["undoToken"]);
        let (status, body) = fixture.app.undo(&fixture.a.tenant_admin.token, done).await;
        assert_eq!(status, 200, "{what}, undo again: {body}");
    }

    let missing: Vec<_> = ENTITIES.iter().filter(|kind| !rejected.contains(**kind)).collect();
    assert!(missing.is_empty(), "{missing:?} of {rejected:?}");
}

/// The organizations into which the undo and the redo of an entry put its resource.
struct Organizations {
    kind: String,
    undo: Option<Uuid>,
    redo: Option<Uuid>,
}

impl Organizations {
    async fn of(fixture: &Fixture, log_id: Uuid) -> Self {
        let sql = format!(
            "select resource_kind, snapshot_before ->> 'organizationId' as before, snapshot_after ->> 'organizationId' as after
             from audit_action_logs where id = '{log_id}'"
        );
        let row = &fixture.app.rows(&sql).await[0];
        let kind = text(&row["resource_kind"]);
        let is_entered = kind != "directory.organization" && row["before"] != row["after"];
        let entered = |column: &str| {
            let organization = Some(&row[column]).filter(|value| is_entered && !value.is_null());
            organization.map(id)
        };
        Self {
            undo: entered("before"),
            redo: entered("after"),
            kind,
        }
    }
}

/// Sends an undo or redo, first while the organization is deleted.
async fn restore(fixture: &Fixture, call: &Call, entered: Option<Uuid>, what: &str) -> Value {
    if let Some(organization) = entered {
        mark(fixture, organization, "created_at").await;
        // A super administrator of the platform does not belong to the organization.
        let response = call.send(&fixture.app, &fixture.root.token).await;
        assert_eq!((response.status, response.json()), conflict(), "{what}");
        mark(fixture, organization, "null").await;
    }
    let response = call.send(&fixture.app, &fixture.a.tenant_admin.token).await;
    assert_eq!(response.status, 200, "{what}: {}", response.text());
    response.json()
}

/// Sets when an organization was deleted, although it has records.
async fn mark(fixture: &Fixture, organization: Uuid, deleted_at: &str) {
    let sql = format!("update directory_organizations set deleted_at = {deleted_at} where id = '{organization}'");
    assert_eq!(fixture.app.sql(&sql).await, 1);
}

/// Sends a request that must have an undoable effect.
async fn write(fixture: &Fixture, call: &Call) -> UndoableWrite {
    call.send(&fixture.app, &fixture.a.tenant_admin.token)
        .await
        .undoable_write()
}

#[actix_web::test]
async fn a_user_comes_back_when_their_organization_has_come_back() {
    let fixture = Fixture::new().await;
    let (app, admin) = (&fixture.app, &fixture.a.tenant_admin);
    let organization = async |name: &str| {
        let created = run(&fixture, admin, &Call::post(ORGANIZATIONS, json!({"name": name}))).await;
        id(&created["id"])
    };
    let user = async |email: &str, organization: Uuid| {
        let body = json!({"email": email, "organizationId": organization});
        write(&fixture, &Call::post(USERS, body)).await
    };
    let (old, other) = (organization("Old").await, organization("New").await);
    let created = user("created@alpha.test", old).await;
    let (deleted, moved) = (
        user("deleted@alpha.test", old).await.resource,
        user("moved@alpha.test", old).await.resource,
    );
    assert_eq!(app.undo(&admin.token, &created).await.0, 200);
    let deletion = write(&fixture, &Call::delete(USERS, deleted)).await;
    let body = json!({"id": moved, "organizationId": other});
    let movement = write(&fixture, &Call::put(USERS, body)).await;
    let closing = write(&fixture, &Call::delete(ORGANIZATIONS, old)).await;
    let before = app.snapshot_without(&["audit_action_logs"], &[]).await;

    for rejected in [
        app.undo(&admin.token, &deletion).await,
        app.undo(&admin.token, &movement).await,
        app.redo(&admin.token, &created).await,
    ] {
        assert_eq!(rejected, conflict());
    }
    assert!(app.snapshot_without(&["audit_action_logs"], &[]).await == before);

    assert_eq!(app.undo(&admin.token, &closing).await.0, 200);
    assert_eq!(app.undo(&admin.token, &deletion).await.0, 200);
    assert_eq!(app.undo(&admin.token, &movement).await.0, 200);
    let closing = Call::delete(ORGANIZATIONS, old).send(app, &admin.token).await;
    assert_eq!(closing.status, 409, "it has users again");
}

#[actix_web::test]
async fn no_affected_record_comes_back_into_a_deleted_organization() {
    let fixture = rich(Fixture::new().await).await;
    let (app, admin, a) = (&fixture.app, &fixture.a.tenant_admin, &fixture.a);
    // The first file is the resource of the transfer, the second one is affected. Each has the id of its organization.
    let mut files = [a.child, a.other];
    files.sort();
    let deal_in = async |organization| {
        let deal = json!({"title": "A deal with files", "organizationId": organization});
        run(&fixture, admin, &Call::post("/customers/deals", deal)).await["id"].clone()
    };
    for file in files {
        let of_deal = format!(
            "update attachments_attachments set entity_id = 'customers.deal', record_id = '{}' where id = '{file}'",
            deal_in(file).await.as_str().expect("an id"),
        );
        assert_eq!(app.sql(&of_deal).await, 1);
    }
    let deal = deal_in(a.parent).await;
    let body = json!({"entityId": "customers.deal", "attachmentIds": files, "toRecordId": deal});
    let transfer = write(&fixture, &Call::post("/attachments/transfer", body)).await;
    assert_eq!(transfer.resource, files[0]);

    for deleted in files {
        mark(&fixture, deleted, "created_at").await;
        assert_eq!(app.undo(&fixture.root.token, &transfer).await, conflict());
        mark(&fixture, deleted, "null").await;
    }

    assert_eq!(app.undo(&fixture.root.token, &transfer).await.0, 200);
    let organizations = "select count(*) as n from attachments_attachments where id = organization_id";
    assert_eq!(app.rows(organizations).await[0]["n"], 6);
}
