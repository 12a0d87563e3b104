//! Mail in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use backoffice_core::mail::{Mail, MailError, Mailer};
use futures_util::future::BoxFuture;

/// Accepts every message and keeps it. Clones share the messages.
#[derive(Debug, Clone, Default)]
pub struct MemoryMailer(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    taken: Mutex<Vec<Mail>>,
    rejects: AtomicBool,
}

impl MemoryMailer {
    /// Returns the messages so far, in the order of sending.
    #[must_use]
    pub fn mails(&self) -> Vec<Mail> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the messages so far and removes them.
    #[must_use]
    pub fn take(&self) -> Vec<Mail> {
        std::mem::take(&mut *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets whether later messages are rejected.
    pub fn reject(&self, rejects: bool) {
        self.0.rejects.store(rejects, Ordering::SeqCst);
    }
}

impl Mailer for MemoryMailer {
    fn send<'a>(&'a self, mail: &'a Mail) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async move {
            if self.0.rejects.load(Ordering::SeqCst) {
                return Err(MailError("the test rejects mail".to_owned()));
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
