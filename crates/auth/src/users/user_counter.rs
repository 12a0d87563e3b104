//! Counts the users of tenants for the directory.

use std::collections::HashMap;

use backoffice_core::Result;
use backoffice_core::db::Connection;
use backoffice_directory::UserCounter;
use diesel::dsl::count_star;
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::schema::auth_users as users;

/// Counts live users.
#[derive(Debug)]
pub(crate) struct LiveUsers;

impl UserCounter for LiveUsers {
    fn count<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenants: &'a [Uuid],
    ) -> BoxFuture<'a, Result<HashMap<Uuid, i64>>> {
        Box::pin(async move {
            let rows: Vec<(Uuid, i64)> = users::table
                .filter(users::tenant_id.eq_any(tenants))
                .filter(users::deleted_at.is_null())
                .group_by(users::tenant_id)
                .select((users::tenant_id, count_star()))
                .load(&mut **connection)
                .await?;
            Ok(rows.into_iter().collect())
        })
    }
}
