//! The pages without a script.

use actix_web::http::Method;

use crate::fixture::{Fixture, SECRET, SUBMIT};

#[actix_web::test]
async fn the_form_is_shown_in_four_languages() {
    let fixture = Fixture::new().await;
    for (language, title) in [
        ("en", "Sign up"),
        ("pl", "Rejestracja"),
        ("es", "Registrarse"),
        ("de", "Registrieren"),
    ] {
        let request = fixture.app.request_outside(Method::GET, "/onboarding?status=invalid");
        let page = request.header("accept-language", language).send().await;
        let html = page.text();
        assert_eq!(page.status, 200);
        assert!(html.contains(&format!("<h1 tabindex=\"-1\">{title}</h1>")), "{html}");
        assert!(html.contains(r#"role="alert""#));
        assert!(!html.contains("<script"));
        assert_eq!(page.header("referrer-policy").as_deref(), Some("same-origin"));
    }
}

#[actix_web::test]
async fn a_form_with_mistakes_is_shown_again_with_its_values() {
    let fixture = Fixture::new().await;
    let form = [
        ("email", "\"><script>alert(1)</script>"),
        ("firstName", "Ann"),
        ("lastName", ""),
        ("organizationName", "Lee & Sons"),
        ("password", SECRET),
        ("confirmPassword", SECRET),
        ("termsAccepted", "true"),
    ];
    let request = fixture.app.request(Method::POST, SUBMIT);

    let page = request.header("accept", "text/html").form(&form).send().await;

    let html = page.text();
    assert_eq!(page.status, 400);
    assert!(html.contains("Fill in this field.") && html.contains("Enter an e-mail address"));
    assert!(html.contains(r#"value="Lee &#38; Sons""#), "{html}");
    assert!(!html.contains("<script>") && !html.contains(SECRET));
    assert!(html.contains("checked"));
}

#[actix_web::test]
async fn a_valid_form_leads_to_the_page_that_waits() {
    let fixture = Fixture::new().await;
    let form = [
        ("email", "new@example.com"),
        ("firstName", "Ann"),
        ("lastName", "Lee"),
        ("organizationName", "New"),
        ("password", SECRET),
        ("confirmPassword", SECRET),
        ("termsAccepted", "true"),
        ("locale", "de"),
    ];
    let request = fixture.app.request(Method::POST, SUBMIT);

    let page = request.header("accept", "text/html").form(&form).send().await;

    assert_eq!(page.status, 201);
    assert!(page.text().contains("url=https://office.example/onboarding/preparing"));
    let cookie = page.cookie("onboarding_status").expect("a cookie");
    let waiting = async |cookie: &str| {
        let request = fixture.app.request_outside(Method::GET, "/onboarding/preparing");
        request.cookie("onboarding_status", cookie).send().await.text()
    };
    assert!(waiting(cookie.value()).await.contains("Check your mail"));
    fixture.app.run_jobs().await;
    let token = fixture.mailed_token("new@example.com");
    fixture.open(&token, "text/html", Some(cookie.value())).await;
    assert!(waiting(cookie.value()).await.contains("Preparing your account"));
    fixture.app.run_jobs().await;
    let ready = waiting(cookie.value()).await;
    assert!(
        ready.contains("Your account is ready") && ready.contains("/login?tenant="),
        "{ready}"
    );
    assert!(
        waiting("unknown")
            .await
            .contains("You get a mail as soon as it is ready.")
    );
}
