//! `dispatch.strict_resources`: the calendar accepts windows of existing resources only.

use backoffice_calendar::{ResourceCheck, Subject};
use backoffice_core::Result;
use backoffice_core::command::Tx;
use diesel::dsl::exists;
use diesel::{ExpressionMethods, QueryDsl, select};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;

use crate::config::DispatchConfig;
use crate::schema::dispatch_resources as resources;

/// Accepts resources of the organization, or all if the configuration is not strict.
pub(crate) const EXISTING: ResourceCheck = ResourceCheck { accepts };

fn accepts<'a>(tx: &'a mut Tx<'_>, subject: Subject) -> BoxFuture<'a, Result<bool>> {
    Box::pin(async move {
        let config = tx.context().call().provided::<DispatchConfig>()?;
        if !config.strict_resources {
            return Ok(true);
        }
        let own = resources::table
            .filter(resources::tenant_id.eq(tx.tenant()))
            .filter(resources::organization_id.eq(subject.organization))
            .filter(resources::type_.eq(subject.resource_type.as_str()))
            .filter(resources::id.eq(subject.id))
            .filter(resources::deleted_at.is_null());
        Ok(select(exists(own)).get_result(tx.conn()).await?)
    })
}
