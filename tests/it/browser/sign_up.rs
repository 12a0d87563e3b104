//! The sign-up in a browser, from the form to the signed-in administrator.

use serde_json::json;

use super::driver::{Browser, ENTER, TAB, browse};
use super::{Site, look_at, text_of};
use crate::fixture;

const SECRET: &str = "a very good secret";

/// Returns the link of the mail to an address.
async fn mailed_link(site: &Site, email: &str) -> String {
    site.fixture.app.run_jobs().await;
    let mails = site.fixture.app.mail().take();
    let mail = mails.iter().find(|mail| mail.to == email).expect("a mail");
    let link = mail
        .text
        .split_ascii_whitespace()
        .find(|word| word.contains("/verify?token="));
    link.expect("a link").to_owned()
}

/// Fills in the form by the keyboard alone and sends it.
async fn fill_in(browser: &Browser, email: &str, organization: &str) {
    browser.run("document.getElementById('email').focus()").await;
    for text in [email, "Ann", "Lee", organization, SECRET, SECRET] {
        browser.keys(text).await;
        browser.keys(TAB).await;
    }
    browser.keys(" ").await;
    browser.run("document.getElementById('email').focus()").await;
    browser.keys(ENTER).await;
}

/// Sends the form with two different passwords, and waits for the problem.
async fn send_mistake(browser: &Browser) {
    browser.run("document.getElementById('email').focus()").await;
    for text in ["new@example.com", "Ann", "Lee", "New", SECRET, "another"] {
        browser.keys(text).await;
        browser.keys(TAB).await;
    }
    browser.keys(" ").await;
    browser.click("#sign-up button").await;
    browser
        .until("document.getElementById('confirmPassword-problem').textContent")
        .await;
}

#[actix_web::test]
async fn onb_9_a_person_gets_from_the_form_to_the_tenant() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/onboarding")).await;
        look_at(browser, "sign-up").await;
        fill_in(browser, "new@example.com", "New").await;
        browser.until("location.pathname === '/onboarding/preparing'").await;
        assert_eq!(text_of(browser, "h1").await, "Check your mail");
        look_at(browser, "sign-up-sent").await;
        assert_eq!(browser.complaints().await, [""; 0]);

        browser.open(&mailed_link(&site, "new@example.com").await).await;
        browser.until("location.pathname === '/onboarding/preparing'").await;
        assert_eq!(text_of(browser, "h1").await, "Preparing your account");
        site.fixture.app.run_jobs().await;
        browser.until("location.pathname === '/login'").await;

        assert!(browser.address().await.contains("/login?tenant="));
        browser.run("document.getElementById('email').focus()").await;
        browser.keys("new@example.com").await;
        browser.keys(TAB).await;
        browser.keys(SECRET).await;
        browser.keys(ENTER).await;
        browser.until("location.pathname === '/'").await;
        let shown = text_of(browser, "main").await.to_string();
        assert!(shown.contains("New"), "{shown}");
        assert_eq!(browser.complaints().await, [""; 0]);
    })
    .await;
}

#[actix_web::test]
async fn onb_9_another_browser_is_asked_for_the_password() {
    let site = Site::of(fixture::builder_without_site()).await;
    let body = json!({"email": "new@example.com", "firstName": "Ann", "lastName": "Lee", "organizationName": "New",
        "password": SECRET, "confirmPassword": SECRET, "termsAccepted": true});
    assert_eq!(site.fixture.app.post("", "/onboarding/onboarding", body).await.0, 201);
    let link = mailed_link(&site, "new@example.com").await;
    browse(async |browser| {
        browser.open(&link).await;
        assert_eq!(text_of(browser, "h1").await, "Confirm the sign-up");
        look_at(browser, "sign-up-password").await;
        browser.run("document.getElementById('password').focus()").await;
        browser.keys("wrong").await;
        browser.keys(ENTER).await;
        browser.until("document.querySelector('[role=alert]')").await;
        look_at(browser, "sign-up-wrong-password").await;
        browser.run("document.getElementById('password').focus()").await;
        browser.keys(SECRET).await;
        browser.keys(ENTER).await;
        browser.until("location.pathname === '/onboarding/preparing'").await;
        assert_eq!(text_of(browser, "h1").await, "Your account is being prepared");
        look_at(browser, "sign-up-elsewhere").await;
    })
    .await;
    site.fixture.app.run_jobs().await;
    let tenants = site
        .fixture
        .app
        .rows("select id from directory_tenants where name = 'New'")
        .await;
    assert_eq!(tenants.len(), 1);
}

#[actix_web::test]
async fn onb_9_mistakes_are_shown_in_every_language() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        for (language, title, problem) in [
            ("en", "Sign up", "The passwords differ."),
            ("pl", "Rejestracja", "Hasła się różnią."),
            ("es", "Registrarse", "Las contraseñas no coinciden."),
            ("de", "Registrieren", "Die Passwörter unterscheiden sich."),
        ] {
            let address = format!("/api/auth/locale?locale={language}&redirect=/onboarding?status=invalid");
            browser.open(&site.url(&address)).await;
            browser.until("location.pathname === '/onboarding'").await;
            assert_eq!(text_of(browser, "h1").await, title);
            look_at(browser, &format!("sign-up-{language}")).await;
            send_mistake(browser).await;
            assert_eq!(text_of(browser, "#confirmPassword-problem").await, problem);
            look_at(browser, &format!("sign-up-mistake-{language}")).await;
        }
        let complaints = browser.complaints().await;
        assert!(complaints.iter().all(|one| one.contains("400")), "{complaints:?}");
    })
    .await;
}

#[actix_web::test]
async fn the_page_that_waits_changes_without_being_loaded_again() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/onboarding")).await;
        fill_in(browser, "new@example.com", "New").await;
        browser.until("location.pathname === '/onboarding/preparing'").await;
        let asked = "performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/status')).length";
        browser
            .run("window.isSame = true; document.querySelector('#progress a').focus()")
            .await;
        browser.until(&format!("{asked} > 0")).await;
        let focus = "return [window.isSame ?? false, document.activeElement.textContent]";
        assert_eq!(browser.run(focus).await, json!([true, "Sign up again"]));

        // The person opens the link on another device.
        let link = mailed_link(&site, "new@example.com").await;
        let (_, token) = link.split_once("?token=").expect("a token");
        let body = json!({"token": token, "password": SECRET});
        let confirmed = site.fixture.app.post("", "/onboarding/onboarding/verify", body).await;
        assert_eq!(confirmed.0, 200, "{}", confirmed.1);
        browser
            .until("document.querySelector('h1').textContent === 'Preparing your account'")
            .await;

        assert_eq!(browser.run(focus).await, json!([true, "Preparing your account"]));
        assert_eq!(
            text_of(browser, "#progress [role=status]").await,
            "This takes a few seconds."
        );
        assert_eq!(
            browser.run("return document.title").await,
            "Preparing your account · Backoffice"
        );
        look_at(browser, "sign-up-preparing").await;
        site.fixture.app.run_jobs().await;
        browser.until("location.pathname === '/login'").await;
        assert!(browser.address().await.contains("/login?tenant="));
        assert_eq!(browser.complaints().await, [""; 0]);
    })
    .await;
}

#[actix_web::test]
async fn another_language_keeps_the_typed_fields_of_the_form() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/onboarding")).await;
        send_mistake(browser).await;

        browser.click("nav button[value=de]").await;
        browser.until("document.documentElement.lang === 'de'").await;

        let typed = "return ['email', 'firstName', 'lastName', 'organizationName', 'password', 'confirmPassword']\
                     .map((id) => document.getElementById(id).value)";
        assert_eq!(
            browser.run(typed).await,
            json!(["new@example.com", "Ann", "Lee", "New", "", ""])
        );
        assert!(!browser.address().await.contains("Ann"));
        look_at(browser, "sign-up-language").await;
        // The language stays chosen, and the form can be sent.
        browser.run("document.getElementById('password').focus()").await;
        for text in [SECRET, TAB, SECRET, ENTER] {
            browser.keys(text).await;
        }
        browser.until("location.pathname === '/onboarding/preparing'").await;
        assert_eq!(text_of(browser, "h1").await, "Prüfen Sie Ihr Postfach");
    })
    .await;
}
