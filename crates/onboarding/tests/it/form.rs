//! The form in a browser without scripts: two clicks, and another language.

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::fixture::{Fixture, SECRET, SITE, STATUS, SUBMIT, body};

/// Returns the token that the page writes into the form.
async fn form_token(fixture: &Fixture) -> String {
    let page = fixture
        .app
        .request_outside(Method::GET, "/onboarding")
        .send()
        .await
        .text();
    let (_, rest) = page.split_once(r#"name="formToken" value=""#).expect("a token");
    rest.split('"').next().expect("a token").to_owned()
}

fn with_token(token: &str, changes: &Value) -> Value {
    let mut body = body("new@example.com", "New");
    body["formToken"] = json!(token);
    for (name, value) in changes.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body
}

fn status_token(response: &TestResponse) -> String {
    assert_eq!(response.status, 201, "{}", response.text());
    response.json()["statusToken"].as_str().expect("a token").to_owned()
}

#[actix_web::test]
async fn two_clicks_are_one_request_with_one_mail() {
    // With the limit of one mail a minute, only one of the clicks may send a mail.
    let fixture = Fixture::with(SITE).await;
    let token = form_token(&fixture).await;
    let body = with_token(&token, &json!({}));

    let clicks = join_all((0..4).map(|_| fixture.submit(&body))).await;
    let later = fixture.submit(&body).await;
    fixture.app.run_jobs().await;

    for click in clicks.iter().chain([&later]) {
        assert_eq!(status_token(click), token);
        assert_eq!(click.cookie("onboarding_status").expect("a cookie").value(), token);
        assert_eq!(click.json(), clicks[0].json());
    }
    assert_eq!(fixture.app.count("onboarding_requests").await, 1);
    let link = fixture.mailed_token("new@example.com");
    let status = fixture.app.read("", &format!("{STATUS}?statusToken={token}")).await;
    assert_eq!(
        (&status["status"], &status["emailSent"]),
        (&json!("pending"), &json!(true))
    );
    fixture.open(&link, "text/html", Some(&token)).await;
    let status = fixture.app.read("", &format!("{STATUS}?statusToken={token}")).await;
    assert_eq!(
        status["status"], "processing",
        "the browser waits for the request of the mail"
    );
    let failures = "audit_action_logs where command_id = 'onboarding.request.submit'";
    assert_eq!(fixture.app.count(failures).await, 1, "a second click is no failure");
}

#[actix_web::test]
async fn two_clicks_with_a_known_address_look_the_same() {
    let fixture = Fixture::new().await;
    let token = form_token(&fixture).await;
    let body = with_token(&token, &json!({"email": "admin@alpha.test"}));

    let clicks = join_all((0..2).map(|_| fixture.submit(&body))).await;
    fixture.app.run_jobs().await;

    assert_eq!(clicks.iter().map(status_token).collect::<Vec<_>>(), [token.as_str(); 2]);
    assert_eq!(fixture.app.mail().take().len(), 1);
}

#[actix_web::test]
async fn a_corrected_form_is_another_request() {
    let fixture = Fixture::new().await;
    let token = form_token(&fixture).await;
    let first = fixture.submit(&with_token(&token, &json!({}))).await;
    assert_eq!(status_token(&first), token);

    for change in [
        json!({"email": "corrected@example.com"}),
        json!({"organizationName": "Newer"}),
        json!({"password": "another good secret", "confirmPassword": "another good secret"}),
        json!({"marketingConsent": false}),
    ] {
        let other = fixture.submit(&with_token(&token, &change)).await;
        assert_ne!(status_token(&other), token, "{change}");
    }
    for malformed in ["", "short", &"!".repeat(43), &"A".repeat(44)] {
        let other = fixture.submit(&with_token(malformed, &json!({}))).await;
        assert_ne!(status_token(&other), malformed);
    }
    assert_ne!(form_token(&fixture).await, token, "every form has a token of its own");
    assert_eq!(fixture.app.count("onboarding_requests").await, 9);
}

#[actix_web::test]
async fn another_language_keeps_what_was_typed_but_no_password() {
    let fixture = Fixture::new().await;
    let empty = fixture
        .app
        .request_outside(Method::GET, "/onboarding")
        .send()
        .await
        .text();
    assert!(
        empty.contains(r#"<button type="submit" form="sign-up" name="language" value="pl" formnovalidate lang="pl">"#),
        "{empty}"
    );
    let form = [
        ("email", "half a@"),
        ("firstName", "Ann"),
        ("lastName", ""),
        ("organizationName", "Lee & Sons"),
        ("password", SECRET),
        ("confirmPassword", SECRET),
        ("termsAccepted", "true"),
        ("locale", "en"),
    ];
    for (language, title) in [
        ("en", "Sign up"),
        ("pl", "Rejestracja"),
        ("es", "Registrarse"),
        ("de", "Registrieren"),
    ] {
        let form = [&form[..], &[("language", language)]].concat();
        let request = fixture.app.request(Method::POST, SUBMIT);

        let page = request.header("accept", "text/html").form(&form).send().await;

        let html = page.text();
        assert_eq!(page.status, 200, "{html}");
        assert_eq!(page.header("content-language").as_deref(), Some(language));
        assert_eq!(page.cookie("locale").expect("a cookie").value(), language);
        assert!(page.cookie("onboarding_status").is_none());
        assert!(html.contains(&format!("<h1 tabindex=\"-1\">{title}</h1>")), "{html}");
        for kept in [
            r#"value="half a@""#,
            r#"value="Ann""#,
            r#"value="Lee &#38; Sons""#,
            " checked",
            &format!(r#"name="locale" value="{language}""#),
        ] {
            assert!(html.contains(kept), "{kept} in {html}");
        }
        assert!(!html.contains(SECRET) && !html.contains(r#"aria-invalid="true""#));
    }
    for not_offered in ["fr", ""] {
        let form = [&form[..], &[("language", not_offered)]].concat();
        let request = fixture.app.request(Method::POST, SUBMIT);
        let page = request.header("accept", "text/html").form(&form).send().await;
        assert_eq!((page.status, page.cookie("locale").is_none()), (200, true));
    }
    assert_eq!(fixture.app.count("onboarding_requests").await, 0);
}
