//! Windows: days on which a resource is unavailable.

use std::collections::HashMap;

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::{Feature, Result, Timestamp, crud};
use diesel::pg::Pg;
use diesel::sql_types::{Array, Uuid as SqlUuid};
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete, sql_query};
use diesel_async::RunQueryDsl;
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{SERIES, WINDOW};
use crate::changed::Changed;
use crate::day::Day;
use crate::derivation::lock_zones;
use crate::plan::Plan;
use crate::schema::calendar_windows as windows;
use crate::subject::{ResourceType, Subject};
use crate::zones::Zone;
use crate::{acl, query};

/// A window, the entity `calendar.window`. The days are stored by clients; the instants are derived from them in the zone of the organization.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = windows, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = CalendarWindow)]
pub struct Window {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// Type of the resource.
    pub resource_type: ResourceType,
    /// The resource.
    pub resource_id: Uuid,
    /// First day.
    pub start_date: Day,
    /// Day after the last one.
    pub end_date_exclusive: Day,
    /// Start of the first day.
    pub start_at: Timestamp,
    /// Start of the day after the last one.
    pub end_at: Timestamp,
    /// Code of the reason: one of the dictionary of reasons.
    pub reason_code: String,
    /// At most 500 characters.
    pub note: Option<String>,
    /// The series that created it.
    pub series_id: Option<Uuid>,
    /// The day of the series for which it was created; it stays when the window is moved.
    pub series_date: Option<Day>,
    /// Whether a client has changed it individually: updates of its series leave it as it is.
    pub is_exception: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Window {
    /// Returns the resource in its organization.
    #[must_use]
    pub fn subject(&self) -> Subject {
        Subject {
            organization: self.organization_id,
            resource_type: self.resource_type,
            id: self.resource_id,
        }
    }

    pub(crate) fn plan(&self) -> Plan {
        Plan {
            resource_type: self.resource_type,
            resource_id: self.resource_id,
            start_date: self.start_date,
            end_date_exclusive: self.end_date_exclusive,
            reason_code: self.reason_code.clone(),
            note: self.note.clone(),
        }
    }

    pub(crate) fn set_plan(&mut self, plan: Plan) {
        self.resource_type = plan.resource_type;
        self.resource_id = plan.resource_id;
        self.start_date = plan.start_date;
        self.end_date_exclusive = plan.end_date_exclusive;
        self.reason_code = plan.reason_code;
        self.note = plan.note;
    }

    /// Derives the instants.
    pub(crate) fn derive(&mut self, zone: &Zone) {
        (self.start_at, self.end_at) = zone.interval(self.start_date.get(), self.end_date_exclusive.get());
    }
}

/// Derives the instants of windows in the zones of their organizations, which stay locked.
pub(crate) async fn derive_all(tx: &mut Tx<'_>, rows: &mut [Window]) -> Result<()> {
    let organizations: Vec<Uuid> = rows.iter().map(|row| row.organization_id).collect();
    let zones: HashMap<Uuid, Zone> = lock_zones(tx, &organizations).await?;
    for row in rows {
        if let Some(zone) = zones.get(&row.organization_id) {
            row.derive(zone);
        }
    }
    Ok(())
}

/// Locks the zones of the organizations of windows. It comes before the locks of the rows: a transaction that replaces a zone updates these
/// rows while it holds the zone.
const LOCK_ZONES: &str = "select pg_advisory_xact_lock_shared(calendar_zone_lock(w.tenant_id, w.organization_id)) from ( \
    select distinct tenant_id, organization_id from calendar_windows where tenant_id = $1 and id = any(array(select unnest($2::uuid[]))) order by 1, 2) w";

impl Entity for Window {
    const KIND: &'static str = WINDOW;
    const VOLATILE: &'static [&'static str] = &["startAt", "endAt", "updatedAt"];
    const NOT_FOUND: &'static str = "Window not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let zones = sql_query(LOCK_ZONES)
            .bind::<SqlUuid, _>(locker.tenant())
            .bind::<Array<SqlUuid>, _>(ids);
        let visible = query::windows::in_scope(locker.scope()).filter(windows::id.one_of(ids));
        let rows = visible.order(windows::id).select(Self::as_select()).for_update();
        let mut connections = (locker.connection(), locker.connection());
        let (_locked, rows) = try_join(
            Prepared(zones).execute(&mut connections.0),
            rows.load(&mut connections.1),
        )
        .await?;
        Ok(crud::locked(rows))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        crud::load::<Self>(tx, ids).await
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Self>>>()?;
        for row in &mut rows {
            row.updated_at = tx.now();
        }
        derive_all(tx, &mut rows).await?;
        crate::commands::write_windows(tx, &rows).await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = windows::table.filter(windows::tenant_id.eq(tx.tenant()));
        delete(rows.filter(windows::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        for snapshot in [step.from, step.to].into_iter().flatten() {
            let row: Self = snapshot.row()?;
            tx.defer(Changed::Window {
                subject: row.subject(),
                id: row.id,
            });
        }
        Ok(())
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        let series = snapshot.get("seriesId")?.as_str()?.parse().ok()?;
        Some(EntityRef {
            kind: SERIES,
            id: series,
        })
    }
}
