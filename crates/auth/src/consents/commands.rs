//! The command on consents.

use std::sync::Arc;

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::{Recurring, ReplaceRow};
use backoffice_core::{Feature, Result};
use diesel::insert_into;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::model::Consent;
use super::query;
use crate::Error;
use crate::accounts::Accounts;
use crate::error::on_violation;
use crate::schema::auth_consents as consents;

/// Records a user's decision. Repeating the same decision changes nothing.
#[derive(Debug, Clone)]
pub struct UpdateConsent {
    /// The stored consent, or the one to create.
    pub target: Target,
    /// The user.
    pub user: Uuid,
    /// The subject of the consent.
    pub consent_type: String,
    /// Whether the user agrees.
    pub is_granted: bool,
    /// Where the user decided.
    pub source: &'static str,
}

impl UpdateConsent {
    fn decided(&self, tx: &Tx<'_>, id: Uuid, stored: Option<Consent>) -> Consent {
        let now = tx.now();
        let call = tx.context().call();
        let stamp = |granted: bool, before| if self.is_granted == granted { Some(now) } else { before };
        let before = stored.as_ref();
        Consent {
            tenant_id: tx.tenant(),
            id,
            user_id: self.user,
            organization_id: match before {
                Some(row) => row.organization_id,
                None => tx.context().identity().organization,
            },
            consent_type: self.consent_type.clone(),
            is_granted: self.is_granted,
            granted_at: stamp(true, before.and_then(|row| row.granted_at)),
            withdrawn_at: stamp(false, before.and_then(|row| row.withdrawn_at)),
            source: Some(self.source.to_owned()),
            ip_address: call.ip.map(|ip| ip.to_string()),
            integrity: Vec::new(),
            integrity_kid: String::new(),
            created_at: before.map_or(now, |row| row.created_at),
            updated_at: now,
        }
    }
}

impl Command for UpdateConsent {
    const ID: &'static str = "auth.consent.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update consent";
    const FEATURES: &'static [Feature] = &[];
    const UNDOABLE: bool = false;
    type Entity = Consent;
    type Output = Consent;

    fn target(&self) -> Target {
        self.target
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Consent> {
        let accounts: Arc<Accounts> = tx.context().call().provided()?;
        let tenant = tx.tenant();
        let stored = query::find(tx.conn(), tenant, self.user, &self.consent_type).await?;
        let (id, stored) = match self.target {
            // A concurrent request may have created the row; then the insertion violates the key.
            Target::New { id, .. } => (id, None),
            Target::Existing(id) => (id, stored),
        };
        if let Some(same) = stored.as_ref().filter(|row| row.is_granted == self.is_granted) {
            return Ok(same.clone());
        }
        let row = accounts.integrity.sealed(self.decided(tx, id, stored));
        insert_into(consents::table)
            .values(&row)
            .on_conflict((consents::tenant_id, consents::id))
            .do_update()
            .set(ReplaceRow::<consents::table>::default())
            .prepared()
            .execute(tx.conn())
            .await
            .map_err(|error| on_violation(KEY, Error::ConsentExists)(error.into()))?;
        Ok(row)
    }
}

/// The unique key of a user's consents.
const KEY: &str = "auth_consents_tenant_id_user_id_consent_type_key";
