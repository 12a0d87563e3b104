//! Creates, updates and deletes job sites.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Error, Feature, Patch, Placement, Rejection, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::documented::{DispatchAddress, DispatchCode, DispatchName, JobSiteStatus, bodies};
use crate::model::JobSite;
use crate::schema::dispatch_job_sites as job_sites;
use crate::values::{self, ADDRESS_LENGTH, CODE_LENGTH, NOTES_LENGTH, SITE_STATUSES};
use backoffice_calendar::Day;

/// Creates a job site.
pub type CreateJobSite = Create<JobSite>;
/// Updates a job site.
pub type UpdateJobSite = Update<JobSite>;
/// Deletes a job site.
pub type DeleteJobSite = Delete<JobSite>;

/// The changes of a job site: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSiteFields {
    /// 1 to 200 characters.
    #[schema(value_type = DispatchName)]
    pub name: Patch<String>,
    /// At most 40 characters, unique in the organization regardless of case.
    #[schema(value_type = Option<DispatchCode>)]
    pub code: Patch<String>,
    /// At most 500 characters.
    #[schema(value_type = Option<DispatchAddress>)]
    pub address: Patch<String>,
    /// Degrees north of the equator.
    #[schema(value_type = Option<f64>, minimum = -90, maximum = 90)]
    pub latitude: Patch<f64>,
    /// Degrees east of Greenwich.
    #[schema(value_type = Option<f64>, minimum = -180, maximum = 180)]
    pub longitude: Patch<f64>,
    /// The status; `active` by default.
    #[schema(value_type = JobSiteStatus)]
    pub status: Patch<String>,
    /// The first day of work.
    #[schema(value_type = Option<Day>)]
    pub start_date: Patch<String>,
    /// The day after the last day of work, later than the first one.
    #[schema(value_type = Option<Day>)]
    pub end_date_exclusive: Patch<String>,
    /// At most 2000 characters.
    #[schema(value_type = Option<String>, max_length = 2000)]
    pub notes: Patch<String>,
}

bodies!(JobSiteFields: NewJobSite requires ["name"], JobSiteChanges);

impl Input for JobSiteFields {
    fn require(&self, validator: &mut Validator) {
        if self.name.is_keep() {
            validator.reject("name", "is required", "invalid_name");
        }
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<JobSite>(self, validator);
    }
}

/// Writes an optional day; null clears.
fn day(validator: &mut Validator, path: &str, field: &Patch<String>, slot: &mut Option<Day>) {
    match field.as_ref() {
        Patch::Keep => {}
        Patch::Clear => *slot = None,
        Patch::Set(text) => match Day::parse(text) {
            Some(day) => *slot = Some(day),
            None => validator.reject(path, Day::EXPECTED, "invalid_date_range"),
        },
    }
}

impl Record for JobSite {
    type Input = JobSiteFields;
    const CREATE: CommandName = CommandName::new("dispatch.job_site.create", "Create job site");
    const UPDATE: CommandName = CommandName::new("dispatch.job_site.update", "Update job site");
    const DELETE: CommandName = CommandName::new("dispatch.job_site.delete", "Delete job site");
    const MANAGE: &'static [Feature] = &[acl::MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            name: String::new(),
            code: None,
            address: None,
            latitude: None,
            longitude: None,
            status: "active".to_owned(),
            start_date: None,
            end_date_exclusive: None,
            notes: None,
            created_at: now,
            updated_at: now,
        }
    }

    fn key(&self) -> (Uuid, Uuid) {
        (self.tenant_id, self.id)
    }

    fn organization(&self) -> Option<Uuid> {
        Some(self.organization_id)
    }

    fn updated_at(&mut self) -> &mut Timestamp {
        &mut self.updated_at
    }

    fn fill(&mut self, input: &JobSiteFields, validator: &mut Validator) {
        values::line(validator, "name", &input.name, &mut self.name, "invalid_name");
        let code = (CODE_LENGTH, "invalid_code");
        values::optional_line(validator, "code", &input.code, &mut self.code, code);
        validator.optional_text(
            "address",
            &input.address,
            &mut self.address,
            rules::line(ADDRESS_LENGTH),
        );
        values::coordinate(validator, "latitude", &input.latitude, &mut self.latitude, 90.0);
        values::coordinate(validator, "longitude", &input.longitude, &mut self.longitude, 180.0);
        let status = (SITE_STATUSES, "invalid_status");
        values::word(validator, "status", &input.status, &mut self.status, status);
        day(validator, "startDate", &input.start_date, &mut self.start_date);
        let end = &mut self.end_date_exclusive;
        day(validator, "endDateExclusive", &input.end_date_exclusive, end);
        if let (Some(start), Some(end)) = (self.start_date, self.end_date_exclusive)
            && end <= start
        {
            validator.reject("endDateExclusive", "must be later than startDate", "invalid_date_range");
        }
        let notes = (NOTES_LENGTH, "invalid_note");
        values::optional_text(validator, "notes", &input.notes, &mut self.notes, notes);
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &JobSiteFields) -> Result<()> {
        Placement::lock(tx, self.organization_id).await
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = job_sites::table
            .filter(job_sites::tenant_id.eq(tx.tenant()))
            .filter(job_sites::deleted_at.is_null())
            .filter(job_sites::id.one_of(ids))
            .select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(job_sites::table)
            .values(rows)
            .on_conflict((job_sites::tenant_id, job_sites::id))
            .do_update()
            .set(ReplaceRow::<job_sites::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: Error) -> Error {
        match error.violated_constraint() {
            Some("dispatch_job_sites_tenant_id_organization_id_code_idx") => {
                Rejection::conflict("Code is taken").code("job_site_code_taken").into()
            }
            _ => error,
        }
    }
}
