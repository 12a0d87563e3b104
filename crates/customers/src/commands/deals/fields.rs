//! The fields of a deal in a request.

use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Patch, Placement, Result, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::documented::{CustomerCurrency, CustomerName};
use crate::model::{Amount, Day, Deal, DealStatus};
use crate::values::{MOST_REFERENCES, percentage};

/// Fields of a deal: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DealFields {
    /// The organization of a new deal, by default the selected one or the caller's own. It cannot be changed later.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// 1 to 200 characters; required in a new deal.
    #[schema(value_type = CustomerName, required = true)]
    pub title: Patch<String>,
    /// At most 4000 characters.
    #[schema(value_type = Option<String>, max_length = 4000)]
    pub description: Patch<String>,
    /// By default open.
    #[schema(value_type = DealStatus)]
    pub status: Patch<DealStatus>,
    /// A pipeline of the deal's organization or of one above. A deal that enters it without a stage, or has no stage, gets the first
    /// one; null also clears the stage.
    #[schema(value_type = Option<Uuid>)]
    pub pipeline_id: Patch<Uuid>,
    /// A stage of the deal's pipeline; a deal without a pipeline takes the pipeline of the stage.
    #[schema(value_type = Option<Uuid>)]
    pub pipeline_stage_id: Patch<Uuid>,
    /// At most 12 digits before the decimal point and two after it; requires a currency, in this request or set before.
    #[schema(value_type = Option<Amount>)]
    pub value_amount: Patch<Amount>,
    /// The currency of the amount; required with an amount.
    #[schema(value_type = Option<CustomerCurrency>)]
    pub value_currency: Patch<String>,
    /// 0 to 100.
    #[schema(value_type = Option<i16>, minimum = 0, maximum = 100)]
    pub probability: Patch<i16>,
    /// The day on which it is expected to be won.
    #[schema(value_type = Option<Day>)]
    pub expected_close_on: Patch<Day>,
    /// At most 4000 characters; only for a deal that is lost, by this request or before.
    #[schema(value_type = Option<String>, max_length = 4000)]
    pub lost_reason: Patch<String>,
    /// An active user whose organizations contain that of the deal.
    #[schema(value_type = Option<Uuid>)]
    pub owner_user_id: Patch<Uuid>,
    /// At most 150 characters.
    #[schema(value_type = Option<String>, max_length = 150)]
    pub source: Patch<String>,
    /// All people of the deal, at most 200 different ones; null removes all. Those that the deal does not have yet must be visible to the caller.
    #[schema(value_type = Option<Vec<Uuid>>)]
    pub person_ids: Patch<Vec<Uuid>>,
    /// All companies of the deal, at most 200 different ones; null removes all. Those that the deal does not have yet must be visible to the caller.
    #[schema(value_type = Option<Vec<Uuid>>)]
    pub company_ids: Patch<Vec<Uuid>>,
}

impl Input for DealFields {
    fn organization(&self) -> Patch<Uuid> {
        self.organization_id
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("title", &self.title);
    }

    fn validate(&self, validator: &mut Validator) {
        let mut blank = Deal::blank(Placement::UNKNOWN, Uuid::nil(), Timestamp::UNIX_EPOCH);
        self.fill(&mut blank, validator);
    }
}

impl DealFields {
    /// Validates the fields and writes those that are not references into the deal.
    pub(super) fn fill(&self, row: &mut Deal, validator: &mut Validator) {
        validator.text("title", &self.title, &mut row.title, rules::line(200));
        validator.optional_text(
            "description",
            &self.description,
            &mut row.description,
            rules::text(4000),
        );
        validator.value("status", &self.status, &mut row.status, rules::any);
        validator.optional("valueAmount", &self.value_amount, &mut row.value_amount, rules::any);
        validator.optional_text(
            "valueCurrency",
            &self.value_currency,
            &mut row.value_currency,
            rules::currency,
        );
        validator.optional("probability", &self.probability, &mut row.probability, percentage);
        validator.optional(
            "expectedCloseOn",
            &self.expected_close_on,
            &mut row.expected_close_on,
            rules::any,
        );
        validator.optional_text("lostReason", &self.lost_reason, &mut row.lost_reason, rules::text(4000));
        validator.optional_text("source", &self.source, &mut row.source, rules::text(150));
        for (path, ids) in [("personIds", &self.person_ids), ("companyIds", &self.company_ids)] {
            if let Patch::Set(ids) = ids {
                validator.accept(path, rules::ids(MOST_REFERENCES)(ids));
            }
        }
    }

    /// Writes the fields that are not references into the deal.
    ///
    /// # Errors
    /// When the resulting values contradict each other.
    pub(super) fn change(&self, row: &mut Deal, now: Timestamp) -> Result<()> {
        let mut validator = Validator::default();
        self.fill(row, &mut validator);
        if let Patch::Set(status) = self.status {
            row.closed_at = match status {
                DealStatus::Open => None,
                DealStatus::Won | DealStatus::Lost => row.closed_at.or(Some(now)),
            };
        }
        if row.value_amount.is_some() && row.value_currency.is_none() {
            validator.reject("valueCurrency", "is required with an amount", "invalid_value");
        }
        if row.status != DealStatus::Lost {
            let reason = self.lost_reason.as_ref().value();
            if reason.is_some_and(|reason| !reason.trim().is_empty()) {
                validator.reject("lostReason", "is only for a lost deal", "invalid_value");
            }
            row.lost_reason = None;
        }
        validator.check()
    }
}
