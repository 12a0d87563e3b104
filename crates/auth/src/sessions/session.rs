//! Sessions: started by a sign-in, ended for several reasons, never restored.

use backoffice_core::command::Tx;
use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::events::{Event, announce};
use backoffice_core::{Call, Result, Scope, Timestamp};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use diesel::sql_types::{Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryableByName, insert_into, sql_query};
use diesel_async::RunQueryDsl;
use futures_util::future::try_join;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::query::MAY_SIGN_IN;
use super::revocation::{self, Subject};
use super::token::{Bearer, Holder};
use crate::accounts::Accounts;
use crate::schema::{auth_sessions as sessions, auth_users as users};

/// A new session.
pub(crate) struct Started {
    pub(crate) access_token: String,
    pub(crate) refresh_token: String,
    pub(crate) access_seconds: u64,
    pub(crate) session_seconds: u64,
}

/// The account that signs in.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) tenant: Uuid,
    pub(crate) id: Uuid,
    pub(crate) organization: Option<Uuid>,
}

fn hash(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

/// Starts a session in one transaction: the last sign-in, the session, the event. Ends the oldest sessions beyond the limit. Returns `None`
/// if the password no longer has this hash, or the account may no longer sign in: a command that ends the sessions of one account locks
/// its row, so it either ends this session too or prevents its start.
pub(crate) async fn start(
    call: &Call,
    accounts: &Accounts,
    account: &Account,
    verified: &str,
    remember: bool,
) -> Result<Option<Started>> {
    let config = &accounts.config;
    let ids = call.platform().ids();
    let (id, now) = (ids.at(call.now), call.now);
    let refresh_token = URL_SAFE_NO_PAD.encode(ids.random::<32>());
    let life = if remember {
        config.remember_ttl
    } else {
        config.session_ttl
    };
    let mut transaction = call.database().transaction(&Scope::tenant(account.tenant)).await?;
    let connection = transaction.connection();
    let statement = sql_query(format!(
        "update auth_users u set last_login_at = $3 where u.tenant_id = $1 and u.id = $2 and u.password_hash = $4{MAY_SIGN_IN}"
    ))
    .bind::<SqlUuid, _>(account.tenant)
    .bind::<SqlUuid, _>(account.id)
    .bind::<Timestamptz, _>(now)
    .bind::<Text, _>(verified);
    if Prepared(statement).execute(&mut **connection).await? == 0 {
        return Ok(None);
    }
    let session = insert_into(sessions::table).values((
        sessions::tenant_id.eq(account.tenant),
        sessions::id.eq(id),
        sessions::user_id.eq(account.id),
        sessions::token_hash.eq(hash(&refresh_token)),
        sessions::is_remembered.eq(remember),
        sessions::expires_at.eq(after(now, life)),
        sessions::ip.eq(call.ip.map(|ip| ip.to_string())),
        sessions::user_agent.eq(&call.user_agent),
        sessions::created_at.eq(now),
        sessions::updated_at.eq(now),
    ));
    let others = sessions::table
        .filter(sessions::tenant_id.eq(account.tenant))
        .filter(sessions::user_id.eq(account.id))
        .filter(sessions::id.ne(id))
        .filter(sessions::ended_at.is_null())
        .filter(sessions::expires_at.gt(now))
        .order((sessions::created_at.desc(), sessions::id.desc()));
    let surplus = others.offset(config.sessions_per_user.max(1) - 1).select(sessions::id);
    // Pipelined.
    let started = session.execute(&mut &**connection);
    let (_, surplus) = try_join(started, surplus.load::<Uuid>(&mut &**connection)).await?;
    end_surplus(connection, account, &surplus, now).await?;
    for session in &surplus {
        revocation::record(connection, account.tenant, ids.at(now), Subject::Session(*session)).await?;
    }
    let event = Event::new("auth.session.started", id).with("userId", account.id.to_string());
    announce(connection, call, account.tenant, account.organization, &[event]).await?;
    transaction.commit().await?;
    for session in surplus {
        accounts.cache.forget(Subject::Session(session));
    }
    let access = config.access_token_ttl.min(life);
    let holder = Holder {
        user: account.id,
        session: id,
        tenant: account.tenant,
        organization: account.organization,
    };
    Ok(Some(Started {
        access_token: accounts.tokens.create(ids, holder, now, access)?,
        refresh_token,
        access_seconds: access.as_secs(),
        session_seconds: life.as_secs(),
    }))
}

fn after(now: Timestamp, life: std::time::Duration) -> Timestamp {
    now.after(time::Duration::try_from(life).unwrap_or(time::Duration::ZERO))
}

async fn end_surplus(
    connection: &mut diesel_async::AsyncPgConnection,
    account: &Account,
    surplus: &[Uuid],
    now: Timestamp,
) -> Result<()> {
    if surplus.is_empty() {
        return Ok(());
    }
    diesel::update(
        sessions::table
            .filter(sessions::tenant_id.eq(account.tenant))
            .filter(sessions::id.eq_any(surplus)),
    )
    .set((
        sessions::ended_at.eq(now),
        sessions::end_reason.eq("surplus"),
        sessions::updated_at.eq(now),
    ))
    .prepared()
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends all live sessions of a user inside a command, except for `except`.
pub(crate) async fn end_all(tx: &mut Tx<'_>, user: Uuid, except: Option<Uuid>, reason: &str) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.now());
    diesel::update(
        sessions::table
            .filter(sessions::tenant_id.eq(tenant))
            .filter(sessions::user_id.eq(user))
            .filter(sessions::ended_at.is_null())
            .filter(sessions::expires_at.gt(now))
            .filter(sessions::id.ne(except.unwrap_or_default())),
    )
    .set((
        sessions::ended_at.eq(now),
        sessions::end_reason.eq(reason),
        sessions::updated_at.eq(now),
    ))
    .prepared()
    .execute(tx.conn())
    .await?;
    revocation::revoke(tx, Subject::User(user)).await
}

/// Ends the live sessions of all users of the command's tenant.
pub(crate) async fn end_of_tenant(tx: &mut Tx<'_>) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.now());
    diesel::update(
        sessions::table
            .filter(sessions::tenant_id.eq(tenant))
            .filter(sessions::ended_at.is_null())
            .filter(sessions::expires_at.gt(now)),
    )
    .set((
        sessions::ended_at.eq(now),
        sessions::end_reason.eq("tenant_closed"),
        sessions::updated_at.eq(now),
    ))
    .prepared()
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Ends the live sessions of all users of an organization inside a command.
pub(crate) async fn end_of_organization(tx: &mut Tx<'_>, organization: Uuid) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.now());
    let members = users::table
        .filter(users::tenant_id.eq(tenant))
        .filter(users::organization_id.eq(organization))
        .select(users::id);
    diesel::update(
        sessions::table
            .filter(sessions::tenant_id.eq(tenant))
            .filter(sessions::ended_at.is_null())
            .filter(sessions::expires_at.gt(now))
            .filter(sessions::user_id.eq_any(members)),
    )
    .set((
        sessions::ended_at.eq(now),
        sessions::end_reason.eq("organization_closed"),
        sessions::updated_at.eq(now),
    ))
    .prepared()
    .execute(tx.conn())
    .await?;
    Ok(())
}

#[derive(QueryableByName)]
struct Live {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    user_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    session_id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    organization_id: Option<Uuid>,
    #[diesel(sql_type = Timestamptz)]
    expires_at: Timestamp,
}

/// Returns a fresh access token for a refresh token, and its life in seconds; `None` without a live session of a user who may sign in.
pub(crate) async fn refresh(call: &Call, accounts: &Accounts, token: &str) -> Result<Option<(String, u64)>> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    let statement = sql_query(format!(
        "select s.tenant_id, s.user_id, s.id as session_id, u.organization_id, s.expires_at \
         from auth_sessions s join auth_users u on u.tenant_id = s.tenant_id and u.id = s.user_id \
         where s.token_hash = $1 and s.ended_at is null and s.expires_at > $2{MAY_SIGN_IN}"
    ))
    .bind::<diesel::sql_types::Bytea, _>(hash(token))
    .bind::<Timestamptz, _>(call.now);
    let live: Option<Live> = Prepared(statement).get_result(&mut *connection).await.optional()?;
    let Some(live) = live else { return Ok(None) };
    let session = sessions::table
        .filter(sessions::tenant_id.eq(live.tenant_id))
        .filter(sessions::id.eq(live.session_id));
    let statement = diesel::update(session).set(sessions::last_used_at.eq(call.now));
    Prepared(statement).execute(&mut *connection).await?;
    let rest = u64::try_from((live.expires_at.unix_millis() - call.now.unix_millis()) / 1000).unwrap_or(0);
    let seconds = rest.min(accounts.config.access_token_ttl.as_secs());
    let holder = Holder {
        user: live.user_id,
        session: live.session_id,
        tenant: live.tenant_id,
        organization: live.organization_id,
    };
    let token = accounts.tokens.create(
        call.platform().ids(),
        holder,
        call.now,
        std::time::Duration::from_secs(seconds),
    )?;
    Ok(Some((token, seconds)))
}

#[derive(QueryableByName)]
struct TenantOf {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
}

/// Returns the tenant of a live session.
pub(crate) async fn tenant_of(call: &Call, token: &str) -> Result<Option<Uuid>> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    let found: Option<TenantOf> = sql_query(format!(
        "select s.tenant_id from auth_sessions s join auth_users u on u.tenant_id = s.tenant_id and u.id = s.user_id \
         where s.token_hash = $1 and s.ended_at is null and s.expires_at > $2{MAY_SIGN_IN}"
    ))
    .bind::<diesel::sql_types::Bytea, _>(hash(token))
    .bind::<Timestamptz, _>(call.now)
    .get_result(&mut *connection)
    .await
    .optional()?;
    Ok(found.map(|one| one.tenant_id))
}

#[derive(QueryableByName)]
struct Ended {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// Ends live sessions of one user: the caller's, that of a session cookie, or all. One transaction with the revocations and events.
pub(crate) async fn log_out(
    call: &Call,
    accounts: &Accounts,
    account: &Account,
    session: Option<Uuid>,
    cookie: Option<&str>,
    all: bool,
) -> Result<()> {
    let reason = if all { "logout_all" } else { "logout" };
    end(call, accounts, account, session, cookie, reason).await
}

/// Ends the sessions that a sign-in replaces in the browser: that of the session cookie, and that of the access token. As after a log-out,
/// every node rejects their tokens from then on.
pub(crate) async fn end_replaced(
    call: &Call,
    accounts: &Accounts,
    cookie: Option<&str>,
    access: Option<Bearer>,
) -> Result<()> {
    if cookie.is_none() && access.is_none() {
        return Ok(());
    }
    let replaced: Vec<Live> = {
        let mut connection = call.database().unlogged(&Scope::system()).await?;
        sql_query(
            "select s.tenant_id, s.user_id, s.id as session_id, u.organization_id, s.expires_at from auth_sessions s \
             join auth_users u on u.tenant_id = s.tenant_id and u.id = s.user_id \
             where s.ended_at is null and s.expires_at > $4 and (s.token_hash = $1 or (s.tenant_id = $2 and s.id = $3))",
        )
        .bind::<diesel::sql_types::Bytea, _>(cookie.map(hash).unwrap_or_default())
        .bind::<SqlUuid, _>(access.map(|bearer| bearer.tenant).unwrap_or_default())
        .bind::<SqlUuid, _>(access.map(|bearer| bearer.session).unwrap_or_default())
        .bind::<Timestamptz, _>(call.now)
        .prepared()
        .load(&mut *connection)
        .await?
    };
    for one in replaced {
        let account = Account {
            tenant: one.tenant_id,
            id: one.user_id,
            organization: one.organization_id,
        };
        end(call, accounts, &account, Some(one.session_id), None, "replaced").await?;
    }
    Ok(())
}

async fn end(
    call: &Call,
    accounts: &Accounts,
    account: &Account,
    session: Option<Uuid>,
    cookie: Option<&str>,
    reason: &str,
) -> Result<()> {
    let mut transaction = call.database().transaction(&Scope::tenant(account.tenant)).await?;
    let connection = transaction.connection();
    let ended: Vec<Ended> = sql_query(
        "update auth_sessions set ended_at = $3, end_reason = $4, updated_at = $3 \
         where tenant_id = $1 and user_id = $2 and ended_at is null and expires_at > $3 \
           and ($4 = 'logout_all' or id = $5 or token_hash = $6) \
         returning id",
    )
    .bind::<SqlUuid, _>(account.tenant)
    .bind::<SqlUuid, _>(account.id)
    .bind::<Timestamptz, _>(call.now)
    .bind::<Text, _>(reason)
    .bind::<SqlUuid, _>(session.unwrap_or_default())
    .bind::<diesel::sql_types::Bytea, _>(cookie.map(hash).unwrap_or_default())
    .prepared()
    .load(&mut **connection)
    .await?;
    let ids = call.platform().ids();
    let mut events = Vec::new();
    for one in &ended {
        revocation::record(connection, account.tenant, ids.at(call.now), Subject::Session(one.id)).await?;
        events.push(Event::new("auth.session.ended", one.id).with("userId", account.id.to_string()));
    }
    if !events.is_empty() {
        announce(connection, call, account.tenant, account.organization, &events).await?;
    }
    transaction.commit().await?;
    for one in ended {
        accounts.cache.forget(Subject::Session(one.id));
    }
    Ok(())
}
