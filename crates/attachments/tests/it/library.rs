//! The library: lists, changes and moves.

use actix_web::http::Method;
use backoffice_test_accounts::id_of;
use backoffice_test_support::details;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{LIBRARY, NOTE, TwoTenants, Upload, fixture, ids, of_record, uploaded};

async fn patch(fixture: &TwoTenants, id: Uuid, body: Value) -> (u16, Value) {
    let request = fixture.app.request(Method::PATCH, &format!("{LIBRARY}/{id}"));
    let response = request.bearer(&fixture.a.token).json(&body).send().await;
    (response.status, response.json())
}

async fn library(fixture: &TwoTenants, query: &str) -> Value {
    let (status, page) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}?{query}")).await;
    assert_eq!(status, 200, "{query}: {page}");
    page
}

#[actix_web::test]
async fn att_22_tags_and_assignments_change_and_the_change_is_undone() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[("tags", "old"), ("cf_a", "1")], NOTE).await;
    let twice = json!({"type": "x.y", "id": "r1", "label": "L"});

    let request = fixture
        .app
        .request(Method::PATCH, &format!("{LIBRARY}/{id}"))
        .bearer(&fixture.a.token);
    let body =
        json!({"tags": [" a ", "b", "a"], "assignments": [twice, twice], "cf_b": 2, "customFields": {"a": null}});
    let response = request.json(&body).send().await;

    let expected =
        json!({"ok": true, "item": {"id": id, "tags": ["a", "b"], "assignments": [twice], "customFields": {"b": 2}}});
    assert_eq!((response.status, response.json()), (200, expected));
    let page = library(&fixture, "tags=a,b").await;
    assert_eq!((ids(&page), &page["availableTags"]), (vec![id], &json!(["a", "b"])));
    let undone = fixture.app.undo(&fixture.a.token, &response).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    let page = library(&fixture, "tags=old").await;
    assert_eq!((ids(&page), &page["availableTags"]), (vec![id], &json!(["old"])));
    let (_, detail) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}/{id}")).await;
    assert_eq!(detail["item"]["customFields"], json!({"a": "1"}));
}

#[actix_web::test]
async fn a_change_keeps_what_it_does_not_name() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[("tags", "a"), ("cf_a", "1")], NOTE).await;

    let (status, body) = patch(&fixture, id, json!({"fileName": "../other.TXT"})).await;

    assert_eq!((status, &body["item"]["tags"]), (200, &json!(["a"])), "{body}");
    let (_, detail) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}/{id}")).await;
    assert_eq!(detail["item"]["fileName"], "other.TXT");
    let (_, cleared) = patch(
        &fixture,
        id,
        json!({"tags": [], "assignments": [], "customFields": null}),
    )
    .await;
    assert_eq!(
        cleared["item"],
        json!({"id": id, "tags": [], "assignments": [], "customFields": {}})
    );
    for (changes, code) in [
        (json!({"fileName": "other.pdf"}), "extension_fixed"),
        (json!({"fileName": "a.exe"}), "dangerous_file"),
    ] {
        let (status, body) = patch(&fixture, id, changes).await;
        assert_eq!((status, &body["code"]), (400, &json!(code)));
    }
    for changes in [
        json!({"tags": ["x".repeat(65)]}),
        json!({"tags": "a"}),
        json!({"assignments": [{"type": "", "id": "1"}]}),
        json!({"assignments": [{"type": "a", "id": "1", "href": "javascript:alert(1)"}]}),
        json!({"customFields": {"A": 1}}),
        json!({"cf_a": {"b": 1}}),
        json!({"fileName": null}),
        json!({"fileName": " "}),
    ] {
        assert_eq!(patch(&fixture, id, changes.clone()).await.0, 400, "{changes}");
    }
}

#[actix_web::test]
async fn a_name_is_found_in_every_form_of_its_characters() {
    let fixture = fixture().await;
    let named = async |name: &'static str| uploaded(&fixture, &[], Upload { name, ..NOTE }).await;
    let (composed, decomposed) = (named("Król.txt").await, named("Kro\u{301}lik.txt").await);

    for search in ["kr%C3%B3l", "kro%CC%81l", "o%CC%81", "%C3%B3"] {
        let mut found = ids(&library(&fixture, &format!("search={search}&sortField=fileName")).await);
        found.sort_unstable();
        let mut both = [composed, decomposed];
        both.sort_unstable();
        assert_eq!(found, both, "{search}");
    }
    assert_eq!(ids(&library(&fixture, "search=kro%CC%81li").await), [decomposed]);
    assert_eq!(ids(&library(&fixture, "search=krol").await), [] as [Uuid; 0]);
    let path = format!("{}&search=kro%CC%81li", of_record());
    let (status, page) = fixture.app.get(&fixture.a.token, &path).await;
    assert_eq!((status, ids(&page)), (200, vec![decomposed]));
}

#[actix_web::test]
async fn the_library_is_filtered_sorted_and_searched() {
    let fixture = fixture().await;
    let first = uploaded(
        &fixture,
        &[("tags", "a")],
        Upload {
            name: "Alpha.txt",
            ..NOTE
        },
    )
    .await;
    fixture.app.advance(backoffice_test_support::Duration::SECOND);
    let pdf = Upload {
        name: "beta.pdf",
        bytes: b"%PDF-1.7 long enough",
        kind: "",
    };
    let second = uploaded(&fixture, &[("tags", "a,b"), ("partitionCode", "productsMedia")], pdf).await;

    for (query, expected) in [
        ("", vec![second, first]),
        ("sortField=fileName", vec![first, second]),
        ("sortField=fileSize&sortDir=desc", vec![second, first]),
        ("search=ALPHA", vec![first]),
        ("tags=a", vec![second, first]),
        ("tags=b,a", vec![second]),
        ("tags=c", vec![]),
        ("partition=PRODUCTSmedia", vec![second]),
        ("partition=unknown", vec![]),
        ("mimeType=text/*", vec![first]),
        ("mimeType=application/pdf", vec![second]),
        ("entityId=x:y", vec![second, first]),
        ("entityId=a.b", vec![]),
        ("createdFrom=2030-01-01", vec![]),
        ("createdTo=2030-01-01", vec![second, first]),
        ("pageSize=1&page=2", vec![first]),
    ] {
        assert_eq!(ids(&library(&fixture, query).await), expected, "{query}");
    }
    let page = library(&fixture, "").await;
    assert_eq!(
        (&page["pageSize"], &page["total"], &page["availableTags"]),
        (&json!(25), &json!(2), &json!(["a", "b"]))
    );
    let codes: Vec<&Value> = page["partitions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["code"])
        .collect();
    assert_eq!(codes, ["productsMedia", "privateAttachments"]);
    assert_eq!(page["items"][0]["partitionTitle"], "Product media");
    for query in [
        "pageSize=101",
        "sortField=x",
        "sortDir=up",
        "mimeType=image*",
        "createdFrom=x",
    ] {
        let (status, body) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}?{query}")).await;
        assert_eq!(
            (status, &body["error"]),
            (400, &json!("Invalid query")),
            "{query}: {body}"
        );
    }
    for (query, expected) in [
        (
            "mimeType=image*&createdFrom=x&page=0",
            vec!["createdFrom", "mimeType", "page"],
        ),
        (
            "mimeType=image*&createdFrom=x&page=x&tenantId=zz",
            vec!["createdFrom", "mimeType", "page", "tenantId"],
        ),
    ] {
        let (status, body) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}?{query}")).await;
        let mut paths: Vec<&str> = details(&body).into_iter().map(|(path, _)| path).collect();
        paths.sort_unstable();
        assert_eq!((status, paths), (400, expected), "{query}");
    }
}

#[actix_web::test]
async fn lists_show_what_the_caller_may_see() {
    let fixture = fixture().await;
    uploaded(&fixture, &[("tags", "head")], NOTE).await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Branch", &["attachments.*"], Some(&[branch])).await;
    let (_, local) = fixture.user("branch@alpha.test", &["Branch"]).await;

    for token in [&fixture.b.token, &local] {
        let (_, page) = fixture.app.get(token, LIBRARY).await;
        assert_eq!((&page["total"], &page["availableTags"]), (&json!(0), &json!([])));
        let (_, page) = fixture.app.get(token, &of_record()).await;
        assert_eq!(page["total"], 0);
    }
    let (_, employee) = fixture.user("employee@alpha.test", &["employee"]).await;
    let (_, page) = fixture.app.get(&employee, LIBRARY).await;
    assert_eq!((&page["total"], &page["availableTags"]), (&json!(1), &json!(["head"])));
}

#[actix_web::test]
async fn a_long_text_is_cut_in_lists_and_whole_in_the_detail() {
    let fixture = fixture().await;
    let text = "ż".repeat(25_000);
    let id = uploaded(
        &fixture,
        &[],
        Upload {
            bytes: text.as_bytes(),
            ..NOTE
        },
    )
    .await;

    let page = library(&fixture, "").await;
    let (_, detail) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}/{id}")).await;

    let shown = page["items"][0]["content"].as_str().expect("a text");
    assert_eq!(
        (shown.chars().count(), &page["items"][0]["contentTruncated"]),
        (20_000, &json!(true))
    );
    assert_eq!(detail["item"]["content"], text);
}

/// Returns the events of this name about a file, without the ids that all events have.
async fn announced(fixture: &TwoTenants, verb: &str, id: Uuid) -> Vec<Value> {
    let sql = format!(
        "select payload - 'tenantId' - 'organizationId' as payload from core_outbox_events \
         where name = 'attachments.attachment.{verb}' and payload ->> 'id' = '{id}' order by seq"
    );
    let rows = fixture.app.rows(&sql).await;
    rows.into_iter().map(|row| row["payload"].clone()).collect()
}

#[actix_web::test]
async fn events_say_what_a_file_is_and_to_which_record_it_belongs() {
    let fixture = fixture().await;
    let (first, second) = (uploaded(&fixture, &[], NOTE).await, uploaded(&fixture, &[], NOTE).await);
    let payload = |id: Uuid, record: &str| {
        json!({"id": id, "entityId": "x.y", "recordId": record, "fileName": "note.txt", "mimeType": "text/plain",
            "fileSize": 12})
    };
    let body = json!({"entityId": "x.y", "attachmentIds": [first, second], "toRecordId": "r2"});
    let moved = fixture
        .app
        .send(&fixture.a.token, Method::POST, "/attachments/transfer", body)
        .await;
    assert_eq!(moved.status, 200, "{}", moved.text());
    assert_eq!(fixture.app.undo(&fixture.a.token, &moved).await.0, 200);
    for id in [first, second] {
        let path = format!("{LIBRARY}/{id}");
        assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 200);
    }

    for id in [first, second] {
        let mut undone = payload(id, "r1");
        undone["undo"] = json!(true);
        assert_eq!(announced(&fixture, "created", id).await, [payload(id, "r1")]);
        assert_eq!(announced(&fixture, "updated", id).await, [payload(id, "r2"), undone]);
        assert_eq!(announced(&fixture, "transferred", id).await, [payload(id, "r2")]);
        assert_eq!(announced(&fixture, "deleted", id).await, [payload(id, "r1")]);
    }
}

#[actix_web::test]
async fn att_23_files_move_to_another_record_and_back() {
    let fixture = fixture().await;
    let mut own = Vec::new();
    for _ in 0..3 {
        own.push(uploaded(&fixture, &[], NOTE).await);
    }
    let other_kind = crate::request(
        &fixture.app,
        &fixture.a.token,
        &[("entityId", "a.b"), ("recordId", "r1")],
        Some(NOTE),
    );
    let other_kind = id_of(&other_kind.send().await.json()["item"]);
    let foreign = crate::upload(&fixture.app, &fixture.b.token, &[], NOTE).await;
    let foreign = id_of(&foreign.json()["item"]);
    let named: Vec<Uuid> = own.iter().copied().chain([other_kind, foreign]).collect();
    let body = json!({"entityId": "x:y", "attachmentIds": named, "toRecordId": "r2"});

    let request = fixture
        .app
        .request(Method::POST, "/attachments/transfer")
        .bearer(&fixture.a.token);
    let response = request.json(&body).send().await;

    assert_eq!(
        (response.status, response.json()),
        (200, json!({"ok": true, "updated": 3}))
    );
    let events = fixture
        .app
        .rows("select name from core_outbox_events where name = 'attachments.attachment.transferred'")
        .await;
    assert_eq!(events.len(), 3);
    let moved = "/attachments?entityId=x.y&recordId=r2";
    let (_, page) = fixture.app.get(&fixture.a.token, moved).await;
    let mut found = ids(&page);
    found.sort();
    assert_eq!(found, own);
    assert_eq!(page["items"][0]["assignments"], json!([{"type": "x.y", "id": "r2"}]));
    let undone = fixture.app.undo(&fixture.a.token, &response).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    let (_, page) = fixture.app.get(&fixture.a.token, &of_record()).await;
    assert_eq!(page["total"], 3);
    for (ids, status) in [(vec![foreign], 404), (vec![], 400), (vec![Uuid::nil(); 501], 400)] {
        let body = json!({"entityId": "x.y", "attachmentIds": ids, "toRecordId": "r2"});
        assert_eq!(
            fixture
                .app
                .post(&fixture.a.token, "/attachments/transfer", body)
                .await
                .0,
            status
        );
    }
}
