//! Workers are killed while tenants are created for persons who signed up. Each person gets one tenant with one administrator, and each link works.
//! `BACKOFFICE_SIGN_UPS` and `BACKOFFICE_KILLED_WORKERS` set the number of persons and of kills.

use std::collections::BTreeMap;
use std::time::Duration;

use backoffice_core::ids::Ids;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::bulk::{SHORT_LEASE, Sql};
use crate::connection::Connection;
use crate::office::{NO_LIMITS, NO_WORKERS, Office, office, recipient};
use crate::server::Server;

const PERSONS: usize = 30;
const KILLS: usize = 3;
const PASSWORD: &str = "begins-Twice-4711";
const PATIENCE: Duration = Duration::from_secs(120);

fn setting(name: &str, default: usize) -> usize {
    let given = std::env::var(name).ok();
    given.map_or(default, |number| number.parse().expect("a number"))
}

/// Returns the tokens of the links by address, from the mails so far. A person whose worker was killed may get a second mail; only its link works then.
fn tokens(office: &Office) -> BTreeMap<String, Vec<String>> {
    let mut tokens: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for mail in office.mails_in("var/mail") {
        let text = mail.replace("=\r\n", "").replace("=\n", "").replace("=3D", "=");
        if let Some((_, rest)) = text.split_once("verify?token=") {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
            let token = rest[..end.unwrap_or(rest.len())].to_owned();
            tokens.entry(recipient(&mail).to_owned()).or_default().push(token);
        }
    }
    tokens
}

/// Opens the link of each person; returns the statuses of the links that are valid.
fn open_links(office: &Office, server: &Server) -> Vec<String> {
    let valid = |tokens: Vec<String>| {
        let statuses = tokens.iter().filter_map(|token| {
            let path = format!("/api/onboarding/onboarding/verify?token={token}");
            let opened = Connection::open(server.api);
            let opened = opened.and_then(|mut one| one.send_with("GET", &path, "accept: application/json\r\n", None));
            let response = opened.expect("a response");
            (response.status == 200).then(|| response.body["status"].as_str().unwrap_or_default().to_owned())
        });
        statuses.collect::<Vec<String>>()
    };
    tokens(office).into_values().flat_map(valid).collect()
}

/// Runs workers until `progress` returns `wanted`, and kills all but the last one at random moments on the way.
async fn work(office: &Office, kills: usize, wanted: usize, progress: impl AsyncFn() -> usize) {
    for number in 0..=kills {
        let mut worker = office.work(&[SHORT_LEASE]).await;
        let (started, is_last) = (Instant::now(), number == kills);
        let share = if is_last {
            wanted
        } else {
            wanted * (number + 1) / (kills + 2)
        };
        while progress().await < share {
            assert!(started.elapsed() < PATIENCE, "{}", worker.log());
            sleep(Duration::from_millis(5)).await;
        }
        if is_last {
            worker.check_health();
            assert!(worker.end().success());
        } else {
            let [moment] = Ids::default().random::<1>();
            sleep(Duration::from_micros(u64::from(moment) * 200)).await;
            worker.kill();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn persons_whose_workers_are_killed_get_one_tenant_each() {
    let (persons, kills) = (
        setting("BACKOFFICE_SIGN_UPS", PERSONS),
        setting("BACKOFFICE_KILLED_WORKERS", KILLS),
    );
    let (office, database) = office().await;
    let server = office.serve(&[NO_WORKERS, NO_LIMITS]).await;
    let emails: Vec<String> = (0..persons)
        .map(|number| format!("person{number}@example.com"))
        .collect();
    for email in &emails {
        let form = json!({"email": email, "firstName": "Ann", "lastName": "Lee", "organizationName": "Killed",
            "password": PASSWORD, "confirmPassword": PASSWORD, "termsAccepted": true});
        let submitted = server.post("/api/onboarding/onboarding", "", &form);
        assert_eq!(submitted.status, 201, "{}", submitted.text);
    }

    work(&office, kills, persons, async || tokens(&office).len()).await;
    assert_eq!(open_links(&office, &server), vec!["processing"; persons]);
    let completed = "select from onboarding_requests where status = 'completed'";
    work(&office, kills, persons, async || database.rows_of(completed).await).await;

    assert_eq!(open_links(&office, &server), vec!["completed"; persons]);
    let tenants =
        "select from directory_tenants t where exists (select from directory_organizations o where o.tenant_id = t.id)
        and exists (select from onboarding_requests r where r.new_tenant_id = t.id)";
    assert_eq!(database.rows_of(tenants).await, persons);
    let all = "select from directory_tenants where name = 'Killed'";
    assert_eq!(database.rows_of(all).await, persons, "no tenant of an attempt is left");
    for email in &emails {
        let users = format!("select from auth_users where email_norm = '{email}'");
        assert_eq!(database.rows_of(&users).await, 1, "{email}");
    }
    for email in emails.iter().step_by(7) {
        let response = server.post("/api/auth/login", "", &json!({"email": email, "password": PASSWORD}));
        let token = response.body["token"].as_str().expect("signed in");
        assert_eq!(server.get("/api/auth/users", token).body["total"], 1);
    }
}
