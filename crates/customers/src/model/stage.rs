//! Stages of pipelines.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::{KeyColumn, Recurring, ReplaceRow};
use backoffice_core::{Feature, Result, Timestamp, crud};
use diesel::pg::Pg;
use diesel::{Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{PIPELINE, STAGE};
use crate::error::has_deals;
use crate::schema::customers_pipeline_stages as stages;
use crate::{acl, query};

/// A stage of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = stages, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = StageRow)]
pub struct Stage {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization of the pipeline.
    pub organization_id: Uuid,
    /// The pipeline.
    pub pipeline_id: Uuid,
    /// 1 to 200 characters, unique in the pipeline regardless of case.
    pub label: String,
    /// The position among the stages of the pipeline. Deleted stages leave gaps.
    pub position: i32,
    /// The color, `#rrggbb`.
    pub color: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for Stage {
    const KIND: &'static str = STAGE;
    const NOT_FOUND: &'static str = "Pipeline stage not found";
    const VIEW: Option<Feature> = Some(acl::PIPELINES_VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::stages::in_scope(locker.scope()).filter(stages::id.one_of(ids));
        // Does not block deals from entering the stage; a deletion waits for them.
        let locked = visible.order(stages::id).select(Self::as_select()).for_no_key_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        crud::load::<Self>(tx, ids).await
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let rows = snapshots.iter().map(Snapshot::row).collect::<Result<_>>()?;
        restore(tx, rows).await?;
        Ok(Vec::new())
    }

    /// Deletes stages, unless deals are in them.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = query::stages::of_tenant(tx.tenant()).filter(stages::id.one_of(ids));
        let removed = delete(rows).execute(tx.conn()).await;
        removed.map(drop).map_err(|error| has_deals(error.into()))
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        let id = snapshot.get("pipelineId")?.as_str()?.parse().ok()?;
        Some(EntityRef { kind: PIPELINE, id })
    }
}

/// Inserts or replaces stages in one statement, so that they may swap positions.
pub(super) async fn restore(tx: &mut Tx<'_>, mut rows: Vec<Stage>) -> Result<()> {
    for row in &mut rows {
        row.updated_at = tx.now();
    }
    insert_into(stages::table)
        .values(&rows)
        .on_conflict((stages::tenant_id, stages::id))
        .do_update()
        .set(ReplaceRow::<stages::table>::default())
        .prepared_if(rows.len() == 1)
        .execute(tx.conn())
        .await?;
    Ok(())
}
