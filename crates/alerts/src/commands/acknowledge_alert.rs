//! Acknowledges an alert.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::identity::ActorKind;
use backoffice_core::input::{Input, Validator, Violation, rules};
use backoffice_core::{Feature, Patch, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, update};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::open;
use crate::acl;
use crate::model::Alert;
use crate::schema::alerts_alerts as alerts;

/// Longest note, in characters.
const NOTE_LENGTH: usize = 500;

/// The body of an acknowledgement.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = AlertAcknowledgement)]
pub struct Acknowledgement {
    /// Why the conflict is intended, at most 500 characters.
    #[schema(value_type = Option<String>, max_length = 500)]
    pub note: Patch<String>,
}

impl Acknowledgement {
    fn note(&self, validator: &mut Validator) -> Option<String> {
        let mut note = None;
        let rule = |text: &str| {
            rules::text(NOTE_LENGTH)(text).map_err(|violation| Violation {
                code: "invalid_note",
                ..violation
            })
        };
        validator.optional_text("note", &self.note, &mut note, rule);
        note
    }
}

impl Input for Acknowledgement {
    fn validate(&self, validator: &mut Validator) {
        self.note(validator);
    }
}

/// Reports for everybody that a conflict is known and intended. The alert stays open and does not escalate any more.
#[derive(Debug, Clone)]
pub struct AcknowledgeAlert {
    alert: Uuid,
    note: Option<String>,
}

impl AcknowledgeAlert {
    /// Validates the body.
    ///
    /// # Errors
    /// 400 `invalid_note` if the note is too long.
    pub fn new(alert: Uuid, body: &Acknowledgement) -> Result<Self> {
        let mut validator = Validator::default();
        let note = body.note(&mut validator);
        validator.check()?;
        Ok(Self { alert, note })
    }
}

impl Command for AcknowledgeAlert {
    const ID: &'static str = "alerts.alert.acknowledge";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Acknowledge alert";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    type Entity = Alert;
    type Output = Alert;

    fn target(&self) -> Target {
        Target::Existing(self.alert)
    }

    /// The same acknowledgement of the same user changes nothing.
    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Alert> {
        let row = open(tx, self.alert).await?;
        let identity = tx.context().identity();
        let by = identity.id.filter(|_| identity.kind == ActorKind::User);
        if row.acknowledged_at.is_some() && row.acknowledged_by == by && row.acknowledgement == self.note {
            return Ok(row);
        }
        let at: Timestamp = tx.now();
        update(alerts::table.filter(alerts::tenant_id.eq(row.tenant_id)))
            .filter(alerts::id.eq(row.id))
            .set((
                alerts::acknowledged_at.eq(at),
                alerts::acknowledged_by.eq(by),
                alerts::acknowledgement.eq(&self.note),
                alerts::updated_at.eq(at),
            ))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(Alert {
            acknowledged_at: Some(at),
            acknowledged_by: by,
            acknowledgement: self.note.clone(),
            updated_at: at,
            ..row
        })
    }
}
