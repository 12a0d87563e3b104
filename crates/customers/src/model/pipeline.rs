//! Pipelines.

use backoffice_core::command::{Depth, Entity, LockedRow, Snapshot, Snapshots, Tx};
use backoffice_core::{Error, Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::stage::{self, StageRow};
use super::{DEAL, PIPELINE, STAGE, locked_rows};
use crate::error::undo_conflict;
use crate::schema::{customers_pipeline_stages as stages, customers_pipelines as pipelines};
use crate::{acl, query};

/// A pipeline. It serves the deals of its organization and of those below it.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = pipelines, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct PipelineRow {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// 1 to 200 characters, unique in the organization regardless of case.
    pub name: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// Entity kind `customers.pipeline`. Its stages are deleted and restored with it.
#[derive(Debug)]
pub enum Pipeline {}

impl Entity for Pipeline {
    const KIND: &'static str = PIPELINE;
    const NOT_FOUND: &'static str = "Pipeline not found";
    const VIEW: Option<Feature> = Some(acl::PIPELINES_VIEW);

    async fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let scope = tx.scope();
        let rows: Vec<(Uuid, Uuid)> = query::pipelines::in_scope(scope)
            .filter(pipelines::id.eq_any(ids))
            .order(pipelines::id)
            .select((pipelines::id, pipelines::tenant_id))
            // Does not block deals from entering its stages; a deletion waits for them.
            .for_no_key_update()
            .load(tx.conn())
            .await?;
        Ok(locked_rows(rows))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows: Vec<PipelineRow> = query::pipelines::of_tenant(tenant)
            .filter(pipelines::id.eq_any(ids))
            .select(PipelineRow::as_select())
            .load(tx.conn())
            .await?;
        let children = match depth {
            Depth::Own => None,
            Depth::Tree => Some(stages_of(tx, ids).await?),
        };
        let snapshot = |row: &PipelineRow| {
            let mut snapshot = Snapshot::of(row)?;
            if let Some(children) = &children {
                let own: Vec<&StageRow> = children.iter().filter(|stage| stage.pipeline_id == row.id).collect();
                snapshot = snapshot.with_children(STAGE, &own)?;
            }
            Ok((row.id, snapshot))
        };
        rows.iter().map(snapshot).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut children = Vec::new();
        let mut rows = snapshots
            .iter()
            .map(Snapshot::row)
            .collect::<Result<Vec<PipelineRow>>>()?;
        for (row, snapshot) in rows.iter_mut().zip(snapshots) {
            row.updated_at = tx.now();
            children.extend(snapshot.children::<StageRow>(STAGE)?.unwrap_or_default());
        }
        insert_into(pipelines::table)
            .values(&rows)
            .on_conflict((pipelines::tenant_id, pipelines::id))
            .do_update()
            .set((
                pipelines::organization_id.eq(excluded(pipelines::organization_id)),
                pipelines::name.eq(excluded(pipelines::name)),
                pipelines::created_at.eq(excluded(pipelines::created_at)),
                pipelines::updated_at.eq(excluded(pipelines::updated_at)),
            ))
            .execute(tx.conn())
            .await?;
        if !children.is_empty() {
            stage::upsert(tx, children).await?;
        }
        Ok(Vec::new())
    }

    /// Deletes pipelines with their stages; `undo_conflict` if deals are in them.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let removed = remove_rows(tx, ids).await;
        removed.map_err(|error| held_by_deals(error).unwrap_or_else(|| undo_conflict(&[DEAL])))
    }
}

/// Deletes pipelines with their stages.
///
/// # Errors
/// The violated foreign key when deals are in them.
pub(crate) async fn remove_rows(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
    let tenant = tx.tenant();
    delete(query::pipelines::of_tenant(tenant).filter(pipelines::id.eq_any(ids)))
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Returns the error of a deletion, or `None` if it says that deals refer to the deleted rows.
pub(crate) fn held_by_deals(error: Error) -> Option<Error> {
    match error.violated_constraint() {
        Some(
            "customers_deals_tenant_id_pipeline_id_fkey"
            | "customers_deals_tenant_id_pipeline_id_pipeline_stage_id_fkey",
        ) => None,
        _ => Some(error),
    }
}

/// Returns the stages of pipelines by id, locked until the end of the transaction so that the snapshot shows exactly what is deleted.
async fn stages_of(tx: &mut Tx<'_>, pipelines: &[Uuid]) -> Result<Vec<StageRow>> {
    let tenant = tx.tenant();
    Ok(query::stages::of_tenant(tenant)
        .filter(stages::pipeline_id.eq_any(pipelines))
        .order(stages::id)
        .select(StageRow::as_select())
        .for_no_key_update()
        .load(tx.conn())
        .await?)
}
