//! Alerts. A recomputation writes them; commands change their acknowledgement only, so that is all that undo and redo restore.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{Feature, Rejection, Result, Scope, Timestamp};
use diesel::dsl::Filter;
use diesel::pg::Pg;
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::acl;
use crate::kinds::Kind;
use crate::schema::alerts_alerts as alerts;

/// The kind of the entity.
pub(crate) const KIND: &str = "alerts.alert";

/// An alert, without its assignments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = alerts, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct Alert {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// Name of the kind.
    pub kind: String,
    /// Name of the family of kinds between which it changes.
    pub family: String,
    /// 0 = critical, 1 = warning, 2 = info.
    pub urgency_rank: i16,
    /// Type of the subject.
    pub subject_type: String,
    /// The subject.
    pub subject_id: Uuid,
    /// Name of the subject.
    pub subject_name: String,
    /// What makes the conflict this one, within its family.
    pub identity_key: String,
    /// The window that assignments meet.
    pub window_id: Option<Uuid>,
    /// The job site that is closed.
    pub job_site_id: Option<Uuid>,
    /// Time at which it was opened, or at which the last assignment joined.
    pub occurred_at: Timestamp,
    /// Time at which it ends by itself.
    pub expires_at: Timestamp,
    /// Time at which it ended.
    pub resolved_at: Option<Timestamp>,
    /// Time of the acknowledgement.
    pub acknowledged_at: Option<Timestamp>,
    /// The user who acknowledged it.
    pub acknowledged_by: Option<Uuid>,
    /// Note of the acknowledgement, at most 500 characters.
    pub acknowledgement: Option<String>,
    /// Time of the escalation.
    pub escalated_at: Option<Timestamp>,
    /// Time from which the assignments of an overlap that go on are all on one job site.
    pub single_site_at: Option<Timestamp>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Alert {
    /// Whether it has ended, also if no schedule has stored that yet.
    #[must_use]
    pub fn is_resolved(&self, now: Timestamp) -> bool {
        self.resolved_at.is_some() || self.expires_at <= now
    }
}

type InScope = Filter<Filter<alerts::table, Owned<alerts::tenant_id>>, Within<alerts::organization_id>>;

/// Returns the alerts that are visible to the caller.
fn in_scope(scope: &Scope) -> InScope {
    alerts::table
        .filter(scope.owns(alerts::tenant_id))
        .filter(scope.within(alerts::organization_id))
}

impl Entity for Alert {
    const KIND: &'static str = KIND;
    /// `occurredAt` is compared, so that undo and redo return no acknowledgement to an alert that has grown since. Like every compared field, `store`
    /// writes it.
    const VOLATILE: &'static [&'static str] = &[
        "kind",
        "family",
        "urgencyRank",
        "subjectType",
        "subjectId",
        "subjectName",
        "identityKey",
        "windowId",
        "jobSiteId",
        "expiresAt",
        "resolvedAt",
        "escalatedAt",
        "singleSiteAt",
        "organizationId",
        "updatedAt",
    ];
    const NOT_FOUND: &'static str = "Alert not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = in_scope(locker.scope()).filter(alerts::id.one_of(ids));
        let locked = visible
            .select((alerts::id, alerts::tenant_id))
            .order(alerts::id)
            .for_update();
        Ok(locked.load(&mut locker.connection()).await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows: Vec<Self> = alerts::table
            .filter(alerts::tenant_id.eq(tx.tenant()))
            .filter(alerts::id.one_of(ids))
            .select(Self::as_select())
            .load(tx.conn())
            .await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let now = tx.now();
        let rows = snapshots.iter().map(Snapshot::row::<Self>);
        let rows: Vec<Self> = rows
            .map(|row| row.map(|row| Self { updated_at: now, ..row }))
            .collect::<Result<_>>()?;
        insert_into(alerts::table)
            .values(&rows)
            .on_conflict((alerts::tenant_id, alerts::id))
            .do_update()
            .set((
                alerts::occurred_at.eq(excluded(alerts::occurred_at)),
                alerts::acknowledged_at.eq(excluded(alerts::acknowledged_at)),
                alerts::acknowledged_by.eq(excluded(alerts::acknowledged_by)),
                alerts::acknowledgement.eq(excluded(alerts::acknowledgement)),
                alerts::created_at.eq(excluded(alerts::created_at)),
                alerts::updated_at.eq(excluded(alerts::updated_at)),
            ))
            .prepared_if(rows.len() == 1)
            .execute(tx.conn())
            .await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = alerts::table.filter(alerts::tenant_id.eq(tx.tenant()));
        delete(rows.filter(alerts::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    /// Rejects an undo or redo on an alert that is resolved now, as its commands do.
    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let (Some(from), true) = (step.from, step.restoring) else {
            return Ok(());
        };
        match from.row::<Self>()?.is_resolved(tx.context().now()) {
            true => Err(Rejection::undo_conflict(&["resolvedAt"]).into()),
            false => Ok(()),
        }
    }

    /// What the events of a recomputation show too; the assignments stay the same.
    fn event_fields(snapshot: &Snapshot) -> Map<String, Value> {
        let text = |name: &str| snapshot.get(name).and_then(Value::as_str).map(str::to_owned);
        let kind = text("kind");
        let urgency = kind
            .as_deref()
            .and_then(Kind::parse)
            .map(|kind| kind.urgency().as_str().to_owned());
        let fields = [
            ("kind", kind),
            ("urgency", urgency),
            ("subjectType", text("subjectType")),
            ("subjectId", text("subjectId")),
        ];
        fields
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), Value::String(value?))))
            .collect()
    }
}
