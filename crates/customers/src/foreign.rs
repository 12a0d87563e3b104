//! Columns of other modules' tables that this module reads.

use backoffice_core::db::Tx;
use backoffice_core::{Result, Scope};
use diesel::pg::Pg;
use diesel::sql_types::{Array, Bool, Nullable, Text, Uuid as SqlUuid};
use diesel::{BoxableExpression, ExpressionMethods, OptionalExtension, QueryDsl, dsl::sql, table};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

table! {
    directory_organizations (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        parent_id -> Nullable<Uuid>,
        deleted_at -> Nullable<Timestamptz>,
    }
}

table! {
    auth_users (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        email -> Text,
        name -> Nullable<Text>,
        is_active -> Bool,
        deleted_at -> Nullable<Timestamptz>,
    }
}

use directory_organizations as organizations;

/// A condition or column written in SQL, for a statement on `T`.
pub(crate) type Fragment<T, S> = Box<dyn BoxableExpression<T, Pg, SqlType = S>>;

/// Whether the organization is live in the transaction's tenant and in the caller's scope. It stays so until the end of the transaction.
pub(crate) async fn is_in_scope(tx: &mut Tx<'_>, id: Uuid) -> Result<bool> {
    let (scope, tenant) = (tx.scope(), tx.tenant());
    let found: Option<Uuid> = organizations::table
        .filter(organizations::tenant_id.eq(tenant))
        .filter(scope.within(organizations::id))
        .filter(organizations::id.eq(id))
        .filter(organizations::deleted_at.is_null())
        .select(organizations::id)
        .for_share()
        .first(tx.conn())
        .await
        .optional()?;
    Ok(found.is_some())
}

/// The name of the owner of a row of this table, else the e-mail address; null when the user is gone.
pub(crate) fn owner_name<T: 'static>(table: &str) -> Fragment<T, Nullable<Text>> {
    Box::new(sql::<Nullable<Text>>(&format!(
        "(select coalesce(u.name, u.email) from auth_users u \
         where u.tenant_id = {table}.tenant_id and u.id = {table}.owner_user_id and u.deleted_at is null)"
    )))
}

/// Organizations whose records serve a scope: the ones that it reads and those above them.
pub(crate) fn serves<T: 'static>(scope: &Scope, column: &str) -> Fragment<T, Bool> {
    let Some(read) = scope.organizations.clone() else {
        return Box::new(sql::<Bool>("true"));
    };
    let fragment = format!(
        "{column} = any (array( \
         with recursive up as ( \
             select o.tenant_id, o.id, o.parent_id from directory_organizations o where o.id = any("
    );
    Box::new(sql::<Bool>(&fragment).bind::<Array<SqlUuid>, _>(read).sql(
        ") union \
                 select o.tenant_id, o.id, o.parent_id from up \
                 join directory_organizations o on o.tenant_id = up.tenant_id and o.id = up.parent_id \
             ) select up.id from up))",
    ))
}
