//! One-time tokens in the links of reset and invitation mails. The clear token is only in the mail.

use std::time::Duration;

use backoffice_core::command::{Entity, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::events;
use backoffice_core::ids::Ids;
use backoffice_core::{Call, Result, Scope, Timestamp};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use diesel::sql_types::{Binary, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryableByName, insert_into, sql_query};
use diesel_async::RunQueryDsl;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::schema::auth_one_time_tokens as tokens;
use crate::users::model::User;

/// Length of a token: 32 bytes as base64url without padding.
const LENGTH: usize = 43;

/// The purpose of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A forgotten password.
    Reset,
    /// A first password.
    Invite,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Invite => "invite",
        }
    }
}

/// A token to issue.
#[derive(Debug, Clone)]
pub struct NewToken {
    clear: SecretString,
    purpose: Purpose,
    expires_at: Timestamp,
}

impl NewToken {
    /// Creates a token that expires `life` after `now`.
    #[must_use]
    pub fn mint(ids: &Ids, purpose: Purpose, now: Timestamp, life: Duration) -> Self {
        Self {
            clear: URL_SAFE_NO_PAD.encode(ids.random::<32>()).into(),
            purpose,
            expires_at: now.after(time::Duration::try_from(life).unwrap_or(time::Duration::ZERO)),
        }
    }

    /// Returns the clear token, for the link of a mail.
    #[must_use]
    pub fn clear(&self) -> &str {
        self.clear.expose_secret()
    }
}

fn hash(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

/// Stores a token inside a command. A reset voids the user's earlier resets, an invitation all tokens of the user.
pub(crate) async fn issue(tx: &mut Tx<'_>, user: Uuid, token: &NewToken) -> Result<()> {
    let (tenant, now, id) = (tx.tenant(), tx.now(), tx.new_id());
    void(tx, user, (token.purpose == Purpose::Reset).then_some(Purpose::Reset)).await?;
    insert_into(tokens::table)
        .values((
            tokens::tenant_id.eq(tenant),
            tokens::id.eq(id),
            tokens::user_id.eq(user),
            tokens::purpose.eq(token.purpose.as_str()),
            tokens::token_hash.eq(hash(token.clear())),
            tokens::expires_at.eq(token.expires_at),
            tokens::created_at.eq(now),
            tokens::updated_at.eq(now),
        ))
        .prepared()
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Voids the user's open tokens inside a command: those of `purpose`, or all.
pub(crate) async fn void(tx: &mut Tx<'_>, user: Uuid, purpose: Option<Purpose>) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.now());
    let purposes: Vec<&str> = match purpose {
        Some(purpose) => vec![purpose.as_str()],
        None => vec![Purpose::Reset.as_str(), Purpose::Invite.as_str()],
    };
    diesel::update(
        tokens::table
            .filter(tokens::tenant_id.eq(tenant))
            .filter(tokens::user_id.eq(user))
            .filter(tokens::purpose.eq_any(purposes))
            .filter(tokens::used_at.is_null())
            .filter(tokens::voided_at.is_null()),
    )
    .set((tokens::voided_at.eq(now), tokens::updated_at.eq(now)))
    .prepared()
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Records that the mail with the token was sent, in a transaction of its own.
pub(crate) async fn mark_sent(call: &Call, tenant: Uuid, token: &NewToken) -> Result<()> {
    let mut transaction = call.database().transaction(&Scope::tenant(tenant)).await?;
    let connection = transaction.connection();
    diesel::update(
        tokens::table
            .filter(tokens::tenant_id.eq(tenant))
            .filter(tokens::token_hash.eq(hash(token.clear()))),
    )
    .set((tokens::sent_at.eq(call.now), tokens::updated_at.eq(call.now)))
    .prepared()
    .execute(connection)
    .await?;
    events::touch(connection, call, tenant, &[User::KIND]).await?;
    transaction.commit().await
}

/// Uses a token inside a command; returns false if it was used, voided or has expired meanwhile.
pub(crate) async fn consume(tx: &mut Tx<'_>, token: Uuid) -> Result<bool> {
    let (tenant, now) = (tx.tenant(), tx.now());
    let used = diesel::update(
        tokens::table
            .filter(tokens::tenant_id.eq(tenant))
            .filter(tokens::id.eq(token))
            .filter(tokens::used_at.is_null())
            .filter(tokens::voided_at.is_null())
            .filter(tokens::expires_at.gt(now)),
    )
    .set((tokens::used_at.eq(now), tokens::updated_at.eq(now)))
    .prepared()
    .execute(tx.conn())
    .await?;
    Ok(used == 1)
}

/// A token that can be used now, and its user.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct LiveToken {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) user_id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) email: String,
    /// Name of the user, else the address.
    #[diesel(sql_type = Text)]
    pub(crate) name: String,
}

/// Returns the token, if it can be used now: unused, not void, not expired, its user and tenant live and active. Writes nothing.
pub(crate) async fn find_live(call: &Call, token: &str) -> Result<Option<LiveToken>> {
    if token.len() != LENGTH
        || !token
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    {
        return Ok(None);
    }
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    Ok(sql_query(
        "select k.id, k.tenant_id, k.user_id, u.email, coalesce(u.name, u.email) as name \
         from auth_one_time_tokens k join auth_users u on u.tenant_id = k.tenant_id and u.id = k.user_id \
         where k.token_hash = $1 and k.used_at is null and k.voided_at is null and k.expires_at > $2 \
           and u.deleted_at is null and u.is_active \
           and (u.tenant_id = '00000000-0000-0000-0000-000000000000' or exists ( \
               select from directory_tenants t \
               where t.tenant_id = u.tenant_id and t.id = u.tenant_id and t.is_active and t.deleted_at is null))",
    )
    .bind::<Binary, _>(hash(token))
    .bind::<Timestamptz, _>(call.now)
    .prepared()
    .get_result(&mut *connection)
    .await
    .optional()?)
}
