//! Undo and redo send the same number of statements for one resource and for many, with an empty stack and with many entries.

use actix_web::http::Method;
use backoffice_core::command::{Class, Command, Entity, EntityRef, Target, Tx};
use backoffice_core::http::{Access, Json, Routes};
use backoffice_core::input::Input;
use backoffice_core::{Feature, Module, RequestContext, Result};
use backoffice_directory::commands::TenantCreated;
use backoffice_directory::model::Organization;
use backoffice_test_support::{TestApp, UndoableWrite};
use diesel::sql_query;
use diesel::sql_types::{Array, Timestamptz, Uuid as SqlUuid};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::sign_in::{MODULES, admin, tenant};
use crate::{organization, rename};

/// Numbers organizations, all by one command.
static MANY: Module = Module {
    name: "many",
    requires: &["directory"],
    routes,
    register: |registry| {
        registry.command::<Number>();
    },
    ..Module::EMPTY
};

fn routes(routes: &mut Routes) {
    routes.post("/many", Access::Authenticated, number);
}

#[derive(Debug, Deserialize, ToSchema)]
struct Number {
    ids: Vec<Uuid>,
}

impl Input for Number {}

impl Command for Number {
    const ID: &'static str = "many.organization.number";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Number organizations";
    const FEATURES: &'static [Feature] = &[];
    type Entity = Organization;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.ids[0])
    }

    fn affects(&self) -> Vec<EntityRef> {
        let touched = |id: &Uuid| EntityRef {
            kind: Organization::KIND,
            id: *id,
        };
        self.ids[1..].iter().map(touched).collect()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        use diesel_async::RunQueryDsl;

        let now = tx.now();
        sql_query("update directory_organizations set name = name || ' I', updated_at = $2 where id = any($1)")
            .bind::<Array<SqlUuid>, _>(&self.ids)
            .bind::<Timestamptz, _>(now)
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}

async fn number(ctx: RequestContext, body: Json<Number>) -> Result<Json<Value>> {
    ctx.execute(&body.0, |()| Json(json!({"ok": true}))).await
}

struct Setting {
    app: TestApp,
    acme: TenantCreated,
    token: String,
}

impl Setting {
    async fn new() -> Self {
        let app = TestApp::builder(&[&MODULES[..], &[&MANY]].concat())
            .through_proxy()
            .pool_size(1)
            .build()
            .await;
        let acme = tenant(&app, "Acme").await;
        let token = admin(&acme, "");
        Self { app, acme, token }
    }

    async fn organizations(&self, count: usize) -> Vec<Value> {
        let mut created = Vec::with_capacity(count);
        for index in 0..count {
            let response = organization(&self.app, &self.token, &format!("Part {index}"), json!(null)).await;
            created.push(response.json()["id"].clone());
        }
        created
    }

    async fn number(&self, ids: &[Value]) -> UndoableWrite {
        let response = self.app.send(&self.token, Method::POST, "/many", json!({"ids": ids}));
        response.await.undoable_write()
    }

    async fn rename(&self, id: &Value, name: &str) -> UndoableWrite {
        rename(&self.app, &self.token, id, name).await.undoable_write()
    }

    /// Returns status and number of statements.
    async fn undo(&self, write: &UndoableWrite) -> (u16, u64) {
        let undo = self.app.undo(&self.token, write);
        let ((status, _), statements) = self.app.count_statements(undo).await;
        (status, statements)
    }

    async fn redo(&self, write: &UndoableWrite) -> (u16, u64) {
        let redo = self.app.redo(&self.token, write);
        let ((status, _), statements) = self.app.count_statements(redo).await;
        (status, statements)
    }
}

fn text(id: &Value) -> &str {
    id.as_str().expect("an id")
}

#[actix_web::test]
async fn it_does_not_matter_how_many_resources_an_action_affected() {
    let setting = Setting::new().await;
    let ids = setting.organizations(25).await;
    let mut counts = Vec::new();

    // The first round prepares statements that a connection prepares once.
    for count in [2, 2, 25] {
        let operation = setting.number(&ids[..count]).await;
        counts.push((setting.undo(&operation).await, setting.redo(&operation).await));
    }

    let names = "select count(*) as n from directory_organizations where name like '% I'";
    assert_eq!(setting.app.rows(names).await[0]["n"], 25);
    let [_, (undo, redo), many] = counts[..] else {
        unreachable!("three rounds")
    };
    assert_eq!((undo.0, redo.0), (200, 200));
    assert_eq!(many, (undo, redo));
    assert!(undo.1 <= 20 && redo.1 <= 20, "{undo:?} {redo:?}");
}

#[actix_web::test]
async fn it_does_not_matter_how_many_undone_entries_lie_above() {
    let setting = Setting::new().await;
    let ids = setting.organizations(14).await;
    let (first, others) = ids.split_first().expect("14");
    let lowest = setting.rename(first, "Lowest").await;
    setting.undo(&lowest).await;
    let (_, alone) = setting.redo(&lowest).await;
    let mut counts = Vec::new();
    let undone_above = async |ids: &[Value]| {
        for id in ids {
            let operation = setting.rename(id, "Above").await;
            assert_eq!(setting.undo(&operation).await.0, 200);
        }
    };
    let spoil = format!(
        "update directory_organizations set name = name || '!' where id::text <> '{}'",
        text(first)
    );

    for others in [&others[..1], &others[1..2], &others[2..]] {
        let lowest = setting.rename(first, &format!("Lowest {}", counts.len())).await;
        assert_eq!(setting.undo(&lowest).await.0, 200);
        undone_above(others).await;
        let rejected = setting.redo(&lowest).await;
        // A change that bypassed the log can't be redone and blocks nothing.
        setting.app.sql(&spoil).await;
        counts.push((rejected, setting.redo(&lowest).await));
    }

    let [_, (rejected, redone), many] = counts[..] else {
        unreachable!("three rounds")
    };
    assert_eq!((rejected.0, redone.0), (400, 200));
    assert_eq!(many, (rejected, redone), "one entry above, or twelve");
    assert!(redone.1 <= alone + 3, "{redone:?} {alone}");
}

#[actix_web::test]
async fn entries_whose_resource_has_moved_on_are_not_even_read() {
    let setting = Setting::new().await;
    let ids = setting.organizations(9).await;
    let (first, others) = ids.split_first().expect("9");
    let warm = setting.rename(first, "Warm").await;
    setting.undo(&warm).await;
    let (_, alone) = setting.redo(&warm).await;
    let lowest = setting.rename(first, "Lowest").await;
    setting.undo(&lowest).await;
    for id in others {
        let operation = setting.rename(id, "Above").await;
        assert_eq!(setting.undo(&operation).await.0, 200);
        setting.rename(id, "Moved on").await;
    }

    let redone = setting.redo(&lowest).await;

    assert_eq!(redone, (200, alone));
}

#[actix_web::test]
async fn an_affected_resource_outside_the_scope_stays_unchanged() {
    let setting = Setting::new().await;
    let ids = setting.organizations(2).await;
    let operation = setting.number(&ids).await;
    let limited = admin(&setting.acme, text(&ids[0]));
    let before = setting.app.snapshot().await;

    let response = setting.app.undo(&limited, &operation).await;

    assert_eq!(response, (400, json!({"error": "Undo token not available"})));
    assert!(setting.app.snapshot().await == before);
}
