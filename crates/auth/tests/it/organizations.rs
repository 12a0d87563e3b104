use actix_web::http::Method;
use backoffice_test_accounts::ORGANIZATIONS;
use serde_json::json;

use crate::fixture::{Fixture, account, id_of, login};

#[actix_web::test]
async fn an_organization_with_users_can_not_be_removed_by_any_way() {
    let fixture = Fixture::new().await;
    let body = json!({"name": "Depot"});
    let created = fixture
        .app
        .send(&fixture.a.token, Method::POST, ORGANIZATIONS, body)
        .await;
    let id = id_of(&created.json());
    account(&fixture.app, Some(fixture.a.id), Some(id), "ann@alpha.test", &[], false).await;

    let path = format!("{ORGANIZATIONS}?id={id}");
    let (deleted, text) = fixture.app.delete(&fixture.a.token, &path, json!(null)).await;
    let (undone, conflict) = fixture.app.undo(&fixture.a.token, &created).await;

    assert_eq!((deleted, text["code"].as_str()), (409, Some("organization_in_use")));
    assert_eq!((undone, conflict["code"].as_str()), (400, Some("undo_conflict")));
    assert_eq!(fixture.app.get(&fixture.a.token, &path).await.1["total"], 1);
}

#[actix_web::test]
async fn users_of_a_deactivated_organization_are_signed_out_for_good() {
    let fixture = Fixture::new().await;
    let id = fixture.organization("Depot", None).await;
    account(&fixture.app, Some(fixture.a.id), Some(id), "ann@alpha.test", &[], false).await;
    let token = login(&fixture.app, "ann@alpha.test").await;
    let put = |active: bool| {
        fixture
            .app
            .put(&fixture.a.token, ORGANIZATIONS, json!({"id": id, "isActive": active}))
    };

    let (off, _) = put(false).await;
    let while_off = fixture.app.get(&token, "/auth/profile").await.0;
    let (on, _) = put(true).await;

    assert_eq!((off, while_off, on), (200, 401, 200));
    assert_eq!(fixture.app.get(&token, "/auth/profile").await.0, 401);
    login(&fixture.app, "ann@alpha.test").await;
}

#[actix_web::test]
async fn the_tenant_list_counts_live_users() {
    let fixture = Fixture::new().await;

    let (status, list) = fixture
        .app
        .get(&fixture.root, &format!("/directory/tenants?id={}", fixture.a.id))
        .await;

    assert_eq!((status, list["items"][0]["usersCount"].as_i64()), (200, Some(1)));
}

#[actix_web::test]
async fn undo_puts_nothing_into_an_organization_outside_of_the_scope() {
    let fixture = Fixture::new().await;
    let north = fixture.organization("North", None).await;
    let south = fixture.organization("South", None).await;
    let features = ["audit_logs.*", "auth.users.*", "directory.organizations.*"];
    fixture.role("Local", &features, Some(&[north])).await;
    let (_, local) = fixture.user("local@alpha.test", &["Local"]).await;
    let user = account(
        &fixture.app,
        Some(fixture.a.id),
        Some(south),
        "ann@alpha.test",
        &[],
        false,
    )
    .await;
    let below = fixture.organization("Below", Some(south)).await;
    let top = fixture.organization("Top", None).await;

    for (path, body) in [
        ("/auth/users", json!({"id": user, "organizationId": north})),
        (ORGANIZATIONS, json!({"id": below, "parentId": north})),
        (ORGANIZATIONS, json!({"id": top, "parentId": north})),
    ] {
        let moved = fixture.app.send(&fixture.a.token, Method::PUT, path, &body).await;
        assert_eq!(moved.status, 200, "{body}: {}", moved.text());
        let before = fixture.app.snapshot().await;

        let rejected = fixture.app.undo(&local, &moved).await;

        let violation = json!({"error": "Organization scope violation"});
        assert_eq!(rejected, (403, violation), "{body}");
        assert_eq!(fixture.app.snapshot().await, before, "{body}");
        assert_eq!(fixture.app.undo(&fixture.a.token, &moved).await.0, 200, "{body}");
    }
}
