//! Another actix-web program with `auth` and `audit-logs` below its `/api`, the pages of `auth`, and the background work of the platform. The
//! database is migrated already (`backoffice migrate`); `DATABASE_URL` names the application's role, `JWT_SECRET` and `CONSENT_SECRET` have at
//! least 32 bytes each.

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{App, HttpServer, web};
use backoffice_core::config::Config;
use backoffice_core::{Call, Module, Runtime, events, jobs, rate_limit, retention};
use backoffice_server::{Composition, api, database, pages};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{interval, timeout};

static MODULES: [&Module; 3] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
];
const WORKERS: usize = 2;
/// Time in which jobs may finish their step at the end.
const DRAIN: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = format!(
        "[auth]\njwt.keys = [{{ kid = 'embedded', secret = '{}' }}]\nconsent.keys = [{{ kid = 'embedded', secret = '{}' }}]",
        env::var("JWT_SECRET")?,
        env::var("CONSENT_SECRET")?
    );
    let url = env::var("DATABASE_URL")?;
    let office = Composition::new(Config::from_toml(&config)?)
        .modules(&MODULES)
        .build(url.into())?;
    // `build` does not connect: a role that bypasses row-level security, or a schema that is not migrated, is rejected here.
    database::check(&office).await?;

    // Up to one connection for each slot of jobs, and four for the rest of the background work.
    let runtime = office.runtime(office.platform().jobs().slots() + 4);
    let (stop, stopped) = jobs::stop_signal();
    let workers = tokio::spawn(jobs::work(runtime.clone(), stopped.clone()));
    let relay = tokio::spawn(events::relay(runtime.clone(), stopped));
    for module in runtime.platform.modules() {
        if let Some(work) = (module.background)(runtime.clone()) {
            tokio::spawn(work);
        }
    }
    tokio::spawn(maintain(runtime.clone()));
    // Needed only if several processes use the database.
    tokio::spawn(events::wake_each_other(runtime));

    // Streams of events of the module `events` would otherwise keep the server from ending.
    let platform = Arc::clone(office.platform());
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let ends = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        platform.commit_notifier().close();
    };
    let server = HttpServer::new(move || {
        let runtime = office.worker(WORKERS);
        App::new()
            .route("/", web::get().to(async || "The program's own page"))
            .configure(pages(runtime.clone()))
            .configure(api(runtime))
    });
    let server = server.workers(WORKERS).shutdown_signal(ends);
    server.bind(("127.0.0.1", 8000))?.run().await?;

    let _closed = stop.send(true);
    // Another process takes over a longer step when its lease ends.
    let _late = timeout(DRAIN, async { tokio::join!(workers, relay) }).await;
    Ok(())
}

/// Removes what has expired, and creates and drops months of the logs. What fails is repeated at its next time.
async fn maintain(runtime: Runtime) {
    let mut limits = interval(Duration::from_secs(60));
    let mut sent = interval(Duration::from_secs(600));
    let mut months = interval(Duration::from_secs(24 * 3600));
    loop {
        let failed = tokio::select! {
            _ = limits.tick() => rate_limit::sweep(&Call::internal(&runtime)).await.err(),
            _ = sent.tick() => events::forget(&Call::internal(&runtime)).await.err(),
            _ = months.tick() => retention::maintain_logs(&Call::internal(&runtime)).await.err(),
        };
        if let Some(error) = failed {
            eprintln!("maintenance failed: {error}");
        }
    }
}
