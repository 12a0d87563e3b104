//! What other modules say about files: constraints and partitions of their records, and recognition of texts.

use actix_web::http::Method;
use backoffice_attachments::{DeclaredField, Host, OcrProvider, ScannedDocument};
use backoffice_core::records::{FoundRecord, RecordKind};
use backoffice_core::{Error, Module};
use backoffice_test_accounts::{TwoTenants, id_of};
use futures_util::StreamExt;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{LIBRARY, MODULES, NOTE, PARTITIONS, Upload, builder_of, rejected, rejection, request};

const FIELDS: &str = "/attachments/fields";

/// Has records with files of its own, and a provider that "recognizes" the length of a file.
static SAMPLES: Module = Module {
    name: "samples",
    title: "Samples",
    requires: &["attachments"],
    register: |registry| {
        registry.extend(SHEETS).extend(HOST).extend(LENGTHS);
    },
    ..Module::EMPTY
};

const SHEETS: RecordKind = RecordKind {
    kind: "samples.sheet",
    title: "Sheet",
    view: &[],
    manage: &[],
    find: |_, _, ids| {
        let found = |id: &Uuid| FoundRecord {
            id: *id,
            organization: *id,
            label: "Sheet".to_owned(),
        };
        let found = ids.iter().map(found).collect();
        Box::pin(async { Ok(found) })
    },
    guardable: false,
    fields: &[],
    events: &[],
    write: None,
};

const HOST: Host = Host {
    kind: "samples.sheet",
    is_public: true,
    fields: &[
        DeclaredField {
            key: "note",
            accept_extensions: Some(&["txt"]),
            max_bytes: Some(100),
            max_count: Some(1),
        },
        DeclaredField {
            key: "plan",
            accept_extensions: Some(&["pdf"]),
            max_bytes: None,
            max_count: None,
        },
    ],
};

const LENGTHS: OcrProvider = OcrProvider {
    name: "lengths",
    recognize: |_, document: ScannedDocument<'_>| {
        let (kind, model) = (
            document.mime_type.to_owned(),
            document.model.unwrap_or("none").to_owned(),
        );
        let mut contents = document.contents;
        Box::pin(async move {
            let mut length = 0;
            while let Some(piece) = contents.next().await {
                length += piece?.len();
            }
            match model.as_str() {
                "broken" => Err(Error::internal("no model")),
                _ => Ok(format!(" {kind} of {length} bytes by {model}\n")),
            }
        })
    },
};

async fn fixture(settings: &str) -> TwoTenants {
    let modules = [MODULES.as_slice(), &[&SAMPLES]].concat();
    let section = format!("[attachments]\n{settings}");
    TwoTenants::inside(builder_of(&modules).config(&section).build().await).await
}

/// Uploads a file to a sheet, which has the id of the organization.
async fn upload(fixture: &TwoTenants, key: &str, file: Upload<'_>) -> backoffice_test_support::TestResponse {
    let sheet = fixture.a.organization.to_string();
    let parts = [
        ("entityId", "samples.sheet"),
        ("recordId", sheet.as_str()),
        ("fieldKey", key),
    ];
    request(&fixture.app, &fixture.a.token, &parts, Some(file)).send().await
}

#[actix_web::test]
async fn a_module_declares_constraints_and_a_tenant_replaces_them() {
    let fixture = fixture("").await;
    let token = &fixture.a.token;
    let listed = async || {
        let (status, body) = fixture
            .app
            .get(token, &format!("{FIELDS}?entityId=samples:sheet"))
            .await;
        assert_eq!(status, 200, "{body}");
        body["items"].as_array().expect("items").clone()
    };
    let sources = |items: &[Value]| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        items
            .iter()
            .map(|item| (text(&item["fieldKey"]), text(&item["source"])))
            .collect()
    };
    let pair = |key: &str, source: &str| (key.to_owned(), source.to_owned());
    let declared = listed().await;
    assert_eq!(sources(&declared), [pair("note", "declared"), pair("plan", "declared")]);
    assert_eq!(
        (&declared[0]["maxBytes"], &declared[0]["maxCount"]),
        (&json!(100), &json!(1))
    );

    let pdf = Upload {
        name: "a.pdf",
        bytes: b"%PDF-1.7",
        kind: "",
    };
    let large = Upload {
        bytes: &[b'a'; 101],
        ..NOTE
    };
    for (key, file, code) in [
        ("note", pdf, "attachment_type_not_allowed"),
        ("note", large, "attachment_too_large_for_field"),
    ] {
        assert_eq!(rejection(&upload(&fixture, key, file).await), rejected(403, code));
    }
    assert_eq!(
        rejection(&upload(&fixture, "other", NOTE).await),
        rejected(400, "unknown_field_key")
    );
    let first = upload(&fixture, "note", NOTE).await;
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(first.json()["item"]["partitionCode"], "productsMedia");
    let second = upload(&fixture, "note", NOTE).await;
    assert_eq!(rejection(&second), rejected(403, "attachment_limit_reached"));

    let own = json!({"entityId": "samples.sheet", "fieldKey": "note", "maxCount": 2});
    let (status, set) = fixture.app.put(token, FIELDS, own).await;
    assert_eq!((status, &set["id"]), (200, &declared[0]["id"]));
    let replaced = listed().await;
    assert_eq!(sources(&replaced), [pair("note", "tenant"), pair("plan", "declared")]);
    assert_eq!(replaced[0]["maxBytes"], Value::Null);
    assert_eq!(upload(&fixture, "note", large).await.status, 200);
    let third = upload(&fixture, "note", NOTE).await;
    assert_eq!(rejection(&third), rejected(403, "attachment_limit_reached"));

    let (status, _) = fixture
        .app
        .delete(token, &format!("{FIELDS}?id={}", id_of(&set)), Value::Null)
        .await;
    assert_eq!(status, 200);
    assert_eq!(listed().await, declared);
    assert_eq!(
        rejection(&upload(&fixture, "note", large).await),
        rejected(403, "attachment_too_large_for_field")
    );
}

#[actix_web::test]
async fn a_list_that_depends_on_records_of_another_module_has_no_entity_tag() {
    let fixture = fixture("").await;
    let list = async |kind: &str| {
        let path = format!("/attachments?entityId={kind}&recordId={}", fixture.a.organization);
        let request = fixture.app.request(Method::GET, &path).bearer(&fixture.a.token);
        let response = request.send().await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.header("etag").is_some()
    };

    assert!(list("customers.deal").await && list("x.y").await);
    assert!(!list("samples.sheet").await);
}

#[actix_web::test]
async fn a_provider_recognizes_texts_in_images_of_partitions_that_require_it() {
    let fixture = fixture("[attachments.ocr]\nprovider = \"lengths\"").await;
    for (code, requires, model) in [
        ("scans", true, json!("fine")),
        ("photos", false, Value::Null),
        ("bad", true, json!("broken")),
    ] {
        let body = json!({"code": code, "title": code, "requiresOcr": requires, "ocrModel": model});
        let (status, created) = fixture.app.post(&fixture.a.token, PARTITIONS, body).await;
        assert_eq!(status, 201, "{created}");
    }
    let image = Upload {
        name: "a.png",
        bytes: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0",
        kind: "image/png",
    };
    let scan = Upload {
        name: "a.pdf",
        bytes: b"%PDF-1.7",
        kind: "",
    };
    let mut stored = Vec::new();
    for (code, file) in [
        ("scans", image),
        ("scans", scan),
        ("scans", NOTE),
        ("photos", image),
        ("bad", image),
    ] {
        let parts = [("entityId", "x.y"), ("recordId", "r1"), ("partitionCode", code)];
        let response = request(&fixture.app, &fixture.a.token, &parts, Some(file)).send().await;
        assert_eq!(response.status, 200, "{}", response.text());
        stored.push(id_of(&response.json()["item"]));
    }

    fixture.app.run_jobs().await;

    let mut contents = Vec::new();
    for id in &stored {
        let (status, body) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}/{id}")).await;
        assert_eq!(status, 200, "{body}");
        contents.push(body["item"]["content"].clone());
    }
    assert_eq!(
        contents[..2],
        [
            json!("image/png of 29 bytes by fine"),
            json!("application/pdf of 8 bytes by fine")
        ]
    );
    assert_eq!(contents[2..], [json!("Twelve bytes"), Value::Null, Value::Null]);
    let states = fixture
        .app
        .rows("select content_state as state, count(*) as files from attachments_attachments group by 1 order by 1")
        .await;
    let states: Vec<(&Value, &Value)> = states.iter().map(|row| (&row["state"], &row["files"])).collect();
    let (done, none, pending) = (json!("done"), json!("none"), json!("pending"));
    assert_eq!(
        states,
        [(&done, &json!(3)), (&none, &json!(1)), (&pending, &json!(1))],
        "the broken one is tried again"
    );
    let announced = fixture
        .app
        .rows(
            "select payload - 'tenantId' - 'organizationId' as payload from core_outbox_events \
             where name = 'attachments.attachment.updated' order by payload ->> 'fileName'",
        )
        .await;
    let updated = |file: usize, name: &str, kind: &str, bytes: u32| {
        json!({"payload": {"id": stored[file], "entityId": "x.y", "recordId": "r1", "fileName": name, "mimeType": kind,
            "fileSize": bytes}})
    };
    assert_eq!(
        announced,
        [
            updated(1, "a.pdf", "application/pdf", 8),
            updated(0, "a.png", "image/png", 29)
        ]
    );
}
