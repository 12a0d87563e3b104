//! Creates, updates and deletes job sites.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules, schema};
use backoffice_core::{Error, Feature, Patch, Placement, Rejection, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::model::JobSite;
use crate::schema::dispatch_job_sites as job_sites;

/// Creates a job site.
pub type CreateJobSite = Create<JobSite>;
/// Updates a job site.
pub type UpdateJobSite = Update<JobSite>;
/// Deletes a job site.
pub type DeleteJobSite = Delete<JobSite>;

backoffice_core::text_schemas! {
    /// Name of a job site.
    DispatchJobSiteName: schema::line(200);
}

/// The fields of a job site: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = DispatchJobSiteInput)]
pub struct JobSiteInput {
    /// The organization of a new job site, by default the one in which the request writes; cannot be changed later.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// 1 to 200 characters, unique in the organization; required for a new job site.
    #[schema(value_type = DispatchJobSiteName, required = true)]
    pub name: Patch<String>,
    /// At most 4000 characters.
    #[schema(value_type = Option<String>, max_length = 4000)]
    pub note: Patch<String>,
}

impl Input for JobSiteInput {
    fn organization(&self) -> Patch<Uuid> {
        self.organization_id
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("name", &self.name);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<JobSite>(self, validator);
    }
}

impl Record for JobSite {
    type Input = JobSiteInput;
    const CREATE: CommandName = CommandName::new("dispatch.job_site.create", "Create job site");
    const UPDATE: CommandName = CommandName::new("dispatch.job_site.update", "Update job site");
    const DELETE: CommandName = CommandName::new("dispatch.job_site.delete", "Delete job site");
    const MANAGE: &'static [Feature] = &[acl::JOB_SITES_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            name: String::new(),
            note: None,
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

    fn fill(&mut self, input: &JobSiteInput, validator: &mut Validator) {
        validator.text("name", &input.name, &mut self.name, rules::line(200));
        validator.optional_text("note", &input.note, &mut self.note, rules::text(4000));
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &JobSiteInput) -> Result<()> {
        Placement::lock(tx, self.organization_id).await
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = job_sites::table.filter(job_sites::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(job_sites::id.eq_any(ids)).select(Self::as_select());
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
            Some("dispatch_job_sites_tenant_id_organization_id_name_key") => Rejection::not_unique("name").into(),
            _ => error,
        }
    }
}
