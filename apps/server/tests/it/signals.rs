//! The second signal: nothing that is under way delays the end of the program.

use std::io::Read as _;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::edge::{begin, unfinished};
use crate::office::{ADMINISTRATOR, NO_WORKERS, office, order_mail};
use crate::server::Server;

/// Longer than any step takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);
/// After the first signal, requests and steps of jobs have 10 s.
const UNDER_WAY: Duration = Duration::from_secs(1);
const AT_ONCE: Duration = Duration::from_secs(6);

/// Sends the first signal, and waits until the program has received it.
async fn begin_to_end(process: &Server) {
    process.terminate();
    let started = Instant::now();
    while !process.log().contains("another signal stops at once") {
        assert!(started.elapsed() < PATIENCE, "{}", process.log());
        sleep(Duration::from_millis(20)).await;
    }
}

/// Ends the program with two signals. The first one alone does not end it, because something is under way.
async fn end_by_two_signals(process: &mut Server) {
    begin_to_end(process).await;
    end_by_second_signal(process).await;
}

/// Ends the program with another signal; without it something is under way.
async fn end_by_second_signal(process: &mut Server) {
    assert_eq!(process.ends_within(UNDER_WAY).await, None, "{}", process.log());

    process.terminate();

    let ended = process.ends_within(AT_ONCE).await;
    assert!(
        ended.is_some_and(|status| status.success()),
        "{ended:?} {}",
        process.log()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_get_responses_in_the_delay_before_the_drain() {
    let (office, _database) = office().await;
    let mut server = office
        .serve(&[NO_WORKERS, ("BACKOFFICE__HTTP__DRAIN_DELAY", "60s")])
        .await;

    begin_to_end(&server).await;

    assert_eq!(server.operators("/readyz").status, 503);
    // On a connection of its own.
    assert_eq!(server.get("/api/version", "").status, 200);
    end_by_second_signal(&mut server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_delay_before_the_drain_ends_by_itself() {
    let (office, _database) = office().await;
    let mut server = office
        .serve(&[NO_WORKERS, ("BACKOFFICE__HTTP__DRAIN_DELAY", "2s")])
        .await;

    begin_to_end(&server).await;

    let ended = server.ends_within(PATIENCE).await;
    assert!(
        ended.is_some_and(|status| status.success()),
        "{ended:?} {}",
        server.log()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_aborts_open_requests() {
    let (office, _database) = office().await;
    let mut server = office.serve(&[("BACKOFFICE__HTTP__BODY_TIMEOUT", "60s")]).await;
    let mut stalled = begin(server.api, &unfinished("/api/auth/login"));
    // Until the server has read the head of the request.
    sleep(Duration::from_millis(500)).await;

    end_by_two_signals(&mut server).await;

    let mut response = Vec::new();
    // The connection was closed or reset.
    let _closed = stalled.read_to_end(&mut response);
    assert_eq!(String::from_utf8_lossy(&response), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_aborts_the_steps_of_jobs() {
    let (office, database) = office().await;
    let server = office.serve(&[NO_WORKERS]).await;
    let stall = "create function stall() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new; end $$;
        create trigger stall before insert on auth_one_time_tokens for each row execute function stall()";
    database.sql(stall).await;
    order_mail(&server, ADMINISTRATOR);
    let mut worker = office.work(&[]).await;
    let started = Instant::now();
    let asleep = "pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
    while database.count(asleep).await == 0 {
        assert!(started.elapsed() < PATIENCE, "{}", worker.log());
        sleep(Duration::from_millis(20)).await;
    }

    end_by_two_signals(&mut worker).await;
}
