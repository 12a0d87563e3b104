use std::sync::Arc;

use backoffice_core::Result;
use backoffice_core::command::{Entity, EntityRef, Tx};
use diesel::insert_into;
use diesel_async::RunQueryDsl;
use secrecy::SecretString;
use uuid::Uuid;

use super::create_user::NewUserRow;
use super::role_links::RoleLinks;
use crate::accounts::Accounts;
use crate::consents::model::Consent;
use crate::schema::auth_consents as consents;
use crate::users::model::User;

/// The first user of a tenant that is being created, an administrator with the role `admin`, inserted by the command of another module.
#[derive(Debug, Clone)]
pub struct FirstUser {
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization: Uuid,
    /// E-mail address, valid and trimmed.
    pub email: String,
    /// Name, at most 120 characters.
    pub name: String,
    /// Hash of the password.
    pub password_hash: SecretString,
    /// What the user agreed to or declined.
    pub consents: Vec<FirstConsent>,
    /// Where the user decided: `onboarding`.
    pub consent_source: &'static str,
    /// IP address from which the user decided.
    pub ip_address: Option<String>,
}

/// A decision of the first user.
#[derive(Debug, Clone)]
pub struct FirstConsent {
    /// The id.
    pub id: Uuid,
    /// The subject of the consent.
    pub consent_type: String,
    /// Whether the user agrees.
    pub is_granted: bool,
}

impl FirstUser {
    /// Returns the resources that [`FirstUser::insert`] creates, for [`Command::also_creates`](backoffice_core::command::Command::also_creates).
    #[must_use]
    pub fn resources(&self) -> Vec<EntityRef> {
        let user = EntityRef {
            kind: User::KIND,
            id: self.id,
        };
        let consents = self.consents.iter().map(|consent| EntityRef {
            kind: Consent::KIND,
            id: consent.id,
        });
        std::iter::once(user).chain(consents).collect()
    }

    /// Inserts the user with the role and the consents, in the tenant of the transaction, whose roles must exist.
    ///
    /// # Errors
    /// If a row is rejected, or the database can't be reached.
    pub async fn insert(&self, tx: &mut Tx<'_>) -> Result<()> {
        let accounts: Arc<Accounts> = tx.context().call().provided()?;
        let row = NewUserRow {
            id: self.id,
            organization: Some(self.organization),
            email: &self.email,
            name: Some(&self.name),
            password_hash: Some(&self.password_hash),
            is_active: true,
        };
        row.insert(tx).await?;
        let admin = ["admin".to_owned()];
        let roles = RoleLinks::find(tx, self.id, &admin).await?;
        roles.check(tx).await?;
        roles.store(tx).await?;
        let decided: Vec<Consent> = self.consents.iter().map(|consent| self.decided(tx, consent)).collect();
        let decided: Vec<Consent> = decided.into_iter().map(|row| accounts.integrity.sealed(row)).collect();
        insert_into(consents::table).values(&decided).execute(tx.conn()).await?;
        tx.wrote_secret("passwordHash");
        Ok(())
    }

    fn decided(&self, tx: &Tx<'_>, consent: &FirstConsent) -> Consent {
        let now = tx.now();
        Consent {
            tenant_id: tx.tenant(),
            id: consent.id,
            user_id: self.id,
            organization_id: Some(self.organization),
            consent_type: consent.consent_type.clone(),
            is_granted: consent.is_granted,
            granted_at: consent.is_granted.then_some(now),
            withdrawn_at: (!consent.is_granted).then_some(now),
            source: Some(self.consent_source.to_owned()),
            ip_address: self.ip_address.clone(),
            integrity: Vec::new(),
            integrity_kid: String::new(),
            created_at: now,
            updated_at: now,
        }
    }
}
