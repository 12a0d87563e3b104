//! A process that announces and delivers events is killed repeatedly. `BACKOFFICE_CRASH_ROUNDS` sets how often.

use std::env;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use backoffice_core::config::Config;
use backoffice_core::db::{Database, DatabaseOptions};
use backoffice_core::events::relay;
use backoffice_core::ids::Ids;
use backoffice_core::jobs::stop_signal;
use backoffice_core::{Platform, PlatformOptions, Runtime, Timestamp};
use backoffice_test_support::{Duration as Span, MockClock, TestApp};
use tokio::time::sleep;
use uuid::Uuid;

use crate::sample::{A, B, MODULE, announce_on, created, effects};

const ROUNDS: u32 = 30;
/// Environment variables of the process that is killed.
const URL: &str = "BACKOFFICE_TEST_RELAY_URL";
const NOW: &str = "BACKOFFICE_TEST_RELAY_NOW";
const CONNECTIONS: &str = "relay-to-be-killed";

#[actix_web::test]
async fn job_1_killed_at_random_every_event_reaches_every_subscriber_once_and_in_order() {
    let app = TestApp::new(&[&MODULE]).await;
    let rounds = env::var("BACKOFFICE_CRASH_ROUNDS").ok();
    let rounds = rounds.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let mut left_behind = 0;

    for _ in 0..rounds {
        let mut process = start(&app);
        let [moment] = Ids::default().random::<1>();
        sleep(Duration::from_millis(60 + u64::from(moment))).await;
        process.kill().expect("it was still running");
        process.wait().expect("it is ours");
        wait_until_disconnected(&app).await;
        left_behind += usize::from(!app.rows(BEHIND).await.is_empty());
        // The leases of the killed process expire.
        app.advance(Span::seconds(31));
    }

    let taken = app
        .rows("select 1 as one from core_event_streams where name like 'witness:%'")
        .await
        .len();
    app.deliver_events().await;
    assert!(app.rows("select error from core_event_dead_letters").await.is_empty());
    assert!(app.rows(BEHIND).await.is_empty());
    let mut announced = 0;
    for tenant in [A, B] {
        let all = numbers(&app, tenant).await;
        announced += all.len();
        for subscriber in ["counter", "fragile", "witness"] {
            assert_eq!(effects(&app, tenant, subscriber).await, all, "{subscriber}");
        }
    }
    println!("{rounds} kills: {announced} events, {taken} delivered in between, {left_behind} kills left some behind");
    assert!(
        taken > 0 && left_behind > 0,
        "{taken} delivered, {left_behind} of {rounds} left some behind"
    );
}

/// Cursors with undelivered events.
const BEHIND: &str = "select c.subscriber from core_event_cursors c join core_event_streams s using (tenant_id) \
                      where s.name = 'log' and c.last_seq < s.last_seq";

/// Returns the numbers of a tenant's events, each once.
async fn numbers(app: &TestApp, tenant: Uuid) -> Vec<(i64, i64)> {
    let query = format!("select seq from core_outbox_events where tenant_id = '{tenant}' order by seq");
    let rows = app.rows(&query).await;
    rows.iter()
        .map(|row| (row["seq"].as_i64().expect("a number"), 1))
        .collect()
}

fn start(app: &TestApp) -> Child {
    let url = app.database().application_url();
    let and = if url.contains('?') { '&' } else { '?' };
    Command::new(env::current_exe().expect("this program"))
        .args(["--exact", "crash::the_process_that_is_killed", "--ignored"])
        .env(URL, format!("{url}{and}application_name={CONNECTIONS}"))
        .env(NOW, app.now().to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs")
}

async fn wait_until_disconnected(app: &TestApp) {
    let connections = format!(
        "select pid from pg_stat_activity where application_name = '{CONNECTIONS}' and datname = current_database()"
    );
    for _ in 0..1000 {
        if app.rows(&connections).await.is_empty() {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
    panic!("connections of the killed process are left");
}

#[actix_web::test]
#[ignore = "started and killed by the test above"]
async fn the_process_that_is_killed() {
    let (Ok(url), Ok(now)) = (env::var(URL), env::var(NOW)) else {
        return;
    };
    let now = Timestamp::parse(&now).expect("an instant");
    let options = PlatformOptions {
        clock: Arc::new(MockClock::new(now)),
        ..PlatformOptions::new(&[&MODULE], Config::from_toml("").expect("a configuration"))
    };
    let runtime = Runtime {
        platform: Platform::new(options).expect("a platform"),
        database: Database::new(DatabaseOptions::new(url.into())).expect("a pool"),
    };
    let (_end, stop) = stop_signal();
    let announcing = async {
        for number in 0.. {
            for tenant in [A, B] {
                announce_on(&runtime, tenant, None, created(number))
                    .await
                    .expect("announced");
            }
        }
    };
    tokio::join!(relay(runtime.clone(), stop), announcing);
}
