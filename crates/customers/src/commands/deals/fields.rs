//! The fields of a deal in a request.

use backoffice_core::http::present;
use backoffice_core::{Result, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Error;
use crate::documented::{CustomerCurrency, CustomerName};
use crate::model::{Amount, Day, DealRow, DealStatus};
use crate::values::{Given, Rules};

/// Fields of a deal: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DealFields {
    /// The organization of a new deal, by default the selected one or the caller's own. It cannot be changed later.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Given<Uuid>,
    /// 1 to 200 characters; required in a new deal.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = CustomerName, required = true)]
    pub title: Given<String>,
    /// At most 4000 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 4000)]
    pub description: Given<String>,
    /// By default open.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = DealStatus)]
    pub status: Given<DealStatus>,
    /// A pipeline of the deal's organization or of one above. Without a stage it puts the deal into its first stage; null also clears the stage.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub pipeline_id: Given<Uuid>,
    /// A stage of the deal's pipeline; a deal without a pipeline takes the pipeline of the stage.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub pipeline_stage_id: Given<Uuid>,
    /// At most 12 digits before the decimal point and two after it; requires a currency, in this request or set before.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Amount>)]
    pub value_amount: Given<Amount>,
    /// The currency of the amount; required with an amount.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<CustomerCurrency>)]
    pub value_currency: Given<String>,
    /// 0 to 100.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<i16>, minimum = 0, maximum = 100)]
    pub probability: Given<i16>,
    /// The day on which it is expected to be won.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Day>)]
    pub expected_close_on: Given<Day>,
    /// At most 4000 characters; only for a deal that is lost, by this request or before.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 4000)]
    pub lost_reason: Given<String>,
    /// An active user whose organizations contain that of the deal.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub owner_user_id: Given<Uuid>,
    /// At most 150 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 150)]
    pub source: Given<String>,
    /// All people of the deal, at most 200 different ones that are visible to the caller; null removes all.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<Uuid>>)]
    pub person_ids: Given<Vec<Uuid>>,
    /// All companies of the deal, at most 200 different ones that are visible to the caller; null removes all.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<Uuid>>)]
    pub company_ids: Given<Vec<Uuid>>,
}

impl DealFields {
    /// Normalizes and checks the fields.
    ///
    /// # Errors
    /// 400 that names every invalid field.
    pub(super) fn checked(mut self) -> Result<Self> {
        let mut rules = Rules::default();
        self.organization_id = rules.not_null("organizationId", self.organization_id).map(Some);
        self.title = rules.name("title", self.title, 200).map(Some);
        self.description = rules.text("description", self.description, 4000);
        self.status = rules.not_null("status", self.status).map(Some);
        self.lost_reason = rules.text("lostReason", self.lost_reason, 4000);
        self.source = rules.text("source", self.source, 150);
        self.value_currency = rules.currency("valueCurrency", self.value_currency);
        if self
            .probability
            .flatten()
            .is_some_and(|percent| !(0..=100).contains(&percent))
        {
            rules.broken("probability", "must be between 0 and 100", "out_of_range");
        }
        let mut set = |path, given| rules.references(path, given).map(|ids| Some(ids.into_iter().collect()));
        self.person_ids = set("personIds", self.person_ids);
        self.company_ids = set("companyIds", self.company_ids);
        rules.check()?;
        Ok(self)
    }

    /// Applies the fields that are not references.
    ///
    /// # Errors
    /// When the resulting values contradict each other.
    pub(super) fn change(&self, row: &mut DealRow, now: Timestamp) -> Result<(), Error> {
        replace(&mut row.description, &self.description);
        replace(&mut row.value_amount, &self.value_amount);
        replace(&mut row.value_currency, &self.value_currency);
        replace(&mut row.probability, &self.probability);
        replace(&mut row.expected_close_on, &self.expected_close_on);
        replace(&mut row.source, &self.source);
        if let Some(Some(title)) = &self.title {
            row.title.clone_from(title);
        }
        if let Some(Some(status)) = self.status {
            row.closed_at = match status {
                DealStatus::Open => None,
                DealStatus::Won | DealStatus::Lost => row.closed_at.or(Some(now)),
            };
            row.status = status;
        }
        if row.value_amount.is_some() && row.value_currency.is_none() {
            return Err(invalid("valueCurrency", "is required with an amount"));
        }
        replace(&mut row.lost_reason, &self.lost_reason);
        if row.status != DealStatus::Lost {
            if self.lost_reason.as_ref().is_some_and(Option::is_some) {
                return Err(invalid("lostReason", "is only for a lost deal"));
            }
            row.lost_reason = None;
        }
        Ok(())
    }
}

fn replace<T: Clone>(value: &mut Option<T>, given: &Given<T>) {
    if let Some(given) = given {
        value.clone_from(given);
    }
}

fn invalid(path: &'static str, rule: &'static str) -> Error {
    Error::Invalid { path, rule }
}
