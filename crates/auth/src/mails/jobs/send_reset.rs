use std::sync::Arc;

use backoffice_core::http::Json;
use backoffice_core::jobs::{Job, Queue, Step, Work};
use backoffice_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::accounts::Accounts;
use crate::mails::letters;
use crate::sessions::one_time_token::{NewToken, Purpose};
use crate::users::commands::RequestReset;

/// Issues a reset token to one account and mails it. Each attempt mints its own token, so that the queue never holds one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SendReset {
    /// The user, of the job's tenant.
    pub(crate) user: Uuid,
}

impl Job for SendReset {
    const KIND: &'static str = "auth.user.send_reset";
    const QUEUE: Queue = Queue::Network;
    const PRIORITY: i16 = 50;
    const MAX_ATTEMPTS: i32 = 3;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (context, now) = (work.context(), work.now());
        let call = context.call();
        let accounts: Arc<Accounts> = call.provided()?;
        let tenant = work.tenant();
        if !letters::is_configured(call) {
            return Ok(Step::Done);
        }
        let token = NewToken::mint(context.ids(), Purpose::Reset, now, accounts.config.reset_ttl());
        let command = RequestReset {
            id: self.user,
            token: token.clone(),
        };
        match context.execute(&command, |()| Json(Value::Null)).await {
            // Deactivated or deleted meanwhile.
            Err(Error::Rejected(_)) => return Ok(Step::Done),
            other => other?,
        };
        letters::send_link(call, &accounts, (tenant, self.user), &token, Purpose::Reset).await?;
        Ok(Step::Done)
    }
}
