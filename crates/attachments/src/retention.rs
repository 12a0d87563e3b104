//! Deletes the files of records that can't come back.
//!
//! A deleted record keeps its files, hidden with it, so that an undo finds them again. Once the entry of its deletion has left the action log, nothing can
//! bring the record back, and a daily job deletes its files.

use std::collections::HashSet;

use backoffice_core::http::Json;
use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::records::RecordKind;
use backoffice_core::retention::log_start;
use backoffice_core::{Call, Error, RequestContext, Result, Scope, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::commands::DeleteAttachment;
use crate::query::absent::{self, AbsentFile};
use crate::stores::remove_now;

/// The name of the schedule.
pub(crate) const SCHEDULE: &str = "attachments.retention";
/// How often the job runs.
pub(crate) const EVERY: time::Duration = time::Duration::days(1);

/// Looks for the records of all files, notes since when they have been absent, and deletes the files of those that can't come back.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct DeleteFilesOfAbsentRecords {}

impl Job for DeleteFilesOfAbsentRecords {
    const KIND: &'static str = "attachments.attachment.delete_absent";

    /// One attempt looks at everything; after a crash it begins again, which changes nothing that was done.
    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        let kinds: Vec<RecordKind> = call.platform().extensions::<RecordKind>().copied().collect();
        for kind in &kinds {
            note_absence(work, &call, kind).await?;
        }
        let start = {
            let connection = call.database().unlogged(&Scope::system()).await?;
            log_start(&call, &connection).await?
        };
        // If the log keeps all months, every deletion can be undone for ever.
        if let Some(start) = start {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.kind).collect();
            delete_files(work, &call, &names, start).await?;
        }
        Ok(Step::Done)
    }
}

/// Compares the files of a kind of records with the records, tenant by tenant.
async fn note_absence(work: &mut Work<'_>, call: &Call, kind: &RecordKind) -> Result<()> {
    let mut tenant = Uuid::nil();
    while let Some(next) = {
        let connection = call.database().unlogged(&Scope::system()).await?;
        absent::next_tenant(&connection, kind.kind, tenant).await?
    } {
        tenant = next;
        let mut after = String::new();
        loop {
            let scope = Scope::tenant(tenant);
            let mut connection = call.database().unlogged(&scope).await?;
            let records = absent::records_after(&connection, tenant, kind.kind, &after).await?;
            let Some(last) = records.last() else { break };
            after.clone_from(last);
            let ids: Vec<Uuid> = records.iter().filter_map(|record| record.parse().ok()).collect();
            let found = (kind.find)(&connection, &scope, &ids).await?;
            let found: HashSet<Uuid> = found.into_iter().map(|record| record.id).collect();
            let is_found = |record: &&String| record.parse().is_ok_and(|id| found.contains(&id));
            let present: Vec<&str> = records.iter().filter(is_found).map(String::as_str).collect();
            absent::note(&mut connection, tenant, kind.kind, &records, &present, call.now).await?;
            drop(connection);
            renew(work).await?;
        }
    }
    Ok(())
}

/// Deletes the files whose records have been absent since before the log begins. Each is tried once, so that files that a rule keeps delay no others.
async fn delete_files(work: &mut Work<'_>, call: &Call, kinds: &[&str], log_start: Timestamp) -> Result<()> {
    let mut last = AbsentFile::FIRST;
    loop {
        let files: Vec<AbsentFile> = {
            let connection = call.database().unlogged(&Scope::system()).await?;
            absent::files_to_delete(&connection, kinds, log_start, last).await?
        };
        let Some(end) = files.last() else { return Ok(()) };
        last = *end;
        for file in files {
            delete(call, &file).await?;
        }
        renew(work).await?;
    }
}

/// Deletes a file as the platform. The record was looked up in this run of the job.
async fn delete(call: &Call, file: &AbsentFile) -> Result<()> {
    let ctx = RequestContext::system(&call.runtime).with_scope(Scope::tenant(file.tenant_id));
    let deleted = ctx
        .execute(&DeleteAttachment { id: file.id }, |()| Json(Value::Null))
        .await;
    match deleted {
        Ok(_) => remove_now(call, file.tenant_id, file.id).await,
        // A user has deleted it meanwhile, or a rule keeps it until a later run.
        Err(Error::Rejected(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Extends the lease of the job.
async fn renew(work: &mut Work<'_>) -> Result<()> {
    let cursor = work.cursor();
    let chunk = work.begin(&Scope::system()).await?;
    chunk.advance(cursor + 1).await
}
