use backoffice_core::examples::Examples;
use backoffice_core::http::Json;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{DeadJob, Job, NewJob, Step, Work, enqueue};
use backoffice_core::{Call, Error, Result, Scope};
use backoffice_directory::query::first_organization;
use diesel_async::AsyncPgConnection;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::{SendExisting, SendReady, address};
use crate::commands::CreateWorkspace;
use crate::commands::create_workspace::{ACCOUNT_EXISTS, NOT_PROCESSING};
use crate::model::{PROCESSING, Request};
use crate::query::{self, Stored};
use crate::sign_up::SignUp;

/// Creates the tenant of a verified request. The cursor counts the steps, each of which may be repeated after a crash.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Provision {
    /// The request.
    pub(crate) request: Uuid,
}

/// The cursor after the tenant was created. From here it counts the examples.
const CREATED: i64 = 1;

impl Job for Provision {
    const KIND: &'static str = "onboarding.request.provision";
    const PRIORITY: i16 = 50;

    /// Ends the request. A tenant is created as a whole, so its first user can use it even if the steps after that have failed.
    async fn on_dead(connection: &mut AsyncPgConnection, call: &Call, job: &DeadJob) -> Result<()> {
        if query::fail(connection, job.id, call.now).await? {
            metrics::counter!("onboarding_failed_total").increment(1);
            tracing::error!(job.id = %job.id, "a tenant could not be created");
        } else if let Some(request) = query::complete(connection, job.id, call.now).await? {
            metrics::counter!("onboarding_failed_total").increment(1);
            tracing::error!(job.id = %job.id, request.id = %request, "provisioning failed after the tenant was created");
            enqueue_ready_mail(connection, call, request).await?;
        }
        Ok(())
    }

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        let stored = query::find(&call, self.request).await?;
        let Some(stored) = stored.filter(|stored| stored.request.status == PROCESSING) else {
            return Ok(Step::Done);
        };
        if work.cursor() < CREATED && stored.request.new_tenant_id.is_none() && !create(work, &stored).await? {
            return Ok(Step::Done);
        }
        if work.cursor() < CREATED {
            work.begin(&query::scope()).await?.advance(CREATED).await?;
            return Ok(Step::More);
        }
        if let Some(examples) = next_examples(work)? {
            // The cursor moves first: a crash may leave out examples, and creates none twice.
            let cursor = work.cursor();
            work.begin(&query::scope()).await?.advance(cursor + 1).await?;
            create_examples(work, &stored.request, examples).await;
            return Ok(Step::More);
        }
        let now = work.now();
        let mut chunk = work.begin(&query::scope()).await?;
        if query::end_processing(chunk.connection(), self.request, true, now).await? {
            enqueue_ready_mail(chunk.connection(), &call, self.request).await?;
        }
        chunk.finish().await?;
        Ok(Step::Done)
    }
}

/// Enqueues the mail that announces the tenant.
async fn enqueue_ready_mail(connection: &mut AsyncPgConnection, call: &Call, request: Uuid) -> Result<()> {
    enqueue(
        connection,
        call,
        &NewJob::of_system(PLATFORM_TENANT, SendReady { request }),
    )
    .await?;
    Ok(())
}

/// Creates the tenant. Returns false if the request has ended instead.
async fn create(work: &mut Work<'_>, stored: &Stored) -> Result<bool> {
    let call = work.call().clone();
    let (Some(email), Some(hash), Some(password)) = (
        address(&call, stored)?,
        stored.email_hash.clone(),
        stored.password_hash.clone(),
    ) else {
        return Err(Error::internal(
            "a request to be processed lacks its address or password",
        ));
    };
    let context = work.context().with_scope(Scope::system());
    let command = CreateWorkspace::new(&context, &stored.request, email, hash, password.into())?;
    match context.execute(&command, |()| Json(Value::Null)).await {
        Ok(_) => Ok(true),
        Err(error) if has_code(&error, ACCOUNT_EXISTS) => {
            expire(work, stored.request.id).await?;
            Ok(false)
        }
        // Another worker that held this job has created the tenant, or the request has ended; the next step reads it again.
        Err(error) if has_code(&error, NOT_PROCESSING) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Returns the examples that come next, if new tenants get any.
fn next_examples(work: &Work<'_>) -> Result<Option<Examples>> {
    let call = work.call();
    let number = usize::try_from(work.cursor() - CREATED).unwrap_or(usize::MAX);
    Ok(match call.provided::<SignUp>()?.config.examples {
        true => call.platform().extensions::<Examples>().nth(number).copied(),
        false => None,
    })
}

/// Creates examples in the new tenant. Persons can do without them, so an error is only logged.
async fn create_examples(work: &Work<'_>, request: &Request, examples: Examples) {
    let created = async {
        let Some(tenant) = request.new_tenant_id else {
            return Err(Error::internal("the request has no tenant"));
        };
        let mut scope = Scope::tenant(tenant);
        let organization = {
            let mut connection = work.call().database().unlogged(&scope).await?;
            first_organization(&mut connection, &scope).await?
        };
        scope.write_organization = organization;
        (examples.create)(&work.context().with_scope(scope), &request.locale).await
    };
    if let Err(error) = created.await {
        tracing::warn!(%error, module = examples.module, request.id = %request.id, "examples could not be created");
    }
}

fn has_code(error: &Error, code: &str) -> bool {
    matches!(error, Error::Rejected(rejection) if rejection.code.as_deref() == Some(code))
}

/// Ends the request of an address that has got an account since it was submitted, and enqueues the mail that says so.
async fn expire(work: &mut Work<'_>, request: Uuid) -> Result<()> {
    let (call, now) = (work.call().clone(), work.now());
    let mut chunk = work.begin(&query::scope()).await?;
    if query::end_processing(chunk.connection(), request, false, now).await? {
        let job = NewJob::of_system(PLATFORM_TENANT, SendExisting { request });
        enqueue(chunk.connection(), &call, &job).await?;
    }
    chunk.finish().await
}
