//! Interceptors that reject, fail and panic; a module of this file registers one whose behaviour the test sets.

use std::cell::RefCell;

use backoffice_auth::commands::UpdateRole;
use backoffice_core::Module;
use backoffice_core::command::{Hook, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_test_support::TestApp;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{name_of, rename};
use crate::call::Call;
use crate::fixture::{AUTH, Fixture, MODULES, NO_LIMITS};
use crate::history::entries;

static GATE: Module = Module {
    name: "gate",
    title: "Gate",
    register: |registry| {
        for (id, target) in [
            ("gate.roles", "auth.role.*"),
            ("gate.users", "auth.user.*"),
            ("gate.deals", "customers.deal.*"),
        ] {
            registry.interceptor(Interceptor {
                id,
                target,
                priority: 100,
                run: decide,
            });
        }
    },
    ..Module::EMPTY
};

/// The behaviour of the interceptor at a hook.
#[derive(Clone)]
pub(super) enum Plan {
    Reject(Hook, Verdict),
    Panic(Hook),
    /// Rejects before the change of a deal with this title.
    RejectDeal(&'static str, Verdict),
}

thread_local! {
    /// A test and its application share a thread.
    static PLAN: RefCell<Option<Plan>> = const { RefCell::new(None) };
    /// The recorded contexts: hook, requested name of a role, changed fields, entry.
    static SEEN: RefCell<Vec<Sight>> = const { RefCell::new(Vec::new()) };
}

type Sight = (Hook, Option<String>, Option<Vec<String>>, Option<Uuid>);

fn see(attempt: &InterceptorContext<'_>) {
    let command = attempt.command_as::<UpdateRole>();
    let sight = (
        attempt.hook,
        command.and_then(|command| command.input().name.clone().value()),
        attempt.changes.map(|changes| changes.keys().cloned().collect()),
        attempt.entry.map(|entry| entry.id),
    );
    SEEN.with_borrow_mut(|seen| seen.push(sight));
}

fn decide<'a>(
    _tx: &'a mut Tx<'_>,
    attempt: &'a InterceptorContext<'a>,
) -> BoxFuture<'a, backoffice_core::Result<Verdict>> {
    let plan = PLAN.with_borrow(Clone::clone);
    let hook = attempt.hook;
    let title = attempt.before.and_then(|deal| deal.get("title")).cloned();
    see(attempt);
    Box::pin(async move {
        match plan {
            Some(Plan::Reject(when, verdict)) if when == hook => Ok(verdict),
            Some(Plan::RejectDeal(rejected, verdict))
                if hook == Hook::BeforeExecute && title == Some(json!(rejected)) =>
            {
                Ok(verdict)
            }
            Some(Plan::Panic(when)) if when == hook => panic!("the interceptor panics"),
            _ => Ok(Verdict::Continue),
        }
    })
}

pub(super) fn plan(plan: Option<Plan>) {
    PLAN.set(plan);
}

pub(super) fn rejection(status: Option<u16>, body: Option<Value>) -> Verdict {
    Verdict::Reject {
        message: "Not today".to_owned(),
        code: None,
        status,
        body: body.map(|body| body.as_object().cloned().expect("an object")),
    }
}

pub(super) async fn gated() -> Fixture {
    let modules: Vec<&'static Module> = MODULES.iter().copied().chain([&GATE]).collect();
    Fixture::of(TestApp::builder(&modules).config(AUTH).config(NO_LIMITS)).await
}

#[actix_web::test]
async fn aud_18_a_rejection_has_the_response_of_the_interceptor_and_changes_nothing() {
    let fixture = gated().await;
    let call = Call::put("/auth/roles", json!({"id": fixture.a.role, "name": "Renamed"}));
    let before = fixture.app.snapshot().await;
    let custom = json!({"reason": "locked", "until": 7});
    let message = json!({"error": "Not today"});
    let ways = [
        (rejection(None, None), 422, message.clone()),
        (rejection(Some(409), Some(custom.clone())), 409, custom.clone()),
        (rejection(Some(409), None), 409, message.clone()),
        (rejection(None, Some(custom.clone())), 422, custom),
        (rejection(Some(200), None), 422, message.clone()),
        (rejection(Some(700), None), 422, message),
    ];

    for hook in [Hook::BeforeExecute, Hook::AfterExecute] {
        for (verdict, status, body) in &ways {
            plan(Some(Plan::Reject(hook, verdict.clone())));

            let request = call.request(&fixture.app, &fixture.a.tenant_admin.token);
            let response = request.responded_by_interceptor().send().await;

            assert_eq!((response.status, &response.json()), (*status, body), "{verdict:?}");
            assert_eq!(response.operation(), None);
        }
    }
    assert_eq!(fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn aud_18_a_rejected_undo_or_redo_can_be_tried_again() {
    let fixture = gated().await;
    let (app, tenant_admin, role) = (&fixture.app, &fixture.a.tenant_admin, fixture.a.role);
    let done = rename(&fixture, tenant_admin, role, "Renamed").await;
    let rejected = (422, json!({"error": "Not today"}));

    plan(Some(Plan::Reject(Hook::BeforeUndo, rejection(None, None))));
    let before = app.snapshot().await;
    assert_eq!(app.undo(&tenant_admin.token, &done).await, rejected);
    assert_eq!(app.snapshot().await, before);
    plan(None);
    assert_eq!(app.undo(&tenant_admin.token, &done).await.0, 200);

    plan(Some(Plan::Reject(Hook::BeforeRedo, rejection(None, None))));
    let before = app.snapshot().await;
    assert_eq!(app.redo(&tenant_admin.token, &done).await, rejected);
    assert_eq!(app.snapshot().await, before);
    plan(None);
    assert_eq!(app.redo(&tenant_admin.token, &done).await.0, 200);
    assert_eq!(name_of(&fixture, role).await, "Renamed");
}

#[actix_web::test]
async fn a_hook_sees_the_input_the_changes_and_the_entry() {
    let fixture = gated().await;
    let (app, tenant_admin, role) = (&fixture.app, &fixture.a.tenant_admin, fixture.a.role);
    SEEN.take();

    let done = rename(&fixture, tenant_admin, role, "Renamed").await;
    assert_eq!(app.undo(&tenant_admin.token, &done).await.0, 200);
    assert_eq!(app.redo(&tenant_admin.token, &done).await.0, 200);

    let (requested, changed) = (Some("Renamed".to_owned()), Some(vec!["name".to_owned()]));
    let expected = [
        (Hook::BeforeExecute, requested.clone(), None, None),
        (Hook::AfterExecute, requested, changed.clone(), None),
        (Hook::BeforeUndo, None, changed.clone(), Some(done.log_id)),
        (Hook::BeforeRedo, None, changed, Some(done.log_id)),
    ];
    assert_eq!(SEEN.take(), expected);
}

#[actix_web::test]
async fn aud_18_a_body_is_sent_as_it_is_whatever_the_status() {
    let fixture = gated().await;
    let call = Call::put("/auth/roles", json!({"id": fixture.a.role, "name": "Renamed"}));
    let body = json!({"reason": "maintenance"});

    plan(Some(Plan::Reject(
        Hook::BeforeExecute,
        rejection(Some(503), Some(body.clone())),
    )));
    let request = call.request(&fixture.app, &fixture.a.tenant_admin.token);
    let response = request.responded_by_interceptor().send().await;

    assert_eq!((response.status, response.json()), (503, body));
}

#[actix_web::test]
async fn aud_19_a_panic_ends_the_write_and_leaves_one_failed_entry() {
    let fixture = gated().await;
    let (app, tenant_admin, role) = (&fixture.app, &fixture.a.tenant_admin, fixture.a.role);
    let call = Call::put("/auth/roles", json!({"id": role, "name": "Renamed"}));

    for hook in [Hook::BeforeExecute, Hook::AfterExecute] {
        plan(Some(Plan::Panic(hook)));
        let response = call.send(app, &tenant_admin.token).await;

        assert_eq!(response.status, 500);
        assert_eq!(response.json()["error"], "Internal server error");
        assert!(response.json()["requestId"].is_string());
        assert_eq!(name_of(&fixture, role).await, "Clerk");
    }

    let failed = failed_entries(&fixture).await;
    assert_eq!(failed.len(), 2);
    for entry in &failed {
        assert_eq!(entry["context"]["errorCode"], "internal_error");
        for name in ["undoToken", "snapshotBefore", "snapshotAfter", "changes"] {
            assert_eq!(entry[name], Value::Null, "{name}");
        }
        assert_eq!(entry["commandId"], "auth.role.update");
    }
}

#[actix_web::test]
async fn aud_19_a_panic_during_undo_leaves_the_token_usable() {
    let fixture = gated().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let done = rename(&fixture, tenant_admin, fixture.a.role, "Renamed").await;

    plan(Some(Plan::Panic(Hook::BeforeUndo)));
    assert_eq!(app.undo(&tenant_admin.token, &done).await.0, 500);
    plan(None);

    assert_eq!(failed_entries(&fixture).await.len(), 1);
    assert_eq!(app.undo(&tenant_admin.token, &done).await.0, 200);
    assert_eq!(name_of(&fixture, fixture.a.role).await, "Clerk");
}

pub(super) async fn failed_entries(fixture: &Fixture) -> Vec<Value> {
    let mut all = entries(&fixture.app, &fixture.a.tenant_admin, "limit=1000").await;
    all.retain(|entry| entry["executionState"] == "failed");
    all
}
