//! Files of records that other modules offer.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    ATTACHMENTS, LIBRARY, NOTE, ORGANIZATIONS, TwoTenants, deal, fixture, id_of, ids, rejected, rejection, request,
};

const USAGE: &str = "/attachments/usage";

async fn attach(fixture: &TwoTenants, token: &str, deal: Uuid) -> backoffice_test_support::TestResponse {
    let id = deal.to_string();
    let parts = [
        ("entityId", "customers:deal"),
        ("recordId", id.as_str()),
        ("tags", "secret"),
    ];
    request(&fixture.app, token, &parts, Some(NOTE)).send().await
}

fn of_deal(deal: Uuid) -> String {
    format!("{ATTACHMENTS}?entityId=customers.deal&recordId={deal}")
}

#[actix_web::test]
async fn att_10_records_of_others_and_unknown_ones_look_alike() {
    let fixture = fixture().await;
    let own = deal(&fixture).await;

    let foreign = attach(&fixture, &fixture.b.token, own).await;
    let unknown = attach(&fixture, &fixture.b.token, Uuid::from_u128(7)).await;

    assert_eq!(rejection(&foreign), rejected(400, "record_not_found"));
    assert_eq!(foreign.text(), unknown.text());
    let (status, page) = fixture.app.get(&fixture.b.token, &of_deal(own)).await;
    assert_eq!((status, &page["items"]), (200, &json!([])));
}

#[actix_web::test]
async fn att_31_files_follow_the_rights_and_the_life_of_their_record() {
    let fixture = fixture().await;
    let deal = deal(&fixture).await;
    let response = attach(&fixture, &fixture.a.token, deal).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let id = id_of(&response.json()["item"]);
    fixture
        .role("Files", &["attachments.view", "attachments.manage"], None)
        .await;
    let (_, files_only) = fixture.user("files@alpha.test", &["Files"]).await;
    let expected = json!({"error": "Forbidden", "requiredFeatures": ["customers.deals.view"]});

    let (status, body) = fixture.app.get(&files_only, &of_deal(deal)).await;
    assert_eq!((status, body), (403, expected.clone()));
    for path in [format!("/attachments/file/{id}"), format!("{LIBRARY}/{id}")] {
        let response = fixture.app.request(Method::GET, &path).bearer(&files_only).send().await;
        assert_eq!((response.status, response.json()), (403, expected.clone()), "{path}");
    }
    assert_eq!(attach(&fixture, &files_only, deal).await.status, 403);
    for (method, body) in [(Method::PATCH, json!({"tags": ["x"]})), (Method::DELETE, Value::Null)] {
        let request = fixture
            .app
            .request(method.clone(), &format!("{LIBRARY}/{id}"))
            .bearer(&files_only);
        let response = request.json(&body).send().await;
        assert_eq!(
            (response.status, &response.json()["requiredFeatures"]),
            (403, &json!(["customers.deals.manage"])),
            "{method}"
        );
    }
    let (_, library) = fixture.app.get(&files_only, LIBRARY).await;
    assert_eq!(
        (&library["total"], ids(&library)),
        (&json!(0), vec![]),
        "its text is not listed either"
    );
    assert_eq!(library["availableTags"], json!([]), "nor are its tags");
    let (_, usage) = fixture.app.get(&files_only, USAGE).await;
    assert_eq!((&usage["fileCount"], &usage["usedBytes"]), (&json!(0), &json!(12)));
    let (_, usage) = fixture.app.get(&fixture.a.token, USAGE).await;
    assert_eq!(usage["fileCount"], 1);
    let (_, library) = fixture.app.get(&fixture.a.token, LIBRARY).await;
    assert_eq!(
        (ids(&library), &library["availableTags"]),
        (vec![id], &json!(["secret"]))
    );

    let list = async || ids(&fixture.app.get(&fixture.a.token, &of_deal(deal)).await.1);
    assert_eq!(list().await, [id]);
    let path = format!("/customers/deals?id={deal}");
    let deleted = fixture
        .app
        .request(Method::DELETE, &path)
        .bearer(&fixture.a.token)
        .send()
        .await;
    assert_eq!(list().await, [] as [Uuid; 0]);
    let undone = fixture.app.undo(&fixture.a.token, &deleted).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    assert_eq!(list().await, [id]);
}

#[actix_web::test]
async fn att_36_an_organization_with_files_stays() {
    let fixture = fixture().await;
    let branch = fixture.organization("Branch", None).await;
    let upload = request(&fixture.app, &fixture.a.token, &crate::RECORD, Some(NOTE));
    let response = upload.header("X-Organization-Id", &branch.to_string()).send().await;
    let id = id_of(&response.json()["item"]);
    let delete = async |path: String| fixture.app.delete(&fixture.a.token, &path, Value::Null).await;

    let rejected_one = delete(format!("{ORGANIZATIONS}?id={branch}")).await;

    assert_eq!(
        rejected_one,
        (
            409,
            json!({"error": "Organization is in use", "code": "organization_in_use"})
        )
    );
    assert_eq!(delete(format!("{LIBRARY}/{id}")).await.0, 200);
    assert_eq!(delete(format!("{ORGANIZATIONS}?id={branch}")).await.0, 200);
}

#[actix_web::test]
async fn att_36_a_file_has_the_organization_of_its_record() {
    let fixture = fixture().await;
    let branch = fixture.organization("Branch", None).await;
    let deal_of_branch = fixture
        .create("/customers/deals", json!({"title": "D", "organizationId": branch}))
        .await;
    let id = deal_of_branch.to_string();
    let parts = [("entityId", "customers.deal"), ("recordId", id.as_str())];

    let elsewhere = request(&fixture.app, &fixture.a.token, &parts, Some(NOTE));
    let elsewhere = elsewhere
        .header("X-Organization-Id", &fixture.a.organization.to_string())
        .send()
        .await;
    let response = attach(&fixture, &fixture.a.token, deal_of_branch).await;

    assert_eq!(rejection(&elsewhere), rejected(400, "record_not_found"));
    let file = id_of(&response.json()["item"]);
    let (_, detail) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}/{file}")).await;
    assert_eq!(detail["item"]["organizationId"], json!(branch));
    let to_head = deal(&fixture).await;
    let body = json!({"entityId": "customers.deal", "attachmentIds": [file], "toRecordId": to_head});
    assert_eq!(
        fixture
            .app
            .post(&fixture.a.token, "/attachments/transfer", body)
            .await
            .0,
        200
    );
    let (_, detail) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}/{file}")).await;
    assert_eq!(detail["item"]["organizationId"], json!(fixture.a.organization));
    let counts = fixture
        .app
        .rows("select id::text as id, file_count from attachments_counts where file_count > 0")
        .await;
    assert_eq!(counts, [json!({"id": fixture.a.organization, "file_count": 1})]);
    let body = json!({"entityId": "customers.deal", "attachmentIds": [file], "toRecordId": Uuid::from_u128(7)});
    assert_eq!(
        fixture
            .app
            .post(&fixture.a.token, "/attachments/transfer", body)
            .await
            .0,
        404
    );
}

/// Returns the other spellings of a UUID.
fn spellings(id: Uuid) -> [String; 4] {
    [
        id.to_string().to_uppercase(),
        id.simple().to_string(),
        id.braced().to_string(),
        id.urn().to_string(),
    ]
}

#[actix_web::test]
async fn every_spelling_of_an_id_names_the_same_record() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let (one, other) = (deal(&fixture).await, deal(&fixture).await);
    let assigned = |id: &str| json!([{"type": "customers.deal", "id": id, "label": "Deal"}]);
    let send = async |id: &str| {
        let assignments = assigned(id).to_string();
        let parts = [
            ("entityId", "customers:deal"),
            ("recordId", id),
            ("assignments", assignments.as_str()),
        ];
        request(&fixture.app, token, &parts, Some(NOTE)).send().await
    };
    let listed = async |id: &str| {
        let id = id.replace('{', "%7B").replace('}', "%7D");
        let path = format!("{ATTACHMENTS}?entityId=customers.deal&recordId={id}");
        let mut files = ids(&fixture.app.read(token, &path).await);
        files.sort();
        files
    };

    let mut files = Vec::new();
    for id in spellings(one) {
        let response = send(&id).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let body = response.json();
        assert_eq!(body["item"]["assignments"], assigned(&one.to_string()), "{id}");
        files.push(id_of(&body["item"]));
    }

    files.sort();
    assert_eq!(listed(&one.to_string()).await, files);
    for id in spellings(one) {
        assert_eq!(listed(&id).await, files, "{id}");
    }
    let limit = json!({"entityId": "customers.deal", "fieldKey": "*", "maxCount": 4});
    assert_eq!(fixture.app.put(token, "/attachments/fields", limit).await.0, 200);
    for id in spellings(one) {
        let response = send(&id).await;
        assert_eq!(rejection(&response), rejected(403, "attachment_limit_reached"), "{id}");
    }
    let ([from, ..], [to, ..]) = (spellings(one), spellings(other));
    let body = json!({"entityId": "customers.deal", "attachmentIds": files, "fromRecordId": from, "toRecordId": to});
    let moved = fixture.app.post(token, "/attachments/transfer", body).await;
    assert_eq!(moved, (200, json!({"ok": true, "updated": 4})));
    assert_eq!(listed(&other.to_string()).await, files);
}

#[actix_web::test]
async fn ids_of_assigned_records_are_stored_in_one_spelling_and_other_texts_as_they_are() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let deal = deal(&fixture).await;
    let upper = deal.to_string().to_uppercase();
    let parts = [("entityId", "x.y"), ("recordId", upper.as_str())];
    let response = request(&fixture.app, token, &parts, Some(NOTE)).send().await;
    assert_eq!(response.status, 200, "{}", response.text());
    let path = format!("{LIBRARY}/{}", id_of(&response.json()["item"]));
    let of = |kind: &str, id: &str| json!({"type": kind, "id": id});
    let assignments = json!([
        of("x.y", &upper),
        of("customers.deal", &deal.simple().to_string()),
        of("customers.deal", &upper)
    ]);

    let changed = fixture
        .app
        .send(token, Method::PATCH, &path, json!({"assignments": assignments}))
        .await;

    assert_eq!(changed.status, 200, "{}", changed.text());
    let detail = fixture.app.read(token, &path).await;
    let item = &detail["item"];
    assert_eq!(item["recordId"], json!(upper));
    assert_eq!(
        item["assignments"],
        json!([of("x.y", &upper), of("customers.deal", &deal.to_string())])
    );
}
