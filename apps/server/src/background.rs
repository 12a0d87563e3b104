//! Work beside the requests: the modules' own, and what core leaves to the host.

use std::time::Duration;

use backoffice_core::{Call, Runtime, rate_limit, retention};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

const SWEEP: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);
const MINUTE: Duration = Duration::from_secs(60);
const UPKEEP: Duration = Duration::from_secs(5);

/// Starts it. Dropping or aborting the set ends it; nothing in it must be finished.
pub(crate) fn start(runtime: &Runtime, metrics: PrometheusHandle) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for module in runtime.platform.modules() {
        if let Some(work) = (module.background)(runtime.clone()) {
            tasks.spawn(work);
        }
    }
    tasks.spawn(sweep(runtime.clone()));
    tasks.spawn(maintain_logs(runtime.clone()));
    tasks.spawn(async move {
        let mut ticks = interval(UPKEEP);
        loop {
            ticks.tick().await;
            metrics.run_upkeep();
        }
    });
    tasks
}

async fn sweep(runtime: Runtime) {
    let mut ticks = interval(SWEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick comes at once, and the start has better things to do.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        if let Err(error) = rate_limit::sweep(&Call::internal(&runtime)).await {
            tracing::warn!(%error, "ended windows and keys could not be removed; the next minute tries again");
        }
    }
}

async fn maintain_logs(runtime: Runtime) {
    loop {
        let wait = match retention::maintain_logs(&Call::internal(&runtime)).await {
            Ok(true) => DAY,
            // Some of it was in use.
            Ok(false) => MINUTE,
            Err(error) => {
                tracing::warn!(%error, "months of the logs could not be made or dropped; the next minute tries again");
                MINUTE
            }
        };
        sleep(wait).await;
    }
}
