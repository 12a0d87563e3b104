//! The stream of events, with all modules: who is told of what.

use std::time::Duration;

use actix_web::http::Method;
use backoffice_auth::{NewAccount, create_account};
use backoffice_test_support::TestStream;
use serde_json::json;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::history::UNDO;
use crate::world::{Account, House, World, id, text};

const STREAM: &str = "/events/stream";
const USERS: &str = "/auth/users";
const ROLES: &str = "/auth/roles";

async fn open(world: &World, account: &Account) -> TestStream {
    world
        .app
        .request(Method::GET, STREAM)
        .bearer(&account.token)
        .open_events()
        .await
}

/// The keeper of a house makes a user in one of its organizations.
async fn make_user(world: &World, house: &House, organization: Uuid, name: &str) -> Uuid {
    let body = json!({"email": format!("{name}@new.test"), "password": "correct horse battery", "organizationId": organization});
    let (status, body) = world.app.post(&house.keeper.token, USERS, body).await;
    assert_eq!(status, 201, "{body}");
    id(&body["id"])
}

async fn make_role(world: &World, account: &Account, name: &str) -> Uuid {
    let (status, body) = world.app.post(&account.token, ROLES, json!({"name": name})).await;
    assert_eq!(status, 201, "{body}");
    id(&body["id"])
}

#[actix_web::test]
async fn job_12_users_are_told_of_to_those_who_list_users_in_that_tenant() {
    let world = World::new().await;
    let house = &world.a;
    let employee = world.account(house, "employee@alpha.test", &["employee"]).await;
    let mut told = [open(&world, &house.keeper).await, open(&world, &house.user).await];
    let mut silent = [
        open(&world, &house.plain).await,
        open(&world, &employee).await,
        open(&world, &world.b.keeper).await,
        open(&world, &world.root).await,
    ];

    let user = make_user(&world, house, house.other, "new").await;

    for stream in &mut told {
        let (_, name, data) = stream.event().await;
        assert_eq!((name.as_str(), id(&data["payload"]["id"])), ("auth.user.created", user));
        assert_eq!(id(&data["organizationId"]), house.other);
        assert!(stream.is_silent().await, "once");
    }
    for stream in &mut silent {
        assert!(stream.is_silent().await);
    }
}

#[actix_web::test]
async fn job_12_other_organizations_are_not_told_of() {
    let world = World::new().await;
    let house = &world.a;
    let mut stream = open(&world, &house.local).await;

    make_user(&world, house, house.other, "elsewhere").await;
    make_role(&world, &house.keeper, "Of the whole tenant").await;
    let user = make_user(&world, house, house.child, "here").await;

    let (_, _, data) = stream.event().await;
    assert_eq!(id(&data["payload"]["id"]), user);
    assert!(stream.is_silent().await);
}

#[actix_web::test]
async fn job_12_a_feature_that_a_role_loses_ends_its_events_at_once() {
    let world = World::new().await;
    let house = &world.a;
    let mut stream = open(&world, &house.user).await;
    make_user(&world, house, house.other, "before").await;
    assert_eq!(stream.event().await.1, "auth.user.created");

    let acl = json!({"roleId": house.role, "features": []});
    let (status, body) = world.app.put(&house.keeper.token, "/auth/roles/acl", acl).await;
    assert_eq!(status, 200, "{body}");
    make_user(&world, house, house.other, "after").await;

    assert!(stream.is_silent().await);
}

#[actix_web::test]
async fn the_end_of_the_session_closes_the_stream() {
    let world = World::new().await;
    let house = &world.a;
    let mut stream = open(&world, &house.user).await;
    let leave = world
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(&house.user.token);
    leave.send().await;
    make_user(&world, house, house.other, "after").await;

    assert_eq!(stream.next().await, None);
}

#[actix_web::test]
async fn what_belongs_to_the_platform_is_told_of_to_the_platform() {
    let world = World::new().await;
    let mut told = open(&world, &world.root).await;
    let mut silent = [open(&world, &world.a.keeper).await, open(&world, &world.b.admin).await];
    let account = NewAccount {
        tenant: None,
        organization: None,
        email: "second@platform.test".to_owned(),
        name: None,
        password: None,
        roles: Vec::new(),
        super_admin: true,
    };

    let made = create_account(&world.app.system_context(), account)
        .await
        .expect("the account is made");

    let (_, name, data) = told.event().await;
    assert_eq!((name.as_str(), id(&data["payload"]["id"])), ("auth.user.created", made));
    for stream in &mut silent {
        assert!(stream.is_silent().await);
    }
}

#[actix_web::test]
async fn sessions_the_sidebar_and_undoing_itself_stay_inside() {
    let world = World::new().await;
    let keeper = &world.a.keeper;
    let role = make_role(&world, keeper, "Shown").await;
    let mut stream = open(&world, keeper).await;

    world.sign_in(&keeper.email).await;
    world
        .app
        .post("", "/auth/login", json!({"email": keeper.email, "password": "wrong"}))
        .await;
    let variant = json!({"name": "Mine", "settings": {}});
    let (status, body) = world.app.post(&keeper.token, "/auth/sidebar/variants", variant).await;
    assert!(matches!(status, 200 | 201), "{body}");
    assert!(stream.is_silent().await);

    let rename = world.app.request(Method::PUT, ROLES).bearer(&keeper.token);
    let renamed = rename.json(&json!({"id": role, "name": "Renamed"})).send().await;
    let token = text(&renamed.operation().expect("undoable")["undoToken"]);
    let (status, body) = world.app.post(&keeper.token, UNDO, json!({"undoToken": token})).await;
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
    let world = World::new().await;
    let platform = world.app.platform();

    let views: Vec<_> = platform
        .registry()
        .entities()
        .filter_map(|entity| entity.view())
        .collect();

    assert!(!views.is_empty());
    for view in views {
        assert!(platform.catalogue().contains(view.id), "{}", view.id);
    }
}

#[actix_web::test]
async fn job_3_numbers_follow_the_commits_and_not_the_beginnings() {
    let world = World::new().await;
    let keeper = &world.a.keeper;
    let role = make_role(&world, keeper, "Held up").await;
    let mut stream = open(&world, keeper).await;
    let owner = world.app.database().owner();
    owner.batch_execute("begin").await.expect("a transaction");
    let lock = format!("select 1 from auth_roles where id = '{role}' for update");
    owner.batch_execute(&lock).await.expect("locked");

    let began_first = async {
        let (status, body) = world
            .app
            .put(&keeper.token, ROLES, json!({"id": role, "name": "First"}))
            .await;
        assert_eq!(status, 200, "{body}");
    };
    let commits_first = async {
        while world
            .app
            .rows("select pid from pg_locks where not granted")
            .await
            .is_empty()
        {
            sleep(Duration::from_millis(10)).await;
        }
        let second = make_role(&world, keeper, "Second").await;
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
    let world = World::new().await;
    let keeper = &world.a.keeper;
    let mut stream = open(&world, keeper).await;
    let writing = (0..WRITERS).map(|writer| {
        let world = &world;
        async move {
            for number in 0..EACH {
                make_role(world, keeper, &format!("{writer} {number}")).await;
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
    let numbers = timeout(Duration::from_secs(60), all)
        .await
        .expect("every event arrives");

    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
}
