use backoffice_core::Result;
use backoffice_core::jobs::{Job, Queue, Step, Work};
use serde::{Deserialize, Serialize};

use super::limits::{self, ADDRESS_NOTICES};
use crate::mails::letters::{self, Recipient};

/// Notifies the previous address of an account that it was replaced.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NotifyOldAddress {
    /// The previous address.
    pub(crate) email: String,
    /// Name of the user.
    pub(crate) name: Option<String>,
}

impl Job for NotifyOldAddress {
    const KIND: &'static str = "auth.user.notify_old_address";
    const QUEUE: Queue = Queue::Network;
    const PRIORITY: i16 = 50;
    const MAX_ATTEMPTS: i32 = 5;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        if work.call().platform().mailer().is_none() {
            return Ok(Step::Done);
        }
        if !limits::allow(work, ADDRESS_NOTICES, &self.email).await? {
            return Ok(Step::Done);
        }
        let to = Recipient {
            tenant: work.tenant(),
            email: &self.email,
            name: self.name.as_deref(),
        };
        letters::send_notice(work.call(), to).await?;
        Ok(Step::Done)
    }
}
