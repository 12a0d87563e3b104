//! The statements of lists and commands: number of prepared statements, locks, orders and indexes.

use std::time::Duration;

use actix_web::http::Method;
use backoffice_core::Scope;
use diesel::sql_types::BigInt;
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde_json::json;
use uuid::Uuid;

use crate::fixture::{Fixture, builder};

#[derive(QueryableByName)]
struct Kept {
    #[diesel(sql_type = BigInt)]
    total: i64,
}

async fn kept(fixture: &Fixture) -> i64 {
    let database = &fixture.app.runtime().database;
    let mut connection = database.read(&Scope::system()).await.expect("a connection");
    let kept: Kept = sql_query("select count(*) as total from pg_prepared_statements")
        .get_result(&mut *connection)
        .await
        .expect("a number");
    kept.total
}

/// Requests a list with each subset of its filters, in an irregular order.
async fn all_subsets(fixture: &Fixture, path: &str, filters: &[String], sorts: &[&str], most: &mut i64) -> usize {
    let mut sent = 0;
    for subset in 0..1_usize << filters.len() {
        let chosen = filters.iter().enumerate().filter(|(index, _)| subset >> index & 1 == 1);
        let mut query: Vec<&str> = chosen.map(|(_, filter)| filter.as_str()).collect();
        query.push(sorts[subset % sorts.len()]);
        let (status, body) = fixture
            .app
            .get(&fixture.a.tenant_admin.token, &format!("{path}?{}", query.join("&")))
            .await;
        assert_eq!(status, 200, "{path}?{}: {body}", query.join("&"));
        sent += 1;
        if subset % 16 == 0 {
            *most = (*most).max(kept(fixture).await);
        }
    }
    sent
}

#[actix_web::test]
async fn f2_filters_leave_no_statements_behind() {
    let fixture = Fixture::of(builder().pool_size(1)).await;
    let id = Uuid::from_u128(7);
    let texts = |filters: &[&str]| -> Vec<String> {
        filters
            .iter()
            .map(|filter| filter.replace("ID", &id.to_string()))
            .collect()
    };
    let deals = texts(&[
        "status=open",
        "pipelineId=ID",
        "pipelineStageId=none",
        "ownerUserId=ID,none",
        "personIds=ID",
        "companyIds=ID",
        "expectedCloseFrom=2026-01-01",
        "valueMin=1",
        "valueCurrency=EUR",
        "search=a",
        "ids=ID",
    ]);
    let products = texts(&[
        "search=a",
        "ids=ID",
        "isActive=true",
        "productType=simple",
        "categoryIds=ID",
        "tags=a",
        "createdFrom=2026-01-01",
    ]);
    let people = texts(&["search=a", "ids=ID", "ownerUserId=ID", "isActive=true", "companyIds=ID"]);
    let sorts = ["sortField=createdAt", "sortField=updatedAt&sortDir=asc", "page=1"];
    let (mut most, mut sent) = (0, 0);

    sent += all_subsets(&fixture, "/customers/deals", &deals, &sorts, &mut most).await;
    sent += all_subsets(&fixture, "/catalog/products", &products, &sorts, &mut most).await;
    sent += all_subsets(&fixture, "/customers/people", &people, &sorts, &mut most).await;

    assert!(sent > 2000, "{sent}");
    assert!(most <= 230, "{most} statements are kept after {sent} requests");
}

#[actix_web::test]
async fn a_product_waits_for_the_deletion_of_its_organization() {
    let fixture = Fixture::of(builder()).await;
    let (app, a) = (&fixture.app, &fixture.a);
    let body = json!({"title": "Late", "organizationId": a.leaf});
    let sql = format!(
        "update directory_organizations set deleted_at = now() where id = '{}'",
        a.leaf
    );

    let create = app.post(&a.tenant_admin.token, "/catalog/products", body);
    let (status, outcome) = app.database().while_changing(&sql, create).await;

    assert_eq!(status, 403, "{outcome}");
    assert!(
        app.rows("select 1 as one from catalog_products where title = 'Late'")
            .await
            .is_empty()
    );
}

#[actix_web::test]
async fn rows_without_a_value_come_last_in_both_directions() {
    let fixture = Fixture::of(builder()).await;
    let (app, a) = (&fixture.app, &fixture.a);
    for (title, sku) in [("With", json!("X-1")), ("Without", json!(null))] {
        let body = json!({"title": title, "sku": sku, "organizationId": a.leaf});
        let (status, outcome) = app.post(&a.tenant_admin.token, "/catalog/products", body).await;
        assert_eq!(status, 201, "{outcome}");
    }
    for direction in ["asc", "desc"] {
        let path = format!("/catalog/products?sortField=sku&sortDir={direction}");
        let (_, list) = app.get(&a.tenant_admin.token, &path).await;
        let last = list["items"].as_array().and_then(|items| items.last());
        assert_eq!(last.expect("two")["title"], "Without", "{direction}: {list}");
    }
}

#[actix_web::test]
async fn keys_of_other_tenants_are_not_waited_for() {
    let fixture = Fixture::of(builder()).await;
    let (app, a, b) = (&fixture.app, &fixture.a, &fixture.b);
    app.sql(&format!(
        "begin; select 1 from api_keys_keys where id = '{}' for update",
        b.key
    ))
    .await;

    let path = format!("/api_keys/keys?id={}", b.key);
    let request = app
        .request(Method::DELETE, &path)
        .bearer(&fixture.root.token)
        .header("x-tenant-id", &a.tenant.to_string());
    let outcome = tokio::time::timeout(Duration::from_secs(4), request.send()).await;

    app.sql("rollback").await;
    assert_eq!(outcome.expect("at once").status, 404);
}

#[actix_web::test]
async fn lists_of_whole_tenants_have_an_index() {
    let fixture = Fixture::of(builder()).await;
    let by_name = "(tenant_id, display_name, id)";
    for (table, name) in [
        ("customers_deals", "(tenant_id, lower(title), id)"),
        ("customers_companies", by_name),
        ("customers_people", by_name),
        ("catalog_products", "(tenant_id, title, id)"),
    ] {
        let (created, updated) = (
            "(tenant_id, created_at DESC, id DESC)",
            "(tenant_id, updated_at DESC, id DESC)",
        );
        for columns in [created, updated, name] {
            let found =
                format!("select 1 as one from pg_indexes where tablename = '{table}' and indexdef like '%{columns}'");
            assert_eq!(fixture.app.rows(&found).await.len(), 1, "{table} {columns}");
        }
    }
}

#[actix_web::test]
async fn a_deletion_loads_nothing_twice() {
    let fixture = Fixture::of(builder().pool_size(1).through_proxy()).await;
    let (app, token) = (&fixture.app, &fixture.a.tenant_admin.token);
    let mut sent = Vec::new();

    for name in ["First", "Second"] {
        let (_, role) = app.post(token, "/auth/roles", json!({ "name": name })).await;
        let path = format!("/auth/roles?id={}", role["id"].as_str().expect("an id"));
        app.proxy().reset();
        let (status, body) = app.delete(token, &path, json!(null)).await;
        assert_eq!(status, 200, "{body}");
        sent.push(app.proxy().count());
    }

    // The role and its access control list are read once for the checks and the snapshot, its parts never after the deletion.
    assert_eq!(sent, [16, 16]);
}

#[actix_web::test]
async fn an_entry_is_committed_with_its_change() {
    let fixture = Fixture::of(builder().pool_size(1)).await;
    let (app, role) = (&fixture.app, fixture.a.spare_role);
    let same = format!(
        "select l.id from audit_action_logs l join auth_roles r on r.id::text = l.resource_id \
         where r.id = '{role}' and l.xmin::text = r.xmin::text"
    );

    // The first update has its last statement prepared before the commit is sent; the others send both together.
    for name in ["First", "Second", "Third"] {
        let body = json!({"id": role, "name": name});
        let (status, body) = app.put(&fixture.a.tenant_admin.token, "/auth/roles", body).await;

        assert_eq!(status, 200, "{body}");
        assert_eq!(app.rows(&same).await.len(), 1, "{name}");
    }

    let taken = json!({"id": role, "name": "Employee"});
    let (status, body) = app.put(&fixture.a.tenant_admin.token, "/auth/roles", taken).await;
    assert_eq!(status, 400, "{body}");
    assert_eq!(
        app.rows(&same).await.len(),
        1,
        "a rejected update leaves the last entry"
    );
}
