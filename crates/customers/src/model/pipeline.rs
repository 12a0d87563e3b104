//! Pipelines.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::crud::{self, Record};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::stage::{self, Stage};
use super::{PIPELINE, STAGE};
use crate::error::has_deals;
use crate::schema::{customers_pipeline_stages as stages, customers_pipelines as pipelines};
use crate::{acl, query};

/// A pipeline. It serves the deals of its organization and of those below it. Its stages are deleted and restored with it.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = pipelines, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = PipelineRow)]
pub struct Pipeline {
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

impl Entity for Pipeline {
    const KIND: &'static str = PIPELINE;
    const NOT_FOUND: &'static str = "Pipeline not found";
    const VIEW: Option<Feature> = Some(acl::PIPELINES_VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::pipelines::in_scope(locker.scope()).filter(pipelines::id.one_of(ids));
        // Does not block deals from entering its stages; a deletion waits for them.
        let locked = visible
            .order(pipelines::id)
            .select(Self::as_select())
            .for_no_key_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let rows = crud::read::<Self>(tx, ids).await?;
        if rows.is_empty() {
            return Ok(Snapshots::new());
        }
        let children = match depth {
            Depth::Own => None,
            Depth::Tree => Some(stages_of(tx, ids).await?),
        };
        let snapshot = |row: &Self| {
            let mut snapshot = Snapshot::of(row)?;
            if let Some(children) = &children {
                let own: Vec<&Stage> = children.iter().filter(|stage| stage.pipeline_id == row.id).collect();
                snapshot = snapshot.with_children(STAGE, &own)?;
            }
            Ok((row.id, snapshot))
        };
        rows.iter().map(snapshot).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let (mut rows, mut children) = (Vec::with_capacity(snapshots.len()), Vec::new());
        for snapshot in snapshots {
            let row: Self = snapshot.row()?;
            let updated_at = tx.now();
            rows.push(Self { updated_at, ..row });
            children.extend(snapshot.children::<Stage>(STAGE)?.unwrap_or_default());
        }
        Self::write(tx, &rows).await?;
        if !children.is_empty() {
            stage::restore(tx, children).await?;
        }
        Ok(Vec::new())
    }

    /// Deletes pipelines with their stages, unless deals are in them.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = query::pipelines::of_tenant(tx.tenant()).filter(pipelines::id.one_of(ids));
        let removed = delete(rows).execute(tx.conn()).await;
        removed.map(drop).map_err(|error| has_deals(error.into()))
    }
}

/// Returns the stages of pipelines by id, locked until the end of the transaction so that the snapshot shows exactly what is deleted.
async fn stages_of(tx: &mut Tx<'_>, pipelines: &[Uuid]) -> Result<Vec<Stage>> {
    let tenant = tx.tenant();
    Ok(query::stages::of_tenant(tenant)
        .filter(stages::pipeline_id.one_of(pipelines))
        .order(stages::id)
        .select(Stage::as_select())
        .for_no_key_update()
        .load(tx.conn())
        .await?)
}
