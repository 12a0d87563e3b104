//! Mail that stays in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use backoffice_core::mail::{Mail, MailError, Mailer};
use futures_util::future::BoxFuture;

/// Takes every message and keeps it. Clones share what was taken.
#[derive(Debug, Clone, Default)]
pub struct MemoryMailer(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    taken: Mutex<Vec<Mail>>,
    rejects: AtomicBool,
}

impl MemoryMailer {
    /// The messages so far, in the order in which they were sent.
    #[must_use]
    pub fn mails(&self) -> Vec<Mail> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The messages so far; afterwards there are none.
    #[must_use]
    pub fn take(&self) -> Vec<Mail> {
        std::mem::take(&mut *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on every message is refused, or taken again.
    pub fn reject(&self, rejects: bool) {
        self.0.rejects.store(rejects, Ordering::SeqCst);
    }
}

impl Mailer for MemoryMailer {
    fn send<'a>(&'a self, mail: &'a Mail) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async move {
            if self.0.rejects.load(Ordering::SeqCst) {
                return Err(MailError("the test refuses mail".to_owned()));
            }
            self.0
                .taken
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(mail.clone());
            Ok(())
        })
    }
}
