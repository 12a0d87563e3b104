//! The state of the endpoints of a process.

use super::body::BodyMemory;
use super::budget::Budgets;
use super::rejection_log::RejectionLog;
use crate::config::{HttpConfig, RateLimitConfig};
use crate::platform::Platform;

/// Budgets, memory and log of the endpoints of a process.
#[derive(Debug)]
pub(crate) struct HttpServices {
    budgets: Budgets,
    body_memory: BodyMemory,
    rejections: RejectionLog,
}

impl HttpServices {
    pub(crate) fn new(config: &HttpConfig, limits: &RateLimitConfig) -> Self {
        Self {
            budgets: Budgets::new(if limits.enabled { config.principal_rate } else { 0 }),
            body_memory: BodyMemory::new(config.body_limit),
            rejections: RejectionLog::default(),
        }
    }
}

impl Platform {
    pub(super) fn budgets(&self) -> &Budgets {
        &self.services::<HttpServices>().budgets
    }

    pub(super) fn body_memory(&self) -> &BodyMemory {
        &self.services::<HttpServices>().body_memory
    }

    pub(super) fn rejections(&self) -> &RejectionLog {
        &self.services::<HttpServices>().rejections
    }
}
