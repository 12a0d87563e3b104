//! A command over several resources: a module of the test swaps the grants of two roles.

use actix_web::http::Method;
use backoffice_auth::model::RoleAcl;
use backoffice_core::command::{Class, Command, Entity, EntityRef, Target, Tx};
use backoffice_core::http::{Access, Json, Routes};
use backoffice_core::input::Input;
use backoffice_core::{Feature, Module, RequestContext, Result};
use backoffice_test_support::{TestResponse, UNDO};
use diesel::sql_query;
use diesel::sql_types::{Timestamptz, Uuid as SqlUuid};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::fixture::{Fixture, id_of};

static SWAP: Module = Module {
    name: "swap",
    requires: &["auth"],
    routes,
    register: |registry| {
        registry.command::<SwapGrants>();
    },
    ..Module::EMPTY
};

fn routes(routes: &mut Routes) {
    routes.post("/swap", Access::Authenticated, swap_grants).rejects(&[404]);
}

#[derive(Debug, Deserialize, ToSchema)]
struct SwapGrants {
    one: Uuid,
    other: Uuid,
}

impl Input for SwapGrants {}

impl Command for SwapGrants {
    const ID: &'static str = "swap.role_acl.features";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Swap permissions";
    const FEATURES: &'static [Feature] = &[];
    type Entity = RoleAcl;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.one)
    }

    fn affects(&self) -> Vec<EntityRef> {
        vec![EntityRef {
            kind: RoleAcl::KIND,
            id: self.other,
        }]
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        use diesel_async::RunQueryDsl;

        let now = tx.now();
        sql_query(
            "update auth_role_acls a set features = b.features, updated_at = $3 from auth_role_acls b \
             where a.id in ($1, $2) and b.id in ($1, $2) and a.id <> b.id",
        )
        .bind::<SqlUuid, _>(self.one)
        .bind::<SqlUuid, _>(self.other)
        .bind::<Timestamptz, _>(now)
        .execute(tx.conn())
        .await?;
        Ok(())
    }
}

async fn swap_grants(ctx: RequestContext, body: Json<SwapGrants>) -> Result<Json<Value>> {
    ctx.execute(&body.0, |()| Json(json!({"ok": true}))).await
}

struct Swapped {
    fixture: Fixture,
    one: Uuid,
    other: Uuid,
    response: TestResponse,
}

impl Swapped {
    async fn new() -> Self {
        let fixture = Fixture::with_modules(&[&SWAP]).await;
        let one = fixture.role("One", &["auth.users.list"], None).await;
        let other = fixture.role("Other", &["auth.roles.list"], None).await;
        let body = json!({"one": one, "other": other});
        let response = fixture
            .app
            .request(Method::POST, "/swap")
            .bearer(&fixture.a.token)
            .json(&body)
            .send()
            .await;
        Self {
            fixture,
            one,
            other,
            response,
        }
    }

    async fn grants(&self) -> [Value; 2] {
        let grants = |id: Uuid| async move {
            let path = format!("/auth/roles/acl?roleId={id}");
            self.fixture.app.get(&self.fixture.a.token, &path).await.1["features"][0].clone()
        };
        [grants(self.one).await, grants(self.other).await]
    }

    async fn undo(&self) -> (u16, Value) {
        self.fixture.app.undo(&self.fixture.a.token, &self.response).await
    }
}

#[actix_web::test]
async fn both_resources_are_undone_and_redone_together() {
    let swapped = Swapped::new().await;
    assert_eq!(swapped.response.status, 200, "{}", swapped.response.text());
    assert_eq!(swapped.grants().await, ["auth.roles.list", "auth.users.list"]);

    let (undone, _) = swapped.undo().await;
    let after_undo = swapped.grants().await;
    let (app, token) = (&swapped.fixture.app, &swapped.fixture.a.token);
    let (redone, again) = app.redo(token, &swapped.response).await;
    let after_redo = swapped.grants().await;
    let undo = json!({"undoToken": again["undoToken"]});
    let (undone_again, _) = app.post(token, UNDO, undo).await;

    assert_eq!((undone, redone, undone_again), (200, 200, 200));
    assert_eq!(
        (after_undo, after_redo),
        (
            ["auth.users.list", "auth.roles.list"].map(Value::from),
            ["auth.roles.list", "auth.users.list"].map(Value::from)
        )
    );
    assert_eq!(swapped.grants().await, ["auth.users.list", "auth.roles.list"]);
}

#[actix_web::test]
async fn a_later_change_of_the_affected_resource_comes_first() {
    let swapped = Swapped::new().await;
    let body = json!({"roleId": swapped.other, "features": ["auth.acl.manage"]});
    let (app, token) = (&swapped.fixture.app, &swapped.fixture.a.token);
    let later = app.send(token, Method::PUT, "/auth/roles/acl", body).await;

    let (early, text) = swapped.undo().await;
    app.undo(token, &later).await;
    let (now, _) = swapped.undo().await;

    assert_eq!((early, text["error"].as_str()), (400, Some("Undo token not available")));
    assert_eq!(now, 200);
    assert_eq!(swapped.grants().await, ["auth.users.list", "auth.roles.list"]);
}

#[actix_web::test]
async fn a_change_of_the_affected_resource_behind_the_log_is_a_conflict() {
    let swapped = Swapped::new().await;
    swapped
        .fixture
        .app
        .sql(&format!(
            "update auth_role_acls set features = '{{x}}' where id = '{}'",
            swapped.other
        ))
        .await;
    let before = swapped.fixture.app.snapshot().await;

    let (status, body) = swapped.undo().await;

    assert_eq!((status, body["code"].as_str()), (400, Some("undo_conflict")));
    assert_eq!(body["fields"], json!(["features"]));
    assert_eq!(swapped.fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn the_entry_is_found_by_either_resource_and_each_is_announced() {
    let swapped = Swapped::new().await;
    let log = swapped.response.operation().expect("undoable")["id"].clone();
    for id in [swapped.one, swapped.other] {
        let path = format!(
            "/audit_logs/audit-logs/actions?resourceKind=auth.role_acl&resourceId={id}&includeRelated=true&pageSize=1"
        );
        let (_, list) = swapped.fixture.app.get(&swapped.fixture.a.token, &path).await;
        assert_eq!(list["items"][0]["id"], log);
    }
    let events = format!(
        "select name from core_outbox_events where log_id = {}",
        log.to_string().replace('"', "'")
    );
    let events = swapped.fixture.app.rows(&events).await;
    assert_eq!(
        events,
        [
            json!({"name": "auth.role_acl.updated"}),
            json!({"name": "auth.role_acl.updated"})
        ]
    );
}

#[actix_web::test]
async fn an_affected_resource_outside_the_scope_is_not_found() {
    let swapped = Swapped::new().await;
    let foreign = json!({"name": "Foreign"});
    let foreign = id_of(
        &swapped
            .fixture
            .app
            .post(&swapped.fixture.b.token, "/auth/roles", foreign)
            .await
            .1,
    );

    let body = json!({"one": swapped.one, "other": foreign});
    let (status, text) = swapped
        .fixture
        .app
        .post(&swapped.fixture.a.token, "/swap", body.clone())
        .await;
    let (across, _) = swapped.fixture.app.post(&swapped.fixture.root, "/swap", body).await;

    assert_eq!((status, text), (404, json!({"error": "Role not found"})));
    assert_eq!(across, 404, "one command stays in one tenant");
}
