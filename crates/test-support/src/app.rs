//! The composed platform, run in the process of the test.

use std::cell::RefCell;
use std::net::TcpListener;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use actix_web::dev::{ServerHandle, Service, ServiceResponse};
use actix_web::http::Method;
use actix_web::{App, HttpServer, rt, test, web};
use backoffice_core::events::{Relay, create_cursors};
use backoffice_core::http::{Pages, Routes, not_found};
use backoffice_core::ids::Ids;
use backoffice_core::jobs::{Queue, Worker};
use backoffice_core::poll::RevocationPoll;
use backoffice_core::time::Clock;
use backoffice_core::{API_PREFIX, Module, Platform, RequestContext, Runtime, Timestamp};
use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use time::Duration;

use crate::contract::Contract;
use crate::{
    DatabaseSnapshot, Digests, FaultProxy, MemoryMailer, MockClock, TestAppBuilder, TestDatabase, TestRequest,
    TestStream,
};

/// Runs of [`TestApp::fewest_statements`].
const RUNS_OF_FEWEST: u32 = 8;

/// Time between two runs of [`TestApp::fewest_statements`]: background work of the last one ends in it.
const PAUSE_OF_FEWEST: std::time::Duration = std::time::Duration::from_millis(20);

/// Sends a request. The flag says whether the response is compared with the API document.
type Handler = Box<dyn Fn(test::TestRequest, bool) -> LocalBoxFuture<'static, TestStream>>;

/// An application on a database of its own, with a clock that the test controls and ids that are the same in every run.
pub struct TestApp {
    pub(crate) handler: Handler,
    runtime: Runtime,
    builder: TestAppBuilder,
    clock: Arc<MockClock>,
    ids: Ids,
    proxy: Option<FaultProxy>,
    background: RefCell<Vec<rt::task::JoinHandle<()>>>,
    servers: RefCell<Vec<ServerHandle>>,
    database: Rc<TestDatabase>,
}

impl std::fmt::Debug for TestApp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestApp")
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

impl TestApp {
    /// Creates an application of these modules with the defaults of [`TestAppBuilder`].
    pub async fn new(modules: &[&'static Module]) -> Self {
        Self::builder(modules).build().await
    }

    /// Returns a builder for an application of these modules.
    #[must_use]
    pub fn builder(modules: &[&'static Module]) -> TestAppBuilder {
        TestAppBuilder::new(modules)
    }

    pub(crate) async fn compose(
        builder: TestAppBuilder,
        database: Rc<TestDatabase>,
        clock: Arc<MockClock>,
        ids: Ids,
    ) -> Self {
        let direct = database.application_url();
        let proxy = builder.through_proxy.then(|| FaultProxy::start(&direct));
        let url = proxy.as_ref().map_or(direct, |proxy| proxy.url().to_owned());
        let runtime = builder.runtime(url, Arc::clone(&clock), ids.clone());
        let handler = handler(&runtime).await;
        create_cursors(&runtime).await.expect("event cursors can be created");
        Self {
            handler,
            runtime,
            builder,
            clock,
            ids,
            proxy,
            background: RefCell::default(),
            servers: RefCell::default(),
            database,
        }
    }

    /// Creates another replica: the same database, clock and ids, but a platform, caches and a pool of its own, without the proxy.
    pub async fn second_node(&self) -> Self {
        let builder = self.builder.clone().without_proxy();
        Self::compose(
            builder,
            Rc::clone(&self.database),
            Arc::clone(&self.clock),
            self.ids.clone(),
        )
        .await
    }

    /// Creates another replica with this configuration instead of the first one's, as during a rollout of settings.
    pub async fn second_node_with(&self, toml: &str) -> Self {
        let builder = self.builder.clone().without_proxy().without_config().config(toml);
        Self::compose(
            builder,
            Rc::clone(&self.database),
            Arc::clone(&self.clock),
            self.ids.clone(),
        )
        .await
    }

    /// Starts the background work of the modules, as the host does; it stops when this value is dropped.
    pub fn start_background(&self) {
        let work = self
            .platform()
            .modules()
            .iter()
            .filter_map(|module| (module.background)(self.runtime.clone()));
        self.background.borrow_mut().extend(work.map(rt::spawn));
    }

    /// Serves the same platform over HTTP, for browsers, on a thread and a pool of its own until this value is dropped.
    ///
    /// # Panics
    /// When the listener can't be served.
    pub fn serve(&self, listener: TcpListener) {
        let (builder, clock, ids) = (self.builder.clone(), Arc::clone(&self.clock), self.ids.clone());
        let url = self.database.application_url();
        let server = HttpServer::new(move || {
            let runtime = builder.runtime(url.clone(), Arc::clone(&clock), ids.clone());
            App::new().configure(services(&runtime))
        });
        let server = server.workers(1).disable_signals().listen(listener);
        let server = server.expect("the listener can be served").run();
        self.servers.borrow_mut().push(server.handle());
        rt::spawn(server);
    }

    /// Returns the folder of all files that this application and its replicas write. It is removed with the last of them.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        self.builder.data_dir()
    }

    /// Returns the sent mail, unless the application was built with [`TestAppBuilder::with_real_mail`].
    #[must_use]
    pub fn mail(&self) -> &MemoryMailer {
        &self.builder.mailer
    }

    /// Runs the due jobs of all queues, one after the other, until none can be claimed. Returns the number of attempts.
    ///
    /// # Panics
    /// When the queue can't be read.
    pub async fn run_jobs(&self) -> usize {
        let workers = Queue::ALL.map(|queue| Worker::new(self.runtime.clone()).of(queue));
        let mut attempts = 0;
        loop {
            let before = attempts;
            for worker in &workers {
                while worker.run_one(None).await.expect("the queue can be read") {
                    attempts += 1;
                }
            }
            if attempts == before {
                return attempts;
            }
        }
    }

    /// Delivers pending events to the subscribers until no cursor can be claimed. Returns the number of deliveries.
    ///
    /// # Panics
    /// When the outbox can't be read.
    pub async fn deliver_events(&self) -> usize {
        let mut relay = Relay::new(self.runtime.clone());
        let mut deliveries = 0;
        while relay.run_one().await.expect("the outbox can be read") {
            deliveries += 1;
        }
        deliveries
    }

    /// Lets the background of this node read the revocations of other nodes now, and waits until it has done so.
    ///
    /// # Panics
    /// When no module reads revocations, or the background has not been started.
    pub async fn poll_revocations(&self) {
        let poll = self.platform().provided().get::<RevocationPoll>();
        let poll = poll.expect("a module that reads revocations");
        let round = tokio::time::timeout(std::time::Duration::from_secs(10), poll.0.run()).await;
        round.expect("`start_background` was called");
    }

    /// Creates a request to a path below the API prefix, including the query.
    #[must_use]
    pub fn request(&self, method: Method, path: &str) -> TestRequest<'_> {
        self.request_outside(method, &format!("{API_PREFIX}{path}"))
    }

    /// Creates a request to a path outside of the API prefix.
    #[must_use]
    pub fn request_outside(&self, method: Method, path: &str) -> TestRequest<'_> {
        TestRequest::new(self, method, path)
    }

    /// Returns the platform with its pool.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Returns the composed platform.
    #[must_use]
    pub fn platform(&self) -> &Platform {
        &self.runtime.platform
    }

    /// Returns a context in which the platform itself is the actor, in all tenants.
    #[must_use]
    pub fn system_context(&self) -> RequestContext {
        RequestContext::system(&self.runtime)
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &MockClock {
        &self.clock
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Advances the clock.
    pub fn advance(&self, duration: Duration) {
        self.clock.advance(duration);
    }

    /// Returns the database.
    #[must_use]
    pub fn database(&self) -> &TestDatabase {
        &self.database
    }

    /// [`TestDatabase::sql`]
    pub async fn sql(&self, sql: &str) -> u64 {
        self.database.sql(sql).await
    }

    /// [`TestDatabase::rows`]
    pub async fn rows(&self, query: &str) -> Vec<Value> {
        self.database.rows(query).await
    }

    /// [`TestDatabase::count`]
    pub async fn count(&self, from: &str) -> i64 {
        self.database.count(from).await
    }

    /// [`TestDatabase::tables`]
    pub async fn tables(&self) -> Vec<String> {
        self.database.tables().await
    }

    /// [`TestDatabase::digests`]
    pub async fn digests(&self) -> Digests<'_> {
        self.database.digests().await
    }

    /// [`TestDatabase::snapshot`]
    pub async fn snapshot(&self) -> DatabaseSnapshot {
        self.database.snapshot().await
    }

    /// [`TestDatabase::snapshot_without`]
    pub async fn snapshot_without(&self, tables: &[&str], columns: &[&str]) -> DatabaseSnapshot {
        self.database.snapshot_without(tables, columns).await
    }

    /// Returns the proxy.
    ///
    /// # Panics
    /// When the application was not built with [`TestAppBuilder::through_proxy`].
    #[must_use]
    pub fn proxy(&self) -> &FaultProxy {
        self.proxy
            .as_ref()
            .expect("the application was built with through_proxy()")
    }

    /// Returns the output of the work and the number of statements that it sent. A pool that has to connect sends more statements: run the work once
    /// before.
    ///
    /// # Panics
    /// As [`TestApp::proxy`].
    pub async fn count_statements<T>(&self, work: impl Future<Output = T>) -> (T, u64) {
        let before = self.proxy().count();
        let output = work.await;
        (output, self.proxy().count() - before)
    }

    /// Returns the lowest number of statements of eight runs. Tests with background work count by it, because that work sends statements of
    /// its own between those of the runs.
    ///
    /// # Panics
    /// As [`TestApp::proxy`].
    pub async fn fewest_statements(&self, mut run: impl AsyncFnMut()) -> u64 {
        let mut fewest = u64::MAX;
        for _ in 0..RUNS_OF_FEWEST {
            let ((), statements) = self.count_statements(run()).await;
            fewest = fewest.min(statements);
            rt::time::sleep(PAUSE_OF_FEWEST).await;
        }
        fewest
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        for work in self.background.get_mut() {
            work.abort();
        }
        for server in self.servers.get_mut() {
            // The server only needs the signal; there is nothing to wait for.
            drop(server.stop(false));
        }
        // Its connections end before the database is dropped.
        if let Some(thread) = self.platform().close_internal_requests() {
            let _ended = thread.join();
        }
    }
}

/// Returns the services as the host composes them.
fn services(runtime: &Runtime) -> impl FnOnce(&mut web::ServiceConfig) {
    move |service| {
        let routes = Routes::of(runtime.platform.modules());
        let api = web::scope(API_PREFIX)
            .configure(|service| routes.configure(runtime, service))
            .default_service(web::to(not_found));
        Pages::of(&runtime.platform).configure(runtime, service);
        service
            .app_data(web::Data::new(runtime.clone()))
            .service(api)
            .default_service(web::to(not_found));
    }
}

async fn handler(runtime: &Runtime) -> Handler {
    let app = App::new().configure(services(runtime));
    let contract = Contract::of(runtime.platform.modules());
    let service = Rc::new(test::init_service(app).await);
    Box::new(move |request, is_declared| {
        let service = Rc::clone(&service);
        let contract = Arc::clone(&contract);
        Box::pin(async move {
            let response = match service.call(request.to_request()).await {
                Ok(response) => response.map_into_boxed_body(),
                Err(error) => {
                    let request = test::TestRequest::default().to_http_request();
                    ServiceResponse::from_err(error, request).map_into_boxed_body()
                }
            };
            let request = response.request();
            let expected = contract.endpoint(request.match_info().as_str(), request.method());
            let target = (request.method().clone(), request.path().to_owned());
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            TestStream::new(
                status,
                headers,
                response.into_body(),
                is_declared.then(|| expected.ok_or(target)),
            )
        })
    })
}
