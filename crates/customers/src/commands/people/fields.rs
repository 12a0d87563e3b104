use backoffice_core::Result;
use backoffice_core::http::present;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::commands::parties::put;
use crate::documented::CustomerPersonName;
use crate::model::{Fields, PersonRow};
use crate::values::{Given, Rules};

/// Fields of a person: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonFields {
    /// The organization of a new person, by default the one in which the request writes; cannot be changed later.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Given<Uuid>,
    /// 1 to 120 characters; required for a new person.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = CustomerPersonName, required = true)]
    pub first_name: Given<String>,
    /// 1 to 120 characters; required for a new person.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = CustomerPersonName, required = true)]
    pub last_name: Given<String>,
    /// At most 250 characters; defaults to first and last name when it is null, or absent for a new person.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 250)]
    pub display_name: Given<String>,
    /// At most 150 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 150)]
    pub job_title: Given<String>,
    /// At most 320 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 320)]
    pub primary_email: Given<String>,
    /// At most 50 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 50)]
    pub primary_phone: Given<String>,
    /// A company that is visible to the caller.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub company_id: Given<Uuid>,
    /// An active user whose organizations contain that of the person.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub owner_user_id: Given<Uuid>,
    /// By default true.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool)]
    pub is_active: Given<bool>,
}

impl Fields<PersonRow> for PersonFields {
    fn of_new(mut self) -> Self {
        self.first_name.get_or_insert(None);
        self.last_name.get_or_insert(None);
        self.display_name.get_or_insert(None);
        self
    }

    fn checked(mut self) -> Result<Self> {
        let mut rules = Rules::default();
        self.first_name = rules.name("firstName", self.first_name, 120).map(Some);
        self.last_name = rules.name("lastName", self.last_name, 120).map(Some);
        self.display_name = rules.text("displayName", self.display_name, 250);
        self.job_title = rules.text("jobTitle", self.job_title, 150);
        self.primary_email = rules.text("primaryEmail", self.primary_email, 320);
        self.primary_phone = rules.text("primaryPhone", self.primary_phone, 50);
        self.is_active = rules.not_null("isActive", self.is_active).map(Some);
        rules.check()?;
        Ok(self)
    }

    fn change(&self, row: &mut PersonRow) {
        put(&mut row.first_name, self.first_name.as_ref().and_then(Option::as_ref));
        put(&mut row.last_name, self.last_name.as_ref().and_then(Option::as_ref));
        if let Some(name) = &self.display_name {
            let default = || format!("{} {}", row.first_name, row.last_name);
            row.display_name = name.clone().unwrap_or_else(default);
        }
        put(&mut row.job_title, self.job_title.as_ref());
        put(&mut row.primary_email, self.primary_email.as_ref());
        put(&mut row.primary_phone, self.primary_phone.as_ref());
        put(&mut row.company_id, self.company_id.as_ref());
        put(&mut row.owner_user_id, self.owner_user_id.as_ref());
        put(&mut row.is_active, self.is_active.flatten().as_ref());
    }

    fn organization(&self) -> Given<Uuid> {
        self.organization_id
    }
}
