//! Two servers on one database form one installation.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use backoffice_test_support::TestDatabase;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::office::{ADMINISTRATOR, NO_LIMITS, NO_WORKERS, Office, many_users, office, order_mail, recipient, sign_in};
use crate::server::Server;
use crate::stream::Stream;

/// A server rejects a credential within this time after the other one has revoked it.
const REVOKED: Duration = Duration::from_secs(1);
/// An administrator of the tenant; the records of the first administrator belong to the platform.
const SECOND: &str = "second@example.com";
/// Each causes two jobs.
const USERS: usize = 500;

struct Replicas {
    one: Server,
    other: Server,
    office: Office,
    database: TestDatabase,
}

impl Replicas {
    async fn start(of_one: &[(&str, &str)], of_other: &[(&str, &str)]) -> Self {
        let (office, database) = office().await;
        Self {
            one: office.serve(of_one).await,
            other: office.serve(of_other).await,
            office,
            database,
        }
    }

    /// Checks that the other server accepts this credential, and rejects it soon after `revoke`.
    async fn rejects_after(&self, credential: &str, revoke: impl FnOnce()) {
        let profile = || self.other.get("/api/auth/roles", credential).status;
        // Twice, so that the second request uses the cache.
        assert_eq!((profile(), profile()), (200, 200));

        revoke();
        sleep(REVOKED).await;

        assert_eq!(profile(), 401);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_and_events_of_one_replica_reach_the_other() {
    let replicas = Replicas::start(&[NO_WORKERS], &[]).await;
    replicas.office.create_user(SECOND, "admin");
    let token = sign_in(&replicas.one, SECOND);
    let mut stream = Stream::open(&replicas.other, &token, "auth.role.*");

    order_mail(&replicas.one, ADMINISTRATOR);
    let created = replicas.one.post("/api/auth/roles", &token, &json!({"name": "Clerk"}));

    assert_eq!(created.status, 201, "{}", created.text);
    stream.wait_for("event: auth.role.created", Duration::from_secs(5));
    stream.wait_for(created.body["id"].as_str().expect("an id"), Duration::from_secs(1));
    replicas.office.wait_for_mail(ADMINISTRATOR, &replicas.other).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_in_attempts_are_counted_together() {
    let replicas = Replicas::start(&[], &[]).await;
    let attempt = |server: &Server| {
        let body = json!({"email": "nobody@example.com", "password": "is wrong"});
        server.post("/api/auth/login", "", &body)
    };

    for server in [
        &replicas.one,
        &replicas.other,
        &replicas.one,
        &replicas.other,
        &replicas.one,
    ] {
        assert_eq!(attempt(server).status, 401);
    }

    for server in [&replicas.other, &replicas.one] {
        let rejected = attempt(server);
        assert_eq!(rejected.status, 429);
        assert!(rejected.retry_after.is_some_and(|seconds| (1..=60).contains(&seconds)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_revoked_on_one_replica_end_on_the_other_within_a_second() {
    let replicas = Replicas::start(&[], &[]).await;
    let one = &replicas.one;
    replicas.office.create_user(SECOND, "admin");
    let administrator = sign_in(one, ADMINISTRATOR);
    let succeeds = |method: &str, path: &str, token: &str, body: Value| {
        let response = one.send(method, path, token, Some(&body));
        assert!(response.status < 400, "{path}: {} {}", response.status, response.text);
        response.body
    };

    let session = sign_in(one, SECOND);
    let sign_out = || drop(succeeds("POST", "/api/auth/logout", &session, json!({})));
    replicas.rejects_after(&session, sign_out).await;

    let session = sign_in(one, SECOND);
    let found = one.get("/api/auth/users?search=second", &administrator).body;
    let deactivate = || {
        let change = json!({"id": found["items"][0]["id"], "isActive": false});
        succeeds("PUT", "/api/auth/users", &administrator, change);
    };
    replicas.rejects_after(&session, deactivate).await;

    let requested = json!({"name": "Script", "roles": ["admin"]});
    let key = succeeds("POST", "/api/api_keys/keys", &administrator, requested);
    let text = |field: &str| key[field].as_str().expect("a text").to_owned();
    let delete = || {
        let path = format!("/api/api_keys/keys?id={}", text("id"));
        succeeds("DELETE", &path, &administrator, json!({}));
    };
    let credential = format!("ApiKey {}", text("secret"));
    replicas.rejects_after(&credential, delete).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acc_8_a_silent_stream_of_one_replica_closes_within_a_second_of_the_end_of_its_credential_on_the_other() {
    let replicas = Replicas::start(&[], &[]).await;
    let (one, other) = (&replicas.one, &replicas.other);
    replicas.office.create_user(SECOND, "admin");
    let administrator = sign_in(one, ADMINISTRATOR);
    let (session, stays) = (sign_in(one, SECOND), sign_in(one, SECOND));
    let mut closes = Stream::open(other, &session, "nothing.happens");
    let mut goes_on = Stream::open(other, &stays, "nothing.happens");
    assert!(!closes.ends_within(REVOKED), "nothing has ended yet");

    let signed_out = one.post("/api/auth/logout", &session, &json!({}));

    assert!(signed_out.status < 400, "{}", signed_out.text);
    assert!(closes.ends_within(REVOKED), "a session that was signed out");
    assert!(!goes_on.ends_within(REVOKED), "another session of the same user");

    let found = one.get("/api/auth/users?search=second", &administrator).body;
    let change = json!({"id": found["items"][0]["id"], "isActive": false});
    let deactivated = one.send("PUT", "/api/auth/users", &administrator, Some(&change));
    assert_eq!(deactivated.status, 200, "{}", deactivated.text);
    assert!(goes_on.ends_within(REVOKED), "the user was deactivated");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_4_eight_workers_of_two_nodes_run_every_job_once() {
    let settings = [NO_LIMITS, ("BACKOFFICE__JOBS__PER_TENANT", "8")];
    let with_mails_in = |dir| [settings.as_slice(), &[("BACKOFFICE__MAIL__DIR", dir)]].concat();
    let replicas = Replicas::start(&with_mails_in("one"), &with_mails_in("other")).await;
    let created = replicas.database.sql(&many_users(USERS)).await;
    assert_eq!(created, USERS as u64);

    let started = Instant::now();
    thread::scope(|scope| {
        for (first, server) in [&replicas.one, &replicas.other].into_iter().enumerate() {
            let users = (1 + first..=USERS).step_by(2);
            scope.spawn(move || users.for_each(|user| order_mail(server, &format!("user{user}@example.com"))));
        }
    });
    let query = "select state, attempt, count(*) as jobs from core_jobs group by 1, 2";
    let all = json!({"state": "done", "attempt": 1, "jobs": 2 * USERS});
    while replicas.database.rows(query).await != [all.clone()] {
        let jobs = replicas.database.rows(query).await;
        assert!(started.elapsed() < Duration::from_secs(180), "{jobs:?}");
        sleep(Duration::from_millis(100)).await;
    }

    let (one, other) = (replicas.office.mails_in("one"), replicas.office.mails_in("other"));
    assert!(!one.is_empty() && !other.is_empty(), "both work");
    let recipients: BTreeSet<&str> = one.iter().chain(&other).map(|mail| recipient(mail)).collect();
    assert_eq!((one.len() + other.len(), recipients.len()), (USERS, USERS));
    let commands = "select id from audit_action_logs where command_id = 'auth.user.request_reset'";
    assert_eq!(replicas.database.rows(commands).await.len(), USERS);
}
