//! Stages of pipelines.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Snapshot, Snapshots, Tx};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::pipeline::held_by_deals;
use super::{DEAL, PIPELINE, STAGE, locked_rows};
use crate::error::undo_conflict;
use crate::schema::customers_pipeline_stages as stages;
use crate::{acl, query};

/// A stage of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = stages, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct StageRow {
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
    /// The position among the stages of the pipeline.
    pub position: i32,
    /// The color, `#rrggbb`.
    pub color: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// Entity kind `customers.pipeline_stage`, a part of its pipeline.
#[derive(Debug)]
pub enum Stage {}

impl Entity for Stage {
    const KIND: &'static str = STAGE;
    const NOT_FOUND: &'static str = "Pipeline stage not found";
    const VIEW: Option<Feature> = Some(acl::PIPELINES_VIEW);

    async fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let scope = tx.scope();
        let rows: Vec<(Uuid, Uuid)> = query::stages::in_scope(scope)
            .filter(stages::id.eq_any(ids))
            .order(stages::id)
            .select((stages::id, stages::tenant_id))
            // Does not block deals from entering the stage; a deletion waits for them.
            .for_no_key_update()
            .load(tx.conn())
            .await?;
        Ok(locked_rows(rows))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows: Vec<StageRow> = query::stages::of_tenant(tenant)
            .filter(stages::id.eq_any(ids))
            .select(StageRow::as_select())
            .load(tx.conn())
            .await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let rows = snapshots.iter().map(Snapshot::row).collect::<Result<_>>()?;
        upsert(tx, rows).await?;
        Ok(Vec::new())
    }

    /// Deletes stages; `undo_conflict` if deals are in them.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let removed = remove_rows(tx, ids).await;
        removed.map_err(|error| held_by_deals(error).unwrap_or_else(|| undo_conflict(&[DEAL])))
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        let id = snapshot.get("pipelineId")?.as_str()?.parse().ok()?;
        Some(EntityRef { kind: PIPELINE, id })
    }
}

/// Deletes stages.
///
/// # Errors
/// The violated foreign key when deals are in them.
pub(crate) async fn remove_rows(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
    let tenant = tx.tenant();
    delete(query::stages::of_tenant(tenant).filter(stages::id.eq_any(ids)))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Inserts or updates stages in one statement, so that they may swap positions.
pub(super) async fn upsert(tx: &mut Tx<'_>, mut rows: Vec<StageRow>) -> Result<()> {
    for row in &mut rows {
        row.updated_at = tx.now();
    }
    insert_into(stages::table)
        .values(&rows)
        .on_conflict((stages::tenant_id, stages::id))
        .do_update()
        .set((
            stages::organization_id.eq(excluded(stages::organization_id)),
            stages::pipeline_id.eq(excluded(stages::pipeline_id)),
            stages::label.eq(excluded(stages::label)),
            stages::position.eq(excluded(stages::position)),
            stages::color.eq(excluded(stages::color)),
            stages::created_at.eq(excluded(stages::created_at)),
            stages::updated_at.eq(excluded(stages::updated_at)),
        ))
        .execute(tx.conn())
        .await?;
    Ok(())
}
