//! Internal requests, on a platform with one module.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration as Patience;

use actix_web::http::Method;
use backoffice_core::acl::{Feature, Rights};
use backoffice_core::http::internal::{InternalCaller, InternalRequest, InternalResponse};
use backoffice_core::http::{Access, Json, Routes, requires};
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Cause, Error, Module, RequestContext, Result, Runtime, Visitor};
use backoffice_test_support::TestApp;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::sample::Note;

const VIEW: Feature = Feature::new("inside.view", "View");
const OTHER: Feature = Feature::new("inside.other", "Other");
const LIMIT: RateLimit = RateLimit::new("inside.limited", 1, 60);
const TENANT: Uuid = Uuid::from_u128(5);

static INSIDE: Module = Module {
    name: "inside",
    title: "Inside",
    features: &[VIEW, OTHER],
    rate_limits: &[LIMIT],
    routes,
    start: |startup| {
        startup.provide(Arc::new(Hanging::default()));
        Ok(())
    },
    ..Module::EMPTY
};

fn routes(routes: &mut Routes) {
    routes
        .get("/inside/caller", requires(&[VIEW]), name_inside)
        .limit(LIMIT);
    routes.get("/inside/other", requires(&[OTHER]), name_other);
    routes.post("/inside/note", Access::Authenticated, note_inside);
    routes.get("/inside/hanging", Access::Authenticated, hang);
    routes.get("/inside/visitor", Access::Public, visit);
}

async fn name_inside(ctx: RequestContext) -> Result<Json<Note>> {
    let (identity, cause) = (ctx.identity(), ctx.cause());
    let cause = cause.map_or(0, |cause| cause.depth);
    let name = identity.name.as_deref().unwrap_or_default();
    Ok(Json(Note::of(format!(
        "{name} {} {cause} {:?}",
        identity.tenant,
        ctx.call().ip
    ))))
}

async fn name_other(ctx: RequestContext) -> Result<Json<Note>> {
    name_inside(ctx).await
}

async fn note_inside(_ctx: RequestContext, note: Json<Note>) -> Result<Json<Note>> {
    Ok(note)
}

async fn visit(_visitor: Visitor) -> Result<Json<Note>> {
    Ok(Json(Note::of("visitor".to_owned())))
}

/// The number of hanging requests of a platform that have not been dropped.
#[derive(Debug, Default)]
struct Hanging(AtomicUsize);

/// A request that hangs until it is dropped.
struct HangingRequest(Arc<Hanging>);

impl Drop for HangingRequest {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn hang(ctx: RequestContext) -> Result<Json<Note>> {
    let hanging = ctx.call().provided::<Hanging>()?;
    hanging.0.fetch_add(1, Ordering::SeqCst);
    let _request = HangingRequest(hanging);
    std::future::pending().await
}

fn caller(tenant: Uuid) -> InternalCaller {
    let key = Identity {
        kind: ActorKind::ApiKey,
        id: Some(Uuid::from_u128(6)),
        tenant,
        rights: Rights::granting(["inside.view"], None),
        ..Identity::system()
    };
    let actor = Identity {
        name: Some("rule r".to_owned()),
        ..Identity::system()
    };
    let cause = Cause {
        rule: Uuid::from_u128(7),
        depth: 2,
    };
    InternalCaller::by_key(actor, &key, tenant, None, cause)
}

fn request(tenant: Uuid, method: Method, target: &str, body: Option<Value>) -> InternalRequest {
    InternalRequest {
        method,
        target: target.to_owned(),
        body,
        headers: vec![("x-request-id", "inside-1".to_owned())],
        caller: caller(tenant),
    }
}

async fn get(runtime: &Runtime, target: &str) -> Result<Option<InternalResponse>> {
    get_in(runtime, TENANT, target).await
}

async fn get_in(runtime: &Runtime, tenant: Uuid, target: &str) -> Result<Option<InternalResponse>> {
    runtime.request(request(tenant, Method::GET, target, None)).await
}

async fn status(runtime: &Runtime, target: &str) -> Option<u16> {
    let response = get(runtime, target).await.expect("a response");
    response.map(|response| response.status)
}

async fn wait_for_hanging(runtime: &Runtime, number: usize) {
    let provided = runtime
        .platform
        .provided()
        .get::<Hanging>()
        .expect("the module provides it");
    let hanging = || provided.0.load(Ordering::SeqCst);
    for _ in 0..100 {
        if hanging() == number {
            return;
        }
        tokio::time::sleep(Patience::from_millis(20)).await;
    }
    panic!("{} requests hang, not {number}", hanging());
}

#[actix_web::test]
async fn a_request_from_inside_passes_the_checks_behind_the_authentication() {
    let app = TestApp::new(&[&INSIDE]).await;
    let runtime = app.runtime();

    // Twice: a limit of addresses does not count it.
    for _ in 0..2 {
        let response = get(runtime, "/inside/caller?x=1")
            .await
            .expect("sent")
            .expect("in time");
        let text = format!("rule r {TENANT} 2 None");
        assert_eq!((response.status, response.body), (200, Some(json!({"text": text}))));
    }
    let post = |body: Value| runtime.request(request(TENANT, Method::POST, "/inside/note", Some(body)));
    let created = post(json!({"text": "x"})).await.expect("sent").expect("in time");
    assert_eq!((created.status, created.body), (200, Some(json!({"text": "x"}))));
    let invalid = post(json!({"text": ""})).await.expect("sent").expect("in time");
    assert_eq!((invalid.status, invalid.is_success()), (400, false));
    let missing = get(runtime, "/inside/other").await.expect("sent").expect("in time");
    let body = missing.body.unwrap_or_default();
    assert_eq!(
        (missing.status, &body["requiredFeatures"]),
        (403, &json!(["inside.other"]))
    );
    assert_eq!(status(runtime, "/inside/visitor").await, Some(200));
    assert_eq!(status(runtime, "/inside/nothing").await, Some(404));
    let foreign = format!("/inside/caller?tenantId={}", Uuid::from_u128(9));
    assert_eq!(status(runtime, &foreign).await, Some(403));
    assert!(get(runtime, "/inside/a b").await.is_err());
}

#[actix_web::test]
async fn a_request_from_outside_has_no_principal_whatever_it_sends() {
    let app = TestApp::new(&[&INSIDE]).await;
    assert_eq!(status(app.runtime(), "/inside/caller").await, Some(200));

    for (name, value) in [
        ("x-rule-id", "00000000-0000-0000-0000-000000000007"),
        ("x-internal-caller", "system"),
        ("authorization", "Internal system"),
        ("x-organization-id", "all"),
        ("x-request-id", "inside-1"),
        ("forwarded", "for=127.0.0.1"),
    ] {
        let request = app.request(Method::GET, "/inside/other").header(name, value);
        assert_eq!(request.send().await.status, 401, "{name}");
    }
}

#[actix_web::test]
async fn a_request_is_dropped_with_its_sender_and_after_ten_seconds() {
    let app = TestApp::new(&[&INSIDE]).await;
    let runtime = app.runtime();

    let sent = tokio::time::timeout(Patience::from_millis(300), get(runtime, "/inside/hanging"));
    assert!(sent.await.is_err());
    wait_for_hanging(runtime, 0).await;
    let started = tokio::time::Instant::now();
    assert_eq!(status(runtime, "/inside/hanging").await, None);
    assert!((9..13).contains(&started.elapsed().as_secs()));
    wait_for_hanging(runtime, 0).await;
    assert_eq!(status(runtime, "/inside/caller").await, Some(200));
}

#[actix_web::test]
async fn the_queue_and_the_number_of_requests_under_way_are_bounded() {
    let app = TestApp::new(&[&INSIDE]).await;
    let runtime = app.runtime();
    let hanging = |number: u128| get_in(runtime, Uuid::from_u128(100 + number % 8), "/inside/hanging");
    let mut many: FuturesUnordered<_> = (0..80).map(hanging).collect();

    // 64 wait and 4 are under way.
    for _ in 0..12 {
        assert!(matches!(many.next().await, Some(Err(Error::Unavailable(_)))));
    }
    wait_for_hanging(runtime, 4).await;
    tokio::time::sleep(Patience::from_millis(200)).await;
    wait_for_hanging(runtime, 4).await;
    drop(many);
    wait_for_hanging(runtime, 0).await;
    assert_eq!(status(runtime, "/inside/caller").await, Some(200));
}

#[actix_web::test]
async fn a_tenant_leaves_slots_and_queue_positions_to_others() {
    let app = TestApp::new(&[&INSIDE]).await;
    let runtime = app.runtime();
    let mut many: FuturesUnordered<_> = (0..20).map(|_| get(runtime, "/inside/hanging")).collect();

    // 16 wait and 2 are under way.
    for _ in 0..2 {
        assert!(matches!(many.next().await, Some(Err(Error::Unavailable(_)))));
    }
    wait_for_hanging(runtime, 2).await;
    let other = get_in(runtime, Uuid::from_u128(8), "/inside/caller").await;
    assert_eq!(other.expect("sent").expect("in time").status, 200);
    tokio::time::sleep(Patience::from_millis(200)).await;
    wait_for_hanging(runtime, 2).await;

    drop(many);
    wait_for_hanging(runtime, 0).await;
    assert_eq!(status(runtime, "/inside/caller").await, Some(200));
}

#[actix_web::test]
async fn requests_under_way_end_before_the_thread_does() {
    let app = TestApp::new(&[&INSIDE]).await;
    let runtime = app.runtime();
    assert_eq!(status(runtime, "/inside/caller").await, Some(200));

    let thread = app.platform().close_internal_requests().expect("the thread runs");
    assert!(thread.join().is_ok());

    assert!(matches!(
        get(runtime, "/inside/caller").await,
        Err(Error::Unavailable(_))
    ));
    assert!(app.platform().close_internal_requests().is_none());
}
