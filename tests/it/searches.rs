//! Searches with every module: the index of texts must never hide a row, or show one that does not contain the text.

use backoffice_core::scope::VisibleTenants;
use backoffice_core::{Result, Scope};
use diesel_async::SimpleAsyncConnection;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, TenantFixture, id, text};
use crate::{catalog, customers};

/// A list whose search uses the index: path, table, and the condition under which a row contains the text `%1`.
const LISTS: [(&str, &str, &str); 5] = [
    (
        "/auth/users",
        "auth_users",
        "r.deleted_at is null and (r.email ilike %1 or r.name ilike %1 \
          or exists (select 1 from directory_organizations o where o.id = r.organization_id and o.name ilike %1) \
          or exists (select 1 from auth_user_roles l join auth_roles a on a.tenant_id = l.role_tenant_id and a.id = l.role_id \
              where l.user_id = r.id and a.name ilike %1))",
    ),
    (
        "/customers/companies",
        "customers_companies",
        "r.display_name ilike %1 or r.legal_name ilike %1 or r.primary_email ilike %1",
    ),
    (
        "/customers/people",
        "customers_people",
        "r.display_name ilike %1 or r.first_name ilike %1 or r.last_name ilike %1 or r.primary_email ilike %1",
    ),
    (
        "/customers/deals",
        "customers_deals",
        "r.title ilike %1 or r.description ilike %1",
    ),
    (
        "/catalog/products",
        "catalog_products",
        "r.title ilike %1 or r.subtitle ilike %1 or r.sku ilike %1 or r.handle ilike %1 \
          or exists (select 1 from catalog_variants v where v.product_id = r.id and v.sku ilike %1)",
    ),
];

/// Texts with letters of several alphabets, wildcards, and separators.
const TEXTS: [&str; 8] = [
    "Müller & Söhne",
    "100% linen_cotton",
    "C:\\temp\\new",
    "ΑΘΗΝΑ Trade",
    "o'hara.and-sons",
    "North Gate 42",
    "aaa",
    "Straße 7b",
];

const SEARCHES: [&str; 24] = [
    "müller",
    "SÖHNE",
    "100%",
    "n_c",
    "linen_cotton",
    "temp\\n",
    "αθηνα",
    "trade",
    "o'hara",
    "and-",
    "-sons",
    "north gate",
    "th gat",
    "gate 42",
    "42",
    "aaa",
    "aaaa",
    "a",
    "straße",
    "stra",
    "nothing of this",
    "%%%",
    "___",
    "th  gat",
];

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Creates a record with this text in every list, through the API and, with columns that no test sets, by SQL.
async fn create(fixture: &Fixture, tenant_fixture: &TenantFixture, number: usize, text: &str) {
    let (tenant, organization, at) = (tenant_fixture.tenant, tenant_fixture.other, "'2026-11-20T07:00:00Z'");
    let quoted = quoted(text);
    for sql in [
        format!(
            "insert into auth_users (tenant_id, id, organization_id, email, email_norm, name, is_active, is_confirmed, created_at, updated_at) \
             values ('{tenant}', gen_random_uuid(), '{organization}', 'search{number}@house.test', 'search{number}@house.test', {quoted}, true, true, {at}, {at})"
        ),
        format!(
            "insert into customers_companies (tenant_id, id, organization_id, display_name, legal_name, is_active, created_at, updated_at) \
             values ('{tenant}', gen_random_uuid(), '{organization}', 'Company {number}', {quoted}, true, {at}, {at})"
        ),
        format!(
            "insert into customers_people (tenant_id, id, organization_id, first_name, last_name, display_name, is_active, created_at, updated_at) \
             values ('{tenant}', gen_random_uuid(), '{organization}', {quoted}, 'Last', 'Person {number}', true, {at}, {at})"
        ),
        format!(
            "insert into customers_deals (tenant_id, id, organization_id, title, description, status, created_at, updated_at) \
             values ('{tenant}', gen_random_uuid(), '{organization}', 'Deal {number}', {quoted}, 'open', {at}, {at})"
        ),
        format!(
            "with p as (insert into catalog_products (tenant_id, id, organization_id, title, product_type, is_active, tags, created_at, updated_at) \
                 values ('{tenant}', gen_random_uuid(), '{organization}', 'Product {number}', 'simple', true, '{{}}', {at}, {at}) returning id) \
             insert into catalog_variants (tenant_id, id, organization_id, product_id, name, sku, position, is_active, created_at, updated_at) \
             select '{tenant}', gen_random_uuid(), '{organization}', id, 'One', {quoted}, 1, true, {at}, {at} from p"
        ),
    ] {
        assert_eq!(fixture.app.sql(&sql).await, 1);
    }
}

/// Compares every list with the rows that contain the text.
async fn compare(fixture: &Fixture, tenant_fixture: &TenantFixture, search: &str) {
    let escaped: String = search
        .chars()
        .flat_map(|c| ['\\'].into_iter().filter(move |_| "%_\\".contains(c)).chain([c]))
        .collect();
    let pattern = quoted(&format!("%{escaped}%"));
    let parameter = urlencoding(search);
    for (path, table, condition) in LISTS {
        let path = format!("{path}?search={parameter}&pageSize=100");
        let (status, body) = fixture.app.get(&tenant_fixture.tenant_admin.token, &path).await;
        assert_eq!(status, 200, "{path}: {body}");
        let mut listed: Vec<Uuid> = body["items"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| id(&row["id"]))
            .collect();
        let sql = format!(
            "select r.id from {table} r where r.tenant_id = '{}' and ({})",
            tenant_fixture.tenant,
            condition.replace("%1", &pattern)
        );
        let mut expected: Vec<Uuid> = fixture.app.rows(&sql).await.iter().map(|row| id(&row["id"])).collect();
        listed.sort_unstable();
        expected.sort_unstable();
        let total = expected.len();
        if total <= 100 {
            assert_eq!(listed, expected, "{path}");
        }
        assert_eq!(body["total"], total, "{path}");
    }
}

fn urlencoding(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// Returns the rows whose text in the index is not that of the row.
async fn wrong_texts(fixture: &Fixture) -> Vec<Value> {
    let mut wrong = Vec::new();
    for (table, found, columns, live) in [
        ("auth_users", "id", "email_norm, r.name", "r.deleted_at is null"),
        ("auth_roles", "id", "name_norm", "true"),
        ("directory_organizations", "id", "name", "r.deleted_at is null"),
        (
            "customers_companies",
            "id",
            "display_name, r.legal_name, r.primary_email",
            "true",
        ),
        (
            "customers_people",
            "id",
            "display_name, r.first_name, r.last_name, r.primary_email",
            "true",
        ),
        ("customers_deals", "id", "title, r.description", "true"),
        ("catalog_products", "id", "title, r.subtitle, r.sku, r.handle", "true"),
        ("catalog_variants", "product_id", "sku", "true"),
    ] {
        let sql = format!(
            "select '{table}' as source, t.content, e.content as expected \
             from (select * from core_search_texts where source = '{table}') t \
             full join (select r.tenant_id, r.id, r.{found} as found_id, lower(concat_ws(E'\\n', r.{columns})) as content \
                 from {table} r where {live}) e \
                 on e.tenant_id = t.tenant_id and e.id = t.id and e.found_id = t.found_id and e.content = t.content \
             where t.id is null or e.id is null"
        );
        wrong.extend(fixture.app.rows(&sql).await);
    }
    wrong
}

async fn fixture() -> Fixture {
    let fixture = Fixture::new().await;
    for tenant_fixture in [&fixture.a, &fixture.b] {
        customers::seed(&fixture, tenant_fixture).await;
        catalog::seed(&fixture, tenant_fixture).await;
        for (number, text) in TEXTS.iter().enumerate() {
            create(&fixture, tenant_fixture, number, text).await;
        }
    }
    fixture
}

#[actix_web::test]
async fn a_search_finds_exactly_the_rows_that_contain_the_text() {
    let fixture = fixture().await;

    for search in SEARCHES
        .into_iter()
        .chain(["tenant_admin", "keeper", "other", "house.test", "search3"])
    {
        compare(&fixture, &fixture.a, search).await;
    }
}

#[actix_web::test]
async fn a_text_that_many_rows_have_is_found_too() {
    let fixture = fixture().await;
    let tenant_fixture = &fixture.a;
    let insert = format!(
        "insert into customers_companies (tenant_id, id, organization_id, display_name, is_active, created_at, updated_at) \
         select '{}', gen_random_uuid(), '{}', 'Common ' || n, true, '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z' \
         from generate_series(1, 1001) n",
        tenant_fixture.tenant, tenant_fixture.other
    );
    assert_eq!(fixture.app.sql(&insert).await, 1001);

    for search in ["common", "common 77", "common 1001"] {
        compare(&fixture, tenant_fixture, search).await;
    }
}

#[actix_web::test]
async fn texts_follow_their_rows() {
    let fixture = fixture().await;
    let (app, admin) = (&fixture.app, &fixture.a.tenant_admin);
    assert_eq!(wrong_texts(&fixture).await, Vec::<Value>::new());

    let body = json!({"displayName": "Zanzibar Ltd", "organizationId": fixture.a.other});
    let request = app
        .request(actix_web::http::Method::POST, "/customers/companies")
        .bearer(&admin.token);
    let created = request.json(&body).send().await;
    assert_eq!(created.status, 201, "{}", created.text());
    let company = text(&created.json()["id"]);
    compare(&fixture, &fixture.a, "zanzibar").await;
    let request = app
        .request(actix_web::http::Method::PUT, "/customers/companies")
        .bearer(&admin.token);
    let renamed = request
        .json(&json!({"id": company, "displayName": "Kilimanjaro Ltd"}))
        .send()
        .await;
    assert_eq!(renamed.status, 200, "{}", renamed.text());
    for search in ["zanzibar", "kilimanjaro"] {
        compare(&fixture, &fixture.a, search).await;
    }
    let renaming = renamed.undoable_write();
    assert_eq!(app.undo(&admin.token, &renaming).await.0, 200);
    compare(&fixture, &fixture.a, "zanzibar").await;
    assert_eq!(app.redo(&admin.token, &renaming).await.0, 200);
    compare(&fixture, &fixture.a, "zanzibar").await;
    let path = format!("/customers/companies?id={company}");
    assert_eq!(app.delete(&admin.token, &path, Value::Null).await.0, 200);
    compare(&fixture, &fixture.a, "kilimanjaro").await;

    let user = format!("/auth/users?id={}", fixture.a.plain.id);
    assert_eq!(app.delete(&admin.token, &user, Value::Null).await.0, 200);
    assert_eq!(wrong_texts(&fixture).await, Vec::<Value>::new());
}

#[actix_web::test]
async fn texts_of_another_tenant_are_not_found() {
    let fixture = fixture().await;
    let run = async |sql: String| -> Result<()> {
        let scope = Scope::new(VisibleTenants::Tenant(fixture.a.tenant), Some(fixture.a.tenant));
        let mut connection = fixture.app.runtime().database.read(&scope).await?;
        Ok(connection.batch_execute(&sql).await?)
    };
    let find = |tenant| format!("select app_find_texts('{tenant}', 'auth.user', 'house', 'house', 10)");

    run(find(fixture.a.tenant)).await.expect("the own tenant is searched");
    let rejected = run(find(fixture.b.tenant)).await.expect_err("rejected").to_string();
    assert!(rejected.contains("texts of another tenant"), "{rejected}");
    for sql in ["select from core_search_texts", "delete from core_search_texts"] {
        let rejected = run(sql.to_owned()).await.expect_err("rejected").to_string();
        assert!(rejected.contains("permission denied"), "{rejected}");
    }
}
