//! The page at `/` in a browser.

use serde_json::json;

use super::driver::{ENTER, TAB, browse};
use super::{Site, look_at, text_of};
use crate::fixture::{self, PASSWORD};

#[actix_web::test]
async fn signing_in_leads_home_and_signing_out_back() {
    let site = Site::of(fixture::builder_without_site()).await;
    browse(async |browser| {
        browser.open(&site.url("/")).await;
        browser.until("location.pathname === '/login'").await;
        browser.run("document.getElementById('email').focus()").await;
        browser.keys(&format!("plain@alpha.test{TAB}{PASSWORD}{ENTER}")).await;
        browser.until("location.pathname === '/'").await;
        browser.until("!document.getElementById('sign-out').disabled").await;

        look_at(browser, "home").await;
        for shown in ["#user", "#tenant", "#organization"] {
            let text = text_of(browser, shown).await;
            assert!(text.as_str().is_some_and(|text| !text.is_empty()), "{shown}: {text}");
        }
        let link = browser
            .run("return document.querySelector('.below a').getAttribute('href')")
            .await;
        assert_eq!(link, json!("/api/docs"));
        browser.run("document.querySelector('nav a[lang=de]').click()").await;
        browser.until("document.documentElement.lang === 'de'").await;
        browser.until("!document.getElementById('sign-out').disabled").await;
        assert_eq!(text_of(browser, "#sign-out").await, "Abmelden");
        browser.run("document.getElementById('sign-out').click()").await;
        browser.until("location.pathname === '/login'").await;

        assert_eq!(
            browser.run("return (await fetch('/api/auth/profile')).status").await,
            json!(401)
        );
    })
    .await;
}
