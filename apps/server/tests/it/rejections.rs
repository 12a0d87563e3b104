//! A client that receives 429 can reuse its connection.

use serde_json::json;

use crate::connection::Connection;
use crate::office::office;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_over_the_limit_is_rejected_again_and_again_on_one_connection() {
    let (office, _database) = office().await;
    let server = office.serve(&[]).await;
    let mut connection = Connection::open(server.api).expect("the server listens");
    let body = json!({"email": "nobody@example.com", "password": "is wrong"});
    let mut attempt = || {
        let response = connection.send("POST", "/api/auth/login", "", Some(&body));
        response.expect("the connection stays open").status
    };

    let statuses: Vec<u16> = (0..60).map(|_| attempt()).collect();

    assert!(statuses.ends_with(&[429; 3]), "{statuses:?}");
    assert!(
        statuses.iter().all(|status| [401, 429].contains(status)),
        "{statuses:?}"
    );
}
