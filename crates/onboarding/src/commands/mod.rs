//! The commands. None can be undone: a mail has been sent, or a tenant exists.

pub(crate) mod create_workspace;
mod submit_request;
mod verify_request;

pub use create_workspace::CreateWorkspace;
pub use submit_request::SubmitRequest;
pub use verify_request::{VerificationOutcome, VerifyRequest};

use diesel::sql_query;
use diesel::sql_types::Binary;
use diesel_async::RunQueryDsl;

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;

/// Lets the requests of one address wait for each other until the end of the transaction.
async fn lock_address(tx: &mut Tx<'_>, email_hash: &[u8]) -> Result<()> {
    sql_query("select pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), 1100))")
        .bind::<Binary, _>(email_hash)
        .prepared()
        .execute(tx.conn())
        .await?;
    Ok(())
}
