//! Invitations of new users.

use actix_web::http::Method;
use backoffice_test_accounts::{PASSWORD, id_of};
use serde_json::{Value, json};

use crate::fixture::{Fixture, USERS, rejection};

#[actix_web::test]
async fn dsp_1_an_invited_user_has_a_link_for_48_hours_and_no_response_has_its_token() {
    let fixture = Fixture::new().await;

    let (status, body) = fixture.invite(" Anna@Example.COM ", " Anna Nowak ", "dispatcher").await;
    let id = id_of(&body);
    let item = fixture.user_of(id).await;
    let (_, list) = fixture.app.get(&fixture.a.token, USERS).await;
    let token = fixture.mailed_token();

    assert_eq!((status, &body), (201, &json!({"id": id, "emailSent": true})));
    let sent_at = item["invite"]["sentAt"].as_str().expect("an instant");
    assert_eq!(sent_at, fixture.app.now().to_string());
    assert_eq!(
        item["invite"],
        json!({"sentAt": sent_at, "expiresAt": fixture.app.now().after(time::Duration::hours(48)), "expired": false,
            "emailSent": true})
    );
    assert_eq!(
        [
            &item["name"],
            &item["email"],
            &item["role"],
            &item["status"],
            &item["organizationId"]
        ],
        [
            &json!("Anna Nowak"),
            &json!("anna@example.com"),
            &json!("dispatcher"),
            &json!("invited"),
            &json!(fixture.a.organization)
        ]
    );
    for response in [body, item, list] {
        assert!(!response.to_string().contains(&token), "{response}");
    }
    assert_eq!(fixture.set_password(&token).await, 200);
    let item = fixture.user_of(id).await;
    assert_eq!((&item["status"], &item["invite"]), (&json!("active"), &Value::Null));
    let signed_in = json!({"email": "anna@example.com", "password": PASSWORD});
    assert_eq!(fixture.app.post("", "/auth/login", signed_in).await.0, 200);
}

#[actix_web::test]
async fn dsp_2_a_user_whose_mail_failed_exists_and_a_resent_link_voids_the_first() {
    let fixture = Fixture::new().await;
    fixture.app.mail().reject(true);
    let (status, body) = fixture.invite("anna@example.com", "Anna", "viewer").await;
    let id = id_of(&body);
    let unsent = fixture.user_of(id).await;
    fixture.app.mail().reject(false);

    let first = fixture.post_to(&fixture.a.token, id, "resend-invite").await;
    let first_token = fixture.mailed_token();
    let second = fixture.post_to(&fixture.a.token, id, "resend-invite").await;
    let second_token = fixture.mailed_token();

    assert_eq!((status, &body["emailSent"]), (201, &json!(false)));
    assert_eq!(
        [
            &unsent["invite"]["emailSent"],
            &unsent["invite"]["sentAt"],
            &unsent["status"]
        ],
        [&json!(false), &Value::Null, &json!("invited")]
    );
    assert_eq!(
        [first, second],
        [(200, json!({"emailSent": true})), (200, json!({"emailSent": true}))]
    );
    assert_eq!(fixture.user_of(id).await["invite"]["emailSent"], json!(true));
    assert_eq!(fixture.set_password(&first_token).await, 400);
    assert_eq!(fixture.set_password(&second_token).await, 200);
    let tokens = "select count(*) as count from auth_one_time_tokens where used_at is null and voided_at is null";
    assert_eq!(fixture.app.rows(tokens).await, [json!({"count": 0})]);
}

#[actix_web::test]
async fn dsp_3_an_address_is_unique_in_its_tenant_only() {
    let fixture = Fixture::new().await;
    let (id, _) = fixture.member("anna@example.com", "dispatcher").await;

    let again = fixture.post_to(&fixture.a.token, id, "resend-invite").await;
    let boss = fixture.invite("boss@example.com", "Boss", "boss").await;
    let same = fixture.invite("ANNA@example.com", "Anna", "viewer").await;
    let body = json!({"email": "anna@example.com", "name": "Anna", "role": "viewer"});
    let elsewhere = fixture.app.post(&fixture.b.token, USERS, body).await;

    assert_eq!(rejection(&again), (409, "user_already_active"));
    assert_eq!(rejection(&boss), (400, "invalid_role"));
    assert_eq!(rejection(&same), (400, "email_already_exists"));
    assert_eq!(same.1["details"][0]["path"], "email");
    assert_eq!(elsewhere.0, 201, "{}", elsewhere.1);
}

#[actix_web::test]
async fn every_invalid_field_is_named_and_the_first_gives_the_code() {
    let fixture = Fixture::new().await;
    let post = async |body: Value| fixture.app.post(&fixture.a.token, USERS, body).await;
    let valid = json!({"email": "anna@example.com", "name": "Anna", "role": "viewer"});

    let all = post(json!({"email": "anna", "name": " ", "role": "boss"})).await;
    assert_eq!(rejection(&all), (400, "invalid_email"));
    let details = all.1["details"].as_array().expect("details").iter();
    let found: Vec<_> = details
        .map(|one| (one["path"].as_str(), one["code"].as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (Some("email"), Some("invalid_email")),
            (Some("name"), Some("invalid_name")),
            (Some("role"), Some("invalid_role"))
        ]
    );
    for (field, value, code) in [
        (
            "email",
            json!(format!("{}@example.com", "x".repeat(250))),
            "invalid_email",
        ),
        ("email", Value::Null, "invalid_email"),
        ("name", json!("x".repeat(121)), "invalid_name"),
        ("name", json!("a\u{7}b"), "invalid_name"),
        ("role", json!("admin"), "invalid_role"),
        ("role", Value::Null, "invalid_role"),
    ] {
        let mut body = valid.clone();
        body[field] = value;
        assert_eq!(rejection(&post(body).await), (400, code), "{field}");
    }
    let malformed = fixture.app.request(Method::POST, USERS).bearer(&fixture.a.token);
    let malformed = malformed.body("[", "application/json").send().await;
    assert_eq!(rejection(&(malformed.status, malformed.json())), (400, "invalid_body"));
    let users = fixture
        .app
        .rows("select id from auth_users where email_norm like '%example.com'")
        .await;
    assert!(users.is_empty(), "nothing is written");
}

#[actix_web::test]
async fn without_a_public_url_nothing_is_written() {
    let fixture = Fixture::without_site().await;

    let invited = fixture.invite("anna@example.com", "Anna", "viewer").await;

    assert_eq!(rejection(&invited), (500, "invite_origin_not_configured"));
    let found = "select id from auth_users where email = 'anna@example.com'";
    assert!(fixture.app.rows(found).await.is_empty());
}

#[actix_web::test]
async fn a_caller_assigns_only_a_role_that_they_cover() {
    let fixture = Fixture::new().await;
    fixture.role("Inviter", &["access.*"], None).await;
    let (_, inviter) = fixture.user("inviter@alpha.test", &["Inviter"]).await;
    let body = json!({"email": "anna@example.com", "name": "Anna", "role": "dispatcher"});

    let rejected = fixture.app.post(&inviter, USERS, body).await;

    assert_eq!(rejection(&rejected), (403, "role_not_grantable"));
    assert_eq!(
        rejected.1["features"],
        json!(["audit_logs.redo_self", "audit_logs.undo_self", "audit_logs.view_self"])
    );
    assert!(fixture.app.mail().take().is_empty());
    let found = "select id from auth_users where email = 'anna@example.com'";
    assert!(fixture.app.rows(found).await.is_empty());
}

#[actix_web::test]
async fn a_role_that_was_deleted_cannot_be_assigned() {
    let fixture = Fixture::new().await;
    let sql = format!(
        "delete from auth_roles where name = 'viewer' and tenant_id = '{}'",
        fixture.a.id
    );
    assert_eq!(fixture.app.sql(&sql).await, 1);

    let invited = fixture.invite("anna@example.com", "Anna", "viewer").await;

    assert_eq!(rejection(&invited), (400, "invalid_role"));
}

#[actix_web::test]
async fn an_invitation_belongs_to_one_organization() {
    let fixture = Fixture::new().await;
    let body = json!({"email": "anna@example.com", "name": "Anna", "role": "viewer"});
    let invite = async |token: &str, selected: Option<&str>| {
        let mut request = fixture.app.request(Method::POST, USERS).bearer(token).json(&body);
        if let Some(tenant) = selected {
            request = request.header("X-Tenant-Id", tenant);
        }
        let response = request.send().await;
        (response.status, response.json())
    };

    let nowhere = invite(&fixture.root, Some(&fixture.a.id.to_string())).await;
    let elsewhere = invite(&fixture.a.token, Some(&fixture.b.id.to_string())).await;

    assert_eq!(rejection(&nowhere), (400, "organization_required"));
    assert_eq!(rejection(&elsewhere), (403, "forbidden"));
}

#[actix_web::test]
async fn a_repeated_request_neither_creates_nor_mails_again() {
    let fixture = Fixture::new().await;
    let body = json!({"email": "anna@example.com", "name": "Anna", "role": "viewer"});
    let send = async || {
        let request = fixture.app.request(Method::POST, USERS).bearer(&fixture.a.token);
        request.header("Idempotency-Key", "once").json(&body).send().await
    };

    let (first, second) = (send().await, send().await);

    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!(first.json(), second.json());
    assert_eq!(second.json()["emailSent"], json!(true));
    assert_eq!(fixture.app.mail().take().len(), 1);
}

#[actix_web::test]
async fn the_log_and_the_event_of_an_invitation_have_no_secret() {
    let fixture = Fixture::new().await;
    let id = fixture.invited("anna@example.com", "viewer").await;
    let token = fixture.mailed_token();

    let entry = format!(
        "select command_id, action_type, undo_secret, to_jsonb(l)::text as whole from audit_action_logs l \
         where resource_id = '{id}'"
    );
    let entries = fixture.app.rows(&entry).await;
    let events = format!("select name, payload from core_outbox_events where payload->>'id' = '{id}' order by name");
    let events = fixture.app.rows(&events).await;

    assert_eq!(
        [
            &entries[0]["command_id"],
            &entries[0]["action_type"],
            &entries[0]["undo_secret"]
        ],
        [&json!("access.user.invite"), &json!("create"), &Value::Null]
    );
    assert!(!entries[0]["whole"].to_string().contains(&token));
    let names: Vec<_> = events
        .iter()
        .map(|event| event["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["access.user.invited", "auth.user.created"]);
    assert_eq!(events[0]["payload"]["role"], "viewer");
    assert!(!json!(events).to_string().contains(&token));
}
