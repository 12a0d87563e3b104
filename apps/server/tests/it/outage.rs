//! The database stops and starts again while a server and a worker run. Clients are asked to retry; nothing else is lost.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

#[cfg(all(feature = "customers", feature = "catalog"))]
use crate::bulk::{self, Job, Rows, Sql as _};
use crate::cluster::Cluster;
use crate::connection::Connection;
use crate::office::{ADMINISTRATOR, NO_LIMITS, NO_WORKERS, Office, PASSWORD, many_users, order_mail, sign_in};
use crate::server::Server;
use crate::stream::Stream;

const OUTAGE: Duration = Duration::from_secs(10);
/// Every response must arrive within this time, whatever its status.
const LONGEST_RESPONSE: Duration = Duration::from_secs(2);
/// Once the database is available again, requests succeed within this time.
const RECOVERY: Duration = Duration::from_secs(1);
const EVENT: Duration = Duration::from_secs(10);
/// An administrator of the tenant; the records of the first administrator belong to the platform.
const SECOND: &str = "second@example.com";
const USERS: usize = 60;

/// A response to a repeated request.
#[derive(Debug)]
struct Probe {
    sent: Instant,
    responded: Instant,
    status: u16,
    retry_after: Option<u64>,
}

/// Sends requests until it is stopped.
struct Prober {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Probe>>,
}

impl Probe {
    fn send(api: SocketAddr, path: &str, token: &str) -> Self {
        let sent = Instant::now();
        let response = Connection::open(api).and_then(|mut one| one.send("GET", path, token, None));
        let response = response.expect("every request gets a response");
        Self {
            sent,
            responded: Instant::now(),
            status: response.status,
            retry_after: response.retry_after,
        }
    }
}

impl Prober {
    #[expect(clippy::disallowed_methods, reason = "the thread is the prober's own")]
    fn start(server: &Server, path: &'static str, token: &str) -> Self {
        let (api, token, stop) = (server.api, token.to_owned(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut probes = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                probes.push(Probe::send(api, path, &token));
                thread::sleep(Duration::from_millis(50));
            }
            probes
        });
        Self { stop, thread }
    }

    fn end(self) -> Vec<Probe> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("every request gets a response")
    }
}

/// A period without the database, from its stop until it accepts connections again.
struct Gap {
    /// The stop was requested.
    begins: Instant,
    /// No process of the server is left.
    gone: Instant,
    /// The start was requested.
    returns: Instant,
    /// The server accepts connections.
    back: Instant,
}

impl Gap {
    async fn create(cluster: &mut Cluster, stop: impl FnOnce(&mut Cluster), meanwhile: impl AsyncFnOnce()) -> Self {
        let begins = Instant::now();
        stop(cluster);
        let gone = Instant::now();
        meanwhile().await;
        let returns = Instant::now();
        cluster.start_again();
        Self {
            begins,
            gone,
            returns,
            back: Instant::now(),
        }
    }

    fn check<'a>(&self, probes: impl Iterator<Item = &'a Probe>) {
        for probe in probes {
            if probe.sent >= self.gone && probe.responded <= self.returns {
                assert_eq!(probe.status, 503, "the database is gone: {probe:?}");
            }
            if probe.responded < self.begins || probe.sent >= self.back + RECOVERY {
                assert_eq!(probe.status, 200, "the database is there: {probe:?}");
            }
        }
    }
}

/// Checks that every response is a success or asks the client to retry, and arrives in time.
fn check_responses(probes: &[Probe]) {
    for probe in probes {
        match probe.status {
            200 => {}
            503 => assert!(probe.retry_after.is_some(), "{probe:?}"),
            _ => panic!("{probe:?}"),
        }
        assert!(probe.responded - probe.sent <= LONGEST_RESPONSE, "{probe:?}");
    }
}

/// Starts a server that runs no jobs, and a worker beside it.
async fn server_and_worker(office: &Office) -> (Server, Server) {
    let settings = [NO_LIMITS, ("BACKOFFICE__JOBS__LEASE_SECONDS", "5")];
    let server = office.serve(&[&settings[..], &[NO_WORKERS]].concat()).await;
    (server, office.work(&settings).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_outage_costs_responses_and_nothing_else() {
    let mut cluster = Cluster::start();
    let office = cluster.office();
    assert_eq!(cluster.sql(&many_users(4)).await, 4);
    let (mut server, mut worker) = server_and_worker(&office).await;
    office.create_user(SECOND, "admin");
    let token = sign_in(&server, SECOND);
    let mut stream = Stream::open(&server, &token, "auth.role.*");
    let create_role = |name: &str| {
        let created = server.post("/api/auth/roles", &token, &json!({"name": name}));
        assert_eq!(created.status, 201, "{}", created.text);
        created.body["id"].as_str().expect("an id").to_owned()
    };
    let prober = Prober::start(&server, "/api/auth/roles", &token);
    sleep(Duration::from_secs(1)).await;

    order_mail(&server, "user1@example.com");
    let crash = Gap::create(&mut cluster, Cluster::stop_immediately, async || {}).await;
    sleep(RECOVERY).await;
    stream.wait_for(&create_role("After the crash"), EVENT);
    order_mail(&server, "user2@example.com");
    order_mail(&server, "user3@example.com");
    let stop = Gap::create(&mut cluster, Cluster::stop, async || {
        sleep(OUTAGE / 2).await;
        for path in ["/api/auth/login", "/api/auth/reset"] {
            let rejected = server.post(path, "", &json!({"email": ADMINISTRATOR, "password": "is wrong"}));
            assert_eq!(
                (rejected.status, rejected.retry_after),
                (503, Some(1)),
                "{}",
                rejected.text
            );
        }
        let ready = (server.operators("/readyz").status, worker.operators("/readyz").status);
        assert_eq!(ready, (503, 503));
        sleep(OUTAGE / 2).await;
    })
    .await;
    sleep(RECOVERY).await;
    stream.wait_for(&create_role("After the stop"), EVENT);
    order_mail(&server, "user4@example.com");
    sleep(RECOVERY).await;
    let probes = prober.end();

    check_responses(&probes);
    crash.check(probes.iter().filter(|probe| probe.responded < stop.begins));
    stop.check(probes.iter().filter(|probe| probe.sent >= crash.back + RECOVERY));
    let rejected = probes.iter().filter(|probe| probe.status == 503).count();
    assert!(rejected >= 20, "{rejected} of {} requests met the outage", probes.len());
    for user in 1..=4 {
        office.wait_for_mail(&format!("user{user}@example.com"), &worker).await;
    }
    for process in [&mut server, &mut worker] {
        process.check_health();
        assert!(process.end().success(), "{}", process.log());
    }
}

/// Sets whether the transactions of a server are read-only, as those of a standby, and waits until the operators' listener responds with this status.
async fn set_read_only(cluster: &Cluster, value: &str, server: &Server, status: u16) {
    let setting = format!("alter system set default_transaction_read_only = {value}");
    cluster.sql(&setting).await;
    cluster.sql("select pg_reload_conf()").await;
    let started = Instant::now();
    while server.operators("/readyz").status != status {
        assert!(started.elapsed() < Duration::from_secs(30), "{value}: {}", server.log());
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_are_asked_to_retry_while_the_database_accepts_no_writes() {
    let cluster = Cluster::start();
    let office = cluster.office();
    let mut server = office.serve(&[NO_LIMITS, NO_WORKERS]).await;
    office.create_user(SECOND, "admin");
    let token = sign_in(&server, SECOND);
    let login = json!({"email": SECOND, "password": PASSWORD});

    set_read_only(&cluster, "on", &server, 503).await;

    assert_eq!(server.operators("/readyz").body["status"], "database read-only");
    for (path, body) in [
        ("/api/auth/roles", json!({"name": "During the failover"})),
        ("/api/auth/login", login.clone()),
    ] {
        let rejected = server.post(path, &token, &body);
        let found = (rejected.status, rejected.retry_after);
        assert_eq!(found, (503, Some(1)), "{path}: {}", rejected.text);
    }
    let report = office.run(&["doctor"]);
    let lines = String::from_utf8_lossy(&report.stdout);
    assert!(
        !report.status.success() && lines.contains("accepts no writes"),
        "{lines}"
    );

    set_read_only(&cluster, "off", &server, 200).await;
    let created = server.post("/api/auth/roles", &token, &json!({"name": "After the failover"}));
    assert_eq!(created.status, 201, "{}", created.text);
    server.check_health();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_were_opened_read_only_do_not_outlast_it() {
    let cluster = Cluster::start();
    let office = cluster.office();
    let mut server = office.serve(&[NO_LIMITS, NO_WORKERS]).await;
    office.create_user(SECOND, "admin");
    let token = sign_in(&server, SECOND);
    let create_role =
        |number: usize| server.post("/api/auth/roles", &token, &json!({"name": format!("Role {number}")}));

    // Applies to new sessions only.
    cluster
        .sql("alter role backoffice_app set default_transaction_read_only = on")
        .await;
    cluster
        .sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'backoffice_app'")
        .await;
    let started = Instant::now();
    while server.operators("/readyz").body["status"] != "database read-only" {
        assert!(started.elapsed() < Duration::from_secs(30), "{}", server.log());
        sleep(Duration::from_millis(20)).await;
    }
    for number in 0..16 {
        let rejected = create_role(number);
        assert_eq!(rejected.status, 503, "{}", rejected.text);
    }
    cluster
        .sql("alter role backoffice_app reset default_transaction_read_only")
        .await;
    sleep(RECOVERY).await;

    assert_eq!(server.operators("/readyz").status, 200);
    for number in 0..16 {
        let created = create_role(number);
        assert_eq!(created.status, 201, "{}", created.text);
    }
    server.check_health();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_is_not_ready_while_the_database_does_not_respond() {
    let cluster = Cluster::start();
    let office = cluster.office();
    let mut server = office.serve(&[NO_WORKERS]).await;

    let frozen = cluster.freeze().await;
    for _ in 0..2 {
        let sent = Instant::now();
        assert_eq!(server.operators("/readyz").status, 503);
        assert!(sent.elapsed() < LONGEST_RESPONSE * 2, "{:?}", sent.elapsed());
    }
    drop(frozen);

    server.wait_until_ready().await;
    server.check_health();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_10_jobs_complete_although_postgresql_is_restarted_under_them() {
    let mut cluster = Cluster::start();
    let office = cluster.office();
    assert_eq!(cluster.sql(&many_users(USERS)).await, USERS as u64);
    let (server, mut worker) = server_and_worker(&office).await;
    let mails = || office.mails_in("var/mail").len();

    for user in 1..=USERS {
        order_mail(&server, &format!("user{user}@example.com"));
    }
    for share in [4, 2] {
        while mails() < USERS / share {
            sleep(Duration::from_millis(5)).await;
        }
        cluster.stop_immediately();
        assert!(mails() < USERS, "there was something left to do");
        cluster.start_again();
    }

    for user in 1..=USERS {
        office.wait_for_mail(&format!("user{user}@example.com"), &worker).await;
    }
    let started = Instant::now();
    while office.json(&["jobs", "list"]) != json!([]) {
        let patience = Duration::from_secs(30);
        assert!(started.elapsed() < patience, "{:#}", office.json(&["jobs", "list"]));
        sleep(Duration::from_millis(100)).await;
    }
    worker.check_health();
    order_mail(&server, ADMINISTRATOR);
    office.wait_for_mail(ADMINISTRATOR, &worker).await;
}

#[cfg(all(feature = "customers", feature = "catalog"))]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_10_a_bulk_job_completes_although_postgresql_is_restarted_under_it() {
    const DEALS: usize = 2000;
    let mut cluster = Cluster::start();
    let office = cluster.office();
    bulk::create_requester(&office);
    let deals = Rows::deals(&cluster, DEALS).await;
    let (server, mut worker) = server_and_worker(&office).await;
    let (job, stage) = Job::move_deals(&server, &deals);

    let mut seen = 0;
    for share in [5, 2] {
        seen = job.wait_for(seen, DEALS / share, Duration::from_secs(60)).await;
        cluster.stop_immediately();
        assert!(seen < DEALS, "there was something left to do");
        cluster.start_again();
        sleep(RECOVERY).await;
    }
    job.wait_for(seen, DEALS, Duration::from_secs(120)).await;

    job.check_end(0);
    deals.check_entries(&cluster, "customers.deal.change_stage").await;
    let moved = format!("select from customers_deals where pipeline_stage_id = '{stage}'");
    assert_eq!(cluster.rows_of(&moved).await, DEALS);
    worker.check_health();
    order_mail(&server, ADMINISTRATOR);
    office.wait_for_mail(ADMINISTRATOR, &worker).await;
}
