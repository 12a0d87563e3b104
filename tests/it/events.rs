//! The stream of events, with all modules: the recipients of each event.

use actix_web::http::Method;
use backoffice_auth::{NewAccount, create_account};
use backoffice_core::Timestamp;
use backoffice_test_support::{Duration, TestStream};
use serde_json::json;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::fixture::{Account, Fixture, TenantFixture, builder, id, text};

const STREAM: &str = "/events/stream";
const USERS: &str = "/auth/users";
const ROLES: &str = "/auth/roles";

async fn open(fixture: &Fixture, account: &Account) -> TestStream {
    fixture
        .app
        .request(Method::GET, STREAM)
        .bearer(&account.token)
        .open_events()
        .await
}

/// Creates a user in an organization as the tenant's admin.
async fn create_user(fixture: &Fixture, tenant_fixture: &TenantFixture, organization: Uuid, name: &str) -> Uuid {
    let body = json!({"email": format!("{name}@new.test"), "password": "correct horse battery", "organizationId": organization});
    let (status, body) = fixture.app.post(&tenant_fixture.tenant_admin.token, USERS, body).await;
    assert_eq!(status, 201, "{body}");
    id(&body["id"])
}

async fn create_role(fixture: &Fixture, account: &Account, name: &str) -> Uuid {
    let (status, body) = fixture.app.post(&account.token, ROLES, json!({"name": name})).await;
    assert_eq!(status, 201, "{body}");
    id(&body["id"])
}

#[actix_web::test]
async fn job_12_user_events_reach_callers_who_may_list_users_in_that_tenant() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    let employee = fixture
        .account(tenant_fixture, "employee@alpha.test", &["employee"])
        .await;
    let mut reported = [
        open(&fixture, &tenant_fixture.tenant_admin).await,
        open(&fixture, &tenant_fixture.user).await,
    ];
    let mut silent = [
        open(&fixture, &tenant_fixture.plain).await,
        open(&fixture, &employee).await,
        open(&fixture, &fixture.b.tenant_admin).await,
        open(&fixture, &fixture.root).await,
    ];

    let user = create_user(&fixture, tenant_fixture, tenant_fixture.other, "new").await;

    for stream in &mut reported {
        let (_, name, data) = stream.event().await;
        assert_eq!((name.as_str(), id(&data["payload"]["id"])), ("auth.user.created", user));
        assert_eq!(id(&data["organizationId"]), tenant_fixture.other);
        assert!(stream.is_silent().await, "once");
    }
    for stream in &mut silent {
        assert!(stream.is_silent().await);
    }
}

#[actix_web::test]
async fn job_12_other_organizations_are_not_streamed() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    let mut stream = open(&fixture, &tenant_fixture.local).await;

    create_user(&fixture, tenant_fixture, tenant_fixture.other, "elsewhere").await;
    create_role(&fixture, &tenant_fixture.tenant_admin, "Of the whole tenant").await;
    let user = create_user(&fixture, tenant_fixture, tenant_fixture.child, "here").await;

    let (_, _, data) = stream.event().await;
    assert_eq!(id(&data["payload"]["id"]), user);
    assert!(stream.is_silent().await);
}

#[actix_web::test]
async fn job_12_a_feature_that_a_role_loses_ends_its_events_at_once() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    let mut stream = open(&fixture, &tenant_fixture.user).await;
    create_user(&fixture, tenant_fixture, tenant_fixture.other, "before").await;
    assert_eq!(stream.event().await.1, "auth.user.created");

    let acl = json!({"roleId": tenant_fixture.role, "features": []});
    let (status, body) = fixture
        .app
        .put(&tenant_fixture.tenant_admin.token, "/auth/roles/acl", acl)
        .await;
    assert_eq!(status, 200, "{body}");
    create_user(&fixture, tenant_fixture, tenant_fixture.other, "after").await;

    assert!(stream.is_silent().await);
}

#[actix_web::test]
async fn the_end_of_the_session_closes_the_stream() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    let mut stream = open(&fixture, &tenant_fixture.user).await;
    let leave = fixture
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(&tenant_fixture.user.token);
    leave.send().await;
    create_user(&fixture, tenant_fixture, tenant_fixture.other, "after").await;

    assert_eq!(stream.next().await, None);
}

#[actix_web::test]
async fn a_stream_closes_when_its_credential_expires() {
    // The access token expires before its session.
    let fixture = Fixture::of(builder().config("[auth]\naccess_token_ttl = \"10m\"\n")).await;
    let admin = &fixture.a.tenant_admin.token;
    let create_key = async |name: &str, expires_at: Option<Timestamp>| {
        let body = json!({"name": name, "roles": ["Keeper"], "organizationId": null, "expiresAt": expires_at});
        let (status, body) = fixture.app.post(admin, "/api_keys/keys", body).await;
        assert_eq!(status, 201, "{body}");
        text(&body["secret"])
    };
    let open_by_key = async |secret: &str| {
        let request = fixture.app.request(Method::GET, STREAM);
        request.header("X-Api-Key", secret).open_events().await
    };
    let in_five_minutes = fixture.app.now().after(Duration::minutes(5));
    let secrets = [
        create_key("Short", Some(in_five_minutes)).await,
        create_key("Endless", None).await,
    ];
    let mut by_short = open_by_key(&secrets[0]).await;
    let mut by_endless = open_by_key(&secrets[1]).await;
    let mut by_token = open(&fixture, &fixture.a.user).await;
    let mut streams = [&mut by_short, &mut by_endless, &mut by_token];
    fixture.app.advance(Duration::minutes(5) - Duration::milliseconds(1));
    for stream in &mut streams {
        assert!(stream.is_silent().await);
    }

    // No event, no comment and no revocation occurs.
    fixture.app.advance(Duration::milliseconds(1));
    assert_eq!(by_short.next().await, None);
    assert!(by_token.is_silent().await);

    // Five seconds are allowed for different clocks.
    fixture.app.advance(Duration::minutes(5) + Duration::milliseconds(4999));
    assert!(by_token.is_silent().await);
    fixture.app.advance(Duration::milliseconds(1));
    assert_eq!(by_token.next().await, None);
    assert!(by_endless.is_silent().await);
}

#[actix_web::test]
async fn events_of_the_platform_reach_streams_of_the_platform() {
    let fixture = Fixture::new().await;
    let mut reported = open(&fixture, &fixture.root).await;
    let mut silent = [
        open(&fixture, &fixture.a.tenant_admin).await,
        open(&fixture, &fixture.b.admin).await,
    ];
    let account = NewAccount {
        tenant: None,
        organization: None,
        email: "second@platform.test".to_owned(),
        name: None,
        password: None,
        roles: Vec::new(),
        super_admin: true,
    };

    let created = create_account(&fixture.app.system_context(), account)
        .await
        .expect("the account is created");

    let (_, name, data) = reported.event().await;
    assert_eq!(
        (name.as_str(), id(&data["payload"]["id"])),
        ("auth.user.created", created)
    );
    for stream in &mut silent {
        assert!(stream.is_silent().await);
    }
}

#[actix_web::test]
async fn sessions_the_sidebar_and_undoing_itself_stay_inside() {
    let fixture = Fixture::new().await;
    let tenant_admin = &fixture.a.tenant_admin;
    let role = create_role(&fixture, tenant_admin, "Shown").await;
    let mut stream = open(&fixture, tenant_admin).await;

    fixture.sign_in(&tenant_admin.email).await;
    fixture
        .app
        .post(
            "",
            "/auth/login",
            json!({"email": tenant_admin.email, "password": "wrong"}),
        )
        .await;
    let variant = json!({"name": "Mine", "settings": {}});
    let (status, body) = fixture
        .app
        .post(&tenant_admin.token, "/auth/sidebar/variants", variant)
        .await;
    assert!(matches!(status, 200 | 201), "{body}");
    assert!(stream.is_silent().await);

    let rename = json!({"id": role, "name": "Renamed"});
    let renamed = fixture.app.send(&tenant_admin.token, Method::PUT, ROLES, rename).await;
    let (status, body) = fixture.app.undo(&tenant_admin.token, &renamed).await;
    assert_eq!(status, 200, "{body}");

    assert_eq!(stream.event().await.1, "auth.role.updated");
    let (_, name, data) = stream.event().await;
    assert_eq!(
        (name.as_str(), &data["payload"]["undo"]),
        ("auth.role.updated", &json!(true))
    );
    assert!(stream.is_silent().await);
}

#[actix_web::test]
async fn rights_that_show_events_are_declared() {
    let fixture = Fixture::new().await;
    let platform = fixture.app.platform();

    let views: Vec<_> = platform
        .registry()
        .entities()
        .filter_map(backoffice_core::command::AnyEntity::view)
        .collect();

    assert!(!views.is_empty());
    for view in views {
        assert!(platform.catalogue().contains(view.id), "{}", view.id);
    }
}

#[actix_web::test]
async fn job_3_numbers_follow_the_commits_and_not_the_beginnings() {
    let fixture = Fixture::new().await;
    let tenant_admin = &fixture.a.tenant_admin;
    let role = create_role(&fixture, tenant_admin, "Held up").await;
    let mut stream = open(&fixture, tenant_admin).await;
    let owner = fixture.app.database().owner();
    owner.batch_execute("begin").await.expect("a transaction");
    let lock = format!("select 1 from auth_roles where id = '{role}' for update");
    owner.batch_execute(&lock).await.expect("locked");

    let began_first = async {
        let (status, body) = fixture
            .app
            .put(&tenant_admin.token, ROLES, json!({"id": role, "name": "First"}))
            .await;
        assert_eq!(status, 200, "{body}");
    };
    let commits_first = async {
        while fixture
            .app
            .rows("select pid from pg_locks where not granted")
            .await
            .is_empty()
        {
            sleep(std::time::Duration::from_millis(10)).await;
        }
        let second = create_role(&fixture, tenant_admin, "Second").await;
        let (seq, _, data) = stream.event().await;
        assert_eq!(id(&data["payload"]["id"]), second);
        owner.batch_execute("commit").await.expect("released");
        seq
    };
    let ((), lower) = tokio::join!(began_first, commits_first);

    let (seq, name, data) = stream.event().await;
    assert!(lower < seq, "{lower} and {seq}");
    assert_eq!((name.as_str(), id(&data["payload"]["id"])), ("auth.role.updated", role));
}

#[actix_web::test]
async fn job_3_a_stream_never_sees_a_lower_number_after_a_higher_one() {
    const WRITERS: usize = 4;
    const EACH: usize = 15;
    let fixture = Fixture::new().await;
    let tenant_admin = &fixture.a.tenant_admin;
    let mut stream = open(&fixture, tenant_admin).await;
    let writing = (0..WRITERS).map(|writer| {
        let fixture = &fixture;
        async move {
            for number in 0..EACH {
                create_role(fixture, tenant_admin, &format!("{writer} {number}")).await;
            }
        }
    });

    let reading = async {
        let mut numbers = Vec::new();
        while numbers.len() < WRITERS * EACH {
            numbers.push(stream.event().await.0);
        }
        numbers
    };
    let all = async { tokio::join!(futures_util::future::join_all(writing), reading).1 };
    let numbers = timeout(std::time::Duration::from_secs(60), all)
        .await
        .expect("every event arrives");

    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
}
