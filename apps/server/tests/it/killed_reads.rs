//! The server is killed while it serves reads. The access log holds every read whose response was received.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use backoffice_core::ids::Ids;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::connection::Connection;
use crate::office::{ADMINISTRATOR, NO_LIMITS, NO_WORKERS, Office, office, sign_in};

const KILLS: usize = 5;
/// Each role is read once, so that no read is deduplicated.
const ROLES: i32 = 3000;

/// Reads one role after the other until the server dies. Returns the roles whose response was received.
fn read_until_killed(api: SocketAddr, token: String, roles: Vec<String>) -> Vec<String> {
    let mut read = Vec::new();
    let Ok(mut connection) = Connection::open(api) else {
        return read;
    };
    for role in roles {
        match connection.send("GET", &format!("/api/auth/roles?id={role}"), &token, None) {
            Ok(response) => assert_eq!((response.status, &response.body["items"][0]["id"]), (200, &json!(role))),
            Err(_) => break,
        }
        read.push(role);
    }
    read
}

async fn serve_and_kill(office: &Office, roles: Vec<String>) -> Vec<String> {
    let mut server = office.serve(&[NO_WORKERS, NO_LIMITS]).await;
    let token = sign_in(&server, ADMINISTRATOR);
    let api = server.api;
    let reading = thread::spawn(move || read_until_killed(api, token, roles));
    let [moment] = Ids::default().random::<1>();
    sleep(Duration::from_millis(100 + u64::from(moment))).await;
    server.kill();
    reading.join().expect("every response is the role")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aud_29_a_killed_server_loses_no_acknowledged_read() {
    let (office, database) = office().await;
    let created = format!(
        "insert into auth_roles (tenant_id, id, name, name_norm, created_at, updated_at)
         select tenant_id, gen_random_uuid(), 'Read ' || n, 'read ' || n, now(), now()
         from (select tenant_id from directory_tenants limit 1) t, generate_series(1, {ROLES}) as n"
    );
    database.sql(&created).await;
    let ids = async |sql: &str| -> Vec<String> {
        let rows = database.rows(sql).await;
        let text = |row: &Value| row["id"].as_str().expect("an id").to_owned();
        rows.iter().map(text).collect()
    };
    let mut left = ids("select id from auth_roles where name like 'Read %'").await;
    let mut responded = BTreeSet::new();

    for _ in 0..KILLS {
        let read = serve_and_kill(&office, left.clone()).await;
        // The last requested role may be in the log without a response.
        left.drain(..(read.len() + 1).min(left.len()));
        responded.extend(read);
    }

    let logged = "select resource_id as id from audit_access_logs where resource_kind = 'auth.role' and access_type = 'read:item'";
    let logged: BTreeSet<String> = ids(logged).await.into_iter().collect();
    let lost: Vec<&String> = responded.difference(&logged).collect();
    assert!(lost.is_empty(), "{} of {} are lost", lost.len(), responded.len());
    assert!(responded.len() > KILLS, "too little was read: {}", responded.len());
}
