//! The page for a new password in a browser.

use serde_json::{Value, json};

use super::driver::{Browser, ENTER, TAB, browse};
use super::{Site, links_in, look_at, text_of, view};
use crate::fixture;

const NEW: &str = "a much better secret";
/// A token in the valid format that does not exist.
const TOKEN: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";

/// Requests a reset and returns the link of its mail.
async fn mailed_link(site: &Site) -> String {
    let body = json!({"email": "plain@alpha.test"});
    let (status, _) = site.fixture.app.post("", "/auth/reset", body).await;
    assert_eq!(status, 200);
    site.fixture.app.run_jobs().await;
    let mails = site.fixture.app.mail().take();
    links_in(&mails[0].text).next().expect("a link").to_owned()
}

async fn problem(browser: &Browser, keys: &str, field: &str) -> Value {
    browser
        .run("document.querySelectorAll('#new input').forEach((input) => { input.value = ''; }); document.getElementById('password').focus()")
        .await;
    browser.keys(keys).await;
    browser
        .until(&format!("document.getElementById('{field}').ariaInvalid === 'true'"))
        .await;
    text_of(browser, &format!("#{field}-problem")).await
}

#[actix_web::test]
async fn without_a_token_a_link_can_be_asked_for() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/login?redirect=/api/version")).await;
        browser.click(".below a").await;
        view(browser, "request").await;

        look_at(browser, "reset-request").await;
        browser.run("document.getElementById('email').focus()").await;
        browser.keys(ENTER).await;
        assert_eq!(text_of(browser, "#email-problem").await, "Enter your e-mail address.");

        browser.click("#to-sign-in").await;
        browser.until("document.getElementById('login')").await;
        assert_eq!(browser.address().await, site.url("/login?redirect=/api/version"));
        assert_eq!(browser.complaints().await, [""; 0]);
    })
    .await;
}

#[actix_web::test]
async fn a_link_that_could_not_be_checked_can_be_checked_again() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/reset")).await;
        view(browser, "request").await;
        browser.network(false).await;

        browser.run(&format!("location.hash = 'token={TOKEN}'")).await;
        view(browser, "unchecked").await;
        let alert = "[data-view=unchecked] [role=alert]";
        browser.until(&format!("document.querySelector('{alert}').textContent")).await;

        assert_eq!(browser.address().await, site.url("/reset"), "the token is gone");
        let said = text_of(browser, alert).await;
        assert_eq!(said, "The server cannot be reached. Check your connection and try again.");
        look_at(browser, "reset-offline").await;
        browser.network(true).await;
        browser.run("window.asked = 0; const real = fetch; window.fetch = (...all) => { window.asked += 1; return real(...all); }").await;
        browser.click("#retry").await;
        browser.until("window.asked === 1 && document.querySelector('[data-view=checking]').hidden").await;
        assert!(said != text_of(browser, alert).await);
    })
    .await;
}

#[actix_web::test]
async fn every_language_asks_for_the_address() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        for (lang, heading) in [
            ("en", "Forgot your password?"),
            ("pl", "Nie pamiętasz hasła?"),
            ("es", "¿Has olvidado tu contraseña?"),
            ("de", "Passwort vergessen?"),
        ] {
            browser.accept_language(lang).await;
            browser.open(&site.url("/reset")).await;
            view(browser, "request").await;

            assert_eq!(text_of(browser, "[data-view=request] h1").await, heading);
            look_at(browser, &format!("reset-{lang}")).await;
        }
    })
    .await;
}

#[actix_web::test]
async fn the_link_of_a_mail_sets_a_password_and_leads_to_the_sign_in() {
    let site = Site::of(fixture::builder_without_site()).await;
    let link = mailed_link(&site).await;
    browse(async |browser| {
        browser.open(&link).await;
        view(browser, "new").await;

        assert_eq!(browser.address().await, site.url("/reset"), "the token is gone");
        assert_eq!(browser.run("return document.activeElement.id").await, "password");
        look_at(browser, "reset-new").await;
        browser.keys(&format!("{NEW}{TAB}{TAB}{NEW}{ENTER}")).await;
        browser.until("document.getElementById('saved')?.textContent").await;

        let tenant = site.fixture.a.tenant;
        assert_eq!(browser.address().await, site.url(&format!("/login?tenant={tenant}")));
        assert_eq!(
            text_of(browser, "#saved").await,
            "Your password has been saved. You can sign in now."
        );
        look_at(browser, "login-saved").await;
        fixture::sign_in(&site.fixture.app, "plain@alpha.test", NEW).await;
        assert_eq!(browser.complaints().await, [""; 0]);
    })
    .await;
}

#[actix_web::test]
async fn a_browser_that_blocks_storage_gets_from_the_link_to_the_sign_in_as_well() {
    let site = Site::of(fixture::builder_without_site()).await;
    let link = mailed_link(&site).await;
    browse(async |browser| {
        let block = "Object.defineProperty(window, 'sessionStorage', \
                     { get() { throw new DOMException('Access is denied.', 'SecurityError'); } })";
        browser.at_start(block).await;
        browser.open(&link).await;
        view(browser, "new").await;
        let is_blocked = "try { return !sessionStorage } catch { return true }";
        assert_eq!(browser.run(is_blocked).await, true);

        browser.keys(&format!("{NEW}{TAB}{TAB}{NEW}{ENTER}")).await;
        browser
            .until("document.querySelector('#login .primary')?.disabled === false")
            .await;

        let tenant = site.fixture.a.tenant;
        assert_eq!(browser.address().await, site.url(&format!("/login?tenant={tenant}")));
        fixture::sign_in(&site.fixture.app, "plain@alpha.test", NEW).await;
        assert_eq!(browser.complaints().await, [""; 0]);
    })
    .await;
}

#[actix_web::test]
async fn what_is_wrong_with_a_password_is_said_and_the_link_stays_good() {
    let site = Site::of(fixture::builder_without_site()).await;
    let link = mailed_link(&site).await;
    browse(async |browser| {
        browser.open(&link).await;
        view(browser, "new").await;

        for (keys, field, said) in [
            (ENTER.to_owned(), "password", "Enter a new password."),
            (format!("{NEW}{ENTER}"), "repeat", "The two passwords are not the same."),
            (
                format!("short{TAB}{TAB}short{ENTER}"),
                "password",
                "The password needs at least 8 characters.",
            ),
            (
                format!("password1{TAB}{TAB}password1{ENTER}"),
                "password",
                "This password is too common. Choose another one.",
            ),
            (
                format!("PLAIN@alpha.test{TAB}{TAB}PLAIN@alpha.test{ENTER}"),
                "password",
                "The password must not be your e-mail address.",
            ),
        ] {
            assert_eq!(problem(browser, &keys, field).await, said);
        }
        look_at(browser, "reset-refused").await;
        browser
            .run("document.querySelectorAll('#new input').forEach((input) => { input.value = ''; })")
            .await;
        browser.keys(&format!("{NEW}{TAB}{TAB}{NEW}{ENTER}")).await;
        browser.until("document.getElementById('login')").await;
    })
    .await;
}

#[actix_web::test]
async fn a_dead_link_offers_a_new_one() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url(&format!("/reset#token={TOKEN}"))).await;
        view(browser, "dead").await;

        assert_eq!(browser.address().await, site.url("/reset"));
        let focus = "return document.activeElement.textContent";
        assert_eq!(browser.run(focus).await, "This link does not work any more");
        look_at(browser, "reset-dead").await;
        assert_eq!(browser.complaints().await, [""; 0]);
    })
    .await;
}

#[actix_web::test]
async fn every_address_gets_the_same_response() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        let mut responses = Vec::new();
        for address in ["plain@alpha.test", "nobody@nowhere.test"] {
            browser.open("about:blank").await;
            browser.open(&site.url("/reset")).await;
            view(browser, "request").await;
            browser.run("document.getElementById('email').focus()").await;

            browser.keys(&format!("{address}{ENTER}")).await;
            view(browser, "sent").await;

            responses.push(text_of(browser, "main").await);
        }
        assert_eq!(responses[0], responses[1]);
        look_at(browser, "reset-sent").await;
    })
    .await;
}

#[actix_web::test]
async fn another_language_keeps_the_token() {
    let site = Site::of(fixture::builder_without_site()).await;
    let link = mailed_link(&site).await;
    browse(async |browser| {
        browser.open(&link).await;
        view(browser, "new").await;

        browser.click("nav a[lang=pl]").await;
        browser.until("document.documentElement.lang === 'pl'").await;
        view(browser, "new").await;

        assert_eq!(text_of(browser, "[data-view=new] h1").await, "Ustaw hasło");
        assert_eq!(browser.address().await, site.url("/reset"));
        let (_, token) = link.split_once("#token=").expect("a token");
        let history = json!(browser.run("return document.cookie").await).to_string();
        assert!(!history.contains(token));
    })
    .await;
}
