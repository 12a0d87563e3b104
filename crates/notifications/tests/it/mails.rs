//! Mails.

use backoffice_notifications::New;
use backoffice_test_support::{Duration, MailServer};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{DONE, Fixture, LIST, MAILED, builder, full, limited};

fn subjects(fixture: &Fixture) -> Vec<String> {
    fixture.app.mail().take().into_iter().map(|mail| mail.subject).collect()
}

#[actix_web::test]
async fn not_2_a_group_is_mailed_once_in_ten_minutes() {
    let fixture = Fixture::new().await;
    let (user, token) = (fixture.a.admin, &fixture.a.token);
    let repeat = || New {
        group_key: Some("g".to_owned()),
        link_href: Some("/samples/1".to_owned()),
        ..New::of(DONE, user).with("name", "A")
    };
    fixture.send(&[repeat()]).await;
    fixture.app.run_jobs().await;
    assert_eq!(subjects(&fixture), [""; 0], "the type is not mailed");
    fixture
        .prefer(token, json!([{"type": "samples.sample.done", "email": true}]))
        .await;

    fixture.send(&[repeat()]).await;
    fixture.app.run_jobs().await;
    let mails = fixture.app.mail().take();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].subject, "A is done");
    assert!(
        mails[0].text.contains("Look at it.") && mails[0].text.contains("https://office.example/samples/1"),
        "{}",
        mails[0].text
    );
    let other = New {
        group_key: Some("other".to_owned()),
        ..repeat()
    };
    fixture.send(&[repeat(), other]).await;
    fixture.app.run_jobs().await;
    assert_eq!(subjects(&fixture), ["A is done"], "of the other group");
    let first = fixture.listed(token, &format!("{LIST}?type=samples.sample.done")).await;
    for one in &first {
        assert_eq!(fixture.mark(token, one, "dismiss").await, 200);
    }
    fixture.send(&[repeat()]).await;
    fixture.app.run_jobs().await;
    assert_eq!(subjects(&fixture), [""; 0], "a new row of the group");

    fixture.app.advance(Duration::minutes(11));
    fixture.send(&[repeat()]).await;
    fixture.app.run_jobs().await;
    assert_eq!(subjects(&fixture), ["A is done"]);
}

#[actix_web::test]
async fn a_mail_is_in_the_language_of_the_tenant_and_goes_to_active_users_only() {
    let fixture = Fixture::new().await;
    let (other, other_token) = fixture.user("other@alpha.example", &["employee"]).await;
    for token in [&fixture.a.token, &other_token] {
        fixture
            .prefer(token, json!([{"type": "samples.sample.done", "email": true}]))
            .await;
    }
    let tenant = fixture.a.id;
    fixture
        .app
        .sql(&format!(
            "update directory_tenants set locales = array['de'] where id = '{tenant}'"
        ))
        .await;
    let new = [
        full(fixture.a.admin),
        New {
            link_href: None,
            ..full(other)
        },
    ];
    fixture.send(&new).await;
    fixture
        .app
        .sql(&format!("update auth_users set is_active = false where id = '{other}'"))
        .await;

    fixture.app.run_jobs().await;

    let mails = fixture.app.mail().take();
    assert_eq!(mails.len(), 1);
    assert_eq!(
        (mails[0].subject.as_str(), mails[0].language.as_str()),
        ("First ist fertig", "de")
    );
}

#[actix_web::test]
async fn a_mail_has_no_paragraphs_for_blank_lines() {
    let fixture = Fixture::new().await;
    let (user, token) = (fixture.a.admin, &fixture.a.token);
    fixture
        .prefer(token, json!([{"type": "samples.sample.done", "email": true}]))
        .await;

    fixture.send(&[New::of(DONE, user).with("name", "A\n\n \nB")]).await;
    fixture.app.run_jobs().await;

    let mails = fixture.app.mail().take();
    assert_eq!(mails.len(), 1);
    let (text, html) = (&mails[0].text, &mails[0].html);
    assert!(text.contains("The sample A\n\nB is done.\n\nLook at it.\n\n"), "{text}");
    assert!(
        html.contains(">The sample A</p>") && html.contains(">B is done.</p>"),
        "{html}"
    );
    assert!(!html.contains("\"></p>") && !html.contains("\"> </p>"), "{html}");
}

#[actix_web::test]
async fn a_notification_that_was_read_meanwhile_is_not_mailed() {
    let fixture = Fixture::new().await;
    let (user, token) = (fixture.a.admin, &fixture.a.token);
    fixture
        .send(&[
            New::of(MAILED, user).with("name", "A"),
            New::of(MAILED, user).with("name", "B"),
        ])
        .await;
    let all = fixture.listed(token, LIST).await;
    let read = all
        .iter()
        .find(|one| one["title"] == "A has failed")
        .expect("the notification");
    assert_eq!(fixture.mark(token, read, "read").await, 200);

    fixture.app.run_jobs().await;

    assert_eq!(subjects(&fixture), ["B has failed"]);
}

#[actix_web::test]
async fn without_mail_there_is_no_job() {
    let fixture = Fixture::of(builder().config("[mail]\ntransport = \"none\"\n")).await;

    assert_eq!(
        fixture
            .send(&[New::of(MAILED, fixture.a.admin).with("name", "A")])
            .await,
        1
    );

    assert_eq!(
        fixture.app.count("core_jobs where kind like 'notifications.%'").await,
        0
    );
}

fn failed(user: Uuid, names: impl IntoIterator<Item = u32>) -> Vec<New> {
    let new = |name: u32| New::of(MAILED, user).with("name", name.to_string());
    names.into_iter().map(new).collect()
}

#[actix_web::test]
async fn mails_to_an_address_over_its_limit_are_dropped_and_the_notifications_stay() {
    let fixture = Fixture::of(limited("")).await;
    let (other, _) = fixture.user("other@alpha.example", &["employee"]).await;
    let user = fixture.a.admin;

    assert_eq!(fixture.send(&failed(user, 1..=21)).await, 21);
    assert_eq!(fixture.send(&failed(other, [22])).await, 1);
    fixture.app.run_jobs().await;

    let (own, others): (Vec<_>, Vec<_>) = fixture
        .app
        .mail()
        .take()
        .into_iter()
        .partition(|mail| mail.to == "admin@alpha.test");
    assert_eq!((own.len(), others.len()), (20, 1));
    let path = format!("{LIST}?pageSize=100");
    assert_eq!(fixture.listed(&fixture.a.token, &path).await.len(), 21);
    let unsent = "notifications_notifications where email_sent_at is null and status = 'unread'";
    assert_eq!(fixture.app.count(unsent).await, 1);

    fixture.app.advance(Duration::minutes(61));
    fixture.send(&failed(user, [23])).await;
    fixture.app.run_jobs().await;
    assert_eq!(subjects(&fixture), ["23 has failed"]);
}

#[actix_web::test]
async fn mails_of_a_tenant_have_a_limit() {
    let limits = "[rate_limits.limits]\n\"notifications.mail.tenant\" = \"2/3600\"\n";
    let fixture = Fixture::of(limited(limits)).await;
    let (other, _) = fixture.user("other@alpha.example", &["employee"]).await;
    let (first, last) = (failed(fixture.a.admin, 1..=2), failed(other, [3]));

    fixture.send(&[first, last].concat()).await;
    fixture.app.run_jobs().await;

    assert_eq!(subjects(&fixture).len(), 2);
    let unsent = "notifications_notifications where email_sent_at is null and status = 'unread'";
    assert_eq!(fixture.app.count(unsent).await, 1);
}

#[actix_web::test]
async fn attempts_that_send_nothing_use_up_no_limit() {
    let limits = "[rate_limits.limits]\n\"notifications.mail.recipient\" = \"1/3600\"\n";
    let fixture = Fixture::of(limited(limits)).await;
    fixture.app.mail().reject(true);
    fixture.send(&failed(fixture.a.admin, [1])).await;
    fixture.app.run_jobs().await;
    fixture.app.mail().reject(false);

    fixture.app.advance(Duration::minutes(1));
    fixture.app.run_jobs().await;

    assert_eq!(subjects(&fixture), ["1 has failed"]);
}

#[actix_web::test]
async fn an_address_that_is_not_confirmed_gets_no_mail() {
    let fixture = Fixture::new().await;
    let user = fixture.a.admin;
    fixture.send(&failed(user, [1])).await;
    fixture
        .app
        .sql(&format!(
            "update auth_users set is_confirmed = false where id = '{user}'"
        ))
        .await;

    fixture.app.run_jobs().await;

    assert_eq!(subjects(&fixture), [""; 0]);
}

#[actix_web::test]
async fn users_of_a_deleted_tenant_get_no_mail() {
    let fixture = Fixture::new().await;
    fixture.send(&failed(fixture.a.admin, [1])).await;
    fixture.delete_alpha().await;

    fixture.app.run_jobs().await;

    assert_eq!(subjects(&fixture), [""; 0]);
    assert_eq!(jobs(&fixture).await, [json!({"state": "done", "mails": 1})]);
}

/// Returns the jobs that send mails, the first ones first.
async fn jobs(fixture: &Fixture) -> Vec<Value> {
    let sql = "select state, jsonb_array_length(payload -> 'notifications') as mails from core_jobs \
        where kind = 'notifications.notification.send_mails' order by created_at, id";
    fixture.app.rows(sql).await
}

/// Creates a fixture with a mail server and these limits, and a job with a mail to each of three users. Returns their addresses in the order of the
/// job.
async fn three_recipients(server: &MailServer, limits: &str) -> (Fixture, Vec<String>) {
    let fixture = Fixture::of(limited(limits).config(&server.config()).with_real_mail()).await;
    let (ann, _) = fixture.user("ann@alpha.example", &["employee"]).await;
    let (bob, _) = fixture.user("bob@alpha.example", &["employee"]).await;
    let new = [fixture.a.admin, ann, bob].map(|user| New::of(MAILED, user).with("name", "A"));
    assert_eq!(fixture.send(&new).await, 3);
    let sql = "select u.email from core_jobs j \
        cross join jsonb_array_elements_text(j.payload -> 'notifications') with ordinality as p (id, number) \
        join notifications_notifications n on n.id = p.id::uuid join auth_users u on u.id = n.recipient_user_id \
        where j.kind = 'notifications.notification.send_mails' order by p.number";
    let rows = fixture.app.rows(sql).await;
    let addresses = rows
        .iter()
        .map(|row| row["email"].as_str().expect("an address").to_owned());
    let addresses = addresses.collect();
    (fixture, addresses)
}

/// Returns how many messages the server has accepted for each address.
fn accepted(server: &MailServer, addresses: &[String]) -> Vec<usize> {
    let messages = server.messages();
    let to = |address: &String| {
        let header = format!("To: {address}\n");
        messages.iter().filter(|message| message.contains(&header)).count()
    };
    addresses.iter().map(to).collect()
}

#[actix_web::test]
async fn a_rejected_recipient_does_not_hold_back_the_mails_to_others() {
    let server = MailServer::start().await;
    let (fixture, addresses) = three_recipients(&server, "").await;
    server.respond(&addresses[0], Some("550 no such mailbox"));

    for _ in 0..12 {
        fixture.app.run_jobs().await;
        fixture.app.advance(Duration::minutes(11));
    }

    assert_eq!(accepted(&server, &addresses), [0, 1, 1]);
    assert_eq!(
        jobs(&fixture).await,
        [
            json!({"state": "done", "mails": 3}),
            json!({"state": "dead", "mails": 1})
        ]
    );
}

#[actix_web::test]
async fn a_mail_that_fails_for_some_time_is_sent_later_and_counts_once() {
    let server = MailServer::start().await;
    let limits = "[rate_limits.limits]\n\"notifications.mail.recipient\" = \"1/3600\"\n";
    let (fixture, addresses) = three_recipients(&server, limits).await;
    server.respond(&addresses[0], Some("451 try again later"));

    fixture.app.run_jobs().await;
    // The wait after a failed attempt is 2 s, more or less.
    fixture.app.advance(Duration::seconds(3));
    fixture.app.run_jobs().await;

    assert_eq!(accepted(&server, &addresses), [0, 1, 1], "the others do not wait");
    server.respond(&addresses[0], None);
    fixture.app.advance(Duration::minutes(1));
    fixture.app.run_jobs().await;
    assert_eq!(accepted(&server, &addresses), [1, 1, 1]);
    assert_eq!(
        jobs(&fixture).await,
        [
            json!({"state": "done", "mails": 3}),
            json!({"state": "done", "mails": 1})
        ]
    );
    let unsent = "notifications_notifications where email_sent_at is null";
    assert_eq!(fixture.app.count(unsent).await, 0);
}
