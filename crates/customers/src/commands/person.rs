//! Creates, updates and deletes people.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Error, Feature, Patch, Placement, RequestContext, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::documented::CustomerPersonName;
use crate::error::Rejections;
use crate::model::Person;
use crate::model::deal_sets::COMPANIES;
use crate::schema::customers_people as people;
use crate::values::{keep_organization, only_null};
use crate::{acl, owners};

/// Creates a person.
pub type CreatePerson = Create<Person>;
/// Updates a person.
pub type UpdatePerson = Update<Person>;
/// Deletes a person with the links of deals to them.
pub type DeletePerson = Delete<Person>;

/// Fields of a person: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PersonFields {
    /// The organization of a new person, by default the one in which the request writes; cannot be changed later.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// 1 to 120 characters; required for a new person.
    #[schema(value_type = CustomerPersonName, required = true)]
    pub first_name: Patch<String>,
    /// 1 to 120 characters; required for a new person.
    #[schema(value_type = CustomerPersonName, required = true)]
    pub last_name: Patch<String>,
    /// At most 250 characters; defaults to first and last name when it is null, or absent for a new person.
    #[schema(value_type = Option<String>, max_length = 250)]
    pub display_name: Patch<String>,
    /// At most 150 characters.
    #[schema(value_type = Option<String>, max_length = 150)]
    pub job_title: Patch<String>,
    /// At most 320 characters.
    #[schema(value_type = Option<String>, max_length = 320)]
    pub primary_email: Patch<String>,
    /// At most 50 characters.
    #[schema(value_type = Option<String>, max_length = 50)]
    pub primary_phone: Patch<String>,
    /// A company that is visible to the caller.
    #[schema(value_type = Option<Uuid>)]
    pub company_id: Patch<Uuid>,
    /// An active user whose organizations contain that of the person.
    #[schema(value_type = Option<Uuid>)]
    pub owner_user_id: Patch<Uuid>,
    /// By default true.
    #[schema(value_type = bool)]
    pub is_active: Patch<bool>,
}

impl Input for PersonFields {
    fn organization(&self) -> Patch<Uuid> {
        only_null(self.organization_id)
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("firstName", &self.first_name);
        validator.require("lastName", &self.last_name);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Person>(self, validator);
    }
}

impl Record for Person {
    type Input = PersonFields;
    const CREATE: CommandName = CommandName::new("customers.person.create", "Create person");
    const UPDATE: CommandName = CommandName::new("customers.person.update", "Update person");
    const DELETE: CommandName = CommandName::new("customers.person.delete", "Delete person");
    const MANAGE: &'static [Feature] = &[acl::PEOPLE_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            first_name: String::new(),
            last_name: String::new(),
            display_name: String::new(),
            job_title: None,
            primary_email: None,
            primary_phone: None,
            company_id: None,
            owner_user_id: None,
            is_active: true,
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

    fn fill(&mut self, input: &PersonFields, validator: &mut Validator) {
        validator.text("firstName", &input.first_name, &mut self.first_name, rules::line(120));
        validator.text("lastName", &input.last_name, &mut self.last_name, rules::line(120));
        // Only a new person has no display name.
        let mut display_name = Some(std::mem::take(&mut self.display_name)).filter(|name| !name.is_empty());
        validator.optional_text("displayName", &input.display_name, &mut display_name, rules::text(250));
        self.display_name = display_name.unwrap_or_else(|| format!("{} {}", self.first_name, self.last_name));
        validator.optional_text("jobTitle", &input.job_title, &mut self.job_title, rules::text(150));
        validator.optional_text(
            "primaryEmail",
            &input.primary_email,
            &mut self.primary_email,
            rules::text(320),
        );
        validator.optional_text(
            "primaryPhone",
            &input.primary_phone,
            &mut self.primary_phone,
            rules::text(50),
        );
        validator.optional("companyId", &input.company_id, &mut self.company_id, rules::any);
        validator.optional("ownerUserId", &input.owner_user_id, &mut self.owner_user_id, rules::any);
        validator.value("isActive", &input.is_active, &mut self.is_active, rules::any);
    }

    async fn placement(ctx: &RequestContext, input: &PersonFields) -> Result<Placement> {
        Placement::for_new(ctx, input.organization_id.value())
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &PersonFields) -> Result<()> {
        Placement::lock(tx, self.organization_id).await
    }

    /// Rejects a new company or owner that is not visible to the caller. References that the row already holds may stay.
    async fn check(&mut self, tx: &mut Tx<'_>, input: &PersonFields, before: Option<&Self>) -> Result<bool> {
        let mut rejections = Rejections::default();
        rejections.keep(keep_organization(input.organization_id, self.organization_id))?;
        let (company, owner) = before.map_or((None, None), |before| (before.company_id, before.owner_user_id));
        if let Some(id) = self.company_id.filter(|id| company != Some(*id))
            && COMPANIES.seen(tx, &[id]).await?.is_empty()
        {
            rejections.keep::<()>(Err(unknown_company()))?;
        }
        rejections.keep(owners::check(tx, owner, self.owner_user_id, self.organization_id).await)?;
        rejections.check()?;
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = people::table.filter(people::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(people::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(people::table)
            .values(rows)
            .on_conflict((people::tenant_id, people::id))
            .do_update()
            .set(ReplaceRow::<people::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    /// Maps a violated foreign key to the unknown reference: a company can be deleted while a person is assigned to it.
    fn rejection(error: Error) -> Error {
        match error.violated_constraint() {
            Some("customers_people_tenant_id_company_id_fkey") => unknown_company(),
            _ => error,
        }
    }
}

fn unknown_company() -> Error {
    crate::Error::UnknownReference("companyId").into()
}
