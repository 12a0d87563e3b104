//! The pages in a real browser: headless Chromium.

mod driver;
mod files;
mod home;
mod invitation;
mod login;
mod reset;
mod sign_up;

use std::net::TcpListener;

use backoffice_auth::{NewAccount, create_account};
use backoffice_test_support::TestAppBuilder;
use driver::{Browser, browse};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::fixture::{self, Fixture, PASSWORD, TenantFixture};

/// Common screens: a desktop, a phone, and the smallest phone.
const SCREENS: [(&str, u32, u32); 3] = [("desk", 1280, 900), ("phone", 375, 667), ("narrow", 320, 568)];

/// A fixture that also listens on a port, and its address.
struct Site {
    fixture: Fixture,
    origin: String,
}

impl Site {
    async fn of(builder: TestAppBuilder) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let origin = format!("http://{address}");
        let fixture = Fixture::of(builder.config(&format!("[app]\npublic_url = '{origin}'"))).await;
        fixture.app.serve(listener);
        Self { fixture, origin }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Creates an account with the same address and password in a tenant, without signing in.
    async fn twin(&self, tenant_fixture: &TenantFixture) {
        let account = NewAccount {
            tenant: Some(tenant_fixture.tenant),
            organization: Some(tenant_fixture.root),
            email: "twin@both.test".to_owned(),
            name: None,
            password: Some(SecretString::from(PASSWORD)),
            roles: Vec::new(),
            super_admin: false,
        };
        create_account(&self.fixture.app.system_context(), account)
            .await
            .expect("an account");
    }
}

/// Checks that the displayed page is accessible on every screen, in light and dark.
async fn look_at(browser: &Browser, name: &str) {
    for (screen, width, height) in SCREENS {
        for scheme in ["light", "dark"] {
            browser.screen(width, height).await;
            browser.color_scheme(scheme).await;
            // Transitions change colours over a short time.
            browser
                .until("document.getAnimations().every((one) => one.playState === 'finished')")
                .await;
            let findings = browser.run(include_str!("checks.js")).await;
            browser.picture(&format!("{name}-{screen}-{scheme}")).await;
            assert_eq!(findings, json!([]), "{name} on {screen}, {scheme}");
        }
    }
    browser.screen(1280, 900).await;
    browser.color_scheme("light").await;
}

#[actix_web::test]
async fn the_checks_find_what_they_look_for() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/login")).await;
        let spoil = "document.querySelector('label[for=email]').textContent = ''; \
                     const password = document.getElementById('password'); password.style.fontSize = '12px'; \
                     password.setAttribute('aria-describedby', 'nothing'); \
                     document.querySelector('.reveal').textContent = document.querySelector('.reveal').ariaLabel = ''; \
                     document.querySelector('h1').style.color = 'rgb(200, 200, 200)'; \
                     document.querySelector('main').style.minWidth = '3000px';";
        browser.run(spoil).await;

        let findings = browser.run(include_str!("checks.js")).await.to_string();

        for part in [
            "no label: <input id=\\\"email",
            "smaller than 16 px: <input id=\\\"password",
            "aria-describedby names nothing",
            "no name: <button",
            "contrast 1.67: <h1",
            "px wide on 12",
        ] {
            assert!(findings.contains(part), "{part} in {findings}");
        }
    })
    .await;
}

async fn view(browser: &Browser, name: &str) {
    browser
        .until(&format!("!document.querySelector('[data-view={name}]').hidden"))
        .await;
}

/// Returns the addresses with a token in the lines of a message.
fn links_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_ascii_whitespace();
    words.filter(|word| word.starts_with("http") && word.contains("/reset#token="))
}

/// Returns the displayed text of an element; null if it is missing.
async fn text_of(browser: &Browser, selector: &str) -> Value {
    browser
        .run(&format!(
            "return document.querySelector('{selector}')?.innerText ?? null"
        ))
        .await
}
