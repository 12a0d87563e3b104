//! Reads of consents.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{Page, Window};
use backoffice_core::{RequestContext, Result};
use diesel::dsl::count_star;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::model::Consent;
use crate::schema::auth_consents as consents;

/// Returns the consent of a user to `consent_type`.
///
/// # Errors
/// If the database can't be reached.
pub async fn find(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    user: Uuid,
    consent_type: &str,
) -> Result<Option<Consent>> {
    Ok(consents::table
        .filter(consents::tenant_id.eq(tenant))
        .filter(consents::user_id.eq(user))
        .filter(consents::consent_type.eq(consent_type))
        .select(Consent::as_select())
        .first(connection)
        .await
        .optional()?)
}

/// Returns a page of a user's consents, newest first, and their total: two pipelined statements.
///
/// # Errors
/// If the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    (tenant, user): (Uuid, Uuid),
    ids: Option<&[Uuid]>,
    window: Window,
) -> Result<Page<Consent>> {
    let filtered = || {
        let query = consents::table
            .filter(consents::tenant_id.eq(tenant))
            .filter(consents::user_id.eq(user))
            .into_boxed();
        match ids {
            Some(ids) => query.filter(consents::id.one_of(ids)),
            None => query,
        }
    };
    let rows = filtered()
        .order((consents::created_at.desc(), consents::id.desc()))
        .select(Consent::as_select());
    let total = filtered().select(count_star());
    let rows = window.limited(rows).load(&mut &*connection);
    window
        .fetch(ctx, connection, rows, || Prepared(total).get_result(&mut &*connection))
        .await
}
