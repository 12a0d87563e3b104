//! From an invitation to the first sign-in, by mail and browser.

use backoffice_test_support::MailServer;
use serde_json::json;

use super::driver::{ENTER, TAB, browse};
use super::{Site, links_in, text_of, view};
use crate::fixture;

const NEW: &str = "a much better secret";

#[actix_web::test]
async fn acc_18_an_invited_person_follows_the_mail_sets_a_password_and_signs_in() {
    let server = MailServer::start().await;
    let builder = fixture::builder_without_site().config(&server.config());
    let site = Site::of(builder.with_real_mail()).await;
    let (app, tenant_fixture) = (&site.fixture.app, &site.fixture.a);
    let body = json!({"email": "ann@alpha.test", "name": "Ann", "organizationId": tenant_fixture.root});
    let (status, created) = app.post(&tenant_fixture.tenant_admin.token, "/auth/users", body).await;
    assert_eq!((status, &created["emailSent"]), (201, &json!(true)), "{created}");
    let again = json!({"id": created["id"]});
    let (status, sent) = app
        .post(&tenant_fixture.tenant_admin.token, "/auth/users/resend-invite", again)
        .await;
    assert_eq!((status, &sent["emailSent"]), (200, &json!(true)), "{sent}");
    let mails = server.messages();
    let links: Vec<&str> = mails.iter().filter_map(|mail| links_in(mail).next()).collect();
    let [old, new] = links[..] else {
        panic!("two mails with a link each: {mails:#?}")
    };

    browse(async |browser| {
        browser.open(old).await;
        view(browser, "dead").await;
        // A change of the fragment alone does not load the page again.
        browser.open("about:blank").await;

        browser.open(new).await;
        view(browser, "new").await;
        browser.keys(&format!("{NEW}{TAB}{TAB}{NEW}{ENTER}")).await;
        browser.until("document.getElementById('saved')?.textContent").await;
        browser.run("document.getElementById('email').focus()").await;
        browser.keys(&format!("ann@alpha.test{TAB}{NEW}{ENTER}")).await;
        browser.until("!document.getElementById('login')").await;

        let profile = browser
            .run("return await (await fetch('/api/auth/profile')).json()")
            .await;
        assert_eq!(profile["email"], "ann@alpha.test");
        browser.open("about:blank").await;
        browser.open(new).await;
        view(browser, "dead").await;
        assert_eq!(
            text_of(browser, "[data-view=dead] h1").await,
            "This link does not work any more"
        );
    })
    .await;
}
