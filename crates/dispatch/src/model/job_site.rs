//! Job sites. A deleted one remains as a tombstone, to which past assignments refer.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::{Feature, Result, Timestamp, crud};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, update};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{JOB_SITE, LiveUse, keep_from_losing_assignments};
use crate::documented::JobSiteStatus;
use crate::schema::dispatch_job_sites as job_sites;
use crate::{acl, after_change, query};
use backoffice_calendar::Day;

/// A place where work is done.
#[derive(Debug, Clone, PartialEq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = job_sites, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = DispatchJobSite)]
pub struct JobSite {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// 1 to 200 characters.
    pub name: String,
    /// At most 40 characters, unique in the organization regardless of case.
    #[schema(required = true)]
    pub code: Option<String>,
    /// At most 500 characters.
    #[schema(required = true)]
    pub address: Option<String>,
    /// Degrees north of the equator.
    #[schema(required = true)]
    pub latitude: Option<f64>,
    /// Degrees east of Greenwich.
    #[schema(required = true)]
    pub longitude: Option<f64>,
    /// `planned`, `active` or `closed`.
    #[schema(value_type = JobSiteStatus)]
    pub status: String,
    /// The first day of work; open without one.
    #[schema(required = true)]
    pub start_date: Option<Day>,
    /// The day after the last day of work; open without one.
    #[schema(required = true)]
    pub end_date_exclusive: Option<Day>,
    /// At most 2000 characters.
    #[schema(required = true)]
    pub notes: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for JobSite {
    const KIND: &'static str = JOB_SITE;
    const NOT_FOUND: &'static str = "Job site not found";
    const TOMBSTONES: Option<&'static str> = Some("dispatch_job_sites");
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::job_sites::in_scope(locker.scope()).filter(job_sites::id.one_of(ids));
        // Assignments lock the sites that they refer to as well, so none is created while a deletion is checked.
        let locked = visible.order(job_sites::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        crud::load::<Self>(tx, ids).await
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        crud::store::<Self>(tx, snapshots).await
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let now = tx.now();
        let own = job_sites::table.filter(job_sites::tenant_id.eq(tx.tenant()));
        update(own.filter(job_sites::id.one_of(ids)))
            .set((job_sites::deleted_at.eq(now), job_sites::updated_at.eq(now)))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        match step.to {
            None => keep_from_losing_assignments(tx, step, LiveUse::OfJobSite).await,
            Some(_) => Ok(()),
        }
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let from = step.from.map(Snapshot::row::<Self>).transpose()?;
        let to = step.to.map(Snapshot::row::<Self>).transpose()?;
        if from.is_some() || step.restoring {
            after_change::job_site(tx, from.as_ref(), to.as_ref());
        }
        Ok(())
    }
}
