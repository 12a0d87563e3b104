//! Keeps organizations with customer records from being deleted, by a command or by undo and redo.

use backoffice_core::Result;
use backoffice_core::command::{Hook, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::db::Prepared;
use diesel::sql_types::{Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use serde_json::{Map, json};
use uuid::Uuid;

/// Rejects the deletion of an organization that has deals, pipelines, companies or people.
pub(crate) const KEEP_ORGANIZATIONS_WITH_CUSTOMERS: Interceptor = Interceptor {
    id: "customers.organization_customers",
    target: "directory.organization.*",
    priority: 100,
    run: keep_organization,
};

fn keep_organization<'a>(tx: &'a mut Tx<'_>, context: &'a InterceptorContext<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        let removes = match context.hook {
            Hook::BeforeExecute => context.command == "directory.organization.delete",
            Hook::BeforeUndo | Hook::BeforeRedo => context.after.is_none(),
            Hook::AfterExecute => false,
        };
        if !removes {
            return Ok(Verdict::Continue);
        }
        let kinds = kinds_in(tx, context.id).await?;
        Ok(match (kinds.is_empty(), context.hook) {
            (true, _) => Verdict::Continue,
            (false, Hook::BeforeExecute) => in_use(),
            (false, _) => changed_since(&kinds),
        })
    })
}

fn in_use() -> Verdict {
    Verdict::Reject {
        message: "Organization is in use".to_owned(),
        code: Some("organization_in_use".to_owned()),
        status: Some(409),
        body: None,
    }
}

/// Rejects an undo or redo that would delete an organization in which records of these kinds exist.
fn changed_since(kinds: &[String]) -> Verdict {
    let message = "The record has changed since this action";
    let body = Map::from_iter([
        ("error".to_owned(), json!(message)),
        ("code".to_owned(), json!("undo_conflict")),
        ("fields".to_owned(), json!(kinds)),
    ]);
    Verdict::Reject {
        message: message.to_owned(),
        code: None,
        status: Some(400),
        body: Some(body),
    }
}

#[derive(QueryableByName)]
struct KindRow {
    #[diesel(sql_type = Text)]
    kind: String,
}

const KINDS: &str = "\
select 'customers.company' as kind where exists (
    select 1 from customers_companies where tenant_id = $1 and organization_id = $2)
union all select 'customers.deal' where exists (
    select 1 from customers_deals where tenant_id = $1 and organization_id = $2)
union all select 'customers.person' where exists (
    select 1 from customers_people where tenant_id = $1 and organization_id = $2)
union all select 'customers.pipeline' where exists (
    select 1 from customers_pipelines where tenant_id = $1 and organization_id = $2)";

/// Returns the kinds of records in the organization. Stages are omitted: they share the organization of their pipeline.
async fn kinds_in(tx: &mut Tx<'_>, organization: Uuid) -> Result<Vec<String>> {
    let tenant = tx.tenant();
    let statement = sql_query(KINDS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(organization);
    let found: Vec<KindRow> = Prepared(statement).load(tx.conn()).await?;
    Ok(found.into_iter().map(|one| one.kind).collect())
}
