//! Runs everything that a change causes, one job after the other, so that a chain without an end fails the test instead of running for ever.

use backoffice_core::jobs::{Queue, Worker};
use serde_json::json;

use super::case::Case;

/// Most rounds of deliveries and jobs. Each delivers the events of the one before, so that rules act in as many rounds as the longest chain has links.
const MOST_ROUNDS: u64 = 20;
/// Most jobs of a step.
const MOST_JOBS: usize = 5000;

impl Case<'_> {
    /// Delivers events and runs jobs until nothing is left. Returns the number of rounds in which rules have acted.
    pub(super) async fn settle(&self) -> u64 {
        let (mut acting, mut jobs) = (0, 0);
        for _ in 0..MOST_ROUNDS {
            let effects = self.effects().await;
            let delivered = self.fixture.app.deliver_events().await;
            let run = self.run_jobs(&mut jobs).await;
            acting += u64::from(self.effects().await > effects);
            if delivered + run == 0 {
                let open = "select kind, state from core_jobs where state <> 'done'";
                assert_eq!(self.fixture.app.rows(open).await, [json!(null); 0], "all jobs end");
                return acting;
            }
        }
        panic!("events start rules for ever");
    }

    async fn run_jobs(&self, jobs: &mut usize) -> usize {
        let runtime = self.fixture.app.runtime();
        let workers = Queue::ALL.map(|queue| Worker::new(runtime.clone()).of(queue));
        let before = *jobs;
        loop {
            let round = *jobs;
            for worker in &workers {
                while worker.run_one(None).await.expect("the queue") {
                    *jobs += 1;
                    assert!(*jobs < MOST_JOBS, "jobs start jobs for ever");
                }
            }
            if *jobs == round {
                return *jobs - before;
            }
        }
    }

    async fn effects(&self) -> usize {
        let sql = "select id from audit_action_logs where context ? 'ruleId'";
        self.fixture.app.rows(sql).await.len()
    }
}
