//! Columns of other modules' tables that this module reads.

use backoffice_core::Scope;
use backoffice_core::list::Fragment;
use diesel::sql_types::{Array, Bool, Nullable, Text, Uuid as SqlUuid};
use diesel::{dsl::sql, table};

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

/// Returns an expression for the owner's name, or their e-mail address; null if the user was deleted.
pub(crate) fn owner_name<T: 'static>(table: &str) -> Fragment<T, Nullable<Text>> {
    Box::new(sql::<Nullable<Text>>(&format!(
        "(select coalesce(u.name, u.email) from auth_users u \
         where u.tenant_id = {table}.tenant_id and u.id = {table}.owner_user_id and u.deleted_at is null)"
    )))
}

/// Returns a condition for organizations whose records serve a scope: its visible organizations and those above them.
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
