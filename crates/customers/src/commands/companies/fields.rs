use backoffice_core::Result;
use backoffice_core::http::present;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::commands::parties::put;
use crate::documented::{CustomerName, CustomerWebAddress};
use crate::model::{CompanyRow, Fields};
use crate::values::{Given, Rules};
use crate::web_address::is_web_address;

/// Fields of a company: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompanyFields {
    /// The organization of a new company, by default the one in which the request writes; cannot be changed later.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Given<Uuid>,
    /// 1 to 200 characters; required for a new company.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = CustomerName, required = true)]
    pub display_name: Given<String>,
    /// At most 200 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 200)]
    pub legal_name: Given<String>,
    /// At most 4000 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 4000)]
    pub description: Given<String>,
    /// At most 320 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 320)]
    pub primary_email: Given<String>,
    /// At most 50 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 50)]
    pub primary_phone: Given<String>,
    /// An http or https address, at most 300 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<CustomerWebAddress>)]
    pub website_url: Given<String>,
    /// At most 150 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 150)]
    pub industry: Given<String>,
    /// An active user whose organizations contain that of the company.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub owner_user_id: Given<Uuid>,
    /// By default true.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool)]
    pub is_active: Given<bool>,
}

impl Fields<CompanyRow> for CompanyFields {
    fn of_new(mut self) -> Self {
        self.display_name.get_or_insert(None);
        self
    }

    fn checked(mut self) -> Result<Self> {
        let mut rules = Rules::default();
        self.display_name = rules.name("displayName", self.display_name, 200).map(Some);
        self.legal_name = rules.text("legalName", self.legal_name, 200);
        self.description = rules.text("description", self.description, 4000);
        self.primary_email = rules.text("primaryEmail", self.primary_email, 320);
        self.primary_phone = rules.text("primaryPhone", self.primary_phone, 50);
        self.website_url = rules.text("websiteUrl", self.website_url, 300);
        if let Some(Some(address)) = &self.website_url
            && !is_web_address(address)
        {
            rules.broken("websiteUrl", "must be an http or https address", "invalid_value");
        }
        self.industry = rules.text("industry", self.industry, 150);
        self.is_active = rules.not_null("isActive", self.is_active).map(Some);
        rules.check()?;
        Ok(self)
    }

    fn change(&self, row: &mut CompanyRow) {
        put(
            &mut row.display_name,
            self.display_name.as_ref().and_then(Option::as_ref),
        );
        put(&mut row.legal_name, self.legal_name.as_ref());
        put(&mut row.description, self.description.as_ref());
        put(&mut row.primary_email, self.primary_email.as_ref());
        put(&mut row.primary_phone, self.primary_phone.as_ref());
        put(&mut row.website_url, self.website_url.as_ref());
        put(&mut row.industry, self.industry.as_ref());
        put(&mut row.owner_user_id, self.owner_user_id.as_ref());
        put(&mut row.is_active, self.is_active.flatten().as_ref());
    }

    fn organization(&self) -> Given<Uuid> {
        self.organization_id
    }
}
