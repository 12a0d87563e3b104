//! Numbers many things.

use backoffice_core::command::{Class, Tx};
use backoffice_core::http::{Created, Json};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Detail, Feature, Rejection, RequestContext, Result};
use backoffice_progress::bulk::{BulkOperation, Started, checked_ids, start, start_matching, validate_ids};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::MANAGE;
use super::set_number::SetNumber;
use super::thing::sample_things as things;

pub(crate) const BULK: &str = "/sample/things/bulk-number";
pub(crate) const ALL: &str = "/sample/things/number-matching";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct NumberThings {
    number: i32,
    /// Name of the things to number, for requests without ids.
    name: Option<String>,
}

impl BulkOperation for NumberThings {
    const ID: &'static str = "sample.thing.bulk_number";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Number things";
    const NAME: &'static str = "Number things";
    const FEATURES: &'static [Feature] = &[MANAGE];
    type Item = SetNumber;

    fn item(&self, id: Uuid) -> SetNumber {
        SetNumber {
            id,
            number: self.number,
        }
    }

    fn message(total: usize) -> String {
        format!("{total} things will be numbered")
    }

    async fn meta(&self, _tx: &mut Tx<'_>) -> Result<Value> {
        Ok(json!({"number": self.number}))
    }

    async fn check(&self, _tx: &mut Tx<'_>) -> Result<()> {
        if self.number >= 0 {
            return Ok(());
        }
        let detail = Detail::new("number", "is unknown", "unknown_reference");
        Err(Rejection::invalid(vec![detail]).into())
    }

    async fn matching(&self, tx: &mut Tx<'_>, most: usize) -> Result<(Vec<Uuid>, i64)> {
        let scope = tx.scope();
        let matching = || {
            things::table
                .filter(scope.owns(things::tenant_id))
                .filter(scope.within(things::organization_id))
                .filter(things::name.eq(self.name.clone().unwrap_or_default()))
        };
        let total: i64 = matching().count().get_result(tx.conn()).await?;
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let first = matching().order(things::id).limit(limit).select(things::id);
        Ok((first.load(tx.conn()).await?, total))
    }
}

#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ByIds {
    ids: Vec<Uuid>,
    number: i32,
}

impl Input for ByIds {
    fn validate(&self, validator: &mut Validator) {
        validate_ids(&self.ids, validator);
    }
}

pub(super) async fn number_things(ctx: RequestContext, body: Json<ByIds>) -> Result<Created<Started>> {
    let operation = NumberThings {
        number: body.0.number,
        name: None,
    };
    start(&ctx, operation, checked_ids(body.0.ids)?).await
}

#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ByName {
    name: String,
    number: i32,
}

impl Input for ByName {}

pub(super) async fn number_matching_things(ctx: RequestContext, body: Json<ByName>) -> Result<Created<Started>> {
    let operation = NumberThings {
        number: body.0.number,
        name: Some(body.0.name),
    };
    start_matching(&ctx, operation).await
}
