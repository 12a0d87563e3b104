//! Many persons at once.

use futures_util::future::join_all;

use crate::fixture::Fixture;

#[actix_web::test]
async fn fifty_persons_at_once_get_fifty_tenants() {
    let fixture = Fixture::new().await;
    let emails: Vec<String> = (0..50).map(|number| format!("person{number}@example.com")).collect();
    let persons = join_all(emails.iter().map(|email| fixture.person(email, "Same Name"))).await;
    fixture.app.run_jobs().await;
    let mails = fixture.app.mail().take();
    let links = persons.iter().map(|person| {
        let mail = mails.iter().find(|mail| mail.to == person.email).expect("a mail");
        let (_, rest) = mail.text.split_once("?token=").expect("a link");
        rest.split_ascii_whitespace().next().expect("a token").to_owned()
    });
    let links: Vec<String> = links.collect();
    let opened = join_all(links.iter().map(|token| fixture.open(token, "application/json", None))).await;
    assert!(opened.iter().all(|response| response.status == 200));

    let (second, third) = (fixture.app.second_node().await, fixture.app.second_node().await);
    futures_util::future::join3(fixture.app.run_jobs(), second.run_jobs(), third.run_jobs()).await;
    fixture.app.run_jobs().await;

    assert_eq!(fixture.tenants("Same Name").await, 50);
    let administrators = fixture
        .app
        .count("auth_users where email like 'person%@example.com'")
        .await;
    assert_eq!(administrators, 50);
    assert_eq!(
        fixture
            .app
            .count("onboarding_requests where status = 'completed'")
            .await,
        50
    );
    let slugs = fixture
        .app
        .count("directory_organizations where name = 'Same Name' and slug = 'same-name'")
        .await;
    assert_eq!(slugs, 50, "slugs are unique within a tenant");
}
