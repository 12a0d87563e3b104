//! Another actix-web program with `auth` and `audit-logs` below its `/api`, the pages of `auth`, and the background work of the platform.
//!
//! `embed migrate` migrates the database, and `embed` serves. `DATABASE_URL` names the application's role, `OWNER_URL` (only for `migrate`) the owner of
//! the schema; `JWT_SECRET` and `CONSENT_SECRET` have at least 32 bytes each.

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{App, HttpServer, web};
use backoffice_core::config::Config;
use backoffice_core::db::TlsOptions;
use backoffice_core::module::{in_order, monthly_tables};
use backoffice_core::{Call, Module, RequestContext, Runtime, events, jobs, months, rate_limit, retention};
use backoffice_server::{Backoffice, Composition, api, database, limit_connections, pages};
use secrecy::SecretString;
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
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> ExitCode {
    // Nothing is logged without a subscriber, not even the causes of responses with status 500.
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // `Display` names the problem and the next step; `Debug`, which a returned error is printed with, does not.
            eprintln!("embed: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let config = Config::from_toml(&format!(
        "[auth]\njwt.keys = [{{ kid = 'embedded', secret = '{}' }}]\nconsent.keys = [{{ kid = 'embedded', secret = '{}' }}]",
        variable("JWT_SECRET")?,
        variable("CONSENT_SECRET")?
    ))?;
    let url = SecretString::from(variable("DATABASE_URL")?);
    let office = Composition::new(config.clone()).modules(&MODULES).build(url.clone())?;
    if env::args().nth(1).as_deref() == Some("migrate") {
        return migrate(&office, &config, &url).await;
    }
    // `build` does not connect: a role that bypasses row-level security, or a schema that is not migrated, is rejected here.
    database::check(&office).await?;
    serve(office).await
}

fn variable(name: &str) -> Result<String> {
    env::var(name).map_err(|error| format!("{name}: {error}").into())
}

/// Migrates the schema, stores the retention of the logs, and adds roles and default grants that tenants lack.
async fn migrate(office: &Backoffice, config: &Config, url: &SecretString) -> Result<()> {
    let (modules, tls) = (in_order(&MODULES)?, TlsOptions::default());
    let application = database::parse("DATABASE_URL", url, &tls)?;
    let owner = database::parse("OWNER_URL", &variable("OWNER_URL")?.into(), &tls)?;
    let applied = database::migrate(&application, &owner, &modules).await?;
    months::keep(&owner, &monthly_tables(&modules, config)?)
        .await
        .map_err(backoffice_server::Error::from)?;
    let granted = backoffice_auth::sync_roles(&RequestContext::system(&office.runtime(1)), None)
        .await
        .map_err(backoffice_server::Error::from)?;
    println!("{applied} migrations applied; {granted} default grants added");
    Ok(())
}

async fn serve(office: Backoffice) -> Result<()> {
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
    let served = office.clone();
    let server = HttpServer::new(move || {
        let runtime = served.worker(WORKERS);
        App::new()
            .route("/", web::get().to(async || "The program's own page"))
            .configure(pages(runtime.clone()))
            .configure(api(runtime))
    });
    let server = limit_connections(server, &office, WORKERS).shutdown_signal(ends);
    server.bind(("127.0.0.1", 8000))?.run().await?;

    let _closed = stop.send(true);
    // Another process takes over a longer step when its lease ends.
    let _late = timeout(DRAIN, async { tokio::join!(workers, relay) }).await;
    Ok(())
}

/// Removes what has expired, and creates and drops months of the logs. What fails is repeated: months in a minute, the rest at its next time.
async fn maintain(runtime: Runtime) {
    let mut limits = interval(MINUTE);
    let mut sent = interval(10 * MINUTE);
    let mut months = interval(DAY);
    loop {
        let failed = tokio::select! {
            _ = limits.tick() => rate_limit::sweep(&Call::internal(&runtime)).await.err(),
            _ = sent.tick() => events::forget(&Call::internal(&runtime)).await.err(),
            _ = months.tick() => {
                let maintained = retention::maintain_logs(&Call::internal(&runtime)).await;
                // `false`: some of it was locked.
                if !matches!(maintained, Ok(true)) {
                    months.reset_after(MINUTE);
                }
                maintained.err()
            }
        };
        if let Some(error) = failed {
            tracing::warn!(%error, "maintenance failed");
        }
    }
}
