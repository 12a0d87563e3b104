//! The sign-in in a browser.

use serde_json::{Value, json};

use super::driver::{Browser, ENTER, SPACE, TAB, browse};
use super::{Site, look_at, text_of};
use crate::fixture::{self, PASSWORD};

const FOCUS: &str = "return document.activeElement.id || document.activeElement.textContent.trim()";

async fn type_credentials(browser: &Browser, email: &str, password: &str) {
    browser.run("document.getElementById('email').focus()").await;
    browser.keys(&format!("{email}{TAB}{password}{ENTER}")).await;
}

async fn profile_status(browser: &Browser) -> Value {
    browser.run("return (await fetch('/api/auth/profile')).status").await
}

#[actix_web::test]
async fn a_keyboard_is_enough_to_sign_in() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/login?redirect=/api/version")).await;
        let mut way = Vec::new();

        for keys in [TAB, "plain@alpha.test", TAB, PASSWORD, TAB, TAB, SPACE, TAB] {
            browser.keys(keys).await;
            if keys == TAB {
                way.push(browser.run(FOCUS).await);
                let outline = "return getComputedStyle(document.activeElement).outlineWidth";
                assert_eq!(browser.run(outline).await, json!("3px"), "{way:?}");
            }
        }
        browser.keys(ENTER).await;
        browser.until("location.pathname === '/api/version'").await;

        assert_eq!(way[..3], [json!("email"), json!("password"), json!("Show")]);
        assert_eq!(way[4], json!("Sign in"));
        assert_eq!(profile_status(browser).await, 200);
        let sessions = "select is_remembered from auth_sessions where user_id = (select id from auth_users where email = 'plain@alpha.test')";
        let sessions = site.fixture.app.rows(sessions).await;
        assert!(sessions.iter().any(|row| row["is_remembered"] == true), "{sessions:?}");
        assert_eq!(browser.complaints().await, [""; 0]);
    })
    .await;
}

#[actix_web::test]
async fn a_wrong_password_is_said_and_the_next_one_can_be_typed() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/login?redirect=/api/version")).await;

        type_credentials(browser, "plain@alpha.test", "wrong").await;
        browser
            .until("document.querySelector('#login [role=alert]').textContent")
            .await;

        let alert = text_of(browser, "#login [role=alert]").await;
        assert_eq!(alert, "The e-mail address or the password is wrong.");
        assert_eq!(browser.run(FOCUS).await, "password");
        look_at(browser, "login-wrong").await;
        browser.keys(&format!("{PASSWORD}{ENTER}")).await;
        browser.until("location.pathname === '/api/version'").await;
        assert_eq!(browser.complaints().await, [""; 0]);
    })
    .await;
}

#[actix_web::test]
async fn what_is_missing_is_said_beside_its_field() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/login")).await;

        type_credentials(browser, "no-address", "").await;

        let email = "document.getElementById('email')";
        browser.until(&format!("{email}.ariaInvalid === 'true'")).await;
        assert_eq!(browser.run(FOCUS).await, "email");
        let said = format!("return document.getElementById({email}.getAttribute('aria-describedby')).innerText");
        assert_eq!(
            browser.run(&said).await,
            "Enter a complete e-mail address, such as name@example.com."
        );
        assert_eq!(text_of(browser, "#password-problem").await, "Enter your password.");
        look_at(browser, "login-missing").await;
        browser.keys("@x.test").await;
        assert_eq!(browser.run(&format!("return {email}.ariaInvalid")).await, Value::Null);
    })
    .await;
}

#[actix_web::test]
async fn too_many_attempts_are_reported_with_the_wait() {
    let limits = "[rate_limits.limits]\n'auth.login.account_ip' = '2/60'\n'auth.login.ip' = '100/60'";
    let app = backoffice_test_support::TestApp::builder(fixture::MODULES).config(fixture::AUTH);
    let site = Site::of(app.config(limits)).await;
    browse(async |browser| {
        browser.open(&site.url("/login")).await;

        for _ in 0..3 {
            browser
                .run("document.querySelector('#login [role=alert]').textContent = ''")
                .await;
            browser.run("document.getElementById('email').value = ''").await;
            type_credentials(browser, "plain@alpha.test", "wrong").await;
            browser
                .until("document.querySelector('#login [role=alert]').textContent")
                .await;
        }

        let alert = text_of(browser, "#login [role=alert]").await;
        assert_eq!(alert, "Too many attempts. Please wait 60 seconds and try again.");
    })
    .await;
}

#[actix_web::test]
async fn one_of_several_accounts_is_chosen_by_its_tenant() {
    let site = Site::of(fixture::builder_without_site()).await;
    site.twin(&site.fixture.a).await;
    site.twin(&site.fixture.b).await;
    browse(async |browser| {
        browser.open(&site.url("/login?redirect=/api/version")).await;

        type_credentials(browser, "twin@both.test", PASSWORD).await;
        browser
            .until("document.querySelectorAll('.choices button').length === 2")
            .await;

        assert_eq!(browser.run(FOCUS).await, "Which account?");
        look_at(browser, "login-choose").await;
        browser.keys(&format!("{TAB}{TAB}")).await;
        assert_eq!(browser.run(FOCUS).await, "beta");
        browser.keys(ENTER).await;
        browser.until("location.pathname === '/api/version'").await;
        let tenant = browser
            .run("return (await (await fetch('/api/auth/profile')).json()).tenantId")
            .await;
        assert_eq!(tenant, json!(site.fixture.b.tenant));
    })
    .await;
}

#[actix_web::test]
async fn a_link_may_name_the_tenant() {
    let site = Site::of(fixture::builder_without_site()).await;
    site.twin(&site.fixture.a).await;
    site.twin(&site.fixture.b).await;
    browse(async |browser| {
        let tenant = site.fixture.a.tenant;
        browser
            .open(&site.url(&format!("/login?tenant={tenant}&redirect=https://evil.test/")))
            .await;

        type_credentials(browser, "twin@both.test", PASSWORD).await;
        browser.until("location.pathname === '/'").await;

        assert_eq!(browser.address().await, site.url("/"));
        let tenant = browser
            .run("return (await (await fetch('/api/auth/profile')).json()).tenantId")
            .await;
        assert_eq!(tenant, json!(site.fixture.a.tenant));
    })
    .await;
}

#[actix_web::test]
async fn a_password_can_be_looked_at_but_is_hidden_when_it_is_sent() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/login")).await;
        let kind = "return [document.getElementById('password').type, document.querySelector('.reveal').ariaLabel]";

        browser.click(".reveal").await;
        assert_eq!(browser.run(kind).await, json!(["text", "Hide password"]));
        type_credentials(browser, "plain@alpha.test", "wrong").await;

        assert_eq!(browser.run(kind).await, json!(["password", "Show password"]));
    })
    .await;
}

#[actix_web::test]
async fn every_language_is_shown_and_offered() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        for (header, lang, heading) in [
            ("en-GB,en;q=0.9", "en", "Sign in"),
            ("pl-PL,pl;q=0.9,en;q=0.8", "pl", "Logowanie"),
            ("es-MX", "es", "Iniciar sesión"),
            ("fr,de;q=0.5", "de", "Anmelden"),
        ] {
            browser.accept_language(header).await;
            browser.open(&site.url("/login")).await;

            let seen = "return [document.documentElement.lang, document.querySelector('h1').innerText]";
            assert_eq!(browser.run(seen).await, json!([lang, heading]), "{header}");
            let current =
                "return [...document.querySelectorAll('nav a')].map((a) => [a.lang, a.getAttribute('aria-current')])";
            let extensions = ["en", "pl", "es", "de"].map(|one| json!([one, (one == lang).then_some("true")]));
            assert_eq!(browser.run(current).await, json!(extensions));
            look_at(browser, &format!("login-{lang}")).await;
        }
        assert_eq!(browser.complaints().await, [""; 0]);
    })
    .await;
}

#[actix_web::test]
async fn without_cookies_the_sign_in_says_that_it_needs_them() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        let block = "Object.defineProperty(Navigator.prototype, 'cookieEnabled', { get: () => false })";
        browser.at_start(block).await;
        let said = "document.querySelector('#login [role=alert]').textContent";
        for (lang, alert) in [
            (
                "pl",
                "Ta witryna wymaga plików cookie. Zezwól na nie i wczytaj stronę ponownie.",
            ),
            (
                "es",
                "Este sitio necesita cookies. Permítelas y vuelve a cargar la página.",
            ),
            (
                "de",
                "Diese Website benötigt Cookies. Bitte erlauben Sie sie und laden Sie die Seite neu.",
            ),
            (
                "en",
                "This site needs cookies. Please allow them and load the page again.",
            ),
        ] {
            browser.accept_language(lang).await;
            browser.open(&site.url("/login")).await;

            browser.until(said).await;
            assert_eq!(text_of(browser, "#login [role=alert]").await, alert);
        }
        look_at(browser, "login-cookies").await;
        browser
            .run("document.querySelector('#login [role=alert]').textContent = ''")
            .await;
        type_credentials(browser, "plain@alpha.test", PASSWORD).await;
        browser.until(said).await;
        assert_eq!(browser.address().await, site.url("/login"));
        assert_eq!(profile_status(browser).await, 401);
    })
    .await;
}

#[actix_web::test]
async fn a_chosen_language_stays() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/login?redirect=/api/version")).await;
        browser.run("document.cookie = 'locale=pl; path=/'").await;

        browser.open(&site.url("/login?redirect=/api/version")).await;

        assert_eq!(text_of(browser, "h1").await, "Logowanie");
    })
    .await;
}

#[actix_web::test]
async fn a_language_is_chosen_by_its_link() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        let address = site.url("/login?redirect=%2Fapi%2Fversion%3Fa%3Db");
        browser.open(&address).await;

        browser.click("nav a[lang=de]").await;
        browser.until("document.documentElement.lang === 'de'").await;

        assert_eq!(browser.address().await, address);
        let redirect = "return document.querySelector('[name=redirect]').value";
        assert_eq!(browser.run(redirect).await, "/api/version?a=b");
    })
    .await;
}

#[actix_web::test]
async fn another_language_keeps_what_was_typed_but_no_password() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/login")).await;
        browser
            .until("!document.querySelector('#login .primary').disabled")
            .await;
        browser.run("document.getElementById('email').focus()").await;
        browser.keys(&format!("plain@alpha.test{TAB}a wrong password")).await;
        browser.click(".reveal").await;
        browser.click("[name=remember]").await;

        browser.click("nav a[lang=de]").await;
        browser.until("document.documentElement.lang === 'de'").await;

        let typed = "return [document.getElementById('email').value, document.getElementById('password').value, \
                     document.querySelector('[name=remember]').checked, sessionStorage.length]";
        browser.until("document.getElementById('email').value").await;
        assert_eq!(browser.run(typed).await, json!(["plain@alpha.test", "", true, 0]));
        assert_eq!(browser.address().await, site.url("/login"));
        assert_eq!(browser.complaints().await, [""; 0]);
    })
    .await;
}

#[actix_web::test]
async fn code_inside_of_a_page_does_not_run() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/login")).await;
        assert_eq!(browser.complaints().await, [""; 0]);

        let inject = "const script = document.createElement('script'); script.textContent = 'window.ran = true'; \
                      document.body.append(script); return window.ran ?? null";
        assert_eq!(browser.run(inject).await, Value::Null);

        let complaints = browser.complaints().await.join("\n");
        assert!(complaints.contains("Content Security Policy"), "{complaints}");
    })
    .await;
}

#[actix_web::test]
async fn text_of_the_address_does_not_become_part_of_the_page() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        let attack = "%22%3E%3Cimg%20src%3Dx%3E";
        browser
            .open(&site.url(&format!("/login?redirect={attack}&tenant={attack}")))
            .await;

        let seen = "return [document.images.length, document.querySelector('[name=redirect]').value]";
        assert_eq!(browser.run(seen).await, json!([0, "\"><img src=x>"]));
    })
    .await;
}
