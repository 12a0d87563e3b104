use std::time::Duration;

use actix_web::http::StatusCode;
use backoffice_core::http::Json;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{Job, NewJob, Step, Work, enqueue};
use backoffice_core::{Call, Error, Result, Runtime, Scope, Timestamp};
use diesel::sql_types::{Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::commands::DeriveInstants;
use crate::dated::DatedTable;
use crate::zones::database_version;

/// Wait before the stored version is read again, if the database can't be reached at the start.
const RETRY: Duration = Duration::from_secs(10);

/// Derives all instants from their dates with a newer time zone database, one organization after the other, each by a command. Only organizations with
/// rows that end in the future have one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DeriveAllInstants {
    /// The version of the database.
    version: String,
    /// Tenant and id of the last organization that is done.
    after: Option<(Uuid, Uuid)>,
    /// Whether the command was rejected for an organization that exists. The version is then not stored, so that the next start derives again.
    #[serde(default)]
    is_incomplete: bool,
}

/// Enqueues the job if the stored instants were derived with an older database.
pub(crate) fn background(runtime: Runtime) -> Option<BoxFuture<'static, ()>> {
    Some(Box::pin(async move {
        while let Err(error) = derive_if_newer(&Call::internal(&runtime), database_version()).await {
            tracing::debug!(%error, "could not compare the version of the time zone database; retrying");
            tokio::time::sleep(RETRY).await;
        }
    }))
}

#[derive(QueryableByName)]
struct Stored {
    #[diesel(sql_type = Text)]
    version: String,
}

/// Enqueues the job that derives all instants with this version of the time zone database, unless the stored ones were derived with it or with a newer
/// one. Without rows that end in the future, as in a new installation, only the version is stored. Returns whether there is something to derive.
///
/// # Errors
/// When the database can't be reached.
pub async fn derive_if_newer(call: &Call, version: &str) -> Result<bool> {
    use diesel_async::RunQueryDsl;

    let mut transaction = call.database().transaction(&Scope::system()).await?;
    let stored: Option<Stored> =
        sql_query("select version from calendar_zone_databases where tenant_id = $1 and id = $1")
            .bind::<SqlUuid, _>(PLATFORM_TENANT)
            .get_result(transaction.connection())
            .await
            .optional()?;
    if stored.is_some_and(|stored| stored.version.as_str() >= version) {
        return Ok(false);
    }
    let (tables, now) = (dated_tables(call), call.now);
    if next(transaction.connection(), &tables, None, now).await?.is_none() {
        store(transaction.connection(), version, now).await?;
        transaction.commit().await?;
        return Ok(false);
    }
    let job = DeriveAllInstants {
        version: version.to_owned(),
        after: None,
        is_incomplete: false,
    };
    let job = NewJob::of_system(PLATFORM_TENANT, job).deduplicated(format!("calendar.instants:{version}"));
    enqueue(transaction.connection(), call, &job).await?;
    transaction.commit().await?;
    Ok(true)
}

/// Returns the tables of all modules with instants that are derived from dates.
fn dated_tables(call: &Call) -> Vec<DatedTable> {
    call.platform().extensions::<DatedTable>().copied().collect()
}

#[derive(QueryableByName)]
struct Organization {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    organization_id: Uuid,
}

/// Returns the next organization with rows that end in the future, in the order of tenants and ids.
async fn next(
    connection: &mut AsyncPgConnection,
    tables: &[DatedTable],
    after: Option<(Uuid, Uuid)>,
    now: Timestamp,
) -> Result<Option<Organization>> {
    use diesel_async::RunQueryDsl;

    let (tenant, organization) = after.unwrap_or_default();
    let of_each: Vec<String> = tables
        .iter()
        .map(|DatedTable { name, condition }| {
            format!(
                "(select tenant_id, organization_id from {name} where (tenant_id, organization_id) > ($1, $2) and end_at > $3 and {condition} \
                 order by tenant_id, organization_id limit 1)"
            )
        })
        .collect();
    let text = format!(
        "select tenant_id, organization_id from ({}) o order by tenant_id, organization_id limit 1",
        of_each.join(" union all ")
    );
    let found = sql_query(text)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(organization)
        .bind::<Timestamptz, _>(now)
        .get_result(connection)
        .await;
    Ok(found.optional()?)
}

const STORE: &str = "\
insert into calendar_zone_databases as z (tenant_id, id, organization_id, version, created_at, updated_at) values ($1, $1, $1, $2, $3, $3)
on conflict (tenant_id, id) do update set version = greatest(z.version, excluded.version), updated_at = excluded.updated_at";

/// Stores the version with which all instants were derived.
async fn store(connection: &mut AsyncPgConnection, version: &str, now: Timestamp) -> Result<()> {
    use diesel_async::RunQueryDsl;

    sql_query(STORE)
        .bind::<SqlUuid, _>(PLATFORM_TENANT)
        .bind::<Text, _>(version)
        .bind::<Timestamptz, _>(now)
        .execute(connection)
        .await?;
    Ok(())
}

impl Job for DeriveAllInstants {
    const KIND: &'static str = "calendar.instants.derive_all";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        // A node of the earlier release, during an update of several nodes: the job waits for another one.
        if self.version.as_str() > database_version() {
            return Err(Error::internal("this node has an older time zone database"));
        }
        let (call, now) = (work.call().clone(), work.now());
        let tables = dated_tables(&call);
        let found = {
            let mut connection = call.database().unlogged(&Scope::system()).await?;
            next(&mut connection, &tables, self.after, now).await?
        };
        let Some(Organization {
            tenant_id,
            organization_id,
        }) = found
        else {
            let mut chunk = work.begin(&Scope::system()).await?;
            if self.is_incomplete {
                tracing::error!(
                    "not all instants were derived with the newer time zone database; the next start derives them again"
                );
            } else {
                store(chunk.connection(), &self.version, now).await?;
            }
            chunk.finish().await?;
            return Ok(Step::Done);
        };
        let context = work.context().with_scope(Scope::tenant(tenant_id));
        let command = DeriveInstants::new(organization_id);
        let is_rejected = match context.execute(&command, |()| Json(Value::Null)).await {
            Ok(_) => false,
            // The organization was deleted meanwhile.
            Err(Error::Rejected(rejection))
                if rejection.status == StatusCode::NOT_FOUND && !rejection.by_interceptor =>
            {
                false
            }
            Err(Error::Rejected(rejection)) => {
                let reason = &rejection.message;
                tracing::error!(%reason, tenant.id = %tenant_id, organization.id = %organization_id, "instants could not be derived");
                true
            }
            Err(error) => return Err(error),
        };
        let next = Self {
            version: self.version.clone(),
            after: Some((tenant_id, organization_id)),
            is_incomplete: self.is_incomplete || is_rejected,
        };
        let mut chunk = work.begin(&Scope::system()).await?;
        enqueue(chunk.connection(), &call, &NewJob::of_system(PLATFORM_TENANT, next)).await?;
        chunk.finish().await?;
        Ok(Step::Done)
    }
}
