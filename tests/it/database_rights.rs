//! The rights that the database grants to any role besides reading and writing rows, with every module.

use serde_json::{Value, json};

use crate::fixture::{Fixture, MODULES, builder};

/// Functions that run with the owner's rights and that the application may call.
const CALLED: [&str; 7] = [
    "app_drop_months",
    "app_find_texts",
    "app_make_months",
    "app_own_push_token",
    "audit_count_entries",
    "audit_erase_resources",
    "audit_forget_counts",
];

async fn app() -> backoffice_test_support::TestApp {
    backoffice_test_support::TestApp::builder(MODULES)
        .config(crate::fixture::AUTH)
        .build()
        .await
}

#[actix_web::test]
async fn f6_every_function_has_a_safe_search_path() {
    let app = app().await;
    // A function with an SQL expression as its body resolved its names on creation; it is checked all the same if it runs with the owner's rights.
    let loose = "select p.oid::regprocedure::text as name, p.proconfig::text[] as config from pg_proc p
        where p.pronamespace = 'public'::regnamespace and (p.prosqlbody is null or p.prosecdef)
            and not coalesce(p.proconfig @> array['search_path=pg_catalog, public, pg_temp'], false)
            and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')";
    assert_eq!(app.rows(loose).await, Vec::<Value>::new());
}

#[actix_web::test]
async fn f6_only_listed_functions_run_with_the_rights_of_the_owner() {
    let app = app().await;
    let public = "select p.oid::regprocedure::text as name from pg_proc p
        where p.pronamespace = 'public'::regnamespace
            and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)
            and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')";
    assert_eq!(app.rows(public).await, Vec::<Value>::new());

    let definers = "select p.proname as name from pg_proc p
        where p.pronamespace = 'public'::regnamespace and p.prosecdef
            and has_function_privilege('backoffice_app', p.oid, 'execute') order by 1";
    let expected: Vec<Value> = CALLED.iter().map(|name| json!({"name": name})).collect();
    assert_eq!(app.rows(definers).await, expected);
}

#[actix_web::test]
async fn f6_no_application_role_creates_objects_or_temporary_tables() {
    let app = app().await;
    let rights = "select
            exists (select from pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
                where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE') as schema,
            exists (select from pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
                where d.datname = current_database() and a.grantee = 0 and a.privilege_type in ('TEMPORARY', 'CREATE')) as everybody,
            has_database_privilege('backoffice_app', current_database(), 'temporary') as temporary,
            has_database_privilege('backoffice_app', current_database(), 'create') as create,
            has_schema_privilege('backoffice_app', 'public', 'create') as tables";
    let expected = json!({"schema": false, "everybody": false, "temporary": false, "create": false, "tables": false});
    assert_eq!(app.rows(rights).await, [expected]);
}

#[actix_web::test]
async fn f6_the_log_of_another_tenant_is_not_erased_even_in_the_systems_scope() {
    let fixture = Fixture::of(builder()).await;
    let (app, tenant) = (&fixture.app, fixture.b.tenant);
    let scope = backoffice_core::Scope::new(backoffice_core::scope::VisibleTenants::All, Some(fixture.a.tenant));
    let mut connection = app.runtime().database.read(&scope).await.expect("a connection");

    let erase = format!("select audit_erase('{tenant}', 'auth.role', '{tenant}')");
    let rejected = diesel_async::SimpleAsyncConnection::batch_execute(&mut *connection, &erase).await;

    let rejected = rejected.expect_err("rejected").to_string();
    assert!(rejected.contains("entries of another tenant"), "{rejected}");
}
