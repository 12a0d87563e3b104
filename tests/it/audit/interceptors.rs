//! Interceptors refuse, fail and panic; a module of this file registers one that does as the test says.

use std::cell::RefCell;

use backoffice_auth::commands::UpdateRole;
use backoffice_core::Module;
use backoffice_core::command::{Attempt, Hook, Interceptor, Verdict};
use backoffice_core::db::Tx;
use backoffice_test_support::TestApp;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{name_of, rename};
use crate::call::Call;
use crate::history::{entries, redo, undo};
use crate::world::{AUTH, MODULES, NO_LIMITS, World};

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

/// What the interceptor does at a hook.
#[derive(Clone)]
pub(super) enum Plan {
    Refuse(Hook, Verdict),
    Panic(Hook),
    /// Refuses before the change of a deal with this title.
    RefuseDeal(&'static str, Verdict),
}

thread_local! {
    /// A test and its application share a thread.
    static PLAN: RefCell<Option<Plan>> = const { RefCell::new(None) };
    /// What hooks saw: which one, the wanted name of a role, the changed fields, the entry.
    static SEEN: RefCell<Vec<Sight>> = const { RefCell::new(Vec::new()) };
}

type Sight = (Hook, Option<String>, Option<Vec<String>>, Option<Uuid>);

fn see(attempt: &Attempt<'_>) {
    let command = attempt.command_as::<UpdateRole>();
    let sight = (
        attempt.hook,
        command.and_then(|command| command.name.clone()),
        attempt.changes.map(|changes| changes.keys().cloned().collect()),
        attempt.entry.map(|entry| entry.id),
    );
    SEEN.with_borrow_mut(|seen| seen.push(sight));
}

fn decide<'a>(_tx: &'a mut Tx<'_>, attempt: &'a Attempt<'a>) -> BoxFuture<'a, backoffice_core::Result<Verdict>> {
    let plan = PLAN.with_borrow(Clone::clone);
    let hook = attempt.hook;
    let title = attempt.before.and_then(|deal| deal.get("title")).cloned();
    see(attempt);
    Box::pin(async move {
        match plan {
            Some(Plan::Refuse(when, verdict)) if when == hook => Ok(verdict),
            Some(Plan::RefuseDeal(refused, verdict))
                if hook == Hook::BeforeExecute && title == Some(json!(refused)) =>
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

pub(super) fn refusal(status: Option<u16>, body: Option<Value>) -> Verdict {
    Verdict::Refuse {
        message: "Not today".to_owned(),
        code: None,
        status,
        body: body.map(|body| body.as_object().cloned().expect("an object")),
    }
}

pub(super) async fn gated() -> World {
    let modules: Vec<&'static Module> = MODULES.into_iter().chain([&GATE]).collect();
    World::of(TestApp::builder(&modules).config(AUTH).config(NO_LIMITS)).await
}

#[actix_web::test]
async fn aud_18_a_refusal_answers_as_the_interceptor_says_and_changes_nothing() {
    let world = gated().await;
    let call = Call::put("/auth/roles", json!({"id": world.a.role, "name": "Renamed"}));
    let before = world.app.image().await;
    let custom = json!({"reason": "locked", "until": 7});
    let message = json!({"error": "Not today"});
    let ways = [
        (refusal(None, None), 422, message.clone()),
        (refusal(Some(409), Some(custom.clone())), 409, custom.clone()),
        (refusal(Some(409), None), 409, message.clone()),
        (refusal(None, Some(custom.clone())), 422, custom),
        (refusal(Some(200), None), 422, message.clone()),
        (refusal(Some(700), None), 422, message),
    ];

    for hook in [Hook::BeforeExecute, Hook::AfterExecute] {
        for (verdict, status, body) in &ways {
            plan(Some(Plan::Refuse(hook, verdict.clone())));

            let request = call.request(&world.app, &world.a.keeper.token);
            let response = request.answered_by_interceptor().send().await;

            assert_eq!((response.status, &response.json()), (*status, body), "{verdict:?}");
            assert_eq!(response.operation(), None);
        }
    }
    assert_eq!(world.app.image().await, before);
}

#[actix_web::test]
async fn aud_18_a_refused_undo_or_redo_can_be_tried_again() {
    let world = gated().await;
    let (app, keeper, role) = (&world.app, &world.a.keeper, world.a.role);
    let done = rename(&world, keeper, role, "Renamed").await;
    let refused = (422, json!({"error": "Not today"}));

    plan(Some(Plan::Refuse(Hook::BeforeUndo, refusal(None, None))));
    let before = app.image().await;
    assert_eq!(undo(app, keeper, &done.token).await, refused);
    assert_eq!(app.image().await, before);
    plan(None);
    assert_eq!(undo(app, keeper, &done.token).await.0, 200);

    plan(Some(Plan::Refuse(Hook::BeforeRedo, refusal(None, None))));
    let before = app.image().await;
    assert_eq!(redo(app, keeper, done.log_id).await, refused);
    assert_eq!(app.image().await, before);
    plan(None);
    assert_eq!(redo(app, keeper, done.log_id).await.0, 200);
    assert_eq!(name_of(&world, role).await, "Renamed");
}

#[actix_web::test]
async fn a_hook_sees_the_input_the_changes_and_the_entry() {
    let world = gated().await;
    let (app, keeper, role) = (&world.app, &world.a.keeper, world.a.role);
    SEEN.take();

    let done = rename(&world, keeper, role, "Renamed").await;
    assert_eq!(undo(app, keeper, &done.token).await.0, 200);
    assert_eq!(redo(app, keeper, done.log_id).await.0, 200);

    let (wanted, changed) = (Some("Renamed".to_owned()), Some(vec!["name".to_owned()]));
    let expected = [
        (Hook::BeforeExecute, wanted.clone(), None, None),
        (Hook::AfterExecute, wanted, changed.clone(), None),
        (Hook::BeforeUndo, None, changed.clone(), Some(done.log_id)),
        (Hook::BeforeRedo, None, changed, Some(done.log_id)),
    ];
    assert_eq!(SEEN.take(), expected);
}

#[actix_web::test]
async fn aud_18_a_body_is_sent_as_it_is_whatever_the_status() {
    let world = gated().await;
    let call = Call::put("/auth/roles", json!({"id": world.a.role, "name": "Renamed"}));
    let body = json!({"reason": "maintenance"});

    plan(Some(Plan::Refuse(
        Hook::BeforeExecute,
        refusal(Some(503), Some(body.clone())),
    )));
    let request = call.request(&world.app, &world.a.keeper.token);
    let response = request.answered_by_interceptor().send().await;

    assert_eq!((response.status, response.json()), (503, body));
}

#[actix_web::test]
async fn aud_19_a_panic_ends_the_write_and_leaves_one_failed_entry() {
    let world = gated().await;
    let (app, keeper, role) = (&world.app, &world.a.keeper, world.a.role);
    let call = Call::put("/auth/roles", json!({"id": role, "name": "Renamed"}));

    for hook in [Hook::BeforeExecute, Hook::AfterExecute] {
        plan(Some(Plan::Panic(hook)));
        let response = call.send(app, &keeper.token).await;

        assert_eq!(response.status, 500);
        assert_eq!(response.json()["error"], "Internal server error");
        assert!(response.json()["requestId"].is_string());
        assert_eq!(name_of(&world, role).await, "Dispatcher");
    }

    let failed = failed_entries(&world).await;
    assert_eq!(failed.len(), 2);
    for entry in &failed {
        assert_eq!(entry["context"]["errorCode"], "internal_error");
        for member in ["undoToken", "snapshotBefore", "snapshotAfter", "changes"] {
            assert_eq!(entry[member], Value::Null, "{member}");
        }
        assert_eq!(entry["commandId"], "auth.role.update");
    }
}

#[actix_web::test]
async fn aud_19_a_panic_during_undo_leaves_the_token_usable() {
    let world = gated().await;
    let (app, keeper) = (&world.app, &world.a.keeper);
    let done = rename(&world, keeper, world.a.role, "Renamed").await;

    plan(Some(Plan::Panic(Hook::BeforeUndo)));
    assert_eq!(undo(app, keeper, &done.token).await.0, 500);
    plan(None);

    assert_eq!(failed_entries(&world).await.len(), 1);
    assert_eq!(undo(app, keeper, &done.token).await.0, 200);
    assert_eq!(name_of(&world, world.a.role).await, "Dispatcher");
}

pub(super) async fn failed_entries(world: &World) -> Vec<Value> {
    let mut all = entries(&world.app, &world.a.keeper, "limit=1000").await;
    all.retain(|entry| entry["executionState"] == "failed");
    all
}
