//! The form.

use std::collections::BTreeSet;

use actix_web::http::Method;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{Duration, MailServer, TestApp};
use serde_json::{Value, json};

use crate::fixture::{Fixture, MODULES, RESEND, SECRET, SITE, STATUS, SUBMIT, VERIFY, body};

fn members(body: &Value) -> BTreeSet<&str> {
    body.as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect()
}

#[actix_web::test]
async fn onb_1_known_and_unknown_addresses_get_the_same_response() {
    let fixture = Fixture::new().await;

    let new = fixture.submit(&body("new@example.com", "New")).await;
    let known = fixture.submit(&body("admin@alpha.test", "Known")).await;
    fixture.app.run_jobs().await;

    assert_eq!((new.status, known.status), (201, 201));
    let (new_body, known_body) = (new.json(), known.json());
    assert_eq!(members(&new_body), members(&known_body));
    assert_eq!(
        members(&new_body),
        BTreeSet::from(["email", "expiresAt", "ok", "status", "statusToken"])
    );
    for member in ["ok", "status"] {
        assert_eq!(new_body[member], known_body[member]);
    }
    let names = |response: &backoffice_test_support::TestResponse| {
        let names = response.headers.keys().map(|name| name.as_str().to_owned());
        names.collect::<BTreeSet<_>>()
    };
    assert_eq!(names(&new), names(&known));
    let subjects: Vec<(String, String)> = fixture
        .app
        .mail()
        .take()
        .into_iter()
        .map(|mail| (mail.to, mail.subject))
        .collect();
    assert_eq!(
        subjects.into_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from([
            ("new@example.com".to_owned(), "Confirm your sign-up of New".to_owned()),
            ("admin@alpha.test".to_owned(), "You already have an account".to_owned()),
        ])
    );
    let known = fixture
        .status(known_body["statusToken"].as_str().expect("a token"))
        .await;
    assert_eq!(
        (&known["status"], &known["emailSent"]),
        (&json!("pending"), &json!(true))
    );
}

#[actix_web::test]
async fn a_submission_is_stored_without_password_token_and_address() {
    let fixture = Fixture::new().await;

    let response = fixture.submit(&body(" Ann@Example.com ", "Lee & Sons")).await;

    let token = response.json()["statusToken"].as_str().expect("a token").to_owned();
    assert_eq!(response.json()["email"], "Ann@Example.com");
    let cookie = response.cookie("onboarding_status").expect("a cookie");
    assert_eq!((cookie.value(), cookie.path()), (token.as_str(), Some("/")));
    assert_eq!((cookie.http_only(), cookie.secure()), (Some(true), Some(true)));
    assert_eq!(cookie.max_age().map(|age| age.whole_hours()), Some(24));
    let stored = format!(
        "{:?}",
        fixture
            .app
            .rows("select r.*, l.snapshot_after from onboarding_requests r, audit_action_logs l")
            .await
    );
    for secret in [SECRET, token.as_str(), "Ann@Example.com", "ann@example.com"] {
        assert!(!stored.contains(secret), "{secret}");
    }
    assert!(stored.contains("Lee & Sons"));
    let entry = fixture
        .app
        .rows("select actor_id, undo_secret from audit_action_logs where command_id = 'onboarding.request.submit'")
        .await;
    assert_eq!(entry, [json!({"actor_id": null, "undo_secret": null})]);
}

#[actix_web::test]
async fn every_field_has_its_message() {
    let fixture = Fixture::new().await;
    let long = "x".repeat(201);
    for (field, value, code) in [
        ("email", json!(""), "required"),
        ("email", json!("ann"), "invalid_value"),
        ("email", json!(format!("{}@example.com", "x".repeat(250))), "too_long"),
        ("firstName", json!(" "), "required"),
        ("firstName", json!(long[..121]), "too_long"),
        ("lastName", json!("a\u{7}b"), "invalid_value"),
        ("organizationName", json!(long), "too_long"),
        ("password", json!("short"), "too_short"),
        ("password", json!("password1"), "too_common"),
        ("password", json!("new@example.com"), "equals_email"),
        ("password", json!("a very good \0 secret"), "invalid_value"),
        ("email", json!("new\0@example.com"), "invalid_value"),
        ("confirmPassword", json!("another good secret"), "invalid_value"),
        ("confirmPassword", json!(""), "required"),
        ("marketingConsent", json!(null), "required"),
        ("firstName", json!([7]), "invalid_type"),
        ("termsAccepted", json!(false), "required"),
    ] {
        let mut body = body("new@example.com", "New");
        body[field] = value.clone();
        if field == "password" {
            body["confirmPassword"] = value.clone();
        }

        let response = fixture.submit(&body).await;

        let problem = response.json();
        assert_eq!(
            (response.status, &problem["ok"]),
            (400, &json!(false)),
            "{field} {value}"
        );
        assert_eq!(problem["details"][0]["path"], field, "{problem}");
        assert_eq!(problem["details"][0]["code"], code, "{problem}");
        assert_eq!(problem["fieldErrors"][field], problem["details"][0]["message"]);
        assert!(response.cookie("onboarding_status").is_none());
    }
    assert_eq!(fixture.app.count("onboarding_requests").await, 0);
    let all = fixture.submit(&json!({})).await.json();
    assert_eq!(
        all["fieldErrors"].as_object().map(serde_json::Map::len),
        Some(7),
        "{all}"
    );
}

#[actix_web::test]
async fn a_locale_that_is_not_served_is_the_default() {
    let fixture = Fixture::new().await;
    for (locale, subject) in [
        (json!("pl-PL"), "Potwierdź rejestrację: New"),
        (json!("fr"), "Confirm your sign-up of New"),
        (Value::Null, "Confirm your sign-up of New"),
        (json!("de"), "Bestätigen Sie die Registrierung von New"),
        (json!("es"), "Confirma el registro de New"),
    ] {
        let mut body = body("new@example.com", "New");
        body["locale"] = locale;
        assert_eq!(fixture.submit(&body).await.status, 201);
        fixture.app.run_jobs().await;
        let mail = fixture.app.mail().take().remove(0);
        assert_eq!(mail.subject, subject);
        // The link works for `onboarding.link_life` from the submission, whenever the mail is sent.
        assert!(!mail.text.contains("24 "), "{}", mail.text);
    }
}

#[actix_web::test]
async fn other_sites_are_rejected() {
    let fixture = Fixture::with(&format!(
        "{NO_LIMITS}[app]\npublic_url = 'https://office.example'\nallowed_origins = ['https://www.example']\n"
    ))
    .await;
    for (origin, status) in [
        ("https://office.example", 201),
        ("https://www.example", 201),
        ("https://evil.example", 400),
        ("null", 400),
    ] {
        let request = fixture.app.request(Method::POST, SUBMIT).header("origin", origin);
        let response = request.json(&body("new@example.com", "New")).send().await;
        assert_eq!(response.status, status, "{origin}");
    }
    assert_eq!(fixture.app.count("onboarding_requests").await, 2);
}

#[actix_web::test]
async fn onb_8_without_a_public_address_nothing_is_stored() {
    let fixture = Fixture::with(NO_LIMITS).await;

    let response = fixture.submit(&body("new@example.com", "New")).await;

    assert_eq!(response.status, 500);
    assert_eq!(response.json()["ok"], false);
    assert_eq!(response.json()["error"], "Sign-up is not configured");
    assert_eq!(fixture.app.count("onboarding_requests").await, 0);
}

#[actix_web::test]
async fn onb_7_disabled_sign_up_is_not_found() {
    let fixture = Fixture::with(&format!("{NO_LIMITS}{SITE}[onboarding]\nenabled = false\n")).await;
    assert_eq!(fixture.submit(&body("new@example.com", "New")).await.status, 404);
    for path in ["/onboarding/onboarding/status", "/onboarding/onboarding/verify"] {
        let response = fixture.app.request(Method::GET, path).send().await;
        assert_eq!(
            (response.status, &response.json()["ok"]),
            (404, &json!(false)),
            "{path}"
        );
    }
    for (method, path) in [
        (Method::POST, SUBMIT.to_owned()),
        (Method::POST, RESEND.to_owned()),
        (Method::POST, VERIFY.to_owned()),
        (Method::GET, format!("{VERIFY}?token=%00")),
        (Method::GET, format!("{STATUS}?statusToken=%00")),
    ] {
        let request = fixture.app.request(method.clone(), &path);
        let request = match method {
            Method::GET => request,
            _ => request.json(&json!([7])),
        };
        assert_eq!(request.send().await.status, 404, "{method} {path}");
    }
    let page = fixture.app.request_outside(Method::GET, "/onboarding").send().await;
    assert_eq!(page.status, 404);
}

#[actix_web::test]
async fn an_address_gets_one_mail_a_minute_and_three_a_day() {
    let limits = "[rate_limits.limits]\n'onboarding.submit.ip' = '100/60'\n";
    let fixture = Fixture::with(&format!("{SITE}{limits}")).await;
    let mut sent = Vec::new();
    for minutes in 0..6 {
        for address in ["new@example.com", " NEW@example.com"] {
            assert_eq!(fixture.submit(&body(address, "New")).await.status, 201);
        }
        fixture.app.run_jobs().await;
        sent.push(fixture.app.mail().take().len());
        if minutes < 5 {
            fixture.app.advance(Duration::seconds(61));
        }
    }
    assert_eq!(sent, [1, 1, 1, 0, 0, 0]);
    assert_eq!(
        fixture
            .app
            .count("onboarding_requests where email_sent_at is null")
            .await,
        9
    );
}

#[actix_web::test]
async fn every_address_that_the_form_accepts_gets_its_mail() {
    let server = MailServer::start().await;
    let config = format!("{CONFIG}{NO_LIMITS}{SITE}{}", server.config());
    let app = TestApp::builder(&MODULES).config(&config).with_real_mail();
    let fixture = Fixture(TwoTenants::inside(app.build().await).await);
    let long = format!("{}@example.com", "x".repeat(65));
    for (address, written) in [
        ("a..b@example.com", "\"a..b\"@example.com"),
        (".a@example.com", "\".a\"@example.com"),
        ("a.@example.com", "\"a.\"@example.com"),
        (&long, long.as_str()),
    ] {
        let person = fixture.person(address, "New").await;
        fixture.app.run_jobs().await;

        assert_eq!(
            fixture.status(&person.status_token).await["emailSent"],
            true,
            "{address}"
        );
        let messages = server.messages().join("\n");
        assert!(messages.contains(written), "{written} is not in {messages}");
    }
}
