//! Filters and pages of the action log.

use std::collections::BTreeSet;

use backoffice_test_support::{Duration, TestApp, UndoableWrite};
use serde_json::{Value, json};

use super::rename;
use crate::call::Call as Request;
use crate::fixture::{Account, Fixture, TenantFixture, builder, text};
use crate::history::{ACCESS, ACTIONS, EXPORT, entries, unavailable};
use crate::scenarios::{rich, scenarios};
use crate::undo_invariants;

/// Inserts entries of a caller on one role, one millisecond apart, starting at 07:00.
pub(super) async fn fill(fixture: &Fixture, tenant_fixture: &TenantFixture, actor: &Account, count: u32) {
    fill_at(fixture, tenant_fixture, actor, "2026-11-20T07:00:00Z", count).await;
}

/// As `fill`, starting at another instant.
async fn fill_at(fixture: &Fixture, tenant_fixture: &TenantFixture, actor: &Account, start: &str, count: u32) {
    let sql = format!(
        "insert into audit_action_logs (tenant_id, id, seq, actor_kind, actor_id, actor_name, command_id, action_type, action_label,
            source, resource_kind, resource_id, related, execution_state, changes, changed_fields, created_at, updated_at)
         select '{0}', (substr(audit_lowest_id(at)::text, 1, 13) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1000000 + n,
            'user', '{1}', 'Filler', 'auth.role.update', 'edit', 'Update role', 'ui', 'filled', 'one', '{{}}', 'done',
            '{{\"name\": {{\"from\": 1, \"to\": 2}}}}', '{{name}}', at, at
         from (select n, timestamptz '{start}' + n * interval '1 millisecond' as at from generate_series(1, {count}) n) s",
        tenant_fixture.tenant, actor.id
    );
    assert_eq!(fixture.app.sql(&sql).await, u64::from(count));
    // The bus gives each entry a number of the stream, which is the version of the log.
    let sql = format!(
        "update core_event_streams set last_seq = last_seq + {count} where tenant_id = '{}' and name = 'log'",
        tenant_fixture.tenant
    );
    assert_eq!(fixture.app.sql(&sql).await, 1);
}

async fn list(app: &TestApp, caller: &Account, query: &str) -> Value {
    let (status, body) = app.get(&caller.token, &format!("{ACTIONS}?{query}")).await;
    assert_eq!(status, 200, "{query}: {body}");
    body
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().expect("a list");
    items.iter().map(|item| text(&item["id"])).collect()
}

#[actix_web::test]
async fn aud_23_pages_are_the_set_and_nothing_is_seen_twice() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    fill(&fixture, &fixture.a, tenant_admin, 1100).await;
    let page = async |query: &str| list(app, tenant_admin, &format!("resourceKind=filled&{query}")).await;

    let (first, second) = (page("page=1").await, page("page=2").await);
    assert_ne!(ids(&first), ids(&second));
    assert_eq!(ids(&page("offset=50").await), ids(&second));
    assert_eq!(ids(&page("limit=1000").await).len(), 1000);
    assert_eq!((&first["total"], &first["totalPages"]), (&json!(1100), &json!(22)));
    for query in ["pageSize=201", "limit=0", "offset=-1", "page=x"] {
        assert_eq!(
            app.get(&tenant_admin.token, &format!("{ACTIONS}?{query}")).await.0,
            400,
            "{query}"
        );
    }
    for (after, before, expected) in [(".100Z", ".103Z", 2), (".0999Z", ".1029Z", 2), ("Z", ".001Z", 0)] {
        let query = format!("after=2026-11-20T07:00:00{after}&before=2026-11-20T07:00:00{before}");
        assert_eq!(page(&query).await["total"], expected, "{query}");
    }
}

#[actix_web::test]
async fn aud_23_entries_that_come_meanwhile_shift_no_page_before_them() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    fill(&fixture, &fixture.a, tenant_admin, 1100).await;
    let mut minute = 0;
    let mut pages = async |bound: &str| {
        let mut seen = Vec::new();
        for number in 1..=6 {
            let query = format!("resourceKind=filled{bound}&pageSize=200&page={number}");
            seen.extend(ids(&list(app, tenant_admin, &query).await));
            let start = format!("2026-11-20T08:{minute:02}:00Z");
            fill_at(&fixture, &fixture.a, tenant_admin, &start, 30).await;
            minute += 1;
        }
        seen
    };

    let bounded = pages("&before=2026-11-20T08:00:00Z").await;
    let unbounded = pages("").await;

    let different = |seen: &[String]| seen.iter().collect::<BTreeSet<_>>().len();
    assert_eq!((bounded.len(), different(&bounded)), (1100, 1100));
    assert!(bounded.is_sorted_by(|one, next| one > next), "the newest first");
    assert!(
        different(&unbounded) < unbounded.len(),
        "they do shift what is not bounded"
    );
}

#[actix_web::test]
async fn aud_24_filters_look_at_every_field_and_at_the_class() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let body = json!({"id": fixture.a.colleague.id, "name": "Renamed", "isActive": false});
    let done = Request::put("/auth/users", body)
        .send(app, &tenant_admin.token)
        .await
        .undoable_write();
    let log_id = done.log_id.to_string();
    let found = async |query: &str| ids(&list(app, tenant_admin, query).await);

    assert_eq!(found("fieldName=name").await[0], log_id, "the second of isActive, name");
    assert!(found("actionType=edit&resourceKind=auth.user").await.contains(&log_id));
    assert!(!found("actionType=create,delete,assign").await.contains(&log_id));
    assert_eq!(found("actorUserId=").await, Vec::<String>::new());
    for query in ["actionType=change", "actorUserId=x", "actorUserId=x,y"] {
        assert_eq!(
            app.get(&tenant_admin.token, &format!("{ACTIONS}?{query}")).await.0,
            400,
            "{query}"
        );
    }
}

#[actix_web::test]
async fn aud_25_related_entries_come_only_when_asked_for() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin, tenant_fixture) = (&fixture.app, &fixture.a.tenant_admin, &fixture.a);
    let child = json!({"id": tenant_fixture.leaf, "name": "Twig"});
    let done = Request::put("/directory/organizations", child)
        .send(app, &tenant_admin.token)
        .await
        .undoable_write();
    let resource = format!(
        "resourceKind=directory.organization&resourceId={}",
        tenant_fixture.child
    );
    let found = async |query: &str| ids(&list(app, tenant_admin, &format!("{resource}&{query}")).await);

    let log_id = done.log_id.to_string();
    assert!(
        found("includeRelated=true").await.contains(&log_id),
        "its parent is the resource"
    );
    assert!(!found("includeRelated=false").await.contains(&log_id));
    assert_eq!(found("").await, found("includeRelated=off").await);
}

#[actix_web::test]
async fn aud_25_what_went_with_a_resource_has_its_removal_in_its_history() {
    let fixture = Fixture::new().await;
    let (app, tenant_fixture) = (&fixture.app, &fixture.a);
    let created = Request::post("/auth/sidebar/variants", json!({"name": "Mine"}));
    let created = created.send(app, &tenant_fixture.admin.token).await.undoable_write();
    let acl = json!({"userId": tenant_fixture.admin.id, "features": ["auth.users.list"]});
    let acl = Request::put("/auth/users/acl", acl)
        .send(app, &tenant_fixture.tenant_admin.token)
        .await;
    assert_eq!(acl.status, 200, "{}", acl.text());
    let removed = Request::delete("/auth/users", tenant_fixture.admin.id);
    let removed = removed
        .send(app, &tenant_fixture.tenant_admin.token)
        .await
        .undoable_write();
    let (status, reported) = app.undo(&tenant_fixture.tenant_admin.token, &removed).await;
    assert_eq!(status, 200, "{reported}");
    let found = async |kind: &str, id, query: &str| {
        let resource = format!("resourceKind={kind}&resourceId={id}&includeTotal=true");
        ids(&list(app, &tenant_fixture.tenant_admin, &format!("{resource}&{query}")).await)
    };

    for (kind, id) in [
        ("auth.sidebar_variant", created.resource),
        ("auth.user_acl", tenant_fixture.admin.id),
    ] {
        let own = found(kind, id, "includeRelated=false").await;
        let related = found(kind, id, "includeRelated=true").await;

        for entry in [removed.log_id.to_string(), text(&reported["traceLogId"])] {
            assert!(!own.contains(&entry), "{kind}");
            assert!(related.contains(&entry), "{kind}: {related:?}");
        }
        assert_eq!(related.len(), own.len() + 2, "{kind}");
    }
}

#[actix_web::test]
async fn aud_26_undoable_entries_really_undo() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    rename(&fixture, tenant_admin, fixture.a.role, "One").await;
    rename(&fixture, tenant_admin, fixture.a.role, "Two").await;
    rename(&fixture, &fixture.a.admin, fixture.a.spare_role, "By another").await;
    fixture
        .role(
            &fixture.a,
            "Editor",
            &[
                "auth.*",
                "audit_logs.view_tenant",
                "audit_logs.view_self",
                "audit_logs.undo_self",
            ],
            None,
        )
        .await;
    let editor = fixture.account(&fixture.a, "editor@alpha.test", &["Editor"]).await;
    let own = rename(&fixture, &editor, fixture.a.spare_role, "By the editor").await;

    let of_editor = entries(app, &editor, "undoableOnly=true&limit=1000").await;
    assert_eq!(of_editor.len(), 1, "its own only: {of_editor:?}");
    assert_eq!(of_editor[0]["id"], json!(own.log_id));
    let mut undone = 0;
    loop {
        let left = entries(
            app,
            tenant_admin,
            "undoableOnly=true&limit=1000&resourceKind=auth.role&actionType=edit",
        )
        .await;
        let Some(entry) = left.first() else { break };
        let write = UndoableWrite::from_entry(entry);
        let (status, body) = app.undo(&tenant_admin.token, write).await;
        assert_eq!(status, 200, "{entry}: {body}");
        undone += 1;
    }
    assert!(undone >= 3, "{undone}");
}

#[actix_web::test]
async fn aud_26_whatever_was_done_undoable_entries_really_undo() {
    let fixture = rich(Fixture::new().await).await;
    let (app, a) = (&fixture.app, &fixture.a);
    fixture.role(a, "Everything", &["*"], None).await;
    let doer = fixture.account(a, "doer@alpha.test", &["Everything"]).await;
    let before = undo_invariants::snapshot(&fixture).await;
    let mut done = BTreeSet::new();
    for scenario in scenarios() {
        app.advance(Duration::SECOND);
        let response = (scenario.call)(a).send(app, &doer.token).await;
        // A resource that an earlier scenario deleted is missing for a later one.
        if response.status < 300 && response.operation().is_some() {
            done.insert(scenario.command);
        }
    }

    let query = format!("undoableOnly=true&limit=1000&actorUserId={}", doer.id);
    let mut kinds = BTreeSet::new();
    while let Some(entry) = entries(app, &doer, &query).await.first() {
        let (status, body) = app.undo(&doer.token, UndoableWrite::from_entry(entry)).await;
        assert_eq!(status, 200, "{entry}: {body}");
        kinds.insert(text(&entry["commandId"]));
    }

    let done: BTreeSet<String> = done.into_iter().map(str::to_owned).collect();
    assert_eq!(kinds, done);
    assert!(done.len() >= 15, "{done:?}");
    undo_invariants::equal(&undo_invariants::snapshot(&fixture).await, &before, "all together");
}

#[actix_web::test]
async fn aud_26_what_went_with_a_role_is_undoable_again_once_the_role_is_back() {
    let fixture = Fixture::new().await;
    let (app, caller) = (&fixture.app, &fixture.a.tenant_admin);
    let role = fixture
        .role(&fixture.a, "Short-lived", &["auth.users.list"], None)
        .await;
    let acl = json!({"roleId": role, "features": ["auth.roles.list"]});
    let acl = Request::put("/auth/roles/acl", acl).send(app, &caller.token).await;
    let acl = acl.undoable_write();
    let own = json!({"itemLabels": {"users": "People"}, "applyToRoles": [role]});
    let sidebar = Request::put("/auth/sidebar/preferences", own);
    let sidebar = sidebar.send(app, &caller.token).await.undoable_write();
    let expected = [acl.log_id, sidebar.log_id].map(|id| id.to_string());
    let undoable = async || {
        let listed = ids(&list(app, caller, "undoableOnly=true&limit=1000").await);
        expected.clone().map(|id| listed.contains(&id))
    };
    assert_eq!(undoable().await, [true, true]);

    let deleted = Request::delete("/auth/roles", role).send(app, &caller.token).await;
    let deleted = deleted.undoable_write();

    assert_eq!(undoable().await, [false, false]);
    for write in [&acl, &sidebar] {
        assert_eq!(app.undo(&caller.token, write).await, (400, unavailable()));
    }
    let (status, body) = app.undo(&caller.token, &deleted).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(undoable().await, [true, true]);
    for write in [&sidebar, &acl] {
        let (status, body) = app.undo(&caller.token, write).await;
        assert_eq!(status, 200, "{body}");
    }
}

#[actix_web::test]
async fn aud_26_own_entries_without_organization_are_undoable_by_callers_limited_to_organizations() {
    let fixture = Fixture::new().await;
    let (app, a) = (&fixture.app, &fixture.a);
    fixture.role(a, "Reader", &["audit_logs.view_self"], None).await;
    fixture
        .role(
            a,
            "Undoer",
            &["audit_logs.undo_self", "auth.sidebar.manage"],
            Some(&[a.child]),
        )
        .await;
    let caller = fixture.account(a, "caller@alpha.test", &["Reader", "Undoer"]).await;
    let labels = json!({"itemLabels": {"users": "People"}});
    let done = Request::put("/auth/sidebar/preferences", labels)
        .send(app, &caller.token)
        .await
        .undoable_write();
    // This entry is of the caller's organization, in which they can't undo.
    let renamed = Request::put("/auth/profile", json!({"name": "Renamed"}));
    let renamed = renamed.send(app, &caller.token).await.undoable_write();

    let undoable = entries(app, &caller, "undoableOnly=true").await;

    assert_eq!(undoable.len(), 1, "{undoable:?}");
    assert_eq!(
        (&undoable[0]["id"], &undoable[0]["organizationId"]),
        (&json!(done.log_id), &Value::Null)
    );
    assert_eq!(app.undo(&caller.token, &renamed).await.0, 403);
    assert_eq!(
        app.undo(&caller.token, UndoableWrite::from_entry(&undoable[0])).await.0,
        200
    );
}

#[actix_web::test]
async fn aud_27_a_viewer_sees_what_its_rights_and_organizations_say() {
    let fixture = Fixture::new().await;
    let (app, a) = (&fixture.app, &fixture.a);
    fixture
        .role(a, "Auditor", &["auth.roles.*", "audit_logs.view_self"], None)
        .await;
    let viewer = fixture.account(a, "viewer@alpha.test", &["Auditor"]).await;
    rename(&fixture, &viewer, a.role, "Its own").await;
    rename(&fixture, &fixture.b.tenant_admin, fixture.b.role, "Elsewhere").await;
    let actors = async |caller: &Account| {
        let all = entries(app, caller, "limit=1000").await;
        all.iter().map(|entry| entry["actorUserId"].clone()).collect::<Vec<_>>()
    };

    assert_eq!(actors(&viewer).await, [json!(viewer.id)]);
    assert!(actors(&a.tenant_admin).await.contains(&json!(viewer.id)));
    assert!(
        !actors(&a.tenant_admin)
            .await
            .contains(&json!(fixture.b.tenant_admin.id))
    );
    let in_child = entries(app, &a.local, "limit=1000").await;
    let inside = [json!(a.child), json!(a.leaf)];
    assert!(!in_child.is_empty() && in_child.iter().all(|entry| inside.contains(&entry["organizationId"])));
    for (caller, query) in [
        (&viewer, format!("actorUserId={}", a.tenant_admin.id)),
        (&a.local, format!("organizationId={}", a.other)),
        (&a.tenant_admin, format!("organizationId={}", fixture.b.child)),
    ] {
        for path in [ACTIONS, EXPORT, ACCESS] {
            assert_eq!(
                app.get(&caller.token, &format!("{path}?{query}")).await.0,
                403,
                "{path} {query}"
            );
        }
    }
}

#[actix_web::test]
async fn aud_32_an_action_is_too_old_to_undo_after_its_time() {
    let fixture = Fixture::of(builder().config("[audit.undo]\nttl_seconds = 1\n")).await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let done = rename(&fixture, tenant_admin, fixture.a.role, "Renamed").await;
    app.advance(Duration::seconds(2));

    assert_eq!(app.undo(&tenant_admin.token, &done).await, (400, unavailable()));
    let entry = crate::history::entry(app, tenant_admin, done.log_id).await;
    assert_eq!(entry["undoToken"], Value::Null);
    assert_eq!(
        entries(app, tenant_admin, "undoableOnly=true&actionType=edit").await,
        Vec::<Value>::new()
    );
}
