//! Functions for modules through which persons get accounts without an administrator.

use backoffice_core::blocking::QueuePosition;
use backoffice_core::db::Recurring;
use backoffice_core::ids::Ids;
use backoffice_core::{Detail, Result};
use diesel::sql_types::{Bool, Text};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use secrecy::SecretString;

use crate::accounts::Accounts;
use crate::error::policy_text;
use crate::{Error, email};

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Bool)]
    found: bool,
}

/// Returns whether a user of a live tenant has the address, whether or not the user is active. The connection must see all tenants.
///
/// # Errors
/// If the database can't be reached.
pub async fn has_account(connection: &mut AsyncPgConnection, address: &str) -> Result<bool> {
    let row: Found = sql_query(
        "select exists (select from auth_users u where u.email_norm = $1 and u.deleted_at is null \
           and (u.tenant_id = '00000000-0000-0000-0000-000000000000' or exists ( \
             select from directory_tenants t where t.tenant_id = u.tenant_id and t.id = u.tenant_id and t.deleted_at is null))) as found",
    )
    .bind::<Text, _>(email::normalized(address))
    .prepared()
    .get_result(connection)
    .await?;
    Ok(row.found)
}

impl Accounts {
    /// Takes a position in the queue for hashing passwords.
    ///
    /// # Errors
    /// 429 when the queue is full.
    pub fn hashing_queue_position(&self) -> Result<QueuePosition> {
        self.hasher.queue_position()
    }

    /// Computes the hash of a password, after waiting at this position of the queue.
    ///
    /// # Errors
    /// If hashing fails.
    pub async fn hash_password(
        &self,
        position: QueuePosition,
        ids: &Ids,
        password: &SecretString,
    ) -> Result<SecretString> {
        let permit = self.hasher.acquire(position).await?;
        Ok(self.hasher.hash_in(&permit, ids, password).await?.into())
    }

    /// Returns whether the password has the hash, after waiting at this position of the queue. Without a hash it takes as long, and returns false.
    ///
    /// # Errors
    /// If hashing fails.
    pub async fn has_hash(&self, position: QueuePosition, password: &SecretString, hash: Option<&str>) -> Result<bool> {
        let permit = self.hasher.acquire(position).await?;
        Ok(self.hasher.verify_in(&permit, password, hash).await?.matches)
    }

    /// Returns the rule that a new password of the account with this address breaks, if any.
    #[must_use]
    pub fn password_problem(&self, password: &SecretString, address: &str) -> Option<Detail> {
        match self.policy.check(password, address) {
            Err(Error::PasswordPolicy(code)) => Some(Detail::new("password", policy_text(code), code)),
            _ => None,
        }
    }

    /// Returns the shortest and the longest length of a new password, in characters.
    #[must_use]
    pub const fn password_length(&self) -> (usize, usize) {
        (self.config.password.min_length, self.config.password.max_length)
    }
}
