//! Partitions.

use actix_web::http::Method;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, id_of};
use backoffice_test_support::{TestApp, details};
use futures_util::future::{join, join3};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    LIBRARY, NOTE, PARTITIONS, TwoTenants, Upload, builder, files_below, fixture, rejected, rejection, upload, uploaded,
};

/// The partition for files that everybody may read.
const PUBLIC: &str = "019aae00-0000-7000-8000-000000000001";

async fn codes(fixture: &TwoTenants, token: &str) -> Vec<String> {
    let (status, list) = fixture.app.get(token, PARTITIONS).await;
    assert_eq!(status, 200, "{list}");
    let items = list["items"].as_array().into_iter().flatten();
    items
        .filter_map(|item| item["code"].as_str().map(str::to_owned))
        .collect()
}

async fn create_docs(fixture: &TwoTenants, fields: Value) -> (u16, Value) {
    let mut body = json!({"code": "docs", "title": "Documents"});
    body.as_object_mut()
        .expect("an object")
        .extend(fields.as_object().expect("an object").clone());
    fixture.app.post(&fixture.a.token, PARTITIONS, body).await
}

#[actix_web::test]
async fn att_24_a_partition_belongs_to_its_tenant() {
    let fixture = fixture().await;

    let (status, body) = create_docs(&fixture, json!({"description": "D"})).await;

    let item = &body["item"];
    let expected = json!({"id": item["id"], "tenantId": fixture.a.id, "code": "docs", "title": "Documents", "description": "D",
        "envKey": "ATTACHMENTS_PARTITION_DOCS_ROOT", "isPublic": false, "requiresOcr": false, "ocrModel": null,
        "storageDriver": "local", "configJson": null, "createdAt": item["createdAt"], "updatedAt": item["updatedAt"]});
    assert_eq!((status, item), (201, &expected));
    assert_eq!(
        codes(&fixture, &fixture.a.token).await,
        ["productsMedia", "privateAttachments", "docs"]
    );
    assert_eq!(
        codes(&fixture, &fixture.b.token).await,
        ["productsMedia", "privateAttachments"]
    );
    let (status, _) = fixture
        .app
        .post(&fixture.b.token, PARTITIONS, json!({"code": "docs", "title": "Own"}))
        .await;
    assert_eq!(status, 201, "another tenant may use the code");
    assert_eq!(
        codes(&fixture, &fixture.root).await.len(),
        4,
        "super administrators see all"
    );
    for code in ["DOCS", "privateattachments"] {
        let taken = fixture
            .app
            .post(&fixture.a.token, PARTITIONS, json!({"code": code, "title": "T"}))
            .await;
        assert_eq!(
            (taken.0, &taken.1["error"]),
            (409, &json!("Partition code already exists")),
            "{code}"
        );
    }
}

#[actix_web::test]
async fn att_24_codes_stay_and_default_partitions_are_the_platforms() {
    let fixture = fixture().await;
    let (_, body) = create_docs(&fixture, json!({})).await;
    let id = &body["item"]["id"];
    let put = async |token: &str, body: Value| fixture.app.put(token, PARTITIONS, body).await;

    let (status, changed) = put(&fixture.a.token, json!({"id": id, "title": "Renamed", "code": "docs"})).await;
    assert_eq!(
        (status, &changed["item"]["title"], &changed["item"]["isPublic"]),
        (200, &json!("Renamed"), &json!(false))
    );
    for (token, body, status) in [
        (&fixture.a.token, json!({"id": id, "code": "other"}), 400),
        (&fixture.a.token, json!({"id": id, "storageDriver": "s3"}), 400),
        (&fixture.a.token, json!({"id": id, "configJson": {"bucket": "b"}}), 400),
        (&fixture.a.token, json!({"id": id, "title": null}), 400),
        (&fixture.a.token, json!({"title": "Without id"}), 400),
        (&fixture.a.token, json!({"id": PUBLIC, "title": "Mine"}), 403),
        (&fixture.b.token, json!({"id": id, "title": "Mine"}), 404),
    ] {
        let (rejected, response) = put(token, body.clone()).await;
        assert_eq!(rejected, status, "{body}: {response}");
    }
    let (status, changed) = put(&fixture.root, json!({"id": PUBLIC, "title": "Media"})).await;
    assert_eq!((status, &changed["item"]["title"]), (200, &json!("Media")), "{changed}");
    let delete = async |id: &str| {
        fixture
            .app
            .delete(&fixture.a.token, &format!("{PARTITIONS}?id={id}"), Value::Null)
            .await
            .0
    };
    assert_eq!(
        (
            delete(PUBLIC).await,
            delete("x").await,
            delete("00000000-0000-7000-8000-000000000009").await
        ),
        (400, 400, 404)
    );
    assert_eq!(delete(id.as_str().expect("an id")).await, 200);
}

#[actix_web::test]
async fn a_partition_to_delete_is_named_in_the_query_or_in_the_body() {
    let fixture = fixture().await;
    let mut created = Vec::new();
    for code in ["one", "two", "three"] {
        let body = json!({"code": code, "title": "T"});
        let (status, body) = fixture.app.post(&fixture.a.token, PARTITIONS, body).await;
        assert_eq!(status, 201, "{body}");
        created.push(id_of(&body["item"]));
    }
    let [one, two, three] = created[..] else {
        panic!("three")
    };
    let in_query = |id: &str| format!("{PARTITIONS}?id={id}");
    let delete = async |path: &str, body: Value| fixture.app.delete(&fixture.a.token, path, body).await;
    let left = async || codes(&fixture, &fixture.a.token).await.split_off(2);

    for (path, body, code) in [
        (PARTITIONS.to_owned(), Value::Null, "required"),
        (PARTITIONS.to_owned(), json!({}), "required"),
        (PARTITIONS.to_owned(), json!({"id": null}), "required"),
        (PARTITIONS.to_owned(), json!({"id": "x"}), "invalid_value"),
        (PARTITIONS.to_owned(), json!({"id": 7}), "invalid_type"),
        (in_query("x"), json!({"id": one}), "invalid_value"),
        (in_query(&one.to_string()), json!({"id": two}), "invalid_value"),
    ] {
        let (status, response) = delete(&path, body.clone()).await;
        assert_eq!((status, details(&response)), (400, vec![("id", code)]), "{path} {body}");
    }
    for body in ["[]", "{", "7"] {
        let request = fixture.app.request(Method::DELETE, &in_query(&one.to_string()));
        let request = request.bearer(&fixture.a.token).body(body, "application/json");
        assert_eq!(request.send().await.status, 400, "{body}");
    }
    assert_eq!(delete(PARTITIONS, json!({"id": PUBLIC})).await.0, 400);
    assert_eq!(delete(PARTITIONS, json!({"id": Uuid::from_u128(7)})).await.0, 404);
    assert_eq!(left().await, ["one", "two", "three"]);

    let (status, body) = delete(PARTITIONS, json!({"id": one})).await;
    assert_eq!((status, body), (200, json!({"ok": true})));
    assert_eq!(left().await, ["two", "three"]);
    assert_eq!(delete(&in_query(&two.to_string()), json!({"id": two})).await.0, 200);
    assert_eq!(delete(&in_query(&three.to_string()), json!({})).await.0, 200);
    assert_eq!(left().await, [] as [&str; 0]);
}

#[actix_web::test]
async fn att_24_a_partition_with_files_stays_and_becomes_public_only_by_confirmation() {
    let fixture = fixture().await;
    let (_, body) = create_docs(&fixture, json!({})).await;
    let id = body["item"]["id"].as_str().expect("an id").to_owned();
    let file = uploaded(&fixture, &[("partitionCode", "DOCS")], NOTE).await;

    let delete = fixture
        .app
        .delete(&fixture.a.token, &format!("{PARTITIONS}?id={id}"), Value::Null)
        .await;
    assert_eq!((delete.0, &delete.1["error"]), (409, &json!("Partition is in use")));
    let (status, body) = fixture
        .app
        .put(&fixture.a.token, PARTITIONS, json!({"id": id, "isPublic": true}))
        .await;
    assert_eq!((status, &body["code"]), (400, &json!("confirm_public")));
    let confirmed = json!({"id": id, "isPublic": true, "confirmPublic": true});
    assert_eq!(fixture.app.put(&fixture.a.token, PARTITIONS, confirmed).await.0, 200);
    let path = format!("/attachments/file/{file}");
    let shown = fixture.app.request(Method::GET, &path).send().await;
    assert_eq!((shown.status, shown.text().as_str()), (200, "Twelve bytes"));
    assert!(fixture.app.data_dir().join("attachments/docs").is_dir());
}

#[actix_web::test]
async fn undo_and_redo_do_not_make_a_partition_with_files_public() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let (_, body) = create_docs(&fixture, json!({})).await;
    let id = &body["item"]["id"];
    let put = async |is_public: bool| {
        let body = json!({"id": id, "isPublic": is_public});
        let response = fixture.app.send(token, Method::PUT, PARTITIONS, body).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response
    };
    let is_public = async || fixture.app.read(token, PARTITIONS).await["items"][2]["isPublic"].clone();
    let upload_note = || uploaded(&fixture, &[("partitionCode", "docs")], NOTE);
    let delete = async |file: Uuid| {
        let path = format!("{LIBRARY}/{file}");
        assert_eq!(fixture.app.delete(token, &path, Value::Null).await.0, 200);
    };
    let assert_conflict = |(status, body): (u16, Value)| {
        assert_eq!(
            (status, &body["code"], &body["fields"]),
            (400, &json!("undo_conflict"), &json!(["isPublic"]))
        );
    };

    let opened = put(true).await;
    assert_eq!(fixture.app.undo(token, &opened).await.0, 200);
    let file = upload_note().await;
    assert_conflict(fixture.app.redo(token, &opened).await);
    assert_eq!(is_public().await, json!(false));
    delete(file).await;
    assert_eq!(fixture.app.redo(token, &opened).await.0, 200);
    assert_eq!(is_public().await, json!(true));

    let closed = put(false).await;
    let file = upload_note().await;
    assert_conflict(fixture.app.undo(token, &closed).await);
    assert_eq!(is_public().await, json!(false));
    delete(file).await;
    assert_eq!(fixture.app.undo(token, &closed).await.0, 200);
    assert_eq!(is_public().await, json!(true));
}

#[actix_web::test]
async fn a_super_administrator_changes_a_default_partition_whatever_tenant_is_selected() {
    let fixture = fixture().await;
    let (_, own) = create_docs(&fixture, json!({})).await;
    let body = json!({"code": "docs", "title": "Own"});
    let (_, foreign) = fixture.app.post(&fixture.b.token, PARTITIONS, body).await;
    let put = async |id: &Value| {
        let request = fixture.app.request(Method::PUT, PARTITIONS).bearer(&fixture.root);
        let request = request.header("X-Tenant-Id", &fixture.a.id.to_string());
        let response = request.json(&json!({"id": id, "title": "Changed"})).send().await;
        (response.status, response.json()["item"]["title"].clone())
    };
    let changed = (200, json!("Changed"));

    assert_eq!(put(&json!(PUBLIC)).await, changed);
    assert_eq!(put(&own["item"]["id"]).await, changed);
    assert_eq!(put(&foreign["item"]["id"]).await.0, 404);

    let list = fixture.app.read(&fixture.b.token, PARTITIONS).await;
    assert_eq!(
        (&list["items"][0]["title"], &list["items"][0]["tenantId"]),
        (&json!("Changed"), &Value::Null)
    );
    let body = json!({"id": PUBLIC, "title": "Mine"});
    let rejected = fixture.app.put(&fixture.a.token, PARTITIONS, body).await;
    let text = "Default partitions can only be changed by super administrators";
    assert_eq!((rejected.0, &rejected.1["error"]), (403, &json!(text)));
}

#[actix_web::test]
async fn a_public_partition_is_chosen_by_those_who_manage_partitions() {
    let fixture = fixture().await;
    let (_, employee) = fixture.user("employee@alpha.test", &["employee"]).await;
    let parts = [("partitionCode", "productsMedia")];

    let rejection_of = rejection(&upload(&fixture.app, &employee, &parts, NOTE).await);

    assert_eq!(rejection_of, rejected(403, "public_partition_refused"));
    let of_another = upload(&fixture.app, &fixture.b.token, &[("partitionCode", "docs")], NOTE).await;
    create_docs(&fixture, json!({})).await;
    let of_alpha = upload(&fixture.app, &fixture.b.token, &[("partitionCode", "docs")], NOTE).await;
    assert_eq!(
        (rejection(&of_another), rejection(&of_alpha)),
        (rejected(400, "unknown_partition"), rejected(400, "unknown_partition"))
    );
}

#[actix_web::test]
async fn a_tenant_has_at_most_a_hundred_partitions() {
    let fixture = fixture().await;
    for number in 0..100 {
        let body = json!({"code": format!("p{number:02}"), "title": "T"});
        assert_eq!(fixture.app.post(&fixture.a.token, PARTITIONS, body).await.0, 201);
    }

    let (status, body) = create_docs(&fixture, json!({})).await;

    assert_eq!((status, &body["code"]), (400, &json!("too_many_partitions")));
}

#[actix_web::test]
async fn concurrent_requests_create_no_more_than_a_hundred_partitions() {
    let fixture = TwoTenants::inside(builder().pool_size(8).build().await).await;
    for number in 0..99 {
        let body = json!({"code": format!("p{number:02}"), "title": "T"});
        assert_eq!(fixture.app.post(&fixture.a.token, PARTITIONS, body).await.0, 201);
    }

    let create = |code: &str| {
        let body = json!({"code": code, "title": "T"});
        fixture.app.post(&fixture.a.token, PARTITIONS, body)
    };
    let ((one, _), (two, _), (three, _)) = join3(create("one"), create("two"), create("three")).await;

    let mut statuses = [one, two, three];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 400, 400]);
}

#[actix_web::test]
async fn a_file_is_not_stored_in_a_partition_that_became_public_meanwhile() {
    let fixture = TwoTenants::inside(builder().pool_size(8).build().await).await;
    let (_, employee) = fixture.user("employee@alpha.test", &["employee"]).await;
    let (_, body) = create_docs(&fixture, json!({})).await;
    let id = body["item"]["id"].as_str().expect("an id");
    let public = format!("begin; update attachments_partitions set is_public = true where id = '{id}'");
    assert_eq!(fixture.app.sql(&public).await, 1);
    // As the command that changes a partition does.
    let locked = format!("select id from attachments_partitions where id = '{id}' for update");
    assert_eq!(fixture.app.rows(&locked).await.len(), 1);

    let published = async {
        let waiting = "select pid from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))";
        while fixture.app.rows(waiting).await.is_empty() {}
        fixture.app.sql("commit").await
    };
    let docs = [("partitionCode", "docs")];
    let (response, _) = join(upload(&fixture.app, &employee, &docs, NOTE), published).await;

    assert_eq!(rejection(&response), rejected(403, "public_partition_refused"));
    assert_eq!(fixture.app.count("attachments_attachments").await, 0);
    let again = upload(&fixture.app, &fixture.a.token, &docs, NOTE).await;
    assert_eq!(again.status, 200, "{}", again.text());
}

#[actix_web::test]
async fn the_folder_of_a_partition_can_be_configured() {
    let other = std::env::temp_dir().join(format!("bo-partition-{}", std::process::id()));
    let fixture = crate::fixture_with(&format!("roots = {{ docs = {other:?} }}")).await;
    create_docs(&fixture, json!({})).await;

    uploaded(&fixture, &[("partitionCode", "docs")], Upload { name: "a.txt", ..NOTE }).await;

    assert_eq!(files_below(&other), 1);
    std::fs::remove_dir_all(other).expect("removed");
}

#[actix_web::test]
async fn a_test_of_a_partition_stores_reads_and_removes_an_object() {
    let fixture = fixture().await;
    let body = json!({"code": "docs", "title": "Documents"});
    let (status, created) = fixture.app.post(&fixture.a.token, PARTITIONS, body).await;
    assert_eq!(status, 201, "{created}");
    let id = id_of(&created["item"]);
    let path = format!("{PARTITIONS}/{id}/test");

    let (status, tested) = fixture.app.post(&fixture.a.token, &path, Value::Null).await;

    assert_eq!((status, tested), (200, json!({"ok": true, "error": null, "ms": 0})));
    let folder = fixture.app.data_dir().join("attachments/docs");
    assert_eq!(files_below(&folder), 0);
    assert_eq!(fixture.app.post(&fixture.b.token, &path, Value::Null).await.0, 404);
    std::fs::remove_dir_all(&folder).expect("removed");
    std::fs::write(&folder, "a file in its place").expect("written");
    let (status, tested) = fixture.app.post(&fixture.a.token, &path, Value::Null).await;
    assert_eq!((status, &tested["ok"]), (200, &json!(false)));
    let error = tested["error"].as_str().expect("a reason");
    assert!(!error.contains('/') && !error.is_empty(), "{error}");
}

#[actix_web::test]
async fn partitions_are_locked_in_a_demonstration() {
    let fixture = fixture().await;
    let (_, body) = create_docs(&fixture, json!({})).await;
    let id = body["item"]["id"].as_str().expect("an id").to_owned();
    let put = fixture.app.request(Method::PUT, PARTITIONS).bearer(&fixture.a.token);
    let change = put
        .json(&json!({"id": id, "title": "Changed"}))
        .send()
        .await
        .undoable_write();
    let demo = fixture
        .app
        .second_node_with(&format!("{CONFIG}{NO_LIMITS}[app]\ndemo = true"))
        .await;
    let token = &fixture.a.token;
    let path = format!("{PARTITIONS}?id={id}");
    let before = demo.get(token, PARTITIONS).await;

    let responses = [
        demo.post(token, PARTITIONS, json!({"code": "other", "title": "Other"}))
            .await,
        demo.put(token, PARTITIONS, json!({"id": id, "title": "Again"})).await,
        demo.put(token, PARTITIONS, json!({"id": Uuid::from_u128(7), "title": "Again"}))
            .await,
        demo.delete(token, &path, Value::Null).await,
        demo.undo(token, &change).await,
        demo.post(token, PARTITIONS, json!({})).await,
        demo.post(token, PARTITIONS, json!({"code": 7})).await,
        demo.post(token, PARTITIONS, json!([])).await,
        demo.put(token, PARTITIONS, json!({"title": "Without id"})).await,
        demo.put(token, PARTITIONS, json!({"id": id, "title": null})).await,
        demo.delete(token, PARTITIONS, Value::Null).await,
        demo.delete(token, &format!("{PARTITIONS}?id=x"), Value::Null).await,
    ];

    let locked = json!({"error": "Partitions are locked in demo mode", "code": "demo_locked"});
    for response in responses {
        assert_eq!(response, (403, locked.clone()));
    }
    assert_eq!(demo.get(token, PARTITIONS).await, before);
    assert_eq!(uploaded_to(&demo, token).await, 200, "files are not locked");
    assert_eq!(
        fixture.app.delete(token, &path, Value::Null).await.0,
        409,
        "the other node is no demonstration"
    );
}

/// Uploads a file to the partition `docs`.
async fn uploaded_to(app: &TestApp, token: &str) -> u16 {
    upload(app, token, &[("partitionCode", "DOCS")], NOTE).await.status
}
