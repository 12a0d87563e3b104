//! Things.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::{Result, Timestamp};
use diesel::{
    AsChangeset, ExpressionMethods, Identifiable, QueryDsl, Queryable, Selectable, SelectableHelper, delete, table,
    update,
};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::recount::Numbered;

table! {
    sample_things (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        name -> Text,
        number -> Integer,
        slot -> Nullable<Integer>,
        updated_at -> Timestamptz,
    }
}

/// Two things in one slot can't have the same number.
pub(crate) const TABLE: &str = "
    create table sample_things (
        tenant_id uuid not null,
        id uuid not null,
        organization_id uuid,
        name text not null,
        number integer not null,
        slot integer,
        updated_at timestamptz(3) not null,
        primary key (tenant_id, id),
        constraint sample_things_slot_key unique (tenant_id, slot, number)
    );
    call app_secure_table('sample_things');";

#[derive(Debug, Clone, Serialize, Deserialize, Identifiable, Queryable, Selectable, AsChangeset)]
#[diesel(table_name = sample_things, primary_key(tenant_id, id), check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub(super) struct ThingRow {
    tenant_id: Uuid,
    id: Uuid,
    organization_id: Option<Uuid>,
    pub(super) name: String,
    pub(super) number: i32,
    updated_at: Timestamp,
}

#[derive(Debug)]
pub(super) enum Thing {}

impl Entity for Thing {
    const KIND: &'static str = "sample.thing";
    const NOT_FOUND: &'static str = "Thing not found";

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let scope = locker.scope();
        let rows: Vec<(Uuid, Uuid)> = sample_things::table
            .filter(scope.owns(sample_things::tenant_id))
            .filter(scope.within(sample_things::organization_id))
            .filter(sample_things::id.eq_any(ids))
            .order(sample_things::id)
            .select((sample_things::id, sample_things::tenant_id))
            .for_update()
            .load(&mut locker.connection())
            .await?;
        Ok(rows
            .into_iter()
            .map(|(id, tenant)| LockedRow::new(id, tenant))
            .collect())
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows: Vec<ThingRow> = sample_things::table
            .filter(sample_things::tenant_id.eq(tx.tenant()))
            .filter(sample_things::id.eq_any(ids))
            .select(ThingRow::as_select())
            .load(tx.conn())
            .await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        for snapshot in snapshots {
            let row = ThingRow {
                updated_at: tx.now(),
                ..snapshot.row()?
            };
            update(&row).set(&row).execute(tx.conn()).await?;
        }
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let tenant = tx.tenant();
        let gone = sample_things::table
            .filter(sample_things::tenant_id.eq(tenant))
            .filter(sample_things::id.eq_any(ids));
        delete(gone).execute(tx.conn()).await?;
        Ok(())
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        if let Some(after) = step.to {
            let number = after.row::<ThingRow>()?.number;
            tx.defer(Numbered { id: step.id, number });
        }
        Ok(())
    }
}
