//! Sign-ups on the command line.

use serde_json::json;

use crate::office::office;

const REQUEST: &str = "019aae20-0000-7000-8000-000000000001";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_listed_and_expired() {
    let (office, database) = office().await;
    let insert = format!(
        "insert into onboarding_requests (tenant_id, id, kind, status, first_name, last_name, organization_name, locale, marketing_consent,
            terms_accepted_at, expires_at, wrong_passwords, created_at, updated_at)
         values ('00000000-0000-0000-0000-000000000000', '{REQUEST}', 'new', 'pending', 'Ann', 'Lee', 'Open Co', 'en', false,
            now(), now() + interval '1 hour', 0, now(), now())"
    );
    database.sql(&insert).await;

    let listed = office.json(&["onboarding", "list"]);
    assert_eq!(
        (&listed[0]["id"], &listed[0]["status"], &listed[0]["organizationName"]),
        (&json!(REQUEST), &json!("pending"), &json!("Open Co"))
    );
    assert_eq!(
        office.json(&["onboarding", "expire", REQUEST]),
        json!({"id": REQUEST, "status": "expired"})
    );
    assert_eq!(office.json(&["onboarding", "list"]), json!([]));
    assert_eq!(office.json(&["onboarding", "list", "--all"])[0]["status"], "expired");
}
