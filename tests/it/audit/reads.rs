//! The access log: the recorded reads.

use std::collections::BTreeSet;

use actix_web::http::Method;
use backoffice_test_support::{Duration, TestApp};
use serde_json::{Value, json};

use crate::call::Call;
use crate::endpoints::Setting;
use crate::fixture::{Account, Fixture, TenantFixture, builder};
use crate::history::{ACCESS, ACTIONS, EXPORT};

const ROWS: &str = "select tenant_id, actor_id, actor_name, organization_id, resource_kind, resource_id, access_type, fields, context \
                    from audit_access_logs";

async fn read(app: &TestApp, caller: &Account, path: &str) -> Value {
    let (status, body) = app.get(&caller.token, path).await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

async fn accesses(app: &TestApp, caller: &Account, query: &str) -> Vec<Value> {
    let page = read(app, caller, &format!("{ACCESS}?{query}")).await;
    page["items"].as_array().expect("a list").clone()
}

#[actix_web::test]
async fn aud_29_a_list_is_recorded_row_by_row_in_one_statement_once_per_window() {
    let fixture = Fixture::of(builder().through_proxy()).await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    for number in 0..95 {
        let role = json!({"name": format!("Role {number}")});
        assert_eq!(app.post(&tenant_admin.token, "/auth/roles", role).await.0, 201);
    }
    let list = async || read(app, tenant_admin, "/auth/roles?pageSize=100").await;
    let count = async || app.rows("select count(*) as n from audit_access_logs").await[0]["n"].clone();

    let (page, first) = app.count_statements(list()).await;
    let shown = page["items"].as_array().expect("a list").len();
    assert_eq!((shown, count().await), (100, json!(100)));
    let (_, second) = app.count_statements(list()).await;
    assert_eq!(
        (first, count().await),
        (second + 3, json!(100)),
        "nothing is sent for what is known: the record, the total, the numbers of users"
    );

    let other_node = fixture.app.second_node().await;
    read(&other_node, tenant_admin, "/auth/roles?pageSize=100").await;
    assert_eq!(count().await, json!(100), "the database knows it for all nodes");
    let one = page["items"][0]["id"].as_str().expect("an id");
    read(app, tenant_admin, &format!("/auth/roles?id={one}")).await;
    assert_eq!(count().await, json!(101), "another way of reading");
    app.advance(Duration::minutes(15));
    let again = fixture.sign_in(&tenant_admin.email).await;
    read(app, &again, "/auth/roles?pageSize=100").await;
    assert_eq!(count().await, json!(201), "another window");
}

#[actix_web::test]
async fn lists_of_the_logs_cost_three_statements_with_their_own_record() {
    let fixture = Fixture::of(builder().through_proxy().config("[audit.access]\nwindow_seconds = 0\n")).await;
    let (app, a) = (&fixture.app, &fixture.a);
    read(app, &a.local, &format!("/auth/users?id={}", a.colleague.id)).await;
    super::rename(&fixture, &a.admin, a.role, "Renamed").await;
    let statements = async |caller: &Account, path: &str| app.count_statements(read(app, caller, path)).await.1;
    let of = |path: &str, organization| format!("{path}?organizationId={organization}&actorUserId={}", a.local.id);
    let mut costs = Vec::new();

    // The first round prepares the statements of the connection.
    for _ in 0..2 {
        costs.clear();
        for path in [
            ACTIONS.to_owned(),
            ACCESS.to_owned(),
            format!("{ACTIONS}?organizationId={}", a.child),
            of(ACCESS, a.child),
            of(ACTIONS, a.other),
            of(ACCESS, a.other),
        ] {
            costs.push((statements(&a.tenant_admin, &path).await, path));
        }
    }

    // One statement that identifies the caller, and one of the profile itself.
    assert_eq!(statements(&a.tenant_admin, "/auth/profile").await, 2);
    assert!(costs.iter().all(|(count, _)| *count <= 1 + 3), "{costs:?}");
}

#[actix_web::test]
async fn each_page_of_the_access_log_shows_what_the_whole_list_shows() {
    let fixture = Fixture::of(builder()).await;
    let (app, a) = (&fixture.app, &fixture.a);
    read(app, &a.tenant_admin, "/auth/users?pageSize=100").await;
    let kind = "resourceKind=auth.user";
    let whole = accesses(app, &a.tenant_admin, &format!("{kind}&pageSize=200")).await;
    assert!(whole.len() > 2, "{whole:?}");

    for (index, item) in whole.iter().enumerate() {
        let query = format!("{kind}&pageSize=1&page={}", index + 1);
        let page = accesses(app, &a.tenant_admin, &query).await;
        assert_eq!(page.as_slice(), std::slice::from_ref(item), "{query}");
    }
    let beyond = format!("{kind}&pageSize=1&page={}", whole.len() + 1);
    assert_eq!(accesses(app, &a.tenant_admin, &beyond).await, Vec::<Value>::new());
}

#[actix_web::test]
async fn the_total_counts_what_was_added_removed_and_changed_since_the_last_reading() {
    let fixture = Fixture::of(builder().config("[audit.access]\nwindow_seconds = 0\n")).await;
    let (app, a) = (&fixture.app, &fixture.a);
    let other_node = app.second_node().await;
    let total_is_exact = async |caller: &Account, filter: &str, condition: &str| {
        let page = read(app, caller, &format!("{ACCESS}?{filter}")).await;
        let sql = format!(
            "select count(*) as n from audit_access_logs where tenant_id = '{}' and {condition} \
             and created_at < date_trunc('milliseconds', '{}'::timestamptz)",
            a.tenant,
            app.now()
        );
        assert_eq!(page["total"], app.rows(&sql).await[0]["n"], "{filter}");
        page["total"].as_i64().expect("a number")
    };
    let by_local = format!("actor_id = '{}'", a.local.id);
    let mut totals = Vec::new();

    for _ in 0..6 {
        let (caller, local) = (
            fixture.sign_in(&a.tenant_admin.email).await,
            fixture.sign_in(&a.local.email).await,
        );
        for node in [app, &other_node] {
            read(node, &local, &format!("/auth/users?id={}", a.colleague.id)).await;
        }
        app.advance(Duration::minutes(35));
        totals.push(total_is_exact(&caller, "pageSize=1", "true").await);
        total_is_exact(&caller, &format!("actorUserId={}", a.local.id), &by_local).await;
    }
    assert!(
        totals.is_sorted() && totals[0] >= 2 && totals[5] > totals[0] + 8,
        "{totals:?}"
    );

    app.sql("delete from audit_access_logs where id in (select id from audit_access_logs order by id limit 3)")
        .await;
    fixture.change_all_collections().await;
    app.advance(Duration::minutes(1));
    let caller = fixture.sign_in(&a.tenant_admin.email).await;
    total_is_exact(&caller, "pageSize=1", "true").await;
}

#[actix_web::test]
async fn an_entry_records_names_and_no_values() {
    let fixture = Fixture::new().await;
    let (tenant_admin, colleague) = (&fixture.a.tenant_admin, &fixture.a.colleague);

    read(&fixture.app, tenant_admin, "/auth/users?search=colleague&page=1").await;

    let rows = fixture
        .app
        .rows(&format!("{ROWS} where resource_kind = 'auth.user'"))
        .await;
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    let expected = [
        ("tenant_id", json!(fixture.a.tenant)),
        ("actor_id", json!(tenant_admin.id)),
        ("actor_name", json!("Name of keeper@alpha.test")),
        ("organization_id", json!(fixture.a.child)),
        ("resource_id", json!(colleague.id.to_string())),
        ("access_type", json!("read:list")),
        (
            "context",
            json!({"path": "/auth/users", "queryKeys": ["page", "search"], "resultCount": 1}),
        ),
    ];
    for (column, value) in expected {
        assert_eq!(row[column], value, "{column}");
    }
    let fields: Vec<&str> = row["fields"]
        .as_array()
        .expect("names")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        fields.is_sorted() && fields.contains(&"email") && fields.contains(&"roles"),
        "{fields:?}"
    );
}

#[actix_web::test]
async fn every_endpoint_that_declares_reads_records_them() {
    // By default, the reads of some kinds are not recorded.
    let all_kinds = "[audit.access]\ndisabled_kinds = []\n";
    let setting = Setting::new(Fixture::of(builder().config(all_kinds)).await).await;
    let app = &setting.fixture.app;
    let mut declared = BTreeSet::new();
    // Records reads and actions of other users, so that the lists are not empty.
    read(app, &setting.fixture.a.admin, "/auth/roles").await;
    let consent = json!({"consentType": "terms", "isGranted": true});
    for tenant_fixture in [&setting.fixture.a, &setting.fixture.b] {
        let consented = Call::put("/auth/profile/consents", consent.clone());
        assert_eq!(consented.send(app, &tenant_fixture.colleague.token).await.status, 200);
    }

    for (info, entry) in setting.endpoints() {
        let Some(kind) = info.reads else { continue };
        declared.insert(kind);
        app.advance(Duration::minutes(15));
        let caller = setting.sender(&entry);
        let response = setting.call(&entry).send(app, &caller.token).await;

        assert_eq!(response.status, 200, "{}", info.path);
        let now = app.now();
        let query = format!("{ROWS} where resource_kind = '{kind}' and created_at = '{now}'");
        let rows = app.rows(&query).await;
        assert!(!rows.is_empty(), "{} {} records nothing", info.method, info.path);
        let own = rows.iter().all(|row| row["actor_id"] == json!(caller.id));
        assert!(own, "{}", info.path);
    }

    for kind in [
        "auth.user",
        "auth.role",
        "auth.user_acl",
        "auth.role_acl",
        "auth.consent",
        "audit_logs.action",
        "audit_logs.access",
    ] {
        assert!(declared.contains(kind), "{kind}");
    }
}

#[actix_web::test]
async fn a_read_that_can_not_be_recorded_fails() {
    let fixture = Fixture::new().await;
    fixture
        .app
        .sql("alter table audit_access_logs add constraint refused check (resource_kind <> 'auth.role')")
        .await;

    let (status, body) = fixture.app.get(&fixture.a.tenant_admin.token, "/auth/roles").await;

    assert_eq!(
        (status, &body["error"]),
        (503, &json!("Service temporarily unavailable"))
    );
}

#[actix_web::test]
async fn kinds_can_be_left_out_and_windows_closed() {
    let config = "[audit.access]\nwindow_seconds = 0\ndisabled_kinds = ['auth.role']\n";
    let fixture = Fixture::of(builder().config(config)).await;

    for _ in 0..3 {
        read(&fixture.app, &fixture.a.tenant_admin, "/auth/roles").await;
        read(&fixture.app, &fixture.a.tenant_admin, "/auth/users?search=colleague").await;
    }

    let rows = fixture.app.rows(ROWS).await;
    assert_eq!(rows.len(), 3, "every read of a user, none of a role");
}

#[actix_web::test]
async fn aud_30_a_super_administrators_doings_are_seen_in_the_tenant() {
    let fixture = Fixture::new().await;
    let (app, root, a, b) = (&fixture.app, &fixture.root, &fixture.a, &fixture.b);
    let select = |method, path: &str| {
        app.request(method, path)
            .bearer(&root.token)
            .header("X-Tenant-Id", &a.tenant.to_string())
    };
    let read = select(Method::GET, &format!("/auth/users?id={}", a.colleague.id))
        .send()
        .await;
    assert_eq!(read.status, 200, "{}", read.text());
    let renamed = select(Method::PUT, "/auth/roles").json(&json!({"id": a.role, "name": "Renamed"}));
    assert_eq!(renamed.send().await.status, 200);

    let seen = accesses(app, &a.tenant_admin, "resourceKind=auth.user").await;
    assert_eq!(seen.len(), 1, "{seen:?}");
    let reported =
        ["actorUserName", "actorUserId", "tenantName", "resourceId", "accessType"].map(|name| seen[0][name].clone());
    let colleague = json!(a.colleague.id);
    let expected = [
        json!("Name of root@platform.test"),
        json!(root.id),
        json!("alpha"),
        colleague,
        json!("read:item"),
    ];
    assert_eq!(reported, expected);
    let actions = crate::history::entries(app, &a.tenant_admin, &format!("actorUserId={}", root.id)).await;
    assert_eq!(actions[0]["actorUserName"], "Name of root@platform.test");
    assert_eq!(accesses(app, &b.tenant_admin, "").await, Vec::<Value>::new());
    let others = crate::history::entries(app, &b.tenant_admin, &format!("actorUserId={}", root.id)).await;
    assert_eq!(others, Vec::<Value>::new());
}

#[actix_web::test]
async fn aud_30_a_read_over_several_tenants_is_logged_in_each_with_its_own_rows() {
    let fixture = Fixture::new().await;
    let (app, a, b) = (&fixture.app, &fixture.a, &fixture.b);
    super::rename(&fixture, &a.admin, a.role, "Renamed").await;
    read(app, &a.tenant_admin, "/auth/roles").await;
    read(app, &b.tenant_admin, "/auth/roles").await;
    let recorded = async |kind: &str, access: &str| {
        let sql = format!("{ROWS} where resource_kind = '{kind}' and access_type = '{access}' and resource_id = '*'");
        let reported = async |tenant_fixture: &TenantFixture| {
            let rows = app
                .rows(&format!("{sql} and tenant_id = '{}'", tenant_fixture.tenant))
                .await;
            let counts = rows.iter().map(|row| row["context"]["resultCount"].clone());
            counts.collect::<Vec<_>>()
        };
        (reported(a).await, reported(b).await)
    };
    let of_all = async |path: &str| {
        let request = app.request(Method::GET, path).bearer(&fixture.root.token);
        let response = request.header("X-Tenant-Id", "all").send().await;
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response
    };

    let shown = of_all(&format!("{ACTIONS}?limit=1000")).await.json()["items"].clone();
    let shown = shown.as_array().expect("a list").len();
    assert!(shown > 20, "{shown}");
    let expected = (vec![json!(shown)], vec![json!(shown)]);
    assert_eq!(recorded("audit_logs.action", "read:list").await, expected);
    of_all(EXPORT).await;
    assert_eq!(recorded("audit_logs.action", "export").await, expected);
    let reads = of_all(ACCESS).await.json()["items"].clone();
    let reads = json!(reads.as_array().expect("a list").len());
    let expected = (vec![reads.clone()], vec![reads]);
    assert_eq!(recorded("audit_logs.access", "read:list").await, expected);

    app.advance(Duration::minutes(15));
    of_all(&format!(
        "{EXPORT}?resourceKind=auth.role&resourceId={}&actionType=edit",
        a.role
    ))
    .await;
    let (of_a, of_b) = recorded("audit_logs.action", "export").await;
    assert_eq!((of_a.len(), of_b.len()), (2, 1), "b had nothing to do with it");
    assert!(of_a.contains(&json!(1)), "{of_a:?}");
}

#[actix_web::test]
async fn the_access_log_shows_what_the_caller_may_see() {
    let fixture = Fixture::new().await;
    let (app, a) = (&fixture.app, &fixture.a);
    read(app, &a.tenant_admin, &format!("/auth/users?id={}", a.colleague.id)).await;
    read(app, &a.local, &format!("/auth/users?id={}", a.colleague.id)).await;
    read(app, &a.tenant_admin, &format!("/auth/users?id={}", a.user.id)).await;
    let about = async |caller: &Account, query: &str| {
        let page = read(app, caller, &format!("{ACCESS}?resourceKind=auth.user&{query}")).await;
        (page["total"].clone(), page["canViewTenant"].clone())
    };

    assert_eq!(about(&a.tenant_admin, "").await, (json!(3), json!(true)));
    assert_eq!(
        about(&a.local, "").await,
        (json!(2), json!(true)),
        "of its organization"
    );
    assert_eq!(
        about(&a.tenant_admin, &format!("actorUserId={}", a.local.id)).await.0,
        json!(1)
    );
    assert_eq!(
        about(&a.tenant_admin, &format!("organizationId={}", a.other)).await.0,
        json!(1)
    );
    assert_eq!(about(&a.tenant_admin, "accessType=read:list").await.0, json!(0));
    assert_eq!(
        about(&a.tenant_admin, "after=2026-11-20&before=2026-11-20T08:00:00.001Z")
            .await
            .0,
        json!(3)
    );
    assert_eq!(about(&a.tenant_admin, "before=2026-11-20T08:00:00Z").await.0, json!(0));
    assert_eq!(about(&a.tenant_admin, "page=2&limit=2").await.0, json!(3));

    fixture.role(a, "Reader", &["audit_logs.view_self"], None).await;
    let reader = fixture.account(a, "reader@alpha.test", &["Reader"]).await;
    assert_eq!(about(&reader, "").await, (json!(0), json!(false)));
    for (query, status) in [
        (format!("actorUserId={}", a.tenant_admin.id), 403),
        (format!("organizationId={}", fixture.b.root), 403),
        (format!("actorUserId={0},{0}", reader.id), 400),
        ("pageSize=201".to_owned(), 400),
        ("limit=201".to_owned(), 400),
        ("after=soon".to_owned(), 400),
    ] {
        let (responded, body) = app.get(&reader.token, &format!("{ACCESS}?{query}")).await;
        assert_eq!(responded, status, "{query}: {body}");
    }
}
