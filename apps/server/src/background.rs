//! Background work beside the requests: that of the modules, and what core leaves to the host.

use std::sync::Arc;
use std::time::Duration;

use backoffice_core::{Call, Platform, Runtime, events, jobs, rate_limit, retention};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

const SWEEP: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);
const MINUTE: Duration = Duration::from_secs(60);
const WORKERS_MAY_TAKE: Duration = Duration::from_secs(10);
/// Time between two looks at the thread of internal requests.
const LOOK: Duration = Duration::from_millis(20);
const FORGET: Duration = Duration::from_secs(600);
const MEASURE: Duration = Duration::from_secs(15);
const UPKEEP: Duration = Duration::from_secs(5);

/// The running background work.
#[derive(Debug)]
pub(crate) struct Background {
    tasks: JoinSet<()>,
    workers: JoinHandle<()>,
    stop_workers: watch::Sender<bool>,
    platform: Arc<Platform>,
}

impl Background {
    /// Stops the background work. Jobs finish their step and return to the queue; another node takes over a longer step when its lease ends. No other
    /// background work has to finish. Nothing is waited for once `at_once` is ready.
    pub(crate) async fn stop(mut self, at_once: impl Future<Output = ()>) {
        let _closed = self.stop_workers.send(true);
        let workers = self.workers.abort_handle();
        tokio::select! {
            () = finish(self.workers, &self.platform) => {}
            () = at_once => workers.abort(),
        }
        self.tasks.shutdown().await;
    }
}

/// Waits until the steps of jobs and the internal requests have ended, for a limited time.
async fn finish(workers: JoinHandle<()>, platform: &Platform) {
    let abort = workers.abort_handle();
    if timeout(WORKERS_MAY_TAKE, workers).await.is_err() {
        tracing::warn!("job did not finish its step in time; another worker repeats the step");
        abort.abort();
    }
    // Only jobs and requests send internal requests, and both have ended.
    if let Some(thread) = platform.close_internal_requests() {
        let ended = async {
            while !thread.is_finished() {
                sleep(LOOK).await;
            }
        };
        if timeout(WORKERS_MAY_TAKE, ended).await.is_err() {
            tracing::warn!("internal requests did not end in time");
        }
    }
}

/// Starts the background work.
pub(crate) fn start(runtime: &Runtime, metrics: PrometheusHandle) -> Background {
    let mut tasks = JoinSet::new();
    let (stop_workers, stop) = jobs::stop_signal();
    let workers = jobs::work(runtime.clone(), stop.clone());
    let relay = events::relay(runtime.clone(), stop);
    let workers = tokio::spawn(async {
        tokio::join!(workers, relay);
    });
    for module in runtime.platform.modules() {
        if let Some(work) = (module.background)(runtime.clone()) {
            tasks.spawn(work);
        }
    }
    tasks.spawn(sweep(runtime.clone()));
    tasks.spawn(maintain_logs(runtime.clone()));
    tasks.spawn(forget_events(runtime.clone()));
    tasks.spawn(measure_queue(runtime.clone()));
    tasks.spawn(events::wake_each_other(runtime.clone()));
    tasks.spawn(async move {
        let mut ticks = interval(UPKEEP);
        loop {
            ticks.tick().await;
            metrics.run_upkeep();
        }
    });
    Background {
        tasks,
        workers,
        stop_workers,
        platform: Arc::clone(&runtime.platform),
    }
}

async fn sweep(runtime: Runtime) {
    let mut ticks = interval(SWEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Skip the first tick, which is immediate: start-up has priority.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        if let Err(error) = rate_limit::sweep(&Call::internal(&runtime)).await {
            tracing::warn!(%error, "could not remove expired rate limit windows and idempotency keys; retrying in a minute");
        }
    }
}

async fn maintain_logs(runtime: Runtime) {
    loop {
        let wait = match retention::maintain_logs(&Call::internal(&runtime)).await {
            Ok(true) => DAY,
            // Some of it was locked.
            Ok(false) => MINUTE,
            Err(error) => {
                tracing::warn!(%error, "could not create or drop months of the logs; retrying in a minute");
                MINUTE
            }
        };
        sleep(wait).await;
    }
}

async fn measure_queue(runtime: Runtime) {
    loop {
        // On an error the gauges keep their last value; other signals report that the database is unavailable.
        let call = Call::internal(&runtime);
        if let Ok(depth) = jobs::depth(&call).await {
            show(&depth);
        }
        if let Ok(unresolved) = events::dead_letters::count(&call).await {
            #[expect(clippy::cast_precision_loss, reason = "a gauge; numbers up to 2^53 are exact")]
            metrics::gauge!("events_dead_letters").set(unresolved as f64);
        }
        for (subscriber, seconds) in events::Relay::delays(&call).await.unwrap_or_default() {
            metrics::gauge!("events_oldest_undelivered_seconds", "subscriber" => subscriber).set(seconds);
        }
        sleep(MEASURE).await;
    }
}

#[expect(clippy::cast_precision_loss, reason = "gauges; the error begins at 2^53 jobs")]
fn show(depth: &jobs::Depth) {
    metrics::gauge!("jobs_due").set(depth.due as f64);
    metrics::gauge!("jobs_later").set(depth.later as f64);
    metrics::gauge!("jobs_running").set(depth.running as f64);
    metrics::gauge!("jobs_dead").set(depth.dead as f64);
    metrics::gauge!("jobs_oldest_due_seconds").set(depth.oldest_seconds);
}

async fn forget_events(runtime: Runtime) {
    loop {
        sleep(FORGET).await;
        if let Err(error) = events::forget(&Call::internal(&runtime)).await {
            tracing::warn!(%error, "could not remove old events; retrying later");
        }
    }
}
