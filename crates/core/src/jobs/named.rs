//! The named queues. Jobs of each have worker slots and turns of tenants of their own, so that none of them waits for jobs of another queue.

use super::JobsConfig;

/// A queue of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// Work on the database and on this machine: `jobs.workers` slots, `jobs.per_tenant` at once for a tenant.
    Default,
    /// Work that waits for remote systems (mails, push services, webhooks, stores): `jobs.network_workers` slots, `jobs.network_per_tenant` at
    /// once for a tenant.
    Network,
}

impl Queue {
    /// All queues.
    pub const ALL: [Self; 2] = [Self::Default, Self::Network];

    /// Returns the number of jobs that a node runs at once.
    pub(super) fn slots(self, config: &JobsConfig) -> usize {
        match self {
            Self::Default => config.workers,
            Self::Network => config.network_slots(),
        }
    }

    /// Returns the number of jobs of one tenant that run at once, on all nodes together.
    pub(super) const fn per_tenant(self, config: &JobsConfig) -> i32 {
        match self {
            Self::Default => config.per_tenant,
            Self::Network => config.network_per_tenant,
        }
    }

    /// Returns the column of `core_job_tenants` with the time of a tenant's last turn.
    pub(super) const fn last_turn(self) -> &'static str {
        match self {
            Self::Default => "last_claim_at",
            Self::Network => "last_network_claim_at",
        }
    }
}
