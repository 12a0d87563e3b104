//! Sets the number of a thing. The outcome depends on the thing's name.

use backoffice_core::command::{BatchCommand, BatchItem, Class, Command, Target, Tx};
use backoffice_core::http::Json;
use backoffice_core::input::Input;
use backoffice_core::{Detail, Feature, Rejection, RequestContext, Result};
use diesel::{ExpressionMethods, QueryDsl, update};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::MANAGE;
use super::thing::{Thing, ThingRow, sample_things as things};

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
pub(super) struct SetNumber {
    pub(super) id: Uuid,
    pub(super) number: i32,
}

impl Input for SetNumber {}

impl Command for SetNumber {
    const ID: &'static str = "sample.thing.set_number";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Set number";
    const FEATURES: &'static [Feature] = &[MANAGE];
    type Entity = Thing;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        use diesel_async::RunQueryDsl;

        let name: String = things::table
            .filter(things::tenant_id.eq(tx.tenant()))
            .filter(things::id.eq(self.id))
            .select(things::name)
            .first(tx.conn())
            .await?;
        match validate(&name) {
            Some(rejection) => Err(rejection.into()),
            None => change(tx, &[self.id], self.number).await,
        }
    }
}

impl BatchCommand for SetNumber {
    async fn apply_all(tx: &mut Tx<'_>, items: &[BatchItem<'_, Self>]) -> Result<Vec<(Uuid, Rejection)>> {
        let Some(first) = items.first() else {
            return Ok(Vec::new());
        };
        let (mut rejected, mut ids) = (Vec::new(), Vec::new());
        for item in items {
            match validate(&item.before.row::<ThingRow>()?.name) {
                Some(rejection) => rejected.push((item.id, rejection)),
                None => ids.push(item.id),
            }
        }
        change(tx, &ids, first.command.number).await?;
        Ok(rejected)
    }
}

fn validate(name: &str) -> Option<Rejection> {
    let code = match name {
        "short" => "too_short",
        "orphan" => "unknown_reference",
        _ => return None,
    };
    Some(Rejection::invalid(vec![Detail::new("number", "does not suit", code)]))
}

async fn change(tx: &mut Tx<'_>, ids: &[Uuid], number: i32) -> Result<()> {
    use diesel_async::RunQueryDsl;

    let (tenant, now) = (tx.tenant(), tx.now());
    let differing = things::table
        .filter(things::tenant_id.eq(tenant))
        .filter(things::id.eq_any(ids))
        .filter(things::number.ne(number));
    let names: Vec<String> = update(differing)
        .set((things::number.eq(number), things::updated_at.eq(now)))
        .returning(things::name)
        .get_results(tx.conn())
        .await?;
    let has = |requested: &str| names.iter().any(|name| name == requested);
    assert!(!has("bomb"), "a bomb goes off, on purpose");
    if has("fixed") {
        tx.cannot_be_undone();
    }
    if has("abyss") {
        std::future::pending::<()>().await;
    }
    Ok(())
}

pub(super) async fn update_thing(ctx: RequestContext, body: Json<SetNumber>) -> Result<Json<Value>> {
    ctx.execute(&body.0, |()| Json(json!({"ok": true}))).await
}
