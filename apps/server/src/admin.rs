//! The operators' listener: `/healthz`, `/readyz`, `/metrics`. It does not authenticate its callers, so it listens on loopback by default.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::dev::Server;
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::{App, HttpResponse, HttpServer, web};
use backoffice_core::config::ConfigError;
use backoffice_core::db::Database;
use backoffice_core::http::COMMON_HEADERS;
use backoffice_core::{Runtime, Scope};
use diesel_async::SimpleAsyncConnection;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use serde_json::json;

use crate::config::AdminConfig;
use crate::connections::HEAD_TIMEOUT;
use crate::{Error, Result, admin_host};

/// Upper bounds of the buckets of request durations, in seconds.
const BUCKETS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

/// Whether the server accepts new requests; shared by every component that reports or changes it.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// Sets whether the server accepts new requests.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Maximum number of concurrent operator connections. They are counted apart from API connections, so that the listener still responds when the API
/// is full.
const MAX_CONNECTIONS: usize = 64;

/// Starts collecting metrics. Must run before the routes are created, because they take their metric handles at that point.
///
/// # Errors
/// When another metrics recorder is already installed.
pub fn collect_metrics() -> Result<PrometheusHandle> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full("http_request_duration_seconds".to_owned()), BUCKETS)
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|error| Error::other(format!("metrics can't be collected: {error}")))
}

/// Starts the operators' listener, with one thread and one database connection of its own.
///
/// # Errors
/// When the address is already in use.
pub fn listen(
    config: &AdminConfig,
    runtime: Runtime,
    readiness: Readiness,
    metrics: PrometheusHandle,
) -> Result<Server> {
    let address = config.listen;
    let allowed: Arc<[String]> = config.allowed_hosts.clone().into();
    let server = HttpServer::new(move || {
        let allowed = Arc::clone(&allowed);
        App::new()
            .wrap(from_fn(move |request, next| {
                admin_host::check(Arc::clone(&allowed), request, next)
            }))
            .wrap(
                COMMON_HEADERS
                    .into_iter()
                    .fold(DefaultHeaders::new(), DefaultHeaders::add),
            )
            .app_data(web::Data::new(runtime.database.for_worker(1)))
            .app_data(web::Data::new(readiness.clone()))
            .app_data(web::Data::new(metrics.clone()))
            .route("/healthz", web::get().to(health))
            .route("/readyz", web::get().to(ready))
            .route("/metrics", web::get().to(render_metrics))
    });
    let bound = server
        .workers(1)
        .max_connections(MAX_CONNECTIONS)
        .client_request_timeout(HEAD_TIMEOUT)
        .disable_signals()
        .shutdown_timeout(1)
        .bind(address);
    let bound = bound
        .map_err(|error| ConfigError::new("admin.listen", format!("{address}: {error}; choose another address")))?;
    Ok(bound.run())
}

async fn health() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "ok"}))
}

async fn ready(readiness: web::Data<Readiness>, database: web::Data<Database>) -> HttpResponse {
    if !readiness.get() {
        return HttpResponse::ServiceUnavailable().json(json!({"status": "draining"}));
    }
    match ping(&database).await {
        Ok(()) => HttpResponse::Ok().json(json!({"status": "ready"})),
        Err(error) => {
            tracing::warn!(%error, "not ready: database unreachable");
            HttpResponse::ServiceUnavailable().json(json!({"status": "database unreachable"}))
        }
    }
}

async fn ping(database: &Database) -> backoffice_core::Result<()> {
    let mut connection = database.read(&Scope::system()).await?;
    connection.batch_execute("select 1").await?;
    Ok(())
}

async fn render_metrics(metrics: web::Data<PrometheusHandle>) -> HttpResponse {
    if let Some(bytes) = resident_bytes() {
        #[expect(clippy::cast_precision_loss, reason = "a gauge; the error begins at 8 PiB")]
        metrics::gauge!("process_resident_memory_bytes").set(bytes as f64);
    }
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(metrics.render())
}

/// Resident memory, where the system reports it (Linux).
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1024)
}
