//! The pages without a script.

use actix_web::http::Method;

use backoffice_test_accounts::NO_LIMITS;

use crate::fixture::{Fixture, SECRET, SITE, SUBMIT, VERIFY};

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
async fn the_first_field_with_a_mistake_has_the_focus() {
    let fixture = Fixture::new().await;
    let empty = fixture.app.request_outside(Method::GET, "/onboarding").send().await;
    assert!(!empty.text().contains(" autofocus"), "{}", empty.text());
    for (terms, password, last_name, focused) in [
        ("false", "short", "", "lastName"),
        ("false", "short", "Lee", "password"),
        ("false", SECRET, "Lee", "termsAccepted"),
    ] {
        let form = [
            ("email", "new@example.com"),
            ("firstName", "Ann"),
            ("lastName", last_name),
            ("organizationName", "New"),
            ("password", password),
            ("confirmPassword", password),
            ("termsAccepted", terms),
        ];
        let request = fixture.app.request(Method::POST, SUBMIT);

        let page = request.header("accept", "text/html").form(&form).send().await;

        let html = page.text();
        assert_eq!((page.status, html.matches(" autofocus").count()), (400, 1), "{html}");
        let (before, _) = html.split_once(" autofocus").expect("a focused field");
        let (_, field) = before.rsplit_once("<input ").expect("a field");
        assert!(field.contains(&format!(r#"name="{focused}""#)), "{field}");
    }
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
    let pending = waiting(cookie.value()).await;
    assert!(
        pending.contains("Check your mail") && pending.contains("If no mail arrives"),
        "{pending}"
    );
    assert!(
        pending.contains(r#"<a href="/onboarding">Sign up again</a>"#),
        "{pending}"
    );
    for part in [
        r#"<noscript><meta http-equiv="refresh" content="5; url=https://office.example/onboarding/preparing"></noscript>"#,
        r#"/waiting.js" defer></script>"#,
        r#"data-status="pending" data-seconds="5""#,
    ] {
        assert!(pending.contains(part), "{part} in {pending}");
    }
    fixture.app.run_jobs().await;
    let token = fixture.mailed_token("new@example.com");
    fixture.open(&token, "text/html", Some(cookie.value())).await;
    let processing = waiting(cookie.value()).await;
    assert!(
        processing.contains("Preparing your account") && !processing.contains("Sign up again"),
        "{processing}"
    );
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

#[actix_web::test]
async fn a_browser_that_does_not_know_the_request_any_more_gets_both_ways_to_go_on() {
    let fixture = Fixture::new().await;
    for (language, question) in [
        ("en", "Have you confirmed the sign-up?"),
        ("pl", "Czy rejestracja jest potwierdzona?"),
        ("es", "¿Has confirmado el registro?"),
        ("de", "Haben Sie die Registrierung bestätigt?"),
    ] {
        let request = fixture.app.request_outside(Method::GET, "/onboarding/preparing");
        let page = request.header("accept-language", language).send().await.text();

        assert!(page.contains(&format!("<h1 tabindex=\"-1\">{question}</h1>")), "{page}");
        assert!(
            page.contains(r#"href="https://office.example/login""#) && page.contains(r#"href="/onboarding""#),
            "{page}"
        );
    }
}

#[actix_web::test]
async fn a_browser_gets_rejections_as_pages() {
    let fixture = Fixture::with(SITE).await;
    let send = async |method: Method, path: &str, accept: &str| {
        let request = fixture.app.request(method, path).header("accept", accept);
        request.form(&[("email", "a\0b")]).send().await
    };

    let unreadable = send(Method::POST, SUBMIT, "text/html").await;
    let for_a_program = send(Method::POST, SUBMIT, "application/json").await;

    assert_eq!((unreadable.status, for_a_program.status), (400, 400));
    assert!(
        unreadable.text().contains("The form could not be read."),
        "{}",
        unreadable.text()
    );
    assert_eq!(
        unreadable.header("content-security-policy").as_deref(),
        Some("default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'")
    );
    assert_eq!(for_a_program.json()["ok"], false);
    let opened = format!("{VERIFY}?token={}", "A".repeat(43));
    for (method, path) in [(Method::POST, SUBMIT), (Method::POST, VERIFY), (Method::GET, &*opened)] {
        for _ in 0..10 {
            send(method.clone(), path, "application/json").await;
        }
        let page = send(method.clone(), path, "text/html").await;
        let data = send(method.clone(), path, "*/*").await;
        assert_eq!((page.status, data.status), (429, 429), "{method} {path}");
        let text = page.text();
        assert!(text.contains("There were too many attempts. Wait 1 minute"), "{text}");
        let opens_again = text.contains(&format!(r#"<a href="/api{path}">Open the link again</a>"#));
        assert_eq!(opens_again, method == Method::GET, "{text}");
        assert_eq!(text.contains(r#"<a href="/onboarding">"#), path == SUBMIT, "{text}");
        assert!(page.header("retry-after").is_some());
        assert_eq!(data.json()["ok"], false);
    }
}

#[actix_web::test]
async fn without_mail_the_pages_say_that_persons_cannot_sign_up() {
    let fixture = Fixture::with(NO_LIMITS).await;

    let form = fixture.app.request_outside(Method::GET, "/onboarding").send().await;
    let request = fixture.app.request(Method::POST, SUBMIT).header("accept", "text/html");
    let rejected = request.form(&[("email", "new@example.com")]).send().await;

    assert_eq!((form.status, rejected.status), (200, 500));
    for page in [form.text(), rejected.text()] {
        assert!(page.contains("sign up at the moment."), "{page}");
        assert!(!page.contains("<form"), "{page}");
    }
}

#[actix_web::test]
async fn a_signed_in_user_is_offered_the_languages_of_the_tenant() {
    let fixture = Fixture::new().await;
    let chosen = format!(
        "update directory_tenants set locales = '{{de,pl}}' where id = '{}'",
        fixture.a.id
    );
    fixture.app.sql(&chosen).await;
    for path in ["/onboarding", "/onboarding/preparing"] {
        let request = fixture.app.request_outside(Method::GET, path);
        let page = request.cookie("auth_token", &fixture.a.token).send().await;

        assert_eq!(page.header("content-language").as_deref(), Some("de"));
        let text = page.text();
        let offers = |code: &str| {
            text.contains(&format!("locale?locale={code}&"))
                || text.contains(&format!(r#"name="language" value="{code}""#))
        };
        assert!(offers("pl") && !offers("en"), "{text}");
    }
}

#[actix_web::test]
async fn a_link_that_was_opened_too_often_says_in_every_language_when_to_come_back() {
    let fixture = Fixture::with(&format!(
        "{SITE}[rate_limits.limits]\n'onboarding.verify.ip' = '1/45'\n"
    ))
    .await;
    let opened = format!("{VERIFY}?token={}", "A".repeat(43));
    let open = async |language: &str| {
        let request = fixture.app.request(Method::GET, &opened);
        let request = request.header("accept", "text/html,*/*;q=0.8");
        request.header("accept-language", language).send().await
    };
    assert_eq!(open("en").await.status, 200);
    for (language, title, text) in [
        (
            "en",
            "Confirm the sign-up",
            "Wait 45 seconds, then open the link of the mail again.",
        ),
        (
            "pl",
            "Potwierdź rejestrację",
            "Odczekaj 45 sekund, a potem ponownie otwórz link z wiadomości.",
        ),
        (
            "es",
            "Confirma el registro",
            "Espera 45 segundos y vuelve a abrir el enlace del correo.",
        ),
        (
            "de",
            "Registrierung bestätigen",
            "Warten Sie 45 Sekunden und öffnen Sie dann den Link der E-Mail erneut.",
        ),
    ] {
        let page = open(language).await;

        assert_eq!(page.status, 429);
        assert_eq!(page.header("retry-after").as_deref(), Some("45"));
        let html = page.text();
        assert!(
            html.contains(&format!("<h1 tabindex=\"-1\">{title}</h1>")) && html.contains(text),
            "{html}"
        );
    }
}
