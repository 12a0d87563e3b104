//! Sign-in with an address and a password.

use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::{Call, Result, Scope};
use diesel::sql_types::{Array, BigInt, Nullable, Text, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::query::MAY_SIGN_IN;
use super::session::{self, Account, Started};
use crate::accounts::Accounts;
use crate::email;
use crate::schema::auth_users as users;
use crate::users::password::HashPermit;

/// An account with the address.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct Candidate {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(crate) organization_id: Option<Uuid>,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) tenant_name: Option<String>,
    #[diesel(sql_type = Text)]
    password_hash: String,
}

impl Candidate {
    pub(crate) fn account(&self) -> Account {
        Account {
            tenant: self.tenant_id,
            id: self.id,
            organization: self.organization_id,
        }
    }
}

/// A candidate whose password matches.
#[derive(Debug, Clone)]
pub(crate) struct Verified {
    pub(crate) candidate: Candidate,
    pub(crate) is_outdated: bool,
}

/// Returns the accounts of the address that may sign in, the oldest first.
pub(crate) async fn candidates(
    call: &Call,
    accounts: &Accounts,
    address: &str,
    tenant: Option<Uuid>,
) -> Result<Vec<Candidate>> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    let statement = sql_query(format!(
        "select u.tenant_id, u.id, u.organization_id, u.password_hash, \
           (select t.name from directory_tenants t where t.tenant_id = u.tenant_id and t.id = u.tenant_id) as tenant_name \
         from auth_users u \
         where u.email_norm = $1 and ($2 is null or u.tenant_id = $2) and u.password_hash is not null{MAY_SIGN_IN} \
         order by u.created_at, u.id limit $3"
    ))
    .bind::<Text, _>(email::normalized(address))
    .bind::<Nullable<SqlUuid>, _>(tenant)
    .bind::<BigInt, _>(accounts.config.login.max_candidates);
    Ok(Prepared(statement).load(&mut *connection).await?)
}

/// Returns the candidates whose password matches: one verification each, at least one.
pub(crate) async fn verified(
    accounts: &Accounts,
    permit: &HashPermit,
    candidates: Vec<Candidate>,
    password: &SecretString,
) -> Result<Vec<Verified>> {
    if candidates.is_empty() {
        accounts.hasher.verify_in(permit, password, None).await?;
    }
    let mut matching = Vec::new();
    for candidate in candidates {
        let stored = Some(candidate.password_hash.as_str());
        let verified = accounts.hasher.verify_in(permit, password, stored).await?;
        if verified.matches {
            matching.push(Verified {
                candidate,
                is_outdated: verified.is_outdated,
            });
        }
    }
    Ok(matching)
}

/// Returns whether several tenants have an account with this address.
pub(crate) async fn is_shared(call: &Call, address: &str) -> Result<bool> {
    let scope = Scope::system();
    let mut connection = call.database().unlogged(&scope).await?;
    let accounts = users::table
        .filter(scope.owns(users::tenant_id))
        .filter(users::email_norm.eq(email::normalized(address)))
        .filter(users::deleted_at.is_null())
        .select(users::id)
        .limit(2);
    let found: Vec<Uuid> = Prepared(accounts).load(&mut *connection).await?;
    Ok(found.len() > 1)
}

#[derive(QueryableByName)]
struct Held {
    #[diesel(sql_type = diesel::sql_types::Bool)]
    is_held: bool,
}

/// Returns whether the user has a role with one of these lower-case names.
pub(crate) async fn holds_role(call: &Call, candidate: &Candidate, names: &[String]) -> Result<bool> {
    let mut connection = call.database().read(&Scope::tenant(candidate.tenant_id)).await?;
    let held: Held = sql_query(
        "select exists (select 1 from auth_user_roles l \
           join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id \
           where l.tenant_id = $1 and l.user_id = $2 and r.name_norm = any($3)) as is_held",
    )
    .bind::<SqlUuid, _>(candidate.tenant_id)
    .bind::<SqlUuid, _>(candidate.id)
    .bind::<Array<Text>, _>(names)
    .prepared()
    .get_result(&mut *connection)
    .await?;
    Ok(held.is_held)
}

/// Returns whether the ACLs that apply to the user have the super-admin flag.
pub(crate) async fn is_super_admin(call: &Call, candidate: &Candidate) -> Result<bool> {
    let mut connection = call.database().read(&Scope::tenant(candidate.tenant_id)).await?;
    let held: Held = sql_query(
        "select coalesce( \
           (select a.is_super_admin from auth_user_acls a where a.tenant_id = $1 and a.user_id = $2), \
           exists (select 1 from auth_user_roles l \
             join auth_role_acls a on a.tenant_id = l.role_tenant_id and a.role_id = l.role_id \
             where l.tenant_id = $1 and l.user_id = $2 and a.is_super_admin)) as is_held",
    )
    .bind::<SqlUuid, _>(candidate.tenant_id)
    .bind::<SqlUuid, _>(candidate.id)
    .prepared()
    .get_result(&mut *connection)
    .await?;
    Ok(held.is_held)
}

/// Starts a session after the password matched, unless the password was changed or the account closed meanwhile.
pub(crate) async fn sign_in(
    call: &Call,
    accounts: &Accounts,
    permit: HashPermit,
    verified: &Verified,
    password: &SecretString,
    remember: bool,
) -> Result<Option<Started>> {
    let candidate = &verified.candidate;
    let account = candidate.account();
    let hash = match verified.is_outdated {
        true => rehash(call, accounts, &permit, candidate, password).await?,
        false => candidate.password_hash.clone(),
    };
    drop(permit);
    let started = session::start(call, accounts, &account, &hash, remember).await?;
    if started.is_some() {
        return Ok(started);
    }
    // Another sign-in may have stored a new hash of the same password.
    let stored = {
        let mut connection = call.database().read(&Scope::tenant(account.tenant)).await?;
        crate::users::query::password_hash(&mut connection, account.tenant, account.id).await?
    };
    let Some(stored) = stored.filter(|stored| *stored != hash) else {
        return Ok(None);
    };
    match accounts.hasher.verify(password, Some(&stored)).await?.matches {
        true => session::start(call, accounts, &account, &stored, remember).await,
        false => Ok(None),
    }
}

/// Stores and returns a hash of the password with the present parameters. Not a command: no client could see a change.
async fn rehash(
    call: &Call,
    accounts: &Accounts,
    permit: &HashPermit,
    candidate: &Candidate,
    password: &SecretString,
) -> Result<String> {
    let hash: SecretString = accounts
        .hasher
        .hash_in(permit, call.platform().ids(), password)
        .await?
        .into();
    let mut connection = call.database().unlogged(&Scope::tenant(candidate.tenant_id)).await?;
    diesel::update(
        users::table
            .filter(users::tenant_id.eq(candidate.tenant_id))
            .filter(users::id.eq(candidate.id))
            // Unless the hash was changed meanwhile.
            .filter(users::password_hash.eq(&candidate.password_hash)),
    )
    .set(users::password_hash.eq(hash.expose_secret()))
    .prepared()
    .execute(&mut *connection)
    .await?;
    Ok(hash.expose_secret().to_owned())
}
