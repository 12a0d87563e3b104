//! Permanent deletion from the log and the database: tombstones with their entries, and personal data on request.

use backoffice_core::{Call, erasure, retention};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{rename, user};
use crate::call::Call as Request;
use crate::customers::Customer;
use crate::fixture::Fixture;
use crate::history::entries;

async fn maintain(fixture: &Fixture) {
    let complete = retention::maintain_logs(&Call::internal(fixture.app.runtime())).await;
    assert!(complete.expect("maintained"));
}

#[actix_web::test]
async fn tombstones_go_when_no_entry_can_bring_them_back() {
    let fixture = Fixture::new().await;
    let (app, a) = (&fixture.app, &fixture.a);
    let consent = json!({"consentType": "terms", "isGranted": true});
    let consented = Request::put("/auth/profile/consents", consent);
    for account in [&a.user, &a.admin] {
        assert_eq!(consented.send(app, &account.token).await.status, 200);
    }
    let consents = async || {
        let rows = app
            .rows("select user_id from auth_consents order by created_at, id")
            .await;
        rows.iter().map(|row| row["user_id"].clone()).collect::<Vec<_>>()
    };
    for (path, id) in [
        ("/auth/users", a.user.id),
        ("/auth/users", a.colleague.id),
        ("/directory/organizations", a.leaf),
    ] {
        let response = Request::delete(path, id).send(app, &a.tenant_admin.token).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    let age = |table: &str, id, at: &str| format!("update {table} set deleted_at = '{at}' where id = '{id}'");
    let tombs = async || {
        let sql = "select (select count(*) from auth_users where deleted_at is not null) as users,
            (select count(*) from directory_organizations where deleted_at is not null) as organizations,
            (select count(*) from auth_users) + (select count(*) from directory_organizations) as rows";
        app.rows(sql).await.remove(0)
    };
    let rows = tombs().await["rows"].as_i64().expect("a number");
    assert_eq!(tombs().await, json!({"users": 2, "organizations": 1, "rows": rows}));

    maintain(&fixture).await;
    assert_eq!(tombs().await["users"], 2, "they are young");
    let both = [json!(a.user.id), json!(a.admin.id)];
    assert_eq!(consents().await, both, "a consent stays while its user can come back");

    // The 24 months before November 2026 are kept, including the last day of the oldest one.
    app.sql(&age("auth_users", a.user.id, "2024-10-31T23:59:59.999Z")).await;
    app.sql(&age("auth_users", a.colleague.id, "2024-11-01T00:00:00Z"))
        .await;
    app.sql(&age("directory_organizations", a.leaf, "2024-10-01T00:00:00Z"))
        .await;
    app.sql(&format!(
        "update auth_users set organization_id = '{}' where id = '{}'",
        a.leaf, a.colleague.id
    ))
    .await;
    maintain(&fixture).await;
    let expected = json!({"users": 1, "organizations": 1, "rows": rows - 1});
    assert_eq!(
        tombs().await,
        expected,
        "an organization that a tombstone refers to waits for it"
    );
    assert_eq!(
        consents().await,
        both[1..],
        "it goes with its user, those of others stay"
    );
    let (_, others) = app
        .get(
            &a.tenant_admin.token,
            &format!("/auth/users/consents?userId={}", a.admin.id),
        )
        .await;
    assert_eq!(others["items"][0]["integrityVerified"], true, "{others}");

    app.sql(&age("auth_users", a.colleague.id, "2024-10-31T00:00:00Z"))
        .await;
    maintain(&fixture).await;
    maintain(&fixture).await;
    assert_eq!(tombs().await, json!({"users": 0, "organizations": 0, "rows": rows - 3}));
}

#[actix_web::test]
async fn a_shorter_retention_deletes_nothing_that_the_log_still_needs() {
    let builder = crate::fixture::builder().config("[audit.action]\nretention_months = 1\n");
    let fixture = Fixture::of(builder).await;
    let (app, a) = (&fixture.app, &fixture.a);
    // The retention that `migrate` has stored.
    let keep = async |kept: &str| {
        let sql = format!("update core_monthly_tables set kept = '{kept}' where name = 'audit_action_logs'");
        assert_eq!(app.sql(&sql).await, 1);
    };
    keep("24 months").await;
    let delete = async |id: Uuid| {
        let call = Request::delete("/auth/users", id);
        call.send(app, &a.tenant_admin.token).await.undoable_write()
    };
    let (first, second) = (delete(a.user.id).await, delete(a.colleague.id).await);
    let old = "audit_lowest_id(timestamptz '2026-06-10')";
    for sql in [
        "update auth_users set deleted_at = '2026-06-10' where deleted_at is not null".to_owned(),
        format!(
            "update audit_resource_versions set last_log_id = {old}
             where resource_kind = 'auth.user' and resource_id in ('{}', '{}')",
            first.resource, second.resource
        ),
        format!(
            "insert into audit_action_links (tenant_id, id, resource_kind, resource_id, log_id)
             values ('{0}', {old}, 'a.b', 'c', {old}), ('{0}', gen_random_uuid(), 'a.b', 'd', {old})",
            a.tenant
        ),
    ] {
        assert_eq!(app.sql(&sql).await, 2, "{sql}");
    }
    let left = async || {
        let sql = format!(
            "select (select count(*) from auth_users where deleted_at is not null) as users,
                (select count(*) from audit_resource_versions where last_log_id = {old}) as versions,
                (select count(*) from audit_action_links where log_id = {old}) as links"
        );
        app.rows(&sql).await.remove(0)
    };

    maintain(&fixture).await;

    assert_eq!(left().await, json!({"users": 2, "versions": 2, "links": 2}));
    assert_eq!(app.undo(&a.tenant_admin.token, &first).await.0, 200);
    keep("1 month").await;
    maintain(&fixture).await;
    assert_eq!(left().await, json!({"users": 0, "versions": 0, "links": 0}));
    assert_eq!(app.undo(&a.tenant_admin.token, &second).await.0, 400);
}

#[actix_web::test]
async fn where_the_log_is_kept_for_ever_so_are_tombstones() {
    let fixture = Fixture::of(crate::fixture::builder().config("[audit.action]\nretention_months = 0\n")).await;
    let id = fixture.a.user.id;
    let response = Request::delete("/auth/users", id)
        .send(&fixture.app, &fixture.a.tenant_admin.token)
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    fixture
        .app
        .sql("update auth_users set deleted_at = '2001-01-01' where deleted_at is not null")
        .await;

    maintain(&fixture).await;

    let left = fixture
        .app
        .rows("select id from auth_users where deleted_at is not null")
        .await;
    assert_eq!(left, [json!({"id": id})]);
}

#[actix_web::test]
async fn erasing_empties_the_entries_of_a_resource_and_takes_its_name_away() {
    let fixture = Fixture::new().await;
    let (app, a) = (&fixture.app, &fixture.a);
    let put = async |body: Value| {
        Request::put("/auth/users", body)
            .send(app, &a.tenant_admin.token)
            .await
            .undoable_write()
    };
    let own = rename(&fixture, &a.admin, a.role, "By the subject").await;
    app.get(&a.admin.token, "/auth/roles").await;
    let edit = put(json!({"id": a.admin.id, "name": "Known Name"})).await;
    let undone = put(json!({"id": a.admin.id, "name": "Other Name"})).await;
    assert_eq!(app.undo(&a.tenant_admin.token, &undone).await.0, 200);
    let other = put(json!({"id": a.user.id, "name": "Somebody Else"})).await;
    let call = Call::internal(app.runtime());

    let elsewhere = erasure::erase(&call, fixture.b.tenant, "auth.user", a.admin.id).await;
    assert_eq!(elsewhere.expect("nothing to do"), 0);
    let snapshot = app.snapshot().await;
    assert!(
        snapshot["audit_action_logs"]
            .iter()
            .any(|row| row.to_string().contains("Known Name"))
    );
    let erased = erasure::erase(&call, a.tenant, "auth.user", a.admin.id)
        .await
        .expect("erased");

    assert!(erased >= 3, "{erased}");
    let about = entries(
        app,
        &a.tenant_admin,
        &format!("resourceKind=auth.user&resourceId={}", a.admin.id),
    )
    .await;
    assert_eq!(i64::try_from(about.len()).expect("few"), erased, "the entries stay");
    for entry in &about {
        for name in [
            "snapshotBefore",
            "snapshotAfter",
            "changes",
            "actorUserName",
            "undoToken",
        ] {
            assert_eq!(entry[name], Value::Null, "{name} of {entry}");
        }
    }
    let snapshot = app.snapshot().await;
    for (table, name) in [
        ("audit_action_logs", "Known Name"),
        ("audit_action_logs", "Name of admin@alpha.test"),
        ("audit_access_logs", "Name of admin@alpha.test"),
    ] {
        let left = snapshot[table]
            .iter()
            .filter(|row| row["resource_id"] != json!(a.role.to_string()));
        let naming = left.filter(|row| row["actor_name"] == json!(name) || row["changes"].to_string().contains(name));
        assert_eq!(naming.count(), 0, "{table} {name}");
    }
    assert_eq!(app.undo(&a.tenant_admin.token, &edit).await.0, 400);
    assert_eq!(app.redo(&a.tenant_admin.token, &undone).await.0, 400);
    assert_eq!(
        user(&fixture, a.admin.id).await["name"],
        "Known Name",
        "the data itself is the module's"
    );
    assert_eq!(
        app.undo(&a.tenant_admin.token, &other).await.0,
        200,
        "what others did goes on"
    );
    assert_eq!(
        app.undo(&a.tenant_admin.token, &own).await.0,
        200,
        "also what the subject did to others"
    );
    assert_eq!(
        erasure::erase(&call, a.tenant, "auth.user", a.admin.id)
            .await
            .expect("again"),
        erased
    );
}

#[actix_web::test]
async fn an_undo_that_meets_an_erasure_brings_nothing_back() {
    let fixture = Fixture::new().await;
    let (app, a) = (&fixture.app, &fixture.a);
    let body = json!({"id": a.admin.id, "name": "Known Name"});
    let edit = Request::put("/auth/users", body)
        .send(app, &a.tenant_admin.token)
        .await
        .undoable_write();
    let erase = format!("select audit_erase('{}', 'auth.user', '{}')", a.tenant, a.admin.id);

    // The erasure locks the entry after the undo has found it, and commits before the undo locks it.
    app.sql(&format!("begin; set local app.tenant_id = '{}'; {erase}", a.tenant))
        .await;
    let waiting = "select 1 as one from pg_locks where not granted and transactionid = pg_current_xact_id()::xid";
    let erasing = async {
        while app.rows(waiting).await.is_empty() {
            tokio::task::yield_now().await;
        }
        app.sql("commit").await;
    };
    let ((status, response), ()) = futures_util::future::join(app.undo(&a.tenant_admin.token, &edit), erasing).await;

    assert_eq!((status, response), (400, crate::history::unavailable()));
    assert_eq!(user(&fixture, a.admin.id).await["name"], "Known Name");
    let names = "select 1 as found from audit_action_logs where snapshot_after::text like '%Known Name%'";
    assert!(app.rows(names).await.is_empty());
}

#[actix_web::test]
async fn erasing_reaches_the_entries_of_what_the_resource_was_a_part_of() {
    let setting = crate::endpoints::Setting::new(Fixture::new().await).await;
    let (app, a) = (&setting.fixture.app, &setting.fixture.a);
    let [one, two] = [Customer::FreeStage, Customer::SecondFreeStage].map(|stage| stage.of(a));
    let pipeline = Customer::FreePipeline.of(a);
    let send = async |call: Request| call.send(app, &a.tenant_admin.token).await.undoable_write();
    let named = json!({"id": one, "label": "Known Label"});
    send(Request::put("/customers/pipeline-stages", named)).await;
    let order = json!({"pipelineId": pipeline, "ids": [two, one]});
    let reordered = send(Request::post("/customers/pipeline-stages/reorder", order)).await;
    let deleted = send(Request::delete("/customers/pipelines", pipeline)).await;
    let telling = async || {
        let sql = "select command_id from audit_action_logs
            where concat(snapshot_before, snapshot_after, changes, touched) like '%Known Label%' order by seq";
        let rows = app.rows(sql).await;
        rows.iter().map(|row| row["command_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(telling().await.len(), 3, "{:?}", telling().await);

    let call = Call::internal(app.runtime());
    erasure::erase(&call, a.tenant, "customers.pipeline_stage", one)
        .await
        .expect("erased");

    assert_eq!(telling().await, Vec::<Value>::new());
    let (status, _) = app.undo(&a.tenant_admin.token, &deleted).await;
    assert_eq!(status, 200, "the pipeline comes back without it");
    let stages = format!("select id from customers_pipeline_stages where pipeline_id = '{pipeline}'");
    assert_eq!(app.rows(&stages).await, [json!({"id": two})]);
    assert_eq!(
        app.undo(&a.tenant_admin.token, &reordered).await.0,
        400,
        "there is nothing to restore it from"
    );
}

#[actix_web::test]
async fn several_resources_are_erased_together() {
    let setting = crate::endpoints::Setting::new(Fixture::new().await).await;
    let (app, a) = (&setting.fixture.app, &setting.fixture.a);
    let stages = [Customer::FreeStage, Customer::SecondFreeStage].map(|stage| stage.of(a));
    let pipeline = Customer::FreePipeline.of(a);
    let send = async |call: Request| call.send(app, &a.tenant_admin.token).await.undoable_write();
    for stage in stages {
        let named = json!({"id": stage, "label": format!("Known {stage}")});
        send(Request::put("/customers/pipeline-stages", named)).await;
    }
    let order = json!({"pipelineId": pipeline, "ids": [stages[1], stages[0]]});
    let reordered = send(Request::post("/customers/pipeline-stages/reorder", order)).await;
    let deleted = send(Request::delete("/customers/pipelines", pipeline)).await;
    let containing = async |text: &str| {
        let entry = "concat(snapshot_before, snapshot_after, changes, touched)";
        app.count(&format!("audit_action_logs where {entry} like '%{text}%'"))
            .await
    };
    let name = "Support";
    assert!(containing(name).await > 0, "the pipeline's own");
    for stage in stages {
        assert_eq!(containing(&format!("Known {stage}")).await, 3);
    }
    let about = "audit_action_logs where resource_kind = 'customers.pipeline_stage' and resource_id in";
    let about = format!("{about} ('{}', '{}')", stages[0], stages[1]);
    let (entries_about, entries_naming) = (app.count(&about).await, containing(name).await);

    let call = Call::internal(app.runtime());
    let erased = erasure::erase_resources(&call, a.tenant, "customers.pipeline_stage", &stages)
        .await
        .expect("erased");

    assert_eq!(erased, entries_about);
    assert_eq!(containing("Known ").await, 0);
    assert_eq!(containing(name).await, entries_naming, "other contents stay");
    let kept = app
        .rows(&format!(
            "select t.one ->> 'id' as id, t.one -> 'before' as before, t.one -> 'after' as after
             from audit_action_logs l, jsonb_array_elements(l.touched) t (one) where l.id = '{}'
             order by (t.one ->> 'id')::uuid",
            reordered.log_id
        ))
        .await;
    let nothing = |id: Uuid| json!({"id": id, "before": null, "after": null});
    let mut ordered = stages;
    ordered.sort();
    assert_eq!(kept, ordered.map(nothing));
    let parts = format!(
        "select snapshot_before -> '_children' -> 'customers.pipeline_stage' as parts from audit_action_logs where id = '{}'",
        deleted.log_id
    );
    assert_eq!(app.rows(&parts).await, [json!({"parts": []})]);
}
