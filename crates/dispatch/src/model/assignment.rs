//! Assignments of resources to job sites.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, PreparedIf};
use backoffice_core::{Feature, Rejection, Result, Timestamp};
use diesel::pg::Pg;
use diesel::sql_types::Bool;
use diesel::upsert::excluded;
use diesel::{
    ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete, dsl::sql, insert_into,
};
use diesel_async::RunQueryDsl;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{ASSIGNMENT, JOB_SITE, RESOURCE, StatedAssignment};
use crate::documented::{AssignmentStatus, ResourceTypeName};
use crate::references::Referenced;
use crate::schema::dispatch_assignments as assignments;
use crate::{acl, after_change, intervals, query};
use backoffice_calendar::Day;

/// A resource that works on a job site for some time.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, ToSchema)]
#[diesel(table_name = assignments, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = DispatchAssignment)]
pub struct Assignment {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// The job site.
    pub job_site_id: Uuid,
    /// Type of the subject: `worker`, `equipment` or `vehicle`.
    #[schema(value_type = ResourceTypeName)]
    pub subject_type: String,
    /// The resource that is assigned.
    pub subject_id: Uuid,
    /// The start, which belongs to the assignment.
    pub start_at: Timestamp,
    /// The end, which does not belong to the assignment.
    pub end_at: Timestamp,
    /// The first day, if the assignment was given by dates.
    #[schema(required = true)]
    pub start_date: Option<Day>,
    /// The day after the last one, if the assignment was given by dates.
    #[schema(required = true)]
    pub end_date_exclusive: Option<Day>,
    /// `planned`, `confirmed`, `cancelled` or `completed`.
    #[schema(value_type = AssignmentStatus)]
    pub status: String,
    /// At most 1000 characters.
    #[schema(required = true)]
    pub note: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Assignment {
    /// Loads rows of the transaction's tenant.
    pub(crate) async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = assignments::table.filter(assignments::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(assignments::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    /// Inserts rows, or replaces the stored ones, and returns them. An assignment that moves to a later start, or to another subject, is reminded of
    /// again.
    pub(crate) async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let reminded = "case when excluded.start_at > dispatch_assignments.start_at or excluded.subject_id <> dispatch_assignments.subject_id \
            then null else dispatch_assignments.reminded_at end";
        let statement = insert_into(assignments::table)
            .values(rows)
            .on_conflict((assignments::tenant_id, assignments::id))
            .do_update()
            .set((
                assignments::organization_id.eq(excluded(assignments::organization_id)),
                assignments::job_site_id.eq(excluded(assignments::job_site_id)),
                assignments::subject_type.eq(excluded(assignments::subject_type)),
                assignments::subject_id.eq(excluded(assignments::subject_id)),
                assignments::start_at.eq(excluded(assignments::start_at)),
                assignments::end_at.eq(excluded(assignments::end_at)),
                assignments::start_date.eq(excluded(assignments::start_date)),
                assignments::end_date_exclusive.eq(excluded(assignments::end_date_exclusive)),
                assignments::status.eq(excluded(assignments::status)),
                assignments::note.eq(excluded(assignments::note)),
                assignments::created_at.eq(excluded(assignments::created_at)),
                assignments::updated_at.eq(excluded(assignments::updated_at)),
                assignments::reminded_at.eq(sql(reminded)),
            ))
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).load(tx.conn()).await?)
    }
}

impl Entity for Assignment {
    const KIND: &'static str = ASSIGNMENT;
    const SECRET: &'static [&'static str] = &["remindedAt"];
    const NOT_FOUND: &'static str = "Assignment not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::assignments::in_scope(locker.scope()).filter(assignments::id.one_of(ids));
        let visible = visible.select((assignments::id, assignments::tenant_id));
        let locked = visible.order(assignments::id).for_update();
        Ok(locked.load(&mut locker.connection()).await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = match tx.take_fresh::<Self>(ids) {
            Some(written) => written,
            None => Self::read(tx, ids).await?,
        };
        rows.into_iter()
            .map(|row| Ok((row.id, Snapshot::of(&StatedAssignment::from(row))?)))
            .collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let stated = snapshots
            .iter()
            .map(Snapshot::row)
            .collect::<Result<Vec<StatedAssignment>>>()?;
        let now = tx.now();
        let mut rows = Vec::with_capacity(stated.len());
        let intervals = intervals::derive(tx, &stated.iter().collect::<Vec<_>>()).await?;
        for (stated, interval) in stated.into_iter().zip(intervals) {
            // The days do not exist in the present time zone.
            let interval = interval.ok_or_else(|| Rejection::undo_conflict(&["startDate"]))?;
            let stated = StatedAssignment {
                updated_at: now,
                ..stated
            };
            rows.push(stated.at(interval));
        }
        Self::write(tx, &rows).await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = assignments::table.filter(assignments::tenant_id.eq(tx.tenant()));
        delete(rows.filter(assignments::id.one_of(ids)))
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    /// Rejects restoring a planned or confirmed assignment to a job site or resource that has been deleted, also if it refers to that already and
    /// becomes live again.
    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let (Some(to), true) = (step.to, step.restoring) else {
            return Ok(());
        };
        let to: StatedAssignment = to.row()?;
        let from = step.from.map(Snapshot::row::<StatedAssignment>).transpose()?;
        let intervals = match from {
            Some(_) => intervals::derive(tx, &[&to]).await?,
            // All references of an assignment that did not exist are new.
            None => vec![None],
        };
        let missing = Referenced::lock(tx, &[(from.as_ref(), &to)], &intervals)
            .await?
            .missing_for_restored(from.as_ref(), &to);
        match missing {
            Some(field) => Err(Rejection::undo_conflict(&[field]).into()),
            None => Ok(()),
        }
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let from = step.from.map(Snapshot::row::<StatedAssignment>).transpose()?;
        let to = step.to.map(Snapshot::row::<StatedAssignment>).transpose()?;
        after_change::assignment(tx, from.as_ref(), to.as_ref(), step.restoring);
        Ok(())
    }

    fn related(snapshot: &Snapshot) -> Vec<EntityRef> {
        let Ok(row) = snapshot.row::<StatedAssignment>() else {
            return Vec::new();
        };
        vec![
            EntityRef {
                kind: JOB_SITE,
                id: row.job_site_id,
            },
            EntityRef {
                kind: RESOURCE,
                id: row.subject_id,
            },
        ]
    }
}

/// Condition on live assignments, in the words of the partial index.
pub(crate) fn is_live() -> diesel::expression::SqlLiteral<Bool> {
    sql("dispatch_assignments.status in ('planned', 'confirmed')")
}
