//! Serves until a signal, then shuts down in order: readiness off, delay, requests finished, background work stopped, private PostgreSQL last.

use std::net::SocketAddr;

use actix_web::dev::{Server, ServerHandle};
use actix_web::{App, HttpServer, web};
use backoffice_core::config::{ConfigError, MOST_WORKERS};
use backoffice_core::http::not_found;
use tokio::task::JoinHandle;

use crate::admin::{self, Readiness};
use crate::app::{Backoffice, api, pages};
use crate::background::Background;
use crate::config::Settings;
use crate::connections::limit_connections;
use crate::first_start::{self, Welcome};
use crate::host::{Host, Purpose};
use crate::signals::Signals;
use crate::{Error, Result, background, first_password};

/// Serves the enabled modules until SIGTERM or SIGINT.
pub(crate) async fn serve(settings: Settings) -> Result<()> {
    let metrics = admin::collect_metrics()?;
    let host = Host::open(settings, Purpose::Serve).await?;
    let outcome = serve_opened(&host, metrics).await;
    host.close().await.and(outcome)
}

/// Runs jobs and delivers events until SIGTERM or SIGINT, beside serving processes.
pub(crate) async fn work(settings: Settings) -> Result<()> {
    let metrics = admin::collect_metrics()?;
    let host = Host::open(settings, Purpose::Work).await?;
    let outcome = if host.office.platform().jobs().workers == 0 {
        let reason = "is 0, so this worker would run no job; start it with --set jobs.workers=4";
        Err(ConfigError::new("jobs.workers", reason).into())
    } else {
        work_opened(&host, metrics).await
    };
    host.close().await.and(outcome)
}

async fn work_opened(host: &Host, metrics: metrics_exporter_prometheus::PrometheusHandle) -> Result<()> {
    let (readiness, runtime) = (Readiness::default(), host.runtime());
    let admin = admin::listen(
        &host.settings.admin,
        runtime.clone(),
        readiness.clone(),
        metrics.clone(),
    )?;
    let mut signals = Signals::listen()?;
    let admin_handle = admin.handle();
    let admin = tokio::spawn(admin);
    let background = background::start(&runtime, metrics);
    readiness.set(true);
    tracing::info!(admin = %host.settings.admin.listen, jobs.workers = runtime.platform.jobs().workers, "working");
    signals.first().await;
    readiness.set(false);
    tracing::info!("finishing the steps of jobs; another signal stops at once");
    host.office.platform().commit_notifier().close();
    stop(background, admin_handle, admin, signals).await;
    Ok(())
}

async fn serve_opened(host: &Host, metrics: metrics_exporter_prometheus::PrometheusHandle) -> Result<()> {
    let readiness = Readiness::default();
    let runtime = host.runtime();
    let listen = host.office.platform().http().listen;
    // Bound before the first tenant is created: an address in use must not lose the one-time password.
    let server = api_server(&host.office, listen)?;
    let admin = admin::listen(
        &host.settings.admin,
        runtime.clone(),
        readiness.clone(),
        metrics.clone(),
    )?;
    let (server_handle, admin_handle) = (server.handle(), admin.handle());
    let welcome = if host.settings.is_development() {
        first_start::run(host, &first_start::Requested::default()).await?
    } else {
        None
    };
    let mut signals = Signals::listen()?;
    let server = tokio::spawn(server);
    let admin = tokio::spawn(admin);
    let background = background::start(&runtime, metrics);
    readiness.set(true);
    announce(host, listen, welcome.as_ref());
    wait_and_drain(host, server_handle, server, &readiness, &mut signals).await?;
    stop(background, admin_handle, admin, signals).await;
    Ok(())
}

/// Stops the background work, then the operators' listener.
async fn stop(
    background: Background,
    admin_handle: ServerHandle,
    admin: JoinHandle<std::io::Result<()>>,
    mut signals: Signals,
) {
    background.stop(signals.second()).await;
    admin_handle.stop(!signals.is_urgent()).await;
    let _ended = admin.await;
    tracing::info!("stopped");
}

fn api_server(office: &Backoffice, listen: SocketAddr) -> Result<Server> {
    let workers = office.platform().http().workers;
    let workers = workers.unwrap_or_else(|| cores().min(MOST_WORKERS));
    let served = office.clone();
    let server = HttpServer::new(move || {
        let runtime = served.worker(workers);
        App::new()
            .app_data(web::Data::new(runtime.clone()))
            .configure(pages(runtime.clone()))
            .configure(api(runtime))
            .default_service(web::to(not_found))
    });
    let bound = limit_connections(server, office, workers)
        .disable_signals()
        .bind(listen);
    let bound = bound.map_err(|error| {
        ConfigError::new(
            "http.listen",
            format!("{listen}: {error}; stop what listens there, or choose another address with --listen"),
        )
    })?;
    Ok(bound.run())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn announce(host: &Host, listen: SocketAddr, welcome: Option<&Welcome>) {
    let modules: Vec<&str> = host
        .office
        .platform()
        .modules()
        .iter()
        .map(|module| module.name)
        .collect();
    tracing::info!(%listen, admin = %host.settings.admin.listen, modules = modules.join(","), "serving");
    if let Some(welcome) = welcome {
        first_password::show(&welcome.text(listen), &host.settings.data_dir);
    }
}

/// Waits for the first signal, then for `http.drain_delay` while it accepts requests, then drains. The second signal ends the delay, and aborts open
/// requests.
async fn wait_and_drain(
    host: &Host,
    handle: ServerHandle,
    mut server: JoinHandle<std::io::Result<()>>,
    readiness: &Readiness,
    signals: &mut Signals,
) -> Result<()> {
    let ended = tokio::select! {
        ended = &mut server => Some(ended),
        () = signals.first() => None,
    };
    readiness.set(false);
    if let Some(ended) = ended {
        let reason = ended
            .map_err(|error| error.to_string())
            .and_then(|ended| ended.map_err(|error| error.to_string()));
        return Err(Error::other(format!(
            "the server ended by itself: {}",
            reason.err().unwrap_or_default()
        )));
    }
    let delay = host.office.platform().http().drain_delay;
    tracing::info!(http.drain_delay = ?delay, "draining; another signal stops at once");
    tokio::select! {
        () = tokio::time::sleep(delay) => {}
        () = signals.second() => {}
    }
    host.office.platform().commit_notifier().close();
    tokio::select! {
        () = handle.stop(true) => {}
        // The server carries out one command at a time, and the first one waits for open requests. Without its server, a worker drops them.
        () = signals.second() => server.abort(),
    }
    let _ended = server.await;
    Ok(())
}
