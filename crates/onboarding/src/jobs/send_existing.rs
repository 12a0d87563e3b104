use backoffice_auth::is_mail_configured;
use backoffice_core::Result;
use backoffice_core::jobs::{Job, Queue, Step, Work};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::address;
use crate::letters::{self, Letter};
use crate::{query, sign_up};

/// Mails that the address of a confirmed request has got an account since it was submitted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SendExisting {
    /// The request, which has ended.
    pub(crate) request: Uuid,
}

impl Job for SendExisting {
    const KIND: &'static str = "onboarding.request.send_existing";
    const QUEUE: Queue = Queue::Network;
    const PRIORITY: i16 = 50;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        let Some(stored) = query::find(&call, self.request).await? else {
            return Ok(Step::Done);
        };
        let Some(to) = address(&call, &stored)?.filter(|_| is_mail_configured(&call)) else {
            return Ok(Step::Done);
        };
        let login = sign_up::login_url(call.platform(), None);
        letters::send(&call, &stored.request, &to, Letter::Existing(login)).await?;
        Ok(Step::Done)
    }
}
