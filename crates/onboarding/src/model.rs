//! Requests of persons for a tenant of their own.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::vault::SealedColumn;
use backoffice_core::{Result, Timestamp};
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::schema::onboarding_requests as requests;

/// The sealed column with the address.
pub(crate) const EMAIL: SealedColumn = SealedColumn {
    table: "onboarding_requests",
    column: "email",
};

/// Kind of a request of a person without an account.
pub(crate) const NEW: &str = "new";
/// Kind of a request whose address already has an account: its mail says so, and it can't be verified.
pub(crate) const EXISTING: &str = "existing";

/// A person waits for the mail, or has it.
pub(crate) const PENDING: &str = "pending";
/// The tenant is being created.
pub(crate) const PROCESSING: &str = "processing";
/// The tenant exists.
pub(crate) const COMPLETED: &str = "completed";
/// The request was not verified in time, or another one of the address was.
pub(crate) const EXPIRED: &str = "expired";
/// The tenant could not be created.
pub(crate) const FAILED: &str = "failed";
/// All statuses.
pub(crate) const STATUSES: [&str; 5] = [PENDING, PROCESSING, COMPLETED, EXPIRED, FAILED];

/// A request, without address, password and tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = requests, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The platform tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// `new`, or `existing` if the address had an account.
    pub kind: String,
    /// `pending`, `processing`, `completed`, `expired` or `failed`.
    pub status: String,
    /// First name, 1 to 120 characters.
    pub first_name: String,
    /// Last name, 1 to 120 characters.
    pub last_name: String,
    /// Name of the future tenant and its organization, 1 to 200 characters.
    pub organization_name: String,
    /// Language of the mails.
    pub locale: String,
    /// Whether the person agreed to advertising.
    pub marketing_consent: bool,
    /// Time at which the person accepted the terms.
    pub terms_accepted_at: Timestamp,
    /// Time until which the request can be verified.
    pub expires_at: Timestamp,
    /// Time of the verification.
    pub verified_at: Option<Timestamp>,
    /// Time at which the request was completed, expired or failed.
    pub ended_at: Option<Timestamp>,
    /// Number of wrong passwords that were entered for the verification.
    pub wrong_passwords: i32,
    /// The job that creates the tenant.
    pub provisioning_job_id: Option<Uuid>,
    /// The created tenant.
    pub new_tenant_id: Option<Uuid>,
    /// The created user.
    pub new_user_id: Option<Uuid>,
    /// Time of the last mail with a link.
    pub email_sent_at: Option<Timestamp>,
    /// Time of the mail that announces the tenant.
    pub ready_email_sent_at: Option<Timestamp>,
    /// IP address from which the request came.
    pub client_ip: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Request {
    /// Returns the status at an instant: a request that was not verified in time has expired.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> &str {
        match self.status.as_str() {
            PENDING if self.expires_at <= now => EXPIRED,
            status => status,
        }
    }

    /// Returns whether the request can be verified at an instant.
    #[must_use]
    pub fn can_be_verified(&self, now: Timestamp) -> bool {
        self.kind == NEW && self.status_at(now) == PENDING
    }
}

impl Entity for Request {
    const KIND: &'static str = "onboarding.request";
    const SECRET: &'static [&'static str] = &["email", "emailHash", "passwordHash", "tokenHash", "statusTokenHash"];
    const NOT_FOUND: &'static str = "Request not found";

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let rows = requests::table.filter(locker.scope().owns(requests::tenant_id));
        let rows = rows.filter(requests::id.one_of(ids)).order(requests::id);
        let rows = rows.select((requests::id, requests::tenant_id)).for_update();
        Ok(rows.load(&mut locker.connection()).await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows: Vec<Self> = requests::table
            .filter(requests::tenant_id.eq(tx.tenant()))
            .filter(requests::id.one_of(ids))
            .select(Self::as_select())
            .load(tx.conn())
            .await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    /// A restored request has no address, password and tokens, so it cannot be verified.
    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let now = tx.now();
        let rows = snapshots.iter().map(|snapshot| snapshot.row::<Self>());
        let rows: Vec<Self> = rows
            .map(|row| row.map(|row| Self { updated_at: now, ..row }))
            .collect::<Result<_>>()?;
        insert_into(requests::table)
            .values(&rows)
            .on_conflict((requests::tenant_id, requests::id))
            .do_update()
            .set((
                requests::kind.eq(excluded(requests::kind)),
                requests::status.eq(excluded(requests::status)),
                requests::first_name.eq(excluded(requests::first_name)),
                requests::last_name.eq(excluded(requests::last_name)),
                requests::organization_name.eq(excluded(requests::organization_name)),
                requests::password_hash.eq(None::<String>),
                requests::locale.eq(excluded(requests::locale)),
                requests::marketing_consent.eq(excluded(requests::marketing_consent)),
                requests::terms_accepted_at.eq(excluded(requests::terms_accepted_at)),
                requests::expires_at.eq(excluded(requests::expires_at)),
                requests::verified_at.eq(excluded(requests::verified_at)),
                requests::ended_at.eq(excluded(requests::ended_at)),
                requests::wrong_passwords.eq(excluded(requests::wrong_passwords)),
                requests::provisioning_job_id.eq(excluded(requests::provisioning_job_id)),
                requests::new_tenant_id.eq(excluded(requests::new_tenant_id)),
                requests::new_user_id.eq(excluded(requests::new_user_id)),
                requests::email_sent_at.eq(excluded(requests::email_sent_at)),
                requests::ready_email_sent_at.eq(excluded(requests::ready_email_sent_at)),
                requests::client_ip.eq(excluded(requests::client_ip)),
                requests::created_at.eq(excluded(requests::created_at)),
                requests::updated_at.eq(excluded(requests::updated_at)),
            ))
            .prepared_if(rows.len() == 1)
            .execute(tx.conn())
            .await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let own = requests::table.filter(requests::tenant_id.eq(tx.tenant()));
        delete(own.filter(requests::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }
}
