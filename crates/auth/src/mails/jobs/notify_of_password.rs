use backoffice_core::jobs::{Job, Queue, Step, Work};
use backoffice_core::{Result, Scope};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::limits::{self, PASSWORD_NOTICES};
use crate::mails::letters::{self, Recipient};
use crate::users;

/// Notifies a user that another user set their password. The mail does not contain the password.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NotifyOfPassword {
    /// The user.
    pub(crate) user: Uuid,
}

impl Job for NotifyOfPassword {
    const KIND: &'static str = "auth.user.notify_of_password";
    const QUEUE: Queue = Queue::Network;
    const PRIORITY: i16 = 50;
    const MAX_ATTEMPTS: i32 = 5;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, tenant) = (work.call(), work.tenant());
        if call.platform().mailer().is_none() {
            return Ok(Step::Done);
        }
        let account = {
            let connection = call.database().read_briefly(&Scope::tenant(tenant)).await?;
            users::query::own(&connection, &Scope::tenant(tenant), self.user).await?
        };
        let Some(account) = account else {
            return Ok(Step::Done);
        };
        if !limits::allow(work, PASSWORD_NOTICES, &account.email).await? {
            return Ok(Step::Done);
        }
        let to = Recipient {
            tenant,
            email: &account.email,
            name: account.name.as_deref(),
        };
        letters::send_password_notice(call, to).await?;
        Ok(Step::Done)
    }
}
