//! Keeps organizations with customer records from being deleted, by a command or by undo and redo.

use backoffice_core::command::{Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::db::Prepared;
use backoffice_core::{Rejection, Result};
use diesel::sql_types::{Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;

/// Rejects the deletion of an organization that has deals, pipelines, companies or people.
pub(crate) const KEEP_ORGANIZATIONS_WITH_CUSTOMERS: Interceptor = Interceptor {
    id: "customers.organization_customers",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(keep_organization(tx, context)),
};

/// Stages are omitted: they share the organization of their pipeline.
const KIND_IN_USE: &str = "select case
    when exists (select from customers_companies where tenant_id = $1 and organization_id = $2) then 'customers.company'
    when exists (select from customers_deals where tenant_id = $1 and organization_id = $2) then 'customers.deal'
    when exists (select from customers_people where tenant_id = $1 and organization_id = $2) then 'customers.person'
    when exists (select from customers_pipelines where tenant_id = $1 and organization_id = $2) then 'customers.pipeline'
    end as kind";

#[derive(QueryableByName)]
struct InUse {
    #[diesel(sql_type = Nullable<Text>)]
    kind: Option<String>,
}

async fn keep_organization(tx: &mut Tx<'_>, context: &InterceptorContext<'_>) -> Result<Verdict> {
    if !context.removes("directory.organization.delete") {
        return Ok(Verdict::Continue);
    }
    let tenant = tx.tenant();
    let statement = sql_query(KIND_IN_USE)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(context.id);
    let found: InUse = Prepared(statement).get_result(tx.conn()).await?;
    let Some(kind) = found.kind else {
        return Ok(Verdict::Continue);
    };
    let rejection = Rejection::conflict("Organization is in use").code("organization_in_use");
    Ok(context.keep(rejection, &kind))
}
