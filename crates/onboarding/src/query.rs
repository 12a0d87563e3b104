//! Reads, and the few writes beside the commands: marks of mails, attempts with a password, and the ends of requests. All requests belong to the platform
//! tenant.

use backoffice_core::db::Recurring;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Call, Result, Scope, Timestamp};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, Queryable, Selectable, SelectableHelper, update};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{COMPLETED, EXPIRED, FAILED, PENDING, PROCESSING, Request};
use crate::schema::onboarding_requests as requests;

/// Wrong passwords after which a request expires.
pub(crate) const MOST_WRONG_PASSWORDS: i32 = 5;

/// A request with its secrets.
#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = requests, check_for_backend(diesel::pg::Pg))]
pub(crate) struct Stored {
    #[diesel(embed)]
    pub(crate) request: Request,
    pub(crate) email: Option<Vec<u8>>,
    pub(crate) email_hash: Option<Vec<u8>>,
    pub(crate) password_hash: Option<String>,
    pub(crate) status_token_hash: Option<Vec<u8>>,
}

/// The scope of all requests.
pub(crate) fn scope() -> Scope {
    Scope::tenant(PLATFORM_TENANT)
}

/// Returns the request whose link has the token with this hash.
pub(crate) async fn by_token(call: &Call, hash: &[u8]) -> Result<Option<Stored>> {
    let mut connection = call.database().unlogged(&scope()).await?;
    let rows = requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT));
    let rows = rows.filter(requests::token_hash.eq(hash));
    Ok(rows
        .select(Stored::as_select())
        .first(&mut *connection)
        .await
        .optional()?)
}

/// Returns the request with this status token.
pub(crate) async fn by_status_token(call: &Call, hash: &[u8]) -> Result<Option<Stored>> {
    let mut connection = call.database().unlogged(&scope()).await?;
    let rows = requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT));
    let rows = rows.filter(requests::status_token_hash.eq(hash));
    Ok(rows
        .select(Stored::as_select())
        .first(&mut *connection)
        .await
        .optional()?)
}

/// Returns a request.
pub(crate) async fn find(call: &Call, id: Uuid) -> Result<Option<Stored>> {
    let mut connection = call.database().unlogged(&scope()).await?;
    let rows = requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT));
    Ok(rows
        .filter(requests::id.eq(id))
        .select(Stored::as_select())
        .first(&mut *connection)
        .await
        .optional()?)
}

/// Counts an attempt to verify a pending request with a password. Returns false if it has had too many.
pub(crate) async fn count_attempt(call: &Call, id: Uuid) -> Result<bool> {
    let mut connection = call.database().unlogged(&scope()).await?;
    let counted = update(requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT)))
        .filter(requests::id.eq(id))
        .filter(requests::status.eq(PENDING))
        .filter(requests::wrong_passwords.lt(MOST_WRONG_PASSWORDS))
        .set((
            requests::wrong_passwords.eq(requests::wrong_passwords + 1),
            requests::updated_at.eq(call.now),
        ))
        .prepared()
        .execute(&mut *connection)
        .await?;
    Ok(counted > 0)
}

/// Ends a pending request that has had too many wrong passwords.
pub(crate) async fn expire_attempted(call: &Call, id: Uuid) -> Result<()> {
    let mut connection = call.database().unlogged(&scope()).await?;
    update(requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT)))
        .filter(requests::id.eq(id))
        .filter(requests::status.eq(PENDING))
        .filter(requests::wrong_passwords.ge(MOST_WRONG_PASSWORDS))
        .set(ended(EXPIRED, call.now))
        .prepared()
        .execute(&mut *connection)
        .await?;
    Ok(())
}

/// Replaces the token of a pending request, whose earlier links then no longer work. Returns false if the request is not pending any more.
pub(crate) async fn replace_token(call: &Call, id: Uuid, hash: Vec<u8>, now: Timestamp) -> Result<bool> {
    let mut connection = call.database().unlogged(&scope()).await?;
    let replaced = update(requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT)))
        .filter(requests::id.eq(id))
        .filter(requests::status.eq(PENDING))
        .filter(requests::expires_at.gt(now))
        .set((requests::token_hash.eq(Some(hash)), requests::updated_at.eq(now)))
        .prepared()
        .execute(&mut *connection)
        .await?;
    Ok(replaced > 0)
}

/// Notes when the mail with the link was sent.
pub(crate) async fn note_mail(call: &Call, id: Uuid, now: Timestamp) -> Result<()> {
    let mut connection = call.database().unlogged(&scope()).await?;
    update(requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT)))
        .filter(requests::id.eq(id))
        .set((requests::email_sent_at.eq(Some(now)), requests::updated_at.eq(now)))
        .prepared()
        .execute(&mut *connection)
        .await?;
    Ok(())
}

/// Notes when the mail that announces the tenant was sent.
pub(crate) async fn note_ready_mail(call: &Call, id: Uuid, now: Timestamp) -> Result<()> {
    let mut connection = call.database().unlogged(&scope()).await?;
    update(requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT)))
        .filter(requests::id.eq(id))
        .set((
            requests::ready_email_sent_at.eq(Some(now)),
            requests::updated_at.eq(now),
        ))
        .prepared()
        .execute(&mut *connection)
        .await?;
    Ok(())
}

type Ended = (
    diesel::dsl::Eq<requests::status, &'static str>,
    diesel::dsl::Eq<requests::password_hash, Option<String>>,
    diesel::dsl::Eq<requests::ended_at, Option<Timestamp>>,
    diesel::dsl::Eq<requests::updated_at, Timestamp>,
);

/// The end of a request: its password is not needed any more.
pub(crate) fn ended(status: &'static str, now: Timestamp) -> Ended {
    (
        requests::status.eq(status),
        requests::password_hash.eq(None),
        requests::ended_at.eq(Some(now)),
        requests::updated_at.eq(now),
    )
}

/// Ends a request whose tenant is being created, as completed or expired.
pub(crate) async fn end_processing(
    connection: &mut AsyncPgConnection,
    id: Uuid,
    completed: bool,
    now: Timestamp,
) -> Result<bool> {
    let status = if completed { COMPLETED } else { EXPIRED };
    let ended = update(requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT)))
        .filter(requests::id.eq(id))
        .filter(requests::status.eq(PROCESSING))
        .set(ended(status, now))
        .prepared()
        .execute(connection)
        .await?;
    Ok(ended > 0)
}

/// Completes the request whose tenant this job has created. Returns its id, if there is one.
pub(crate) async fn complete(connection: &mut AsyncPgConnection, job: Uuid, now: Timestamp) -> Result<Option<Uuid>> {
    let statement = update(requests::table)
        .filter(requests::tenant_id.eq(PLATFORM_TENANT))
        .filter(requests::provisioning_job_id.eq(job))
        .filter(requests::status.eq(PROCESSING))
        .filter(requests::new_tenant_id.is_not_null())
        .set(ended(COMPLETED, now))
        .returning(requests::id);
    Ok(statement.prepared().get_result(connection).await.optional()?)
}

/// Marks the request as failed whose tenant this job should have created and has not. Returns whether there was one.
pub(crate) async fn fail(connection: &mut AsyncPgConnection, job: Uuid, now: Timestamp) -> Result<bool> {
    let failed = update(requests::table)
        .filter(requests::tenant_id.eq(PLATFORM_TENANT))
        .filter(requests::provisioning_job_id.eq(job))
        .filter(requests::status.eq(PROCESSING))
        .filter(requests::new_tenant_id.is_null())
        .set(ended(FAILED, now))
        .prepared()
        .execute(connection)
        .await?;
    Ok(failed > 0)
}
