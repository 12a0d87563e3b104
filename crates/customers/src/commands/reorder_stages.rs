//! Reorders the stages of a pipeline.

use std::collections::BTreeSet;

use backoffice_core::command::{Class, Command, EntityRef, Target, Tx};
use backoffice_core::db::Prepared;
use backoffice_core::input::Input;
use backoffice_core::{Feature, Rejection, Result};
use diesel::sql_types::{Array, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, sql_query};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::model::{Pipeline, STAGE};
use crate::schema::{customers_pipeline_stages as stages, customers_pipelines as pipelines};
use crate::{acl, query};

/// The requested order of the stages of a pipeline.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageOrder {
    /// The pipeline.
    pub pipeline_id: Uuid,
    /// All stages of the pipeline, each once.
    #[schema(value_type = BTreeSet<Uuid>)]
    pub ids: Vec<Uuid>,
}

impl Input for StageOrder {}

/// Reorders the stages of a pipeline. Written by hand: it changes several records at once.
#[derive(Debug, Clone)]
pub struct ReorderStages(pub StageOrder);

/// The stages exchange the positions that they have, with the gaps that deleted stages left: a stage that is appended later comes after all of
/// them, so that it has no position that an undo needs.
const REORDER: &str = "\
with present as (
    select s.position, row_number() over (order by s.position) as n
    from customers_pipeline_stages s where s.tenant_id = $1 and s.id = any(array(select unnest($2::uuid[])))
)
update customers_pipeline_stages s set position = p.position, updated_at = $3
from unnest($2) with ordinality as w (id, n) join present p on p.n = w.n
where s.tenant_id = $1 and s.id = w.id and s.position <> p.position";

impl Command for ReorderStages {
    const ID: &'static str = "customers.pipeline_stage.reorder";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Reorder pipeline stages";
    const FEATURES: &'static [Feature] = &[acl::PIPELINES_MANAGE];
    const LOCKS_FIRST: bool = true;
    type Entity = Pipeline;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.0.pipeline_id)
    }

    /// Returns the stages after locking their pipeline: no stage is appended while the lock is held.
    async fn affects_behind_lock(&self, tx: &mut Tx<'_>) -> Result<Vec<EntityRef>> {
        let scope = tx.scope();
        let tenant: Option<Uuid> = query::pipelines::in_scope(scope)
            .filter(pipelines::id.eq(self.0.pipeline_id))
            .select(pipelines::tenant_id)
            .for_no_key_update()
            .first(tx.conn())
            .await
            .optional()?;
        let Some(tenant) = tenant else { return Ok(Vec::new()) };
        let stored: BTreeSet<Uuid> = query::stages::of_tenant(tenant)
            .filter(stages::pipeline_id.eq(self.0.pipeline_id))
            .select(stages::id)
            .load(tx.conn())
            .await?
            .into_iter()
            .collect();
        let requested: BTreeSet<Uuid> = self.0.ids.iter().copied().collect();
        if requested != stored || requested.len() != self.0.ids.len() {
            let rule = "must be exactly the stages of the pipeline, each once";
            return Err(Rejection::invalid_field("ids", rule, "invalid_value").into());
        }
        Ok(stored.into_iter().map(|id| EntityRef { kind: STAGE, id }).collect())
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let statement = sql_query(REORDER)
            .bind::<SqlUuid, _>(tenant)
            .bind::<Array<SqlUuid>, _>(&self.0.ids)
            .bind::<Timestamptz, _>(now);
        Prepared(statement).execute(tx.conn()).await?;
        Ok(())
    }
}
