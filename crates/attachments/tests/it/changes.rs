//! What a change of a file, and an upload, may say of it.

use actix_web::http::Method;
use backoffice_test_support::{TestResponse, details};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{LIBRARY, NOTE, RECORD, TwoTenants, fixture, id_of, rejected, rejection, request, upload, uploaded};

async fn patch(fixture: &TwoTenants, id: Uuid, body: Value) -> TestResponse {
    let path = format!("{LIBRARY}/{id}");
    fixture.app.send(&fixture.a.token, Method::PATCH, &path, body).await
}

/// Returns as many assignments to other records than that of the file.
fn others(count: usize) -> Vec<Value> {
    (0..count)
        .map(|number| json!({"type": "a.b", "id": number.to_string()}))
        .collect()
}

#[actix_web::test]
async fn tags_and_assignments_can_not_be_null() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[("tags", "a"), ("cf_a", "1")], NOTE).await;
    let assigned = json!([{"type": "x.y", "id": "r1"}]);

    for (body, expected) in [
        (json!({"tags": null}), vec![("tags", "required")]),
        (json!({"assignments": null}), vec![("assignments", "required")]),
        (
            json!({"tags": null, "assignments": null, "fileName": null}),
            vec![
                ("tags", "required"),
                ("assignments", "required"),
                ("fileName", "required"),
            ],
        ),
    ] {
        let response = patch(&fixture, id, body.clone()).await;
        assert_eq!((response.status, details(&response.json())), (400, expected), "{body}");
    }

    let cleared = patch(&fixture, id, json!({"customFields": null})).await;
    assert_eq!(
        cleared.json()["item"],
        json!({"id": id, "tags": ["a"], "assignments": assigned, "customFields": {}})
    );
}

#[actix_web::test]
async fn unknown_fields_of_an_assignment_are_ignored() {
    let fixture = fixture().await;
    let given = json!([{"type": "x.y", "id": "r1", "label": "L", "more": {"a": 1}}]);
    let kept = json!([{"type": "x.y", "id": "r1", "label": "L"}]);

    let created = upload(
        &fixture.app,
        &fixture.a.token,
        &[("assignments", &given.to_string())],
        NOTE,
    )
    .await;

    assert_eq!(created.status, 200, "{}", created.text());
    let item = created.json()["item"].clone();
    assert_eq!(item["assignments"], kept);
    let changed = patch(&fixture, id_of(&item), json!({"assignments": given})).await;
    assert_eq!((changed.status, &changed.json()["item"]["assignments"]), (200, &kept));
}

#[actix_web::test]
async fn a_file_has_at_most_fifty_assignments_with_that_to_its_record() {
    let fixture = fixture().await;
    let send = async |parts: &[(&str, &str)], assignments: Vec<Value>| {
        let text = Value::Array(assignments).to_string();
        let parts: Vec<_> = parts.iter().copied().chain([("assignments", text.as_str())]).collect();
        request(&fixture.app, &fixture.a.token, &parts, Some(NOTE)).send().await
    };
    let with_own = |count: usize| {
        let own = json!({"type": "x:y", "id": "r1", "label": "Own"});
        others(count).into_iter().chain([own]).collect::<Vec<_>>()
    };

    assert_eq!(
        rejection(&send(&RECORD, others(50)).await),
        rejected(400, "invalid_field")
    );
    assert_eq!(fixture.app.count("attachments_attachments").await, 0);
    let library = [("entityId", "attachments.library"), ("recordId", "any")];
    for (parts, assignments) in [(&RECORD, others(49)), (&RECORD, with_own(49)), (&library, others(50))] {
        let created = send(parts, assignments).await;
        assert_eq!(created.status, 200, "{}", created.text());
        let item = created.json()["item"].clone();
        assert_eq!(item["assignments"].as_array().map(Vec::len), Some(50));

        let again = patch(&fixture, id_of(&item), json!({"assignments": item["assignments"]})).await;
        assert_eq!(again.status, 200, "{}", again.text());
    }
}

#[actix_web::test]
async fn the_bound_of_fields_counts_those_that_remain() {
    let fixture = fixture().await;
    let of =
        |value: Value| -> Map<String, Value> { (0..50).map(|number| (format!("f{number}"), value.clone())).collect() };
    let fields = Value::Object(of(json!(1))).to_string();
    let id = uploaded(&fixture, &[("customFields", &fields)], NOTE).await;

    let more = patch(&fixture, id, json!({"customFields": {"more": 1}})).await;
    assert_eq!(
        (more.status, details(&more.json())),
        (400, vec![("customFields", "invalid_value")])
    );
    let mut changes = of(Value::Null);
    changes.extend([("more".to_owned(), json!(1)), ("absent".to_owned(), Value::Null)]);
    let replaced = patch(&fixture, id, json!({"customFields": changes, "cf_other": 2})).await;
    assert_eq!(
        (replaced.status, &replaced.json()["item"]["customFields"]),
        (200, &json!({"more": 1, "other": 2})),
        "{}",
        replaced.text()
    );

    let mut many = of(json!(1));
    many.insert("more".to_owned(), json!(1));
    let rejected = patch(&fixture, id, json!({"customFields": many})).await;
    assert_eq!(
        (rejected.status, details(&rejected.json())),
        (400, vec![("customFields", "invalid_value")])
    );
}
