use backoffice_auth::is_mail_configured;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{Job, NewJob, Queue, Step, Work, enqueue};
use backoffice_core::{Call, Result};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::address;
use crate::letters::{self, Letter};
use crate::model::{EXISTING, PENDING};
use crate::token::Token;
use crate::{query, sign_up};

/// Mails the link that verifies a request, or the advice that the address has an account. Each attempt mints its own token, so that the queue never
/// holds one; earlier links then no longer work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SendLink {
    /// The request.
    request: Uuid,
    /// Whether nothing is sent if the request has had a mail.
    #[serde(default)]
    only_first: bool,
}

impl SendLink {
    /// A mail with a link for a request, whatever mails it has had.
    pub(crate) const fn of(request: Uuid) -> Self {
        Self {
            request,
            only_first: false,
        }
    }

    /// The first mail for a request.
    pub(crate) const fn first_of(request: Uuid) -> Self {
        Self {
            request,
            only_first: true,
        }
    }

    /// Creates the job. A request has one open job of this kind.
    pub(crate) fn job(self) -> NewJob<Self> {
        let key = self.request.to_string();
        NewJob::of_system(PLATFORM_TENANT, self).deduplicated(key)
    }

    /// Enqueues the mail for a stored request, unless one is about to be sent.
    pub(crate) async fn enqueue(self, call: &Call) -> Result<()> {
        let mut connection = call.database().unlogged(&query::scope()).await?;
        enqueue(&mut connection, call, &self.job()).await?;
        Ok(())
    }
}

impl Job for SendLink {
    const KIND: &'static str = "onboarding.request.send_link";
    const QUEUE: Queue = Queue::Network;
    const PRIORITY: i16 = 50;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, now) = (work.call().clone(), work.now());
        let stored = query::find(&call, self.request).await?;
        let Some(stored) = stored.filter(|stored| stored.request.status_at(now) == PENDING) else {
            return Ok(Step::Done);
        };
        if self.only_first && stored.request.email_sent_at.is_some() {
            return Ok(Step::Done);
        }
        let Some(to) = address(&call, &stored)? else {
            return Ok(Step::Done);
        };
        if !is_mail_configured(&call) {
            return Ok(Step::Done);
        }
        let letter = if stored.request.kind == EXISTING {
            Letter::Existing(sign_up::login_url(call.platform(), None))
        } else {
            let token = Token::mint(call.platform().ids());
            if !query::replace_token(&call, self.request, token.hash(), now).await? {
                return Ok(Step::Done);
            }
            Letter::Verification(sign_up::verification_link(call.platform(), token.clear()))
        };
        letters::send(&call, &stored.request, &to, letter).await?;
        query::note_mail(&call, self.request, work.now()).await?;
        Ok(Step::Done)
    }
}
