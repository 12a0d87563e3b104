//! The link of the mail.

use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::json;

use crate::fixture::{Fixture, RESEND, SECRET, VERIFY, body};

const HTML: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

#[actix_web::test]
async fn onb_2_the_browser_of_the_submission_verifies_at_once() {
    let fixture = Fixture::new().await;
    let (person, token) = fixture.invited("new@example.com", "New").await;

    let page = fixture.open(&token, HTML, Some(&person.status_token)).await;

    assert_eq!(page.status, 200);
    let html = page.text();
    assert!(
        html.contains(r#"<meta http-equiv="refresh" content="0; url=https://office.example/onboarding/preparing">"#),
        "{html}"
    );
    assert!(html.contains(r#"<a href="https://office.example/onboarding/preparing">"#));
    assert_eq!(page.header("cache-control").as_deref(), Some("no-store"));
    assert_eq!(page.header("referrer-policy").as_deref(), Some("no-referrer"));
    assert_eq!(
        page.header("content-security-policy").as_deref(),
        Some("default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'")
    );
    assert_eq!(fixture.status(&person.status_token).await["status"], "processing");
    fixture.app.run_jobs().await;
    let status = fixture.status(&person.status_token).await;
    assert_eq!(
        (&status["status"], &status["ready"]),
        (&json!("completed"), &json!(true))
    );
    let tenant = status["tenantId"].as_str().expect("a tenant");
    let login = format!("https://office.example/login?tenant={tenant}");
    assert_eq!(status["loginUrl"], login);
    let page = fixture.open(&token, HTML, None).await.text();
    assert!(page.contains(&login), "{page}");
    let form = [("email", "new@example.com"), ("password", SECRET)];
    let signed_in = fixture
        .app
        .request(Method::POST, "/auth/login")
        .form(&form)
        .send()
        .await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.text());
    let access = signed_in.json()["token"].as_str().expect("a token").to_owned();
    let (_, profile) = fixture.app.get(&access, "/auth/profile").await;
    assert_eq!(profile["email"], "new@example.com", "{profile}");
    let (status, roles) = fixture.app.get(&access, "/auth/roles").await;
    assert_eq!((status, &roles["total"]), (200, &json!(2)), "{roles}");
}

#[actix_web::test]
async fn onb_3_programs_that_open_links_create_nothing() {
    let fixture = Fixture::new().await;
    let (person, token) = fixture.invited("new@example.com", "New").await;
    for _ in 0..10 {
        let page = fixture.open(&token, "*/*", None).await;
        assert_eq!(page.status, 200);
        assert!(page.text().contains(r#"type="password""#));
    }
    fixture.app.run_jobs().await;
    assert_eq!(fixture.tenants("New").await, 0);
    assert_eq!(fixture.status(&person.status_token).await["status"], "pending");

    let response = fixture.confirm(&token, SECRET).await;

    assert_eq!(
        (response.status, response.json()),
        (
            200,
            json!({"ok": true, "status": "processing", "tenantId": null, "loginUrl": null})
        )
    );
    fixture.app.run_jobs().await;
    assert_eq!(fixture.tenants("New").await, 1);
    let again = fixture.confirm(&token, "any password").await.json();
    assert_eq!(again["status"], "completed");
}

#[actix_web::test]
async fn onb_3_the_fifth_wrong_password_ends_the_request() {
    let fixture = Fixture::new().await;
    let (person, token) = fixture.invited("new@example.com", "New").await;
    let unknown = fixture.confirm("a\0b", "wrong").await;
    assert_eq!(
        (unknown.status, unknown.json()["status"].clone()),
        (400, json!("invalid"))
    );
    for (attempt, password) in (1..).zip(["wrong", "wr\0ng", "wrong", "wrong", "wrong"]) {
        let response = fixture.confirm(&token, password).await;
        assert_eq!(
            (response.status, response.json()["status"].clone()),
            (400, json!("wrong_password")),
            "attempt {attempt}"
        );
    }
    assert_eq!(fixture.status(&person.status_token).await["status"], "expired");
    let response = fixture.confirm(&token, SECRET).await;
    assert_eq!(
        (response.status, response.json()["status"].clone()),
        (400, json!("invalid"))
    );
    fixture.app.run_jobs().await;
    assert_eq!(fixture.tenants("New").await, 0);
    let left = fixture
        .app
        .count("onboarding_requests where password_hash is not null")
        .await;
    assert_eq!(left, 0);
}

#[actix_web::test]
async fn a_wrong_password_in_a_browser_shows_the_form_again() {
    let fixture = Fixture::new().await;
    let (_, token) = fixture.invited("new@example.com", "New").await;
    let form = [("token", token.as_str()), ("password", "wrong")];
    let request = fixture.app.request(Method::POST, VERIFY).header("accept", HTML);

    let page = request.form(&form).send().await;

    assert_eq!(page.status, 400);
    assert!(page.text().contains(r#"role="alert""#));
    let form = [("token", token.as_str()), ("password", SECRET)];
    let request = fixture.app.request(Method::POST, VERIFY).header("accept", HTML);
    let page = request.form(&form).send().await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("/onboarding/preparing"));
}

#[actix_web::test]
async fn onb_3_the_fifth_wrong_password_in_a_browser_shows_what_the_sixth_shows() {
    let fixture = Fixture::new().await;
    let (person, token) = fixture.invited("new@example.com", "New").await;
    let form = [("token", token.as_str()), ("password", "wrong")];
    let send = async || {
        let request = fixture.app.request(Method::POST, VERIFY).header("accept", HTML);
        request.form(&form).send().await
    };
    for attempt in 1..=4 {
        let page = send().await;
        assert_eq!(page.status, 400, "attempt {attempt}");
        assert!(page.text().contains(r#"type="password""#), "{}", page.text());
    }

    let (fifth, sixth) = (send().await, send().await);

    assert_eq!((fifth.status, sixth.status), (400, 200));
    for html in [fifth.text(), sixth.text()] {
        assert!(
            html.contains("url=https://office.example/onboarding?status=invalid"),
            "{html}"
        );
        assert!(!html.contains(r#"type="password""#), "{html}");
    }
    let form = fixture.app.request_outside(Method::GET, "/onboarding?status=invalid");
    let request = fixture.app.request_outside(Method::GET, "/onboarding/preparing");
    let waiting = request.cookie("onboarding_status", &person.status_token);
    for page in [form.send().await.text(), waiting.send().await.text()] {
        assert!(page.contains("five wrong passwords"), "{page}");
    }
}

#[actix_web::test]
async fn onb_4_two_verifications_at_once_create_one_tenant() {
    let fixture = Fixture::new().await;
    let (_, token) = fixture.invited("new@example.com", "New").await;

    let (one, two) = futures_util::future::join(
        fixture.open(&token, "application/json", None),
        fixture.open(&token, "application/json", None),
    )
    .await;

    assert_eq!((one.status, two.status), (200, 200), "{} {}", one.text(), two.text());
    assert_eq!(one.json()["status"], "processing");
    fixture.app.run_jobs().await;
    assert_eq!(fixture.tenants("New").await, 1);
    let done = fixture.open(&token, "application/json", None).await.json();
    assert_eq!(done["status"], "completed");
    assert!(done["loginUrl"].as_str().is_some_and(|url| url.contains("?tenant=")));
}

#[actix_web::test]
async fn links_that_do_not_work_look_the_same() {
    let fixture = Fixture::new().await;
    let (_, expired) = fixture.invited("late@example.com", "Late").await;
    fixture.app.advance(Duration::seconds(86_401));
    let unknown = "A".repeat(43);
    for token in [expired.as_str(), &unknown, "", "x"] {
        let response = fixture.open(token, "application/json", None).await;
        assert_eq!(
            (
                response.status,
                response.json()["error"].clone(),
                response.json()["status"].clone()
            ),
            (400, json!("Invalid or expired link"), json!("invalid")),
            "{token}"
        );
        let page = fixture.open(token, HTML, None).await;
        assert_eq!(page.status, 200);
        assert!(
            page.text()
                .contains("url=https://office.example/onboarding?status=invalid")
        );
    }
    let missing = fixture
        .app
        .request(Method::GET, VERIFY)
        .header("accept", "application/json");
    assert_eq!(missing.send().await.status, 400);
}

#[actix_web::test]
async fn the_mail_to_an_account_holds_no_link_that_verifies() {
    let fixture = Fixture::new().await;
    fixture.person("admin@alpha.test", "Known").await;
    fixture.app.run_jobs().await;
    let mails = fixture.app.mail().take();
    assert!(!mails[0].text.contains("token="), "{}", mails[0].text);
    assert!(mails[0].text.contains("https://office.example/login"));
}

#[actix_web::test]
async fn another_mail_replaces_the_link() {
    let fixture = Fixture::new().await;
    let (person, first) = fixture.invited("new@example.com", "New").await;
    for token in [person.status_token.as_str(), "unknown", &"B".repeat(43)] {
        let (status, body) = fixture.app.post("", RESEND, json!({"statusToken": token})).await;
        assert_eq!((status, body), (200, json!({"ok": true})));
    }
    fixture.app.run_jobs().await;
    let second = fixture.mailed_token("new@example.com");

    assert_eq!(fixture.open(&first, "application/json", None).await.status, 400);
    assert_eq!(fixture.open(&second, "application/json", None).await.status, 200);
    let (status, _) = fixture
        .app
        .post("", RESEND, json!({"statusToken": person.status_token}))
        .await;
    fixture.app.run_jobs().await;
    assert_eq!(status, 200);
    let mails = fixture.app.mail().take();
    assert_eq!(mails.len(), 1, "only the mail that announces the tenant");
    assert_eq!(mails[0].subject, "New is ready");
}

#[actix_web::test]
async fn a_verification_ends_the_other_requests_of_the_address() {
    let fixture = Fixture::new().await;
    let (first, _) = fixture.invited("new@example.com", "First").await;
    let (_, token) = fixture.invited("NEW@example.com", "Second").await;
    let (other, _) = fixture.invited("other@example.com", "Other").await;

    assert_eq!(fixture.open(&token, "application/json", None).await.status, 200);

    assert_eq!(fixture.status(&first.status_token).await["status"], "expired");
    assert_eq!(fixture.status(&other.status_token).await["status"], "pending");
    fixture.app.run_jobs().await;
    assert_eq!(
        (fixture.tenants("First").await, fixture.tenants("Second").await),
        (0, 1)
    );
    let mails = fixture.app.mail().take();
    assert_eq!((mails.len(), mails[0].to.as_str()), (1, "NEW@example.com"));
    let response = fixture.submit(&body("new@example.com", "Third")).await;
    assert_eq!(response.status, 201);
    fixture.app.run_jobs().await;
    assert_eq!(fixture.app.mail().take()[0].subject, "You already have an account");
}

#[actix_web::test]
async fn onb_3_the_right_password_is_accepted_after_four_wrong_ones() {
    let fixture = Fixture::new().await;
    let (person, token) = fixture.invited("new@example.com", "New").await;
    for _ in 0..4 {
        assert_eq!(fixture.confirm(&token, "wrong").await.status, 400);
    }

    let response = fixture.confirm(&token, SECRET).await;

    assert_eq!(
        (response.status, response.json()["status"].clone()),
        (200, json!("processing"))
    );
    fixture.app.run_jobs().await;
    assert_eq!(fixture.status(&person.status_token).await["status"], "completed");
}

#[actix_web::test]
async fn a_verification_ends_a_request_that_was_submitted_while_the_address_had_an_account() {
    let fixture = Fixture::new().await;
    let (user, _) = fixture.user("new@example.com", &[]).await;
    let known = fixture.person("new@example.com", "Known").await;
    let path = format!("/auth/users?id={user}");
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, json!(null)).await.0, 200);
    let (_, token) = fixture.invited("new@example.com", "New").await;
    let kinds = "select kind, status from onboarding_requests order by kind";
    assert_eq!(
        fixture.app.rows(kinds).await,
        [
            json!({"kind": "existing", "status": "pending"}),
            json!({"kind": "new", "status": "pending"})
        ]
    );

    assert_eq!(fixture.open(&token, "application/json", None).await.status, 200);

    assert_eq!(fixture.status(&known.status_token).await["status"], "expired");
    let stored = "onboarding_requests where kind = 'existing' and status = 'expired' and password_hash is null";
    assert_eq!(fixture.app.count(stored).await, 1);
}

#[actix_web::test]
async fn a_cookie_beside_another_one_of_its_name_confirms_nothing() {
    let fixture = Fixture::new().await;
    let (person, token) = fixture.invited("new@example.com", "New").await;
    let own = format!("onboarding_status={}", person.status_token);
    for cookies in [
        format!("{own}; onboarding_status=planted"),
        format!("onboarding_status=planted; {own}"),
    ] {
        let path = format!("{VERIFY}?token={token}");
        let request = fixture.app.request(Method::GET, &path).header("accept", HTML);

        let page = request.header("cookie", &cookies).send().await.text();

        assert!(page.contains(r#"type="password""#), "{page}");
    }
}

#[actix_web::test]
async fn a_person_who_submits_twice_and_confirms_the_first_waits_for_that_one() {
    let fixture = Fixture::new().await;
    let (_, token) = fixture.invited("new@example.com", "First").await;
    let second = fixture.person("new@example.com", "Second").await;
    let form = [("token", token.as_str()), ("password", SECRET)];
    let request = fixture.app.request(Method::POST, VERIFY).header("accept", HTML);
    let request = request.cookie("onboarding_status", &second.status_token);

    let confirmed = request.form(&form).send().await.text();
    let again = fixture.open(&token, HTML, Some(&second.status_token)).await.text();

    let (_, address) = confirmed
        .split_once("0; url=https://office.example")
        .expect("an address");
    let (address, _) = address.split_once('"').expect("an attribute");
    assert!(again.contains(address), "{address} is not in {again}");
    let request = fixture.app.request_outside(Method::GET, address);
    let request = request.cookie("onboarding_status", &second.status_token);
    let page = request.send().await.text();
    assert!(page.contains("Your account is being prepared"), "{page}");
    assert!(
        page.contains("redirect=%2Fonboarding%2Fpreparing%3Fstatus%3Dconfirmed"),
        "{page}"
    );
    let request = fixture.app.request_outside(Method::GET, "/onboarding/preparing");
    let request = request.cookie("onboarding_status", &second.status_token);
    assert!(request.send().await.text().contains("The sign-up has expired"));
}

#[actix_web::test]
async fn a_query_that_cannot_be_read_is_a_link_that_does_not_work() {
    let fixture = Fixture::new().await;
    let token = "A".repeat(43);
    for query in ["token=%00".to_owned(), format!("token={token}&token={token}")] {
        let open = async |accept: &str| {
            let request = fixture.app.request(Method::GET, &format!("{VERIFY}?{query}"));
            request.header("accept", accept).send().await
        };

        let (page, data) = (open(HTML).await, open("application/json").await);

        assert_eq!(page.status, 200, "{query}");
        let html = page.text();
        assert!(
            html.contains("url=https://office.example/onboarding?status=invalid"),
            "{html}"
        );
        assert_eq!(
            (data.status, data.json()),
            (
                400,
                json!({"ok": false, "error": "Invalid or expired link", "status": "invalid"})
            ),
            "{query}"
        );
    }
}

#[actix_web::test]
async fn the_page_after_a_wrong_password_names_the_field_and_keeps_the_link() {
    let fixture = Fixture::new().await;
    let (_, token) = fixture.invited("new@example.com", "New").await;
    let first = fixture.open(&token, HTML, None).await.text();
    let form = [("token", token.as_str()), ("password", "wrong")];
    let request = fixture.app.request(Method::POST, VERIFY).header("accept", HTML);

    let again = request.form(&form).send().await.text();

    assert!(!first.contains("aria-invalid"), "{first}");
    assert!(
        again.contains(r#"role="alert" id="password-problem""#)
            && again.contains(r#"required aria-invalid="true" aria-describedby="password-problem""#),
        "{again}"
    );
    let here = format!("redirect=%2Fapi%2Fonboarding%2Fonboarding%2Fverify%3Ftoken%3D{token}");
    for page in [first, again] {
        assert!(page.contains(&here), "{here} is not in {page}");
    }
    let path = format!("/auth/locale?locale=de&{here}");
    let chosen = fixture.app.request(Method::GET, &path).send().await;
    assert_eq!(
        chosen.header("location"),
        Some(format!("/api/onboarding/onboarding/verify?token={token}"))
    );
}
