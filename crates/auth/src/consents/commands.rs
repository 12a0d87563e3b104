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

/// Records a user's decision. Repeating the same decision changes nothing, unless the stored row does not match its integrity code.
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
    /// Creates the row. Only a `verified` one passes its times on, because the new code would confirm those of any other.
    fn decided(&self, tx: &Tx<'_>, id: Uuid, before: Option<&Consent>, verified: Option<&Consent>) -> Consent {
        let now = tx.now();
        let call = tx.context().call();
        let stamp = |granted: bool, before| if self.is_granted == granted { Some(now) } else { before };
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
            granted_at: stamp(true, verified.and_then(|row| row.granted_at)),
            withdrawn_at: stamp(false, verified.and_then(|row| row.withdrawn_at)),
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
        let verified = stored.as_ref().filter(|row| accounts.integrity.fits(row));
        if let Some(same) = verified.filter(|row| row.is_granted == self.is_granted) {
            return Ok(same.clone());
        }
        let row = self.decided(tx, id, stored.as_ref(), verified);
        let row = accounts.integrity.sealed(row);
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
