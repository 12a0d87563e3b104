//! Creates, updates and deletes companies.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Feature, Patch, Placement, RequestContext, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::documented::{CustomerName, CustomerWebAddress};
use crate::error::Rejections;
use crate::model::Company;
use crate::schema::customers_companies as companies;
use crate::values::{keep_organization, only_null, web_address};
use crate::{acl, owners};

/// Creates a company.
pub type CreateCompany = Create<Company>;
/// Updates a company.
pub type UpdateCompany = Update<Company>;
/// Deletes a company with the links of deals to it; its people remain without a company.
pub type DeleteCompany = Delete<Company>;

/// Fields of a company: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CompanyFields {
    /// The organization of a new company, by default the one in which the request writes; cannot be changed later.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// 1 to 200 characters; required for a new company.
    #[schema(value_type = CustomerName, required = true)]
    pub display_name: Patch<String>,
    /// At most 200 characters.
    #[schema(value_type = Option<String>, max_length = 200)]
    pub legal_name: Patch<String>,
    /// At most 4000 characters.
    #[schema(value_type = Option<String>, max_length = 4000)]
    pub description: Patch<String>,
    /// At most 320 characters.
    #[schema(value_type = Option<String>, max_length = 320)]
    pub primary_email: Patch<String>,
    /// At most 50 characters.
    #[schema(value_type = Option<String>, max_length = 50)]
    pub primary_phone: Patch<String>,
    /// An http or https address, at most 300 characters.
    #[schema(value_type = Option<CustomerWebAddress>)]
    pub website_url: Patch<String>,
    /// At most 150 characters.
    #[schema(value_type = Option<String>, max_length = 150)]
    pub industry: Patch<String>,
    /// An active user whose organizations contain that of the company.
    #[schema(value_type = Option<Uuid>)]
    pub owner_user_id: Patch<Uuid>,
    /// By default true.
    #[schema(value_type = bool)]
    pub is_active: Patch<bool>,
}

impl Input for CompanyFields {
    fn organization(&self) -> Patch<Uuid> {
        only_null(self.organization_id)
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("displayName", &self.display_name);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Company>(self, validator);
    }
}

impl Record for Company {
    type Input = CompanyFields;
    const CREATE: CommandName = CommandName::new("customers.company.create", "Create company");
    const UPDATE: CommandName = CommandName::new("customers.company.update", "Update company");
    const DELETE: CommandName = CommandName::new("customers.company.delete", "Delete company");
    const MANAGE: &'static [Feature] = &[acl::COMPANIES_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            display_name: String::new(),
            legal_name: None,
            description: None,
            primary_email: None,
            primary_phone: None,
            website_url: None,
            industry: None,
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

    fn fill(&mut self, input: &CompanyFields, validator: &mut Validator) {
        validator.text(
            "displayName",
            &input.display_name,
            &mut self.display_name,
            rules::line(200),
        );
        validator.optional_text("legalName", &input.legal_name, &mut self.legal_name, rules::text(200));
        validator.optional_text(
            "description",
            &input.description,
            &mut self.description,
            rules::text(4000),
        );
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
        validator.optional_text("websiteUrl", &input.website_url, &mut self.website_url, web_address);
        validator.optional_text("industry", &input.industry, &mut self.industry, rules::text(150));
        validator.optional("ownerUserId", &input.owner_user_id, &mut self.owner_user_id, rules::any);
        validator.value("isActive", &input.is_active, &mut self.is_active, rules::any);
    }

    async fn placement(ctx: &RequestContext, input: &CompanyFields) -> Result<Placement> {
        Placement::for_new(ctx, input.organization_id.value())
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &CompanyFields) -> Result<()> {
        Placement::lock(tx, self.organization_id).await
    }

    async fn check(&mut self, tx: &mut Tx<'_>, input: &CompanyFields, before: Option<&Self>) -> Result<bool> {
        let mut rejections = Rejections::default();
        rejections.keep(keep_organization(input.organization_id, self.organization_id))?;
        let owner = before.and_then(|before| before.owner_user_id);
        rejections.keep(owners::check(tx, owner, self.owner_user_id, self.organization_id).await)?;
        rejections.check()?;
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = companies::table.filter(companies::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(companies::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(companies::table)
            .values(rows)
            .on_conflict((companies::tenant_id, companies::id))
            .do_update()
            .set(ReplaceRow::<companies::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }
}
