//! Partitions and the constraints of fields hold for all organizations of a tenant.

use actix_web::http::Method;
use backoffice_test_accounts::id_of;
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{LIBRARY, NOTE, PARTITIONS, RECORD, TwoTenants, deal, fixture, rejected, rejection, request, uploaded};

const FIELDS: &str = "/attachments/fields";

/// Selects no organization.
const ALL: &str = "all";

/// Sends a request of a caller who has selected an organization, or [`ALL`].
async fn send(
    fixture: &TwoTenants,
    (token, selected): (&str, &str),
    method: &Method,
    path: &str,
    body: &Value,
) -> TestResponse {
    let request = fixture.app.request(method.clone(), path).bearer(token);
    let request = request.header("X-Organization-Id", selected);
    match body.is_null() {
        true => request.send().await,
        false => request.json(body).send().await,
    }
}

/// Creates a partition as the administrator of Alpha.
async fn partition(fixture: &TwoTenants, code: &str) -> Uuid {
    let body = json!({"code": code, "title": "T"});
    let (status, body) = fixture.app.post(&fixture.a.token, PARTITIONS, body).await;
    assert_eq!(status, 201, "{body}");
    id_of(&body["item"])
}

/// Asserts that the caller does not act in the whole tenant.
fn assert_out_of_scope(response: &TestResponse, what: &str) {
    let expected = json!({"error": "Organization out of scope"});
    assert_eq!((response.status, response.json()), (403, expected), "{what}");
}

#[actix_web::test]
async fn partitions_and_constraints_of_fields_are_changed_in_the_whole_tenant() {
    let fixture = fixture().await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Branch", &["attachments.*"], Some(&[branch])).await;
    let (_, local) = fixture.user("local@alpha.test", &["Branch"]).await;
    let (docs, unused) = (partition(&fixture, "docs").await, partition(&fixture, "unused").await);
    let file = uploaded(&fixture, &[("partitionCode", "docs")], NOTE).await;
    let body = json!({"entityId": "x.y", "fieldKey": "photo", "maxCount": 9});
    let (status, field) = fixture.app.put(&fixture.a.token, FIELDS, body).await;
    assert_eq!(status, 200, "{field}");
    let public = json!({"id": docs, "isPublic": true, "confirmPublic": true});
    let bucket = json!({"bucket": "b", "accessKeyId": "a", "secretAccessKey": "s"});
    let elsewhere = json!({"id": docs, "storageDriver": "s3", "configJson": bucket});
    let requests = [
        (
            Method::POST,
            PARTITIONS.to_owned(),
            json!({"code": "own", "title": "Own"}),
        ),
        (Method::PUT, PARTITIONS.to_owned(), public),
        (Method::PUT, PARTITIONS.to_owned(), elsewhere),
        (Method::DELETE, format!("{PARTITIONS}?id={unused}"), Value::Null),
        (Method::POST, format!("{PARTITIONS}/{docs}/test"), Value::Null),
        (
            Method::PUT,
            FIELDS.to_owned(),
            json!({"entityId": "x.y", "fieldKey": "*", "maxBytes": 1}),
        ),
        (
            Method::PUT,
            FIELDS.to_owned(),
            json!({"entityId": "x.y", "fieldKey": "photo", "partitionCode": "unused"}),
        ),
        (Method::DELETE, format!("{FIELDS}?id={}", id_of(&field)), Value::Null),
    ];
    let stored = async || {
        let partitions = fixture.app.read(&fixture.a.token, PARTITIONS).await;
        (partitions, fixture.app.read(&fixture.a.token, FIELDS).await)
    };
    let (before, branch) = (stored().await, branch.to_string());

    for caller in [(local.as_str(), ALL), (local.as_str(), branch.as_str())] {
        for (method, path, body) in &requests {
            let response = send(&fixture, caller, method, path, body).await;
            assert_out_of_scope(&response, &format!("{method} {path} {body} in {}", caller.1));
        }
    }

    assert_eq!(stored().await, before);
    let path = format!("/attachments/file/{file}");
    assert_eq!(fixture.app.request(Method::GET, &path).send().await.status, 401);
    for selected in [ALL, branch.as_str()] {
        let admin = (fixture.a.token.as_str(), selected);
        let body = json!({"id": docs, "title": format!("In {selected}")});
        let changed = send(&fixture, admin, &Method::PUT, PARTITIONS, &body).await;
        assert_eq!(changed.status, 200, "{}", changed.text());
    }
}

#[actix_web::test]
async fn callers_of_one_organization_list_and_choose_partitions() {
    let fixture = fixture().await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Branch", &["attachments.*"], Some(&[branch])).await;
    let (_, local) = fixture.user("local@alpha.test", &["Branch"]).await;
    partition(&fixture, "docs").await;

    let list = fixture.app.read(&local, PARTITIONS).await;

    assert_eq!(list, fixture.app.read(&fixture.a.token, PARTITIONS).await);
    let parts = [RECORD[0], RECORD[1], ("partitionCode", "docs")];
    let upload = request(&fixture.app, &local, &parts, Some(NOTE));
    let response = upload.header("X-Organization-Id", &branch.to_string()).send().await;
    assert_eq!(response.status, 200, "{}", response.text());
    let file = id_of(&response.json()["item"]);
    let detail = fixture.app.read(&local, &format!("{LIBRARY}/{file}")).await;
    assert_eq!(
        (&detail["item"]["partitionCode"], &detail["item"]["organizationId"]),
        (&json!("docs"), &json!(branch))
    );
}

#[actix_web::test]
async fn a_public_partition_is_chosen_where_partitions_are_managed() {
    let fixture = fixture().await;
    let branch = fixture.organization("Branch", None).await;
    let files = ["attachments.view", "attachments.manage", "customers.*"];
    fixture.role("Files", &files, None).await;
    let partitions = ["attachments.partitions.manage"];
    fixture.role("Partitions", &partitions, Some(&[branch])).await;
    let (_, token) = fixture.user("files@alpha.test", &["Files", "Partitions"]).await;
    let at_head = deal(&fixture).await.to_string();
    let body = json!({"title": "Deal", "organizationId": branch});
    let in_branch = fixture.create("/customers/deals", body).await.to_string();
    let branch = branch.to_string();
    let (accepted, forbidden) = (rejected(200, ""), rejected(403, "public_partition_refused"));

    for (kind, record, selected, expected) in [
        ("x.y", "r1", ALL, &forbidden),
        ("x.y", "r1", branch.as_str(), &accepted),
        ("customers.deal", at_head.as_str(), ALL, &forbidden),
        ("customers.deal", in_branch.as_str(), ALL, &accepted),
    ] {
        let parts = [
            ("entityId", kind),
            ("recordId", record),
            ("partitionCode", "productsMedia"),
        ];
        let upload = request(&fixture.app, &token, &parts, Some(NOTE));
        let response = upload.header("X-Organization-Id", selected).send().await;

        let what = format!("{kind} in {selected}: {}", response.text());
        assert_eq!(rejection(&response), *expected, "{what}");
    }
}
