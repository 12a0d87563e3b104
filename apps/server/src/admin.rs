//! The operators' listener: `/healthz`, `/readyz`, `/metrics`. It does not authenticate its callers, so it listens on loopback by default.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::dev::Server;
use actix_web::http::header::ALLOW;
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::{App, FromRequest, Handler, HttpResponse, HttpServer, Resource, guard, web};
use backoffice_core::config::ConfigError;
use backoffice_core::db::Database;
use backoffice_core::http::COMMON_HEADERS;
use backoffice_core::{Error as CoreError, Runtime};
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

/// Longest wait for the database when readiness is requested.
const LONGEST_PING: Duration = Duration::from_secs(2);

/// Counters on which operators alert, with their meaning. They exist from the start, so that their first event is an increase.
const ALERTED: [(&str, &str); 5] = [
    (
        "alerts_drift_total",
        "alerts that the daily recomputation has corrected",
    ),
    (
        "attachments_missing_total",
        "requests for files whose bytes are missing in the store",
    ),
    (
        "database_statements_cancelled_total",
        "statements whose request had been dropped",
    ),
    (
        "egress_refused_total",
        "requests to addresses that tenants chose and that are not allowed",
    ),
    ("onboarding_failed_total", "dead jobs of sign-ups"),
];

/// Starts collecting metrics. Must run before the routes are created, because they take their metric handles at that point.
///
/// # Errors
/// When another metrics recorder is already installed.
pub fn collect_metrics() -> Result<PrometheusHandle> {
    let metrics = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full("http_request_duration_seconds".to_owned()), BUCKETS)
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|error| Error::other(format!("metrics can't be collected: {error}")))?;
    for (name, meaning) in ALERTED {
        metrics::describe_counter!(name, meaning);
        metrics::counter!(name).increment(0);
    }
    Ok(metrics)
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
            .service(reading("/healthz", health))
            .service(reading("/readyz", ready))
            .service(reading("/metrics", render_metrics))
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

/// Serves GET and HEAD at a path, and rejects other methods.
fn reading<F, A>(path: &str, handler: F) -> Resource
where
    F: Handler<A, Output = HttpResponse>,
    A: FromRequest + 'static,
{
    let methods = guard::Any(guard::Get()).or(guard::Head());
    web::resource(path)
        .route(web::route().guard(methods).to(handler))
        .default_service(web::to(reject_method))
}

async fn reject_method() -> HttpResponse {
    HttpResponse::MethodNotAllowed()
        .insert_header((ALLOW, "GET, HEAD"))
        .json(json!({"error": "Method not allowed"}))
}

async fn health() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "ok"}))
}

async fn ready(readiness: web::Data<Readiness>, database: web::Data<Database>) -> HttpResponse {
    if !readiness.get() {
        return HttpResponse::ServiceUnavailable().json(json!({"status": "draining"}));
    }
    match ping(&database).await {
        Ok(true) => HttpResponse::Ok().json(json!({"status": "ready"})),
        Ok(false) => {
            tracing::warn!("not ready: database read-only");
            HttpResponse::ServiceUnavailable().json(json!({"status": "database read-only"}))
        }
        Err(error) => {
            tracing::warn!(%error, "not ready: database unreachable");
            HttpResponse::ServiceUnavailable().json(json!({"status": "database unreachable"}))
        }
    }
}

/// Returns whether the database accepts writes.
async fn ping(database: &Database) -> backoffice_core::Result<bool> {
    let asked = tokio::time::timeout(LONGEST_PING, database.accepts_writes()).await;
    asked.unwrap_or_else(|_| Err(CoreError::Unavailable("no response in time".into())))
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
