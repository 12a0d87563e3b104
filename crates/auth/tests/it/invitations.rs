//! Invitations: recipients, the effect of the link, its expiry.

use actix_web::http::Method;
use backoffice_auth::invitation;
use backoffice_core::Cause;
use backoffice_core::http::internal::{InternalCaller, InternalRequest};
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_test_support::Duration;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, id_of};
use crate::reset::{fixture, post, token_in};

async fn create(fixture: &Fixture, email: &str, extra: Value) -> (u16, Value) {
    let mut body = json!({"email": email, "organizationId": fixture.a.organization});
    for (name, value) in extra.as_object().expect("members") {
        body[name] = value.clone();
    }
    fixture.app.post(&fixture.a.token, "/auth/users", body).await
}

async fn resend(fixture: &Fixture, id: impl Into<Value>) -> (u16, Value) {
    let body = json!({"id": id.into()});
    fixture
        .app
        .post(&fixture.a.token, "/auth/users/resend-invite", body)
        .await
}

fn text(id: Uuid) -> Value {
    json!(id.to_string())
}

#[actix_web::test]
async fn acc_18_without_mail_a_user_without_password_is_created_and_can_be_invited_later() {
    let fixture = Fixture::new().await;

    let (status, body) = create(&fixture, "ann@alpha.test", json!({})).await;
    let asked = create(&fixture, "bob@alpha.test", json!({"sendInviteEmail": true})).await;
    let (again, rejected) = resend(&fixture, text(id_of(&body))).await;

    assert_eq!((status, body["emailSent"].clone()), (201, json!(false)));
    assert_eq!(
        (asked.0, asked.1["error"].clone()),
        (500, json!("Invitation email is not configured"))
    );
    assert_eq!(
        (again, rejected["error"].clone()),
        (500, json!("Invitation email is not configured"))
    );
    let users = fixture
        .app
        .rows("select 1 as found from auth_users where email = 'bob@alpha.test'")
        .await;
    assert!(users.is_empty(), "nothing is written");
}

#[actix_web::test]
async fn acc_18_an_invitation_sets_the_first_password_and_a_newer_one_replaces_it() {
    let fixture = fixture().await;
    let (status, body) = create(&fixture, "ann@alpha.test", json!({"name": "Ann"})).await;
    assert_eq!((status, body["emailSent"].clone()), (201, json!(true)));
    let id = id_of(&body);
    let first = fixture.app.mail().take();
    assert_eq!(
        (first[0].to.as_str(), first[0].subject.as_str()),
        ("ann@alpha.test", "Your account at Alpha")
    );
    assert!(first[0].text.starts_with("Hello Ann,"));

    let (status, body) = resend(&fixture, text(id)).await;
    assert_eq!((status, body), (200, json!({"ok": true, "emailSent": true})));
    let second = fixture.app.mail().take();
    let confirm = async |token: String| {
        let members = [("token", token.as_str()), ("password", "a first password")];
        post(&fixture, "/auth/reset/confirm", &members).await.status
    };

    assert_eq!(confirm(token_in(&first[0].text)).await, 400, "the older link is dead");
    assert_eq!(confirm(token_in(&second[0].text)).await, 200);
    let body = json!({"email": "ann@alpha.test", "password": "a first password"});
    assert_eq!(fixture.app.post("", "/auth/login", body).await.0, 200);
    let (status, body) = resend(&fixture, text(id)).await;
    assert_eq!((status, body["code"].clone()), (409, json!("user_already_active")));
}

#[actix_web::test]
async fn acc_18_an_invitation_lives_48_hours() {
    let fixture = fixture().await;
    create(&fixture, "ann@alpha.test", json!({})).await;
    let token = token_in(&fixture.app.mail().take()[0].text);
    let valid = || async {
        post(&fixture, "/auth/reset/validate", &[("token", &token)])
            .await
            .json()["valid"]
            .clone()
    };

    fixture.app.advance(Duration::hours(47));
    assert_eq!(valid().await, true);
    fixture.app.advance(Duration::hours(2));
    assert_eq!(valid().await, false);
}

#[actix_web::test]
async fn acc_18_mails_state_how_long_their_links_work() {
    let config =
        "[app]\npublic_url = 'https://office.example'\n[rate_limits]\nenabled = false\n[auth.invite]\nttl = '2h'\n";
    let fixture = Fixture::with_config(config).await;
    let mailed = || fixture.app.mail().take().remove(0).text;

    create(&fixture, "ann@alpha.test", json!({})).await;
    let text = mailed();
    assert!(text.contains("The link works once, for 2 hours."), "{text}");
    post(&fixture, "/auth/reset", &[("email", "admin@alpha.test")]).await;
    fixture.app.run_jobs().await;
    let text = mailed();
    assert!(text.contains("The link works once, for 1 hour."), "{text}");

    let tenant = fixture.a.id;
    let polish = format!("update directory_tenants set locales = array['pl'] where id = '{tenant}'");
    fixture.app.sql(&polish).await;
    create(&fixture, "bob@alpha.test", json!({})).await;
    let text = mailed();
    assert!(text.contains("Link działa tylko raz, przez 2 godziny."), "{text}");
}

#[actix_web::test]
async fn acc_18_resending_rejects_what_it_must() {
    let fixture = fixture().await;
    let (_, body) = create(&fixture, "ann@alpha.test", json!({})).await;
    let id = id_of(&body);
    let (_, of_b) = fixture
        .app
        .post(
            &fixture.b.token,
            "/auth/users",
            json!({"email": "x@beta.test", "organizationId": fixture.b.organization}),
        )
        .await;

    for malformed in [json!("nonsense"), json!(7), Value::Null] {
        let (status, body) = resend(&fixture, malformed).await;
        assert_eq!(
            (status, body["error"].clone()),
            (422, json!("Validation failed")),
            "{body}"
        );
        assert_eq!(body["details"][0]["path"], "id");
    }
    let unknown = resend(&fixture, text(Uuid::from_u128(1))).await;
    let foreign = resend(&fixture, text(id_of(&of_b))).await;
    assert_eq!((unknown.0, unknown.1["error"].clone()), (404, json!("User not found")));
    assert_eq!(foreign, unknown);
    fixture
        .app
        .put(&fixture.a.token, "/auth/users", json!({"id": id, "isActive": false}))
        .await;
    let (status, body) = resend(&fixture, text(id)).await;
    assert_eq!((status, body["code"].clone()), (409, json!("user_inactive")));
    let request = fixture
        .app
        .request(Method::POST, "/auth/users/resend-invite")
        .bearer(&fixture.a.token);
    let response = request
        .header("Origin", "https://evil.test")
        .json(&json!({"id": id}))
        .send()
        .await;
    assert_eq!(
        (response.status, response.json()["error"].clone()),
        (400, json!("Invalid request origin"))
    );
}

#[actix_web::test]
async fn acc_18_the_fourth_invitation_in_five_minutes_waits() {
    let fixture = Fixture::with_config("[app]\npublic_url = \"https://office.example\"\n").await;
    let (_, body) = create(&fixture, "ann@alpha.test", json!({"sendInviteEmail": false})).await;
    let id = text(id_of(&body));

    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(resend(&fixture, id.clone()).await.0);
    }

    assert_eq!(statuses, [200, 200, 200, 429]);
}

#[actix_web::test]
async fn f14_however_an_id_is_written_it_is_one_target() {
    let fixture = Fixture::with_config("[app]\npublic_url = \"https://office.example\"\n").await;
    let (_, body) = create(&fixture, "ann@alpha.test", json!({"sendInviteEmail": false})).await;
    let id = id_of(&body);

    let mut statuses = Vec::new();
    for written in [
        id.to_string(),
        id.to_string().to_uppercase(),
        id.simple().to_string(),
        id.braced().to_string(),
        id.urn().to_string(),
    ] {
        statuses.push(resend(&fixture, written).await.0);
    }

    assert_eq!(statuses, [200, 200, 200, 429, 429]);
}

#[actix_web::test]
async fn f14_another_tenant_does_not_use_up_the_limit_of_a_target() {
    let fixture = Fixture::with_config("[app]\npublic_url = \"https://office.example\"\n").await;
    let (_, body) = create(&fixture, "ann@alpha.test", json!({"sendInviteEmail": false})).await;
    let id = id_of(&body);
    let by_b = async || {
        let body = json!({"id": id});
        fixture
            .app
            .post(&fixture.b.token, "/auth/users/resend-invite", body)
            .await
            .0
    };

    assert_eq!([by_b().await, by_b().await, by_b().await, by_b().await], [404; 4]);

    assert_eq!(resend(&fixture, text(id)).await.0, 200);
}

#[actix_web::test]
async fn f21_invitations_of_one_actor_have_a_limit() {
    let config =
        "[app]\npublic_url = \"https://office.example\"\n[rate_limits.limits]\n\"auth.users.invite\" = \"2/60\"\n";
    let fixture = Fixture::with_config(config).await;

    let (first, body) = create(&fixture, "ann@alpha.test", json!({})).await;
    let quiet = create(&fixture, "bob@alpha.test", json!({"sendInviteEmail": false}))
        .await
        .0;
    let again = resend(&fixture, text(id_of(&body))).await.0;
    let (rejected, reported) = create(&fixture, "cid@alpha.test", json!({})).await;
    let resent = resend(&fixture, text(id_of(&body))).await.0;
    let without_mail = create(&fixture, "dan@alpha.test", json!({"sendInviteEmail": false}))
        .await
        .0;

    assert_eq!((first, quiet, again, without_mail), (201, 201, 200, 201));
    assert_eq!((rejected, resent), (429, 429), "{reported}");
    assert_eq!(fixture.app.mail().mails().len(), 2);
    let created = "select id from auth_users where email = 'cid@alpha.test'";
    assert!(fixture.app.rows(created).await.is_empty(), "nothing is written");
    let body = json!({"email": "eve@beta.test", "organizationId": fixture.b.organization});
    assert_eq!(
        fixture.app.post(&fixture.b.token, "/auth/users", body).await.0,
        201,
        "another actor"
    );
}

#[actix_web::test]
async fn f21_invitations_of_the_platform_in_a_tenant_have_a_limit() {
    let config =
        "[app]\npublic_url = \"https://office.example\"\n[rate_limits.limits]\n\"auth.users.invite\" = \"2/60\"\n";
    let fixture = Fixture::with_config(config).await;
    let key = Identity {
        kind: ActorKind::ApiKey,
        id: Some(Uuid::from_u128(6)),
        tenant: fixture.a.id,
        ..Identity::system()
    };
    let cause = Cause {
        rule: Uuid::from_u128(7),
        depth: 1,
    };
    let invite = async |email: &str| {
        let body = json!({"email": email, "organizationId": fixture.a.organization});
        let request = InternalRequest {
            method: Method::POST,
            target: "/auth/users".to_owned(),
            body: Some(body),
            headers: Vec::new(),
            caller: InternalCaller::by_key(Identity::system(), &key, fixture.a.id, None, cause),
        };
        let response = fixture.app.runtime().request(request).await.expect("a response");
        response.map(|response| response.status)
    };

    let statuses = [
        invite("ann@alpha.test").await,
        invite("bob@alpha.test").await,
        invite("cid@alpha.test").await,
    ];

    assert_eq!(statuses, [Some(201), Some(201), Some(429)]);
    assert_eq!(
        create(&fixture, "dan@alpha.test", json!({})).await.0,
        201,
        "another actor"
    );
}

#[actix_web::test]
async fn a_mail_that_does_not_leave_keeps_user_and_token() {
    let fixture = fixture().await;
    fixture.app.mail().reject(true);

    let (status, body) = create(&fixture, "ann@alpha.test", json!({})).await;

    assert_eq!((status, body["emailSent"].clone()), (201, json!(false)));
    let tokens = "select purpose from auth_one_time_tokens where voided_at is null";
    assert_eq!(fixture.app.rows(tokens).await, [json!({"purpose": "invite"})]);
}

#[actix_web::test]
async fn a_user_with_a_password_is_invited_only_when_asked() {
    let fixture = fixture().await;

    let quiet = create(&fixture, "ann@alpha.test", json!({"password": "a long password"})).await;
    let asked = create(
        &fixture,
        "bob@alpha.test",
        json!({"password": "a long password", "sendInviteEmail": true}),
    )
    .await;
    let rejected = create(&fixture, "cid@alpha.test", json!({"sendInviteEmail": false})).await;

    assert_eq!(
        [quiet, asked, rejected].map(|(_, body)| body["emailSent"].clone()),
        [json!(false), json!(true), json!(false)]
    );
    assert_eq!(fixture.app.mail().mails().len(), 1);
}

#[actix_web::test]
async fn a_repeated_request_says_again_that_the_mail_left_and_sends_none() {
    let fixture = fixture().await;
    let body = json!({"email": "ann@alpha.test", "organizationId": fixture.a.organization});
    let send = || {
        let request = fixture
            .app
            .request(Method::POST, "/auth/users")
            .bearer(&fixture.a.token);
        request.header("Idempotency-Key", "one").json(&body).send()
    };

    let first = send().await;
    let second = send().await;

    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!(first.json(), second.json());
    assert_eq!(second.json()["emailSent"], true);
    assert_eq!(fixture.app.mail().mails().len(), 1);
}

#[actix_web::test]
async fn undoing_the_creation_kills_the_invitation() {
    let fixture = fixture().await;
    let body = json!({"email": "ann@alpha.test", "organizationId": fixture.a.organization});
    let created = fixture
        .app
        .send(&fixture.a.token, Method::POST, "/auth/users", body)
        .await;
    let token = token_in(&fixture.app.mail().take()[0].text);

    let (status, body) = fixture.app.undo(&fixture.root, &created).await;
    let own = fixture.app.undo(&fixture.a.token, &created).await;

    assert!(status == 200 || own.0 == 200, "{body} {own:?}");
    let response = post(&fixture, "/auth/reset/validate", &[("token", &token)]).await;
    assert_eq!(response.json()["valid"], false);
}

#[actix_web::test]
async fn a_repeat_returns_the_stored_response_whatever_has_become_of_the_user_and_the_limits() {
    let config =
        "[app]\npublic_url = \"https://office.example\"\n[rate_limits.limits]\n\"auth.users.invite\" = \"2/3600\"\n";
    let fixture = Fixture::with_config(config).await;
    let send = async |path: &str, body: &Value| {
        let request = fixture.app.request(Method::POST, path).bearer(&fixture.a.token);
        request.header("Idempotency-Key", "one").json(body).send().await
    };
    let new = json!({"email": "ann@alpha.test", "organizationId": fixture.a.organization});
    let created = send("/auth/users", &new).await;
    let user = json!({"id": id_of(&created.json())});
    let resent = send("/auth/users/resend-invite", &user).await;
    let token = token_in(&fixture.app.mail().mails()[1].text);
    let members = [("token", token.as_str()), ("password", "a first password")];
    assert_eq!(post(&fixture, "/auth/reset/confirm", &members).await.status, 200);

    for _ in 0..4 {
        for (path, body, first) in [
            ("/auth/users", &new, &created),
            ("/auth/users/resend-invite", &user, &resent),
        ] {
            let again = send(path, body).await;
            assert_eq!((again.status, again.json()), (first.status, first.json()), "{path}");
            assert_eq!(again.header("idempotency-replayed").as_deref(), Some("true"), "{path}");
        }
    }

    assert_eq!(resent.json(), json!({"ok": true, "emailSent": true}));
    assert_eq!(fixture.app.mail().mails().len(), 2);
    assert_eq!(resend(&fixture, user["id"].clone()).await.0, 409, "without the key");
}

#[actix_web::test]
async fn a_user_who_is_created_inactive_gets_no_invitation_even_if_asked() {
    let fixture = fixture().await;

    let default = create(&fixture, "ann@alpha.test", json!({"isActive": false})).await;
    let asked = json!({"isActive": false, "sendInviteEmail": true});
    let asked = create(&fixture, "bob@alpha.test", asked).await;

    for (status, body) in [&default, &asked] {
        assert_eq!((*status, &body["emailSent"]), (201, &json!(false)), "{body}");
    }
    assert!(fixture.app.mail().mails().is_empty());
    let tokens = fixture.app.rows("select id from auth_one_time_tokens").await;
    assert!(tokens.is_empty(), "there is no link to use later");
    let id = id_of(&asked.1);
    let activation = json!({"id": id, "isActive": true});
    assert_eq!(
        fixture.app.put(&fixture.a.token, "/auth/users", activation).await.0,
        200
    );
    assert_eq!(resend(&fixture, text(id)).await.1["emailSent"], true, "once active");
}

#[actix_web::test]
async fn a_link_goes_to_the_address_that_the_user_has_when_it_is_sent() {
    let fixture = fixture().await;
    let (status, body) = create(&fixture, "old@alpha.test", json!({"sendInviteEmail": false})).await;
    assert_eq!(status, 201, "{body}");
    let ann = id_of(&body);
    let context = fixture.app.system_context();
    let token = invitation::mint(&context).expect("a token");
    let moved = json!({"id": ann, "email": "new@alpha.test"});
    let (status, body) = fixture.app.put(&fixture.a.token, "/auth/users", moved).await;
    assert_eq!(status, 200, "{body}");
    fixture.app.run_jobs().await;
    assert_eq!(fixture.app.mail().take().len(), 1, "the notice to the old address");

    let is_sent = invitation::mail(&context, fixture.a.id, ann, &token).await;

    assert!(is_sent.expect("it is sent"));
    let to: Vec<String> = fixture.app.mail().take().into_iter().map(|mail| mail.to).collect();
    assert_eq!(to, ["new@alpha.test"]);
    let inactive = json!({"id": ann, "isActive": false});
    assert_eq!(fixture.app.put(&fixture.a.token, "/auth/users", inactive).await.0, 200);
    let is_sent = invitation::mail(&context, fixture.a.id, ann, &token).await;
    assert!(!is_sent.expect("nothing fails"), "the user is inactive");
    assert_eq!(fixture.app.mail().take().len(), 0);
}
