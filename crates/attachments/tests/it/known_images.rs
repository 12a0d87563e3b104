//! Pictures whose rows a node knows: they cost no statement, and show every change.

use actix_web::http::Method;
use backoffice_attachments::{CleanUp, KnownImages};
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{Duration, TestApp, TestResponse};
use image::ImageFormat;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::images::landscape;
use crate::{LIBRARY, PARTITIONS, Upload, builder, deal, files_below, fixture, id_of, request, uploaded};

const SIZE: &str = "width=100&height=100";

async fn picture(app: &TestApp, token: &str, id: Uuid) -> TestResponse {
    let path = format!("/attachments/image/{id}/a.png?{SIZE}");
    app.request(Method::GET, &path).bearer(token).send().await
}

async fn photo(fixture: &TwoTenants, parts: &[(&str, &str)]) -> Uuid {
    let bytes = landscape(ImageFormat::Png);
    let file = Upload {
        name: "a.png",
        bytes: &bytes,
        kind: "image/png",
    };
    uploaded(fixture, parts, file).await
}

/// Starts the background, and waits until the node knows that its values are valid.
async fn confirmed(app: &TestApp) {
    app.start_background();
    let known = app.platform().provided().get::<KnownImages>().expect("the module");
    known.rounds().run().await;
}

/// Lets the node read what other nodes have changed.
async fn poll(app: &TestApp) {
    let known = app.platform().provided().get::<KnownImages>().expect("the module");
    known.rounds().run().await;
}

async fn renamed(app: &TestApp, token: &str, id: Uuid) {
    let request = app.request(Method::PATCH, &format!("{LIBRARY}/{id}")).bearer(token);
    let response = request.json(&json!({"fileName": "b.png"})).send().await;
    assert_eq!(response.status, 200, "{}", response.text());
}

fn name(response: &TestResponse) -> String {
    assert_eq!(response.status, 200, "{}", response.text());
    let disposition = response.header("content-disposition").expect("a name");
    disposition
        .rsplit("filename*=UTF-8''")
        .next()
        .expect("a name")
        .to_owned()
}

#[actix_web::test]
async fn a_known_picture_costs_no_statement() {
    let fixture = TwoTenants::inside(builder().through_proxy().build().await).await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let id = photo(&fixture, &[]).await;
    let (first, without) = app.count_statements(picture(app, token, id)).await;
    confirmed(app).await;
    let kept = picture(app, token, id).await;

    let run = async || {
        let again = picture(app, token, id).await;
        assert_eq!((again.status, &again.body), (200, &first.body));
    };
    let fewest = app.fewest_statements(run).await;

    assert_eq!(kept.body, first.body);
    assert_eq!((without > 0, fewest), (true, 0));
}

#[actix_web::test]
async fn a_known_picture_shows_changes_of_its_own_node_at_once() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    confirmed(app).await;
    let partition = json!({"code": "photos", "title": "Photos", "isPublic": true});
    let (status, created) = app.post(token, PARTITIONS, partition).await;
    assert_eq!(status, 201, "{created}");
    let id = photo(&fixture, &[("partitionCode", "photos")]).await;
    let path = format!("{LIBRARY}/{id}");
    let seen = async || {
        picture(app, token, id).await;
        picture(app, token, id).await
    };
    assert_eq!(name(&seen().await), "a.png");

    renamed(app, token, id).await;
    assert_eq!(name(&seen().await), "b.png");

    let partition = json!({"id": created["item"]["id"], "isPublic": false});
    let (status, body) = app.put(token, PARTITIONS, partition).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(
        seen().await.header("cache-control").as_deref(),
        Some("private, no-cache")
    );

    assert_eq!(app.delete(token, &path, Value::Null).await.0, 200);
    assert_eq!(picture(app, token, id).await.status, 404);
}

#[actix_web::test]
async fn a_known_picture_shows_changes_of_other_nodes_after_a_poll() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let node = app.second_node().await;
    let id = photo(&fixture, &[]).await;
    let path = format!("{LIBRARY}/{id}");
    picture(&node, token, id).await;
    confirmed(&node).await;
    assert_eq!(name(&picture(&node, token, id).await), "a.png");

    renamed(app, token, id).await;
    poll(&node).await;
    assert_eq!(name(&picture(&node, token, id).await), "b.png");
    assert_eq!(name(&picture(&node, token, id).await), "b.png");

    // A change of a partition of the platform concerns the files of all tenants.
    app.sql("update attachments_partitions set is_public = true where code = 'privateAttachments'")
        .await;
    app.sql(
        "insert into core_collections as c (tenant_id, id, kind, version, created_at, updated_at)
         values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'attachments.partition', 1, now(), now())
         on conflict (tenant_id, kind) do update set version = c.version + 1, updated_at = now()",
    )
    .await;
    poll(&node).await;
    let public = picture(&node, token, id).await;
    assert_eq!(public.header("cache-control").as_deref(), Some("public, max-age=86400"));

    assert_eq!(app.delete(token, &path, Value::Null).await.0, 200);
    poll(&node).await;
    assert_eq!(picture(&node, token, id).await.status, 404);
}

#[actix_web::test]
async fn a_known_picture_shows_a_change_after_a_restore_while_the_clock_is_behind() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let node = app.second_node().await;
    let id = photo(&fixture, &[]).await;
    app.sql(
        "insert into core_collections as c (tenant_id, id, kind, version, created_at, updated_at)
         values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'attachments.partition', 1, '2999-01-01', '2999-01-01')
         on conflict (tenant_id, kind) do update set updated_at = '2999-01-01'",
    )
    .await;
    picture(&node, token, id).await;
    confirmed(&node).await;
    assert_eq!(name(&picture(&node, token, id).await), "a.png");

    // The first change after the restore takes the number of the last one that the backup lacks.
    app.sql(&format!(
        "update attachments_attachments set file_name = 'b.png' where id = '{id}'"
    ))
    .await;
    app.sql(
        "update core_collections set updated_at = updated_at + interval '1 second' where kind = 'attachments.attachment'",
    )
    .await;
    poll(&node).await;

    assert_eq!(name(&picture(&node, token, id).await), "b.png");
}

#[actix_web::test]
async fn access_is_checked_before_a_known_picture_is_sent() {
    let fixture = fixture().await;
    let app = &fixture.app;
    confirmed(app).await;
    let id = photo(&fixture, &[]).await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Branch", &["attachments.*"], Some(&[branch])).await;
    fixture.role("Nothing", &["directory.organizations.view"], None).await;
    let (_, sibling) = fixture.user("branch@alpha.test", &["Branch"]).await;
    let (_, without) = fixture.user("nothing@alpha.test", &["Nothing"]).await;
    for _ in 0..2 {
        assert_eq!(picture(app, &fixture.a.token, id).await.status, 200);
    }

    for (token, expected) in [
        (&fixture.b.token, 404),
        (&sibling, 404),
        (&without, 403),
        (&fixture.a.token, 200),
    ] {
        assert_eq!(picture(app, token, id).await.status, expected);
    }
}

#[actix_web::test]
async fn a_known_picture_of_a_record_costs_no_statement_for_a_second() {
    let fixture = TwoTenants::inside(builder().through_proxy().build().await).await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let (deal, bytes) = (deal(&fixture).await, landscape(ImageFormat::Png));
    let record = deal.to_string();
    let file = Upload {
        name: "a.png",
        bytes: &bytes,
        kind: "image/png",
    };
    let parts = [("entityId", "customers.deal"), ("recordId", record.as_str())];
    let response = request(app, token, &parts, Some(file)).send().await;
    let id = id_of(&response.json()["item"]);
    confirmed(app).await;
    picture(app, token, id).await;

    let run = async || {
        let again = picture(app, token, id).await;
        assert_eq!(again.status, 200, "{}", again.text());
    };
    assert_eq!(app.fewest_statements(run).await, 0);

    let path = format!("/customers/deals?id={deal}");
    assert_eq!(app.delete(token, &path, Value::Null).await.0, 200);
    app.advance(Duration::SECOND);
    assert_eq!(picture(app, token, id).await.status, 404);
}

#[actix_web::test]
async fn other_nodes_remove_the_pictures_of_a_deleted_file() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let folder = app.data_dir().join("pictures of another node");
    let section = format!("[attachments]\nimage_cache_dir = {folder:?}\n");
    let node = app.second_node_with(&format!("{CONFIG}{NO_LIMITS}{section}")).await;
    let (deleted, kept) = (photo(&fixture, &[]).await, photo(&fixture, &[]).await);
    for id in [deleted, kept] {
        assert_eq!(picture(&node, token, id).await.status, 200);
    }

    let path = format!("{LIBRARY}/{deleted}");
    assert_eq!(app.delete(token, &path, Value::Null).await.0, 200);
    assert_eq!(files_below(&folder), 2);
    node.start_background();
    let clean_up = node.platform().provided().get::<CleanUp>().expect("the module");
    clean_up.0.run().await;

    assert_eq!(files_below(&folder), 1);
    assert!(folder.join(fixture.a.id.to_string()).join(kept.to_string()).exists());
}
