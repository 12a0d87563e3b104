//! Reads of consents.

use backoffice_core::Result;
use backoffice_core::list::{Page, Window};
use diesel::dsl::count_star;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::ConsentRow;
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
) -> Result<Option<ConsentRow>> {
    Ok(consents::table
        .filter(consents::tenant_id.eq(tenant))
        .filter(consents::user_id.eq(user))
        .filter(consents::consent_type.eq(consent_type))
        .select(ConsentRow::as_select())
        .first(connection)
        .await
        .optional()?)
}

/// Returns a page of a user's consents, newest first, and their total: two statements.
///
/// # Errors
/// If the database can't be reached.
pub async fn list(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    user: Uuid,
    ids: Option<&[Uuid]>,
    window: Window,
) -> Result<Page<ConsentRow>> {
    let filtered = || {
        let query = consents::table
            .filter(consents::tenant_id.eq(tenant))
            .filter(consents::user_id.eq(user))
            .into_boxed();
        match ids {
            Some(ids) => query.filter(consents::id.eq_any(ids)),
            None => query,
        }
    };
    let total = filtered().select(count_star()).get_result(connection).await?;
    let items = filtered()
        .order((consents::created_at.desc(), consents::id.desc()))
        .limit(window.limit())
        .offset(window.offset())
        .select(ConsentRow::as_select())
        .load(connection)
        .await?;
    Ok(window.page(items, total))
}
