use backoffice_auth::is_mail_configured;
use backoffice_core::Result;
use backoffice_core::jobs::{Job, Queue, Step, Work};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::address;
use crate::letters::{self, Letter};
use crate::{query, sign_up};

/// Mails that the tenant of a request exists.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SendReady {
    /// The request.
    pub(crate) request: Uuid,
}

impl Job for SendReady {
    const KIND: &'static str = "onboarding.request.send_ready";
    const QUEUE: Queue = Queue::Network;
    const PRIORITY: i16 = 50;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        let stored = query::find(&call, self.request).await?;
        let Some(stored) = stored.filter(|stored| stored.request.ready_email_sent_at.is_none()) else {
            return Ok(Step::Done);
        };
        let Some(to) = address(&call, &stored)?.filter(|_| is_mail_configured(&call)) else {
            return Ok(Step::Done);
        };
        let login = sign_up::login_url(call.platform(), stored.request.new_tenant_id);
        letters::send(&call, &stored.request, &to, Letter::Ready(login)).await?;
        query::note_ready_mail(&call, self.request, work.now()).await?;
        Ok(Step::Done)
    }
}
