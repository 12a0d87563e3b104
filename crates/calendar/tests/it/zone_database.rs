//! A release with a newer time zone database derives the stored instants again.

use std::sync::atomic::{AtomicBool, Ordering};

use backoffice_calendar::{database_version, derive_if_newer};
use backoffice_core::command::{Interceptor, Verdict};
use backoffice_core::{Call, Module};
use uuid::Uuid;

use crate::fixture::{Fixture, MODULES, builder_of};

const RIGHT: [&str; 2] = ["2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"];
const OTHER: [&str; 2] = ["2026-03-28T22:00:00.000Z", "2026-03-29T21:00:00.000Z"];

/// Whether the module below rejects derivations.
static REJECTS: AtomicBool = AtomicBool::new(true);

static KEPT_INSTANTS: Module = Module {
    name: "kept-instants",
    requires: &["calendar"],
    register: |registry| {
        registry.interceptor(KEEP);
    },
    ..Module::EMPTY
};

const KEEP: Interceptor = Interceptor {
    id: "kept_instants.derivations",
    target: "calendar.working_calendar.derive",
    priority: 100,
    run: |_tx, _context| {
        Box::pin(async {
            Ok(match REJECTS.load(Ordering::Relaxed) {
                true => Verdict::Reject {
                    message: "Not now".to_owned(),
                    code: None,
                    status: None,
                    body: None,
                },
                false => Verdict::Continue,
            })
        })
    },
};

/// Stores the instants that another database would have given.
async fn store_other_instants(fixture: &Fixture, window: Uuid) {
    let sql = format!(
        "update calendar_windows set start_at = '{}', end_at = '{}' where id = '{window}'",
        OTHER[0], OTHER[1]
    );
    assert_eq!(fixture.app.sql(&sql).await, 1);
}

async fn start(fixture: &Fixture, version: &str) -> bool {
    let derives = derive_if_newer(&Call::internal(fixture.app.runtime()), version).await;
    fixture.app.run_jobs().await;
    derives.expect("a comparison")
}

#[actix_web::test]
async fn the_first_start_with_a_newer_database_derives_instants_again() {
    let fixture = Fixture::new().await;
    let window = fixture.window("2026-03-29", "2026-03-30").await;
    store_other_instants(&fixture, window).await;

    let first = start(&fixture, database_version()).await;
    let derived = fixture.instants(window).await;
    store_other_instants(&fixture, window).await;
    let second = start(&fixture, database_version()).await;
    let kept = fixture.instants(window).await;
    fixture
        .app
        .sql("update calendar_zone_databases set version = '2000a'")
        .await;
    let newer = start(&fixture, database_version()).await;
    let derived_again = fixture.instants(window).await;

    assert_eq!((first, derived), (true, RIGHT.map(str::to_owned)));
    assert_eq!((second, kept), (false, OTHER.map(str::to_owned)));
    assert_eq!((newer, derived_again), (true, RIGHT.map(str::to_owned)));
}

#[actix_web::test]
async fn each_organization_has_an_entry_that_can_not_be_undone() {
    let fixture = Fixture::new().await;
    fixture.window("2026-03-29", "2026-03-30").await;

    start(&fixture, database_version()).await;

    let sql = "select resource_id::text as id, undo_secret is null as is_final from audit_action_logs \
               where command_id = 'calendar.working_calendar.derive'";
    let entries = fixture.app.rows(sql).await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["id"], fixture.a.organization.to_string());
    assert_eq!(entries[0]["is_final"], true);
}

#[actix_web::test]
async fn windows_of_the_past_start_nothing() {
    let fixture = Fixture::new().await;
    fixture.window("2025-03-29", "2025-03-30").await;

    let derives = derive_if_newer(&Call::internal(fixture.app.runtime()), database_version()).await;

    assert!(!derives.expect("a comparison"), "nothing to derive");
    let sql = "select 1 as one from core_jobs where kind = 'calendar.instants.derive_all'";
    assert_eq!(fixture.app.rows(sql).await.len(), 0);
    let sql = "select version from calendar_zone_databases";
    assert_eq!(fixture.app.rows(sql).await[0]["version"], database_version());
}

#[actix_web::test]
async fn a_node_with_an_older_database_leaves_the_job_to_others() {
    let fixture = Fixture::new().await;
    let window = fixture.window("2026-03-29", "2026-03-30").await;
    store_other_instants(&fixture, window).await;

    start(&fixture, "9999a").await;

    assert_eq!(fixture.instants(window).await, OTHER.map(str::to_owned));
    assert_eq!(
        fixture
            .app
            .rows("select version from calendar_zone_databases")
            .await
            .len(),
        0
    );
}

#[actix_web::test]
async fn a_rejected_derivation_is_repeated_by_the_next_start() {
    let modules: Vec<&'static Module> = MODULES.into_iter().chain([&KEPT_INSTANTS]).collect();
    let fixture = Fixture::without_calendar(builder_of(&modules)).await;
    fixture.zone("Europe/Warsaw").await;
    let window = fixture.window("2026-03-29", "2026-03-30").await;
    store_other_instants(&fixture, window).await;
    let versions = "calendar_zone_databases";

    let rejected = start(&fixture, database_version()).await;
    let kept = fixture.instants(window).await;
    let stored = fixture.app.count(versions).await;
    REJECTS.store(false, Ordering::Relaxed);
    let repeated = start(&fixture, database_version()).await;

    assert_eq!((rejected, kept, stored), (true, OTHER.map(str::to_owned), 0));
    assert!(repeated, "the version was not stored");
    assert_eq!(fixture.instants(window).await, RIGHT.map(str::to_owned));
    assert_eq!(fixture.app.count(versions).await, 1);
}
